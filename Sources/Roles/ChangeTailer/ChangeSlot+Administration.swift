import Postgres
import RoleMachines

/// The slot as operators see it.
extension ChangeSlot {
    private static let publishedTables = Statement(
        """
        SELECT p.pubname, CASE WHEN t.schemaname = current_schema() THEN t.tablename::text
            ELSE t.schemaname || '.' || t.tablename END
        FROM pg_publication p LEFT JOIN pg_publication_tables t ON t.pubname = p.pubname
        WHERE p.pubname IN ('freshet_changes', 'freshet_outbox') ORDER BY 1, 2
        """)

    /// Asks the database for its view of the slot.
    /// - Parameter tables: those that the queries read that refresh by the log; nil if there are no such queries.
    package func report(tables: [String]?) async throws(SlotFailure) -> SlotReport {
        do {
            let inspection = try await inspect(tables ?? []).0
            var publications: [SlotReport.Publication] = []
            for row in try await run(Self.publishedTables, []).rows {
                let name = row.string(0) ?? ""
                if publications.last?.name != name { publications.append(.init(name: name, tables: [])) }
                if let table = row.string(1) { publications[publications.count - 1].tables.append(table) }
            }
            return SlotReport(
                name: name, slot: inspection.slot, obstacle: tables == nil ? nil : inspection.obstacle,
                publications: publications, unpublished: inspection.unpublished)
        } catch {
            throw SlotFailure(error)
        }
    }
}

extension SlotFailure {
    init(_ error: PostgresError) {
        // Insufficient privilege, and a slot that is still being read.
        let isRefused = error.sqlState == "42501" || error.sqlState == "55006"
        self.init(isRefused ? .refused : .unavailable, error.sentence)
    }
}
