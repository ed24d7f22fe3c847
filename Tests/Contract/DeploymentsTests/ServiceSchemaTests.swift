import Execution
import LiveModel
import LocalServers
import Logging
import Postgres
import TestSupport
import Testing

/// Freshet's own tables, and the rights that their creation needs.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ServiceSchemaTests {
    private static func run(
        _ connectionString: String, _ body: @Sendable (PostgresPool) async throws -> Void
    ) async throws {
        let pool = PostgresPool(
            configuration: PostgresConfiguration(connectionString: connectionString),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let outcome: Result<Void, any Error>
        do {
            try await pool.start()
            try await body(pool)
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await pool.stop()
        try outcome.get()
    }

    private func withServer(_ body: @Sendable (String) async throws -> Void) async throws {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let server = try await LocalPostgres.start(dataDirectory: temporary.path + "/postgres", options: .forTests)
        let outcome: Result<Void, any Error>
        do {
            try await body(server.connectionString)
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await server.stop()
        try outcome.get()
    }

    /// The grants are those of docs/operations/postgres.md.
    @Test func aRoleWithoutCreateUsesTablesThatExist() async throws {
        try await withServer { owner in
            try await Self.run(owner) { pool in
                try await pool.script("CREATE ROLE app LOGIN")
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 { group.addTask { try await pool.script(ServiceSchema.sql) } }
                    try await group.waitForAll()
                }
                try await pool.script(
                    """
                    GRANT USAGE ON SCHEMA freshet TO app;
                    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA freshet TO app;
                    """)
            }
            try await Self.run(owner + " user=app") { pool in
                try await pool.script(ServiceSchema.sql)
                let epochs = ShardEpochs(pool: pool, namespace: "fr", timeoutMs: 10_000)
                #expect(try await epochs.record(7, of: ShardID(1)))
                #expect(try await epochs.newest(of: ShardID(1)).recorded == 7)
                try await pool.script(
                    """
                    INSERT INTO freshet.outbox (id, shards, event) VALUES (gen_random_uuid(), '{1}', '{}');
                    INSERT INTO freshet.deployments (version, origin, project, created_by) VALUES ('v', 'o', 'p', 'c');
                    DELETE FROM freshet.outbox;
                    """)
            }
        }
    }

    /// A node that starts on a standby says so, and not at its first mutation.
    @Test func aServerWithoutWritesIsRefused() async throws {
        try await withServer { owner in
            try await Self.run(owner) { try await $0.script(ServiceSchema.sql) }
            try await Self.run(owner + " options='-c default_transaction_read_only=on'") { pool in
                let error = await #expect(throws: PostgresError.self) { try await pool.script(ServiceSchema.sql) }
                #expect(error?.sqlState == "25006" && error?.isTransient == false)
            }
        }
    }

    @Test func aRoleThatOwnsTheSchemaOnlyCreatesTheTables() async throws {
        try await withServer { owner in
            try await Self.run(owner) { pool in
                try await pool.script("CREATE ROLE app LOGIN; CREATE ROLE other LOGIN")
                try await pool.script("CREATE SCHEMA freshet AUTHORIZATION app")
            }
            try await Self.run(owner + " user=app") { try await $0.script(ServiceSchema.sql) }
            // The schema's tables are not open to everyone.
            try await Self.run(owner + " user=other") { pool in
                let error = await #expect(throws: PostgresError.self) { try await pool.script(ServiceSchema.sql) }
                #expect(error?.sqlState == "42501")
            }
        }
    }
}
