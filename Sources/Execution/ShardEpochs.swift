package import LiveModel
package import Postgres

/// The newest epoch under which each shard was served, in the database.
///
/// The broker grants leases, but it may lose its data, and a former owner's request may then come late. So an owner
/// serves only under an epoch that it recorded here, above all that were recorded before: epochs increase whatever
/// becomes of the broker. Should the database lose some, the broker still knows the newest.
package struct ShardEpochs: Sendable {
    private let pool: PostgresPool
    private let namespace: String

    private static let select = Statement(
        "SELECT coalesce(max(epoch), 0) FROM freshet.shard_epochs WHERE namespace = $1::text AND shard = $2::int")
    private static let upsert = Statement(
        """
        INSERT INTO freshet.shard_epochs AS recorded (namespace, shard, epoch)
        VALUES ($1::text, $2::int, $3::bigint)
        ON CONFLICT (namespace, shard) DO UPDATE SET epoch = excluded.epoch WHERE recorded.epoch < excluded.epoch
        RETURNING epoch
        """)

    /// - Parameter namespace: of the broker's keys; several may share a database.
    package init(pool: PostgresPool, namespace: String) {
        self.pool = pool
        self.namespace = namespace
    }

    /// The newest that was recorded; 0: none.
    package func newest(of shard: ShardID) async throws(PostgresError) -> UInt64 {
        let result = try await pool.query(Self.select, [.text(namespace), .text(String(shard.number))])
        return UInt64(clamping: result.rows.first?.int(0) ?? 0)
    }

    /// Records `epoch`; false when one was recorded that is not below it.
    package func record(_ epoch: UInt64, of shard: ShardID) async throws(PostgresError) -> Bool {
        let step: PostgresStep = (
            Self.upsert, [.text(namespace), .text(String(shard.number)), .text(String(epoch))]
        )
        return try await pool.transaction([step]).first?.rows.isEmpty == false
    }
}
