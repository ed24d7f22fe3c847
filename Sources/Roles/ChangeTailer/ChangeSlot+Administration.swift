import Postgres
import RoleMachines

/// The slot as operators see it, and its end.
extension ChangeSlot {
    /// A position as Postgres writes it.
    package static func text(_ position: UInt64) -> String {
        String(position >> 32, radix: 16, uppercase: true) + "/"
            + String(position & 0xFFFF_FFFF, radix: 16, uppercase: true)
    }

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

    // MARK: Dropping

    /// Readers of nodes leave when they have loaded a version without them; one that is still there then is ended.
    private static let readerLeavesMs = 3_000
    /// The time limit for the end of a reader after that.
    private static let readerEndsMs = 2_000
    private static let readerPollMs = 50

    /// Drops the slot, the publications and the record.
    ///
    /// Nodes that still have queries which refresh by the log would create the slot again.
    /// - Returns: a sentence that says what was done.
    package func remove() async throws(SlotFailure) -> String {
        do {
            try await resolveName()
            return try await pool.withSession { session in
                try await lock(session)
                let removal = try await remains(session).removal()
                if removal.dropsSlot {
                    try await endReader(session)
                    try await Self.drop(name, session)
                }
                try await session.begin()
                for publication in removal.publications {
                    try await session.execute(Statement("DROP PUBLICATION IF EXISTS \(publication)"))
                }
                try await session.execute("DELETE FROM freshet.change_slots WHERE slot = $1::text", [.text(name)])
                try await session.commit()
                return removal.sentence
            }
        } catch let error as PostgresError {
            throw SlotFailure(error)
        } catch let failure as SlotFailure {
            throw failure
        } catch {
            throw SlotFailure(.unavailable, "\(error)")
        }
    }

    private func remains(_ session: PostgresSession) async throws(PostgresError) -> SlotRemains {
        let results = try await session.execute([
            (
                """
                SELECT s.slot_name IS NOT NULL, s.database = current_database() AND s.plugin = 'pgoutput',
                    EXISTS (SELECT FROM freshet.change_slots WHERE slot = $1::text)
                FROM (SELECT) AS one LEFT JOIN pg_replication_slots s ON s.slot_name = $1::text
                """, [.text(name)]
            ),
            (
                """
                SELECT pubname, pg_get_userbyid(pubowner), pg_has_role(pubowner, 'USAGE') FROM pg_publication
                WHERE pubname IN ('freshet_changes', 'freshet_outbox') ORDER BY 1
                """, []
            ),
            (
                """
                SELECT s.slot_name FROM freshet.change_slots c JOIN pg_replication_slots s ON s.slot_name = c.slot
                WHERE c.slot <> $1::text AND s.database = current_database() ORDER BY 1
                """, [.text(name)]
            ),
        ])
        let found = results[0].rows.first
        return SlotRemains(
            name: name, slot: found?.bool(0) == true ? .init(isForeign: found?.bool(1) != true) : nil,
            hasRecord: found?.bool(2) == true,
            publications: results[1].rows.map { row in
                .init(name: row.string(0) ?? "", owner: row.string(1) ?? "", isOwn: row.bool(2) == true)
            },
            otherSlots: results[2].rows.compactMap { $0.string(0) })
    }

    /// Waits until nobody reads the slot.
    private func endReader(_ session: PostgresSession) async throws {
        for round in 0..<(Self.readerLeavesMs + Self.readerEndsMs) / Self.readerPollMs {
            let isPatient = round < Self.readerLeavesMs / Self.readerPollMs
            let readers = try await session.execute(
                isPatient
                    ? "SELECT FROM pg_replication_slots WHERE slot_name = $1 AND active_pid IS NOT NULL"
                    : """
                    SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots
                    WHERE slot_name = $1 AND active_pid IS NOT NULL
                    """, [.text(name)])
            if readers.rows.isEmpty { return }
            try await Task.sleep(for: .milliseconds(Self.readerPollMs))
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
