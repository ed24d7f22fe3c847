import Glibc
import LocalServers
import TestSupport
import Testing

@testable import Postgres

/// A primary and a streaming replica of its own for each test.
@Suite(.serialized, .timeLimit(.minutes(3))) struct ReplicaTests {
    private struct Pair {
        let primary: LocalPostgres
        let standby: LocalPostgres

        /// Both, the first one named first.
        func hosts(_ servers: [LocalPostgres]) -> String {
            "host=\(servers.map(\.socketDirectory).joined(separator: ",")) port=5432 user=\(LocalPostgres.user) "
                + "dbname=\(primary.databaseName)"
        }
    }

    private func withPair(_ body: (Pair) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path
        let primary = try await LocalPostgres.start(dataDirectory: path + "/a", options: .forTests)
        var options = LocalPostgresOptions.forTests
        options.primary = primary.connectionString
        do {
            let standby = try await LocalPostgres.start(dataDirectory: path + "/b", options: options)
            do {
                try await body(Pair(primary: primary, standby: standby))
            } catch {
                await standby.stop()
                throw error
            }
            await standby.stop()
        } catch {
            await primary.stop()
            throw error
        }
        await primary.stop()
    }

    private func pool(
        _ connectionString: String, change: (inout PostgresConfiguration) -> Void = { _ in }
    ) -> PostgresPool {
        var configuration = PostgresConfiguration(connectionString: connectionString)
        configuration.writeConnections = 2
        configuration.sessionConnections = 1
        change(&configuration)
        return PostgresPool(configuration: configuration, logger: quietLogger)
    }

    private func replicas(_ pair: Pair, _ primary: PostgresPool, waitMs: Int) -> PostgresReplicas {
        var configuration = PostgresConfiguration(connectionString: pair.standby.connectionString)
        configuration.writeConnections = 1
        configuration.sessionConnections = 1
        return PostgresReplicas(
            primary: primary, configurations: [configuration], waitMs: waitMs, logger: quietLogger)
    }

    @Test("a replica answers with everything committed before, or not at all")
    func neverOlder() async throws {
        try await withPair { pair in
            let primary = pool(pair.primary.connectionString)
            try await primary.start()
            try await primary.script("CREATE TABLE r (id int)")
            let operatorPool = pool(pair.standby.connectionString)
            try await operatorPool.start()
            let patient = replicas(pair, primary, waitMs: 60_000)
            let hasty = replicas(pair, primary, waitMs: 20)
            patient.start()
            hasty.start()
            #expect(await eventually { (patient.pools + hasty.pools).allSatisfy(\.hasConnectedWriter) })
            func isReadOnReplica(_ rows: ResultSet?) -> Bool { rows?.rows.first?.string(1) == "t" }
            let count: Statement = "SELECT count(*), pg_is_in_recovery() FROM r"

            for number in 1...50 {
                _ = try await primary.transaction([("INSERT INTO r VALUES (1)", [])])
                let rows = try await patient.query(count, [])
                #expect(rows?.rows.first?.int(0) == number && isReadOnReplica(rows))
            }
            #expect(patient.counts.answered == 50 && patient.counts.missed == 0)

            _ = try await operatorPool.query("SELECT pg_wal_replay_pause()")
            #expect(
                try await eventually {
                    try await operatorPool.query("SELECT pg_get_wal_replay_pause_state()").rows.first?.string(0)
                        == "paused"
                })
            _ = try await primary.transaction([("INSERT INTO r VALUES (1)", [])])
            #expect(try await hasty.query(count, []) == nil)
            #expect(hasty.counts.missed == 1)
            let report = try #require(await hasty.reports().first)
            #expect(report.state == .behind && report.lagBytes ?? 0 > 0 && report.lagMs != nil, "\(report)")
            let waiting = Task { try await patient.query(count, [])?.rows.first?.int(0) }
            _ = try await operatorPool.query("SELECT pg_wal_replay_resume()")
            #expect(try await waiting.value == 51)
            #expect(await patient.reports().map(\.state) == [.used])

            // What a replica cannot do is the primary's business.
            #expect(try await patient.query("SELECT 1/0", []) == nil)
            // Promoted, it is no replica any more.
            try await pair.standby.promote()
            #expect(try await hasty.query(count, []) == nil)
            #expect(await hasty.reports().map(\.state) == [.notStandby])
            for pool in [primary, operatorPool] { await pool.stop() }
            await patient.stop()
            await hasty.stop()
        }
    }

    @Test("the host that takes writes is used; after a promotion it is the other one, and the loss is noticed")
    func failover() async throws {
        try await withPair { pair in
            let pool = pool(pair.hosts([pair.standby, pair.primary]))
            try await pool.start()
            try await pool.script("CREATE TABLE f (id int)")
            _ = try await pool.transaction([("INSERT INTO f VALUES (1)", [])])
            #expect(try await pool.query("SELECT pg_is_in_recovery()").rows.first?.string(0) == "f")
            #expect(pool.timelineChanges == 0)
            let observer = self.pool(pair.standby.connectionString)
            try await observer.start()
            #expect(
                try await eventually {
                    (try? await observer.query("SELECT count(*) FROM f"))?.rows.first?.int(0) == 1
                })
            await observer.stop()

            await pair.primary.crash()
            try await pair.standby.promote()
            #expect(
                await eventually {
                    await code { () async throws(PostgresError) in
                        try await pool.transaction([("INSERT INTO f VALUES (2)", [])])
                    } == nil
                })
            #expect(try await pool.query("SELECT count(*) FROM f").rows.first?.int(0) ?? 0 >= 2)
            #expect(pool.timelineChanges == 1)
            await pool.stop()
        }
    }

    @Test("a host that does not answer costs one timeout, not the start")
    func silentHost() async throws {
        try await withPair { pair in
            try await pair.standby.promote()
            pair.primary.freeze()
            let pool = pool(pair.hosts([pair.primary, pair.standby])) { $0.connectTimeoutMs = 1_000 }
            try await pool.start()
            _ = try await pool.transaction([("SELECT 1", [])])
            await pool.stop()
            pair.primary.resume()
        }
    }

    @Test("a primary that turns read-only is left, readers included, and the mutation goes to the next one")
    func fenced() async throws {
        try await withPair { pair in
            let pool = pool(pair.hosts([pair.primary, pair.standby]))
            try await pool.start()
            try await pool.script("CREATE TABLE g (id int)")
            let before = try await pool.query("SELECT current_setting('data_directory')").rows.first?.string(0)
            let observer = self.pool(pair.standby.connectionString)
            try await observer.start()
            #expect(
                await eventually {
                    await code { () async throws(PostgresError) in try await observer.query("SELECT FROM g") } == nil
                })
            await observer.stop()
            try await pair.standby.promote()
            // A caller's own read-only transaction is no reason to leave.
            let own = await code { () async throws(PostgresError) in
                try await pool.query("WITH w AS (INSERT INTO g VALUES (0) RETURNING 1) SELECT * FROM w")
            }
            #expect(own == .server(sqlState: "25006"))
            #expect(pool.metrics.write.reconnects == 0)

            let fence = self.pool(pair.primary.connectionString)
            try await fence.start()
            try await fence.withSession { session in
                try await session.execute("ALTER SYSTEM SET default_transaction_read_only = on")
                try await session.execute("SELECT pg_reload_conf()")
            }
            await fence.stop()
            #expect(
                await eventually {
                    _ = try? await pool.transaction([("INSERT INTO g VALUES (1)", [])])
                    let now = try? await pool.query("SELECT current_setting('data_directory')").rows.first?.string(0)
                    return now != nil && now != before
                })
            let result = try await pool.transaction([("INSERT INTO g VALUES (2)", [])])
            #expect(result.count == 1)
            #expect(pool.timelineChanges == 1)
            await pool.stop()
        }
    }

    @Test("TLS by libpq's settings, with a private authority")
    func tls() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path
        _ = try TestCertificates(directory: path, leaves: ["server": "DNS:localhost"])
        let script = """
            chmod 600 "$0/server.key"
            id -u postgres >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && chown postgres "$0/server.key"
            true
            """
        #expect(shell(script, path) == 0)
        var options = LocalPostgresOptions.forTests
        options.listensOnLoopback = true
        options.settings = ["ssl": "on", "ssl_cert_file": path + "/server.crt", "ssl_key_file": path + "/server.key"]
        let server = try await LocalPostgres.start(dataDirectory: path + "/pg", options: options)
        func start(_ host: String, _ authority: String) async -> PostgresError.Code? {
            let loopback = (server.loopbackConnectionString ?? "").replacing("host=127.0.0.1", with: "host=\(host)")
            let pool = pool("\(loopback) sslmode=verify-full sslrootcert=\(path)/\(authority).crt") {
                $0.connectTimeoutMs = 5_000
            }
            let code = await code { () async throws(PostgresError) in
                try await pool.start()
                return try await pool.query("SELECT 1")
            }
            await pool.stop()
            return code
        }
        #expect(await start("localhost", "ca") == nil)
        #expect(await start("localhost", "other") == .connectionFailed)
        #expect(await start("127.0.0.1", "ca") == .connectionFailed)
        await server.stop()
    }

    private func shell(_ script: String, _ argument: String) -> Int32 {
        let words: [String] = ["/bin/sh", "-c", script, argument]
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process = pid_t()
        guard posix_spawn(&process, "/bin/sh", nil, nil, &arguments, environ) == 0 else { return -1 }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status
    }

    @Test("hosts of a connection string")
    func hosts() {
        func choices(_ text: String) -> [[String]] {
            ConnectionHosts(text).choices.map { $0.map { "\($0.keyword)=\($0.value)" } }
        }
        #expect(choices("host=a,b port=1,2 dbname=d") == [["host=a", "port=1"], ["host=b", "port=2"]])
        #expect(choices("postgresql://u:p@a:1,b/d") == [["host=a", "port=1"], ["host=b", "port="]])
        #expect(choices("host=a,b port=5") == [["host=a"], ["host=b"]])
        #expect(
            choices("host=a,b hostaddr=10.0.0.1,10.0.0.2")
                == [["host=a", "hostaddr=10.0.0.1"], ["host=b", "hostaddr=10.0.0.2"]])
        for one in ["", "host=a", "host=a,b port=1,2,3", "nonsense", "host=a,b hostaddr=1.1.1.1"] {
            #expect(choices(one) == [[]], "\(one)")
        }
        #expect(ConnectionHosts("host=a,b").needsWriter && !ConnectionHosts("host=a").needsWriter)
        #expect(!ConnectionHosts("host=a,b target_session_attrs=any").needsWriter)
    }
}
