package import DeploymentPlan
package import LiveModel
package import Postgres

/// The table `freshet.deployments`: the versions of the project, and since when each has been active.
///
/// An advisory lock serializes the transactions that insert rows, so a reader of the greatest id has read all rows
/// before it.
package struct DeploymentStore: Sendable {
    /// The most rows read; pruning keeps far fewer.
    package static let rowsMax = 500

    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    private static let read = Statement(
        """
        SELECT id, version, origin, created_by, (extract(epoch FROM created_at) * 1000)::bigint,
            (extract(epoch FROM active_at) * 1000)::bigint, (extract(epoch FROM seen_at) * 1000)::bigint,
            (extract(epoch FROM clock_timestamp()) * 1000)::bigint
        FROM freshet.deployments ORDER BY id DESC LIMIT \(rowsMax)
        """)
    private static let projectOf = Statement(
        "SELECT project FROM freshet.deployments WHERE version = $1::text ORDER BY id DESC LIMIT 1")
    private static let lock = Statement("SELECT pg_advisory_xact_lock(hashtextextended('freshet.deployments', 0))")
    private static let insertFolder = Statement(
        """
        INSERT INTO freshet.deployments (version, origin, project, created_by)
        SELECT $1::text, 'folder', $2::text, $3::text
        WHERE NOT EXISTS (SELECT FROM freshet.deployments WHERE version = $1::text AND origin = 'folder')
            AND NOT EXISTS (SELECT FROM freshet.deployments WHERE origin = 'deploy' AND active_at IS NOT NULL)
        """)
    private static let seen = Statement(
        "UPDATE freshet.deployments SET seen_at = clock_timestamp() WHERE version = $1::text AND origin = 'folder'")
    private static let insert = Statement(
        """
        INSERT INTO freshet.deployments (version, origin, project, created_by)
        VALUES ($1::text, 'deploy', $2::text, $3::text) RETURNING id
        """)
    private static let activation = Statement(
        """
        UPDATE freshet.deployments SET active_at = clock_timestamp()
        WHERE id = $1::bigint AND active_at IS NULL
            AND created_at > clock_timestamp() - make_interval(secs => $2::double precision / 1000)
        RETURNING id
        """)
    private static let withdrawal = Statement(
        "DELETE FROM freshet.deployments WHERE origin = 'deploy' AND active_at IS NULL")
    private static let removal = Statement(
        """
        DELETE FROM freshet.deployments WHERE NOT version = ANY($1::text[])
            AND id NOT IN (SELECT id FROM freshet.deployments ORDER BY id DESC LIMIT $2::int)
        """)

    package func history() async throws(PostgresError) -> DeploymentHistory {
        let rows = try await pool.query(Self.read).rows
        var deployments: [Deployment] = []
        for row in rows.reversed() {
            guard let id = row.int(0), let version = row.string(1).flatMap({ Digest(hex: $0) }),
                let origin = row.string(2).flatMap(Deployment.Origin.init(rawValue:))
            else { continue }
            deployments.append(
                Deployment(
                    id: Int64(id), version: version, origin: origin, createdBy: row.string(3) ?? "",
                    createdAtMs: Int64(row.int(4) ?? 0), activeAtMs: row.int(5).map(Int64.init),
                    seenAtMs: Int64(row.int(6) ?? 0)))
        }
        return DeploymentHistory(deployments: deployments, nowMs: Int64(rows.first?.int(7) ?? 0))
    }

    /// Returns the stored text; nil when the version is no longer stored.
    package func project(_ version: Digest) async throws(PostgresError) -> String? {
        try await pool.query(Self.projectOf, [.text(version.hex)]).rows.first?.string(0)
    }

    /// Records that a node was started with this folder: inserts a row or updates the time of an existing one. After
    /// the first deployment, only updates.
    package func noteFolder(_ archive: ProjectArchive, by name: String) async throws(PostgresError) {
        _ = try await pool.transaction([
            (Self.lock, []),
            (Self.insertFolder, [.text(archive.version.hex), .text(archive.text), .text(name)]),
            (Self.seen, [.text(archive.version.hex)]),
        ])
    }

    /// - Returns: the deployment's id.
    package func announce(_ archive: ProjectArchive, by name: String) async throws(PostgresError) -> Int64 {
        let results = try await pool.transaction([
            (Self.lock, []), (Self.insert, [.text(archive.version.hex), .text(archive.text), .text(name)]),
        ])
        guard let id = results.last?.rows.first?.int(0) else {
            throw PostgresError(.connectionLost(outcomeUnknown: true), "the announcement has no id")
        }
        return Int64(id)
    }

    /// - Returns: false when the announcement was withdrawn or has expired.
    package func activate(_ id: Int64) async throws(PostgresError) -> Bool {
        let results = try await pool.transaction([
            (Self.activation, [.text(String(id)), .text(String(DeploymentSchedule.announcedMaxMs))])
        ])
        return results.first?.rows.isEmpty == false
    }

    /// Withdraws every announcement that is not active. The caller must hold the deployment lock.
    package func withdrawAnnounced() async throws(PostgresError) {
        _ = try await pool.transaction([(Self.withdrawal, [])])
    }

    /// Removes all rows except the newest ones and those of served versions.
    package func prune(keeping served: [Digest], historyMax: Int) async throws(PostgresError) {
        let versions = PostgresArray.literal(served.map(\.hex))
        _ = try await pool.transaction([(Self.removal, [.text(versions), .text(String(historyMax))])])
    }
}
