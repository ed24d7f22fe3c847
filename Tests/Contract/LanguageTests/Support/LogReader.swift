import ChangeCapture
import Execution
import LiveModel
import Postgres

/// Reads the row changes of a database's write-ahead log from a slot of its own, as the reader of a cluster does.
struct LogReader {
    private let pool: PostgresPool
    private let name: String
    private var transactions: TransactionReader

    /// Makes a publication of the tables and a slot, which reads what is committed from then on.
    /// - Parameter name: must be unique in the server.
    init(_ pool: PostgresPool, name: String, _ tables: CapturedTables) async throws {
        self.pool = pool
        self.name = name
        transactions = TransactionReader(tables: tables)
        let names = tables.names.map { "\"\($0)\"" }.joined(separator: ", ")
        try await pool.script("CREATE PUBLICATION \(name) FOR TABLE \(names)")
        _ = try await rows("SELECT pg_create_logical_replication_slot('\(name)', 'pgoutput')::text")
    }

    /// Returns the changes since the last call.
    mutating func changes() async throws -> RowChanges {
        var changes = RowChanges()
        let read = try await rows(
            """
            SELECT data FROM pg_logical_slot_get_binary_changes('\(name)', NULL, NULL,
                'proto_version', '1', 'publication_names', '\(name)')
            """)
        for row in read {
            let text = (row.string(0) ?? "").dropFirst(2)
            let bytes = stride(from: 0, to: text.utf8.count, by: 2).compactMap { offset -> UInt8? in
                let start = text.utf8.index(text.startIndex, offsetBy: offset)
                return UInt8(text[start..<text.utf8.index(start, offsetBy: 2)], radix: 16)
            }
            if let transaction = try transactions.read(ReplicationMessage(decoding: bytes)) {
                changes.append(contentsOf: transaction.rows.all)
            }
        }
        return changes
    }

    /// Drops the slot, without which the database can be dropped.
    func end() async throws { _ = try await rows("SELECT pg_drop_replication_slot('\(name)')::text") }

    private func rows(_ sql: String) async throws -> Rows {
        try await pool.withSession { session in
            let result = try await session.execute(Statement(sql), [])
            return result.rows
        }
    }
}
