package import LiveModel
package import Postgres

/// The newest epoch under which each shard was served, in the database.
///
/// The broker grants leases, but it may lose its data, and a former owner's request may then come late. So an owner
/// serves only under an epoch that it recorded here, above all that were recorded before: epochs increase whatever
/// becomes of the broker. Should the database lose some, the broker still knows the newest; should both, or should the
/// epochs be those of an earlier version, then the database's clock is ahead of all that were granted.
///
/// Over the connections of transactions: re-runs do not use them, and are many just when every shard is asked for.
package struct ShardEpochs: Sendable {
    private let pool: PostgresPool
    private let namespace: String
    private let timeoutMs: Int

    private static let select = Statement(
        """
        SELECT coalesce(max(epoch), 0), (extract(epoch FROM clock_timestamp()) * 1000)::bigint
        FROM freshet.shard_epochs WHERE namespace = $1::text AND shard = $2::int
        """)
    private static let upsert = Statement(
        """
        INSERT INTO freshet.shard_epochs AS recorded (namespace, shard, epoch)
        VALUES ($1::text, $2::int, $3::bigint)
        ON CONFLICT (namespace, shard) DO UPDATE SET epoch = excluded.epoch WHERE recorded.epoch < excluded.epoch
        RETURNING epoch
        """)

    /// - Parameters:
    ///   - namespace: of the broker's keys; several may share a database.
    ///   - timeoutMs: of each statement; a lease that is asked for later is of no use.
    package init(pool: PostgresPool, namespace: String, timeoutMs: Int) {
        self.pool = pool
        self.namespace = namespace
        self.timeoutMs = timeoutMs
    }

    /// The newest that was recorded, 0: none; and above what an epoch must be that is asked for now.
    package func newest(of shard: ShardID) async throws(PostgresError) -> (recorded: UInt64, floor: UInt64) {
        let row = try await run(Self.select, [.text(namespace), .text(String(shard.number))]).rows.first
        let recorded = UInt64(clamping: row?.int(0) ?? 0)
        return (recorded, max(recorded, UInt64(clamping: row?.int(1) ?? 0)))
    }

    /// Records `epoch`; false when one was recorded that is not below it.
    package func record(_ epoch: UInt64, of shard: ShardID) async throws(PostgresError) -> Bool {
        let result = try await run(
            Self.upsert, [.text(namespace), .text(String(shard.number)), .text(String(epoch))])
        return !result.rows.isEmpty
    }

    private func run(_ statement: Statement, _ parameters: [Parameter]) async throws(PostgresError) -> ResultSet {
        let results = try await pool.transaction([(statement, parameters)], timeoutMs: timeoutMs)
        guard let result = results.first else { throw PostgresError(.unsupported, "a statement without a result") }
        return result
    }
}
