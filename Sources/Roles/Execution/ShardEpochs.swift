package import LiveModel
package import Postgres

/// The newest epoch under which each shard was served, recorded in the database.
///
/// The broker grants leases, but it may lose its data, and a former owner's write may arrive late. An owner therefore
/// serves only under an epoch that it recorded here and that exceeds all recorded before, so epochs increase whatever
/// happens to the broker. If the database loses epochs, the broker still knows the newest; if both do, the database's
/// clock helps (`EpochNegotiation`).
///
/// Uses the connections for transactions, because re-runs occupy the others just when all shards need an epoch.
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
    ///   - namespace: the broker's key namespace; several may share a database.
    ///   - timeoutMs: limits each statement; a lease requested later than that is useless.
    package init(pool: PostgresPool, namespace: String, timeoutMs: Int) {
        self.pool = pool
        self.namespace = namespace
        self.timeoutMs = timeoutMs
    }

    /// Returns the newest recorded epoch (0: none) and the time of the database's clock.
    package func newest(of shard: ShardID) async throws(PostgresError) -> (recorded: UInt64, clockMs: UInt64) {
        let row = try await run(Self.select, [.text(namespace), .text(String(shard.number))]).rows.first
        return (UInt64(clamping: row?.int(0) ?? 0), UInt64(clamping: row?.int(1) ?? 0))
    }

    /// Records `epoch`.
    /// - Returns: false if the recorded epoch is the same or higher.
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
