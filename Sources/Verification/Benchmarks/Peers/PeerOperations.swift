import Postgres

/// The live queries of the comparison, added to the sample's; `EditLot` is its mutation.
enum PeerOperations {
    static let text = """
        query PeerLot($id: UUID!) @auth(level: PUBLIC, insecureReason: "for this benchmark") {
          lot(id: $id) {
            id
            description
          }
        }

        # One row for any number of live queries, which differ in a variable that no title equals.
        query PeerShare($id: UUID!, $share: String!)
          @auth(level: PUBLIC, insecureReason: "for this benchmark")
          @refresh(
            onMutationExecuted: {operation: "EditLot", condition: "request.variables.id == mutation.variables.id"}
          ) {
          lots(where: {id: {eq: $id}, title: {ne: $share}}) {
            id
            description
          }
        }

        """

    /// Throws unless these rows have the results with these numbers.
    static func verify(_ pool: PostgresPool, _ keys: [String], _ sequences: [UInt32]) async throws {
        let list = keys.map { "'\($0)'" }.joined(separator: ",")
        let found = try await pool.query(
            Statement("SELECT id::text, description FROM public.lot WHERE id IN (\(list))"))
        var stored: [String: UInt32] = [:]
        for row in found.rows {
            if let id = row.string(0), let text = row.string(1) { stored[id] = PeerMessage.sequence(in: text) }
        }
        for (key, sequence) in zip(keys, sequences) where stored[key] != sequence {
            throw BenchmarkFailure("the database has result \(stored[key] ?? 0), the subscribers \(sequence)")
        }
    }
}
