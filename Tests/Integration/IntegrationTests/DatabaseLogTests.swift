import Foundation
import JSON
import LocalServers
import NIOHTTP1
import ProtocolClients
import TestSupport
import Testing

/// Queries that refresh by the database's log, by any writer, whatever happens to its reader and its slot.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct DatabaseLogTests: SampleProjectTests {
    private static let operations = """

        query Shelf($category: String!) @auth(level: PUBLIC) {
          lots(where: {category: {eq: $category}}, orderBy: [{title: ASC}], limit: 200) { id description }
        }
        query Talk($id: UUID!) @auth(level: PUBLIC) {
          lot(id: $id) { questions_on_lot(orderBy: [{askedAt: DESC}]) { text } }
        }
        query Howmany @auth(level: PUBLIC) { questions { _count } }
        """

    /// Runs `body` with a cluster that serves the sample with `source: both`, without its rules.
    private func withCluster(
        source: String = "both", postgres: [String: String] = [:],
        _ body: (Cluster, PostgresOperator) async throws -> Void
    ) async throws {
        try await withProject { project, _ in
            try append(Self.operations, to: project + "/connector/queries.gql")
            try "automatic: lists\nsource: \(source)\n".write(
                toFile: project + "/refresh.yaml", atomically: true, encoding: .utf8)
            try await Cluster.with(project: project, postgres: postgres) { cluster in
                let sql = try PostgresOperator(cluster.servers.postgres)
                try sql.run(Self.role)
                cluster.environment["FRESHET_POSTGRES_URL"] = Self.url([cluster.servers.postgres])
                // Otherwise the workers' own verification would deliver what the log does not tell.
                cluster.environment["FRESHET_WORKER_VERIFY_PER_SECOND"] = "0"
                try await body(cluster, sql)
            }
        }
    }

    /// A role of nodes with the privileges that docs/operations/postgres.md names.
    private static let role = """
        CREATE ROLE app LOGIN REPLICATION PASSWORD 'app';
        GRANT USAGE ON SCHEMA freshet TO app;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA freshet TO app;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app;
        GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO app
        """

    private static func url(_ servers: [LocalPostgres]) -> String {
        "host=\(servers.map(\.socketDirectory).joined(separator: ",")) port=5432 user=app password=app "
            + "dbname=\(servers[0].databaseName)"
    }

    private func follow(
        _ address: ServerAddress, _ operation: String, _ variables: JSONObject = [:]
    ) async throws -> (subscriber: Subscriber, first: JSONValue) {
        let subscriber = try await Subscriber.connect(address)
        subscriber.subscribe(operation, variables)
        let first = try await subscriber.data()
        return (subscriber, first)
    }

    private func descriptions(_ data: JSONValue) -> [String?] {
        (data["lots"]?.arrayValue ?? []).map { $0["description"]?.stringValue }
    }

    private func describe(_ text: String, _ category: String = "Toys") -> String {
        "UPDATE lot SET description = '\(text)' WHERE category = '\(category)'"
    }

    private func metric(_ name: String, _ admin: ServerAddress) async throws -> Double {
        let metrics = String(decoding: try await HTTPCall.send(.GET, admin, path: "/metrics").body, as: UTF8.self)
        let line = metrics.split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line?.split(separator: " ").last.flatMap { Double($0) } ?? 0
    }

    @Test(arguments: ["both", "wal"]) func changesOfAllWritersRefresh(source: String) async throws {
        try await withCluster(source: source) { cluster, sql in
            let node = try await cluster.start(roles: "api,worker,gateway,admin")
            let admin = try #require(node.admin)
            let toys = try await follow(node.address, "Shelf", ["category": "Toys"])
            let toy = try #require(toys.first["lots"]?[0]?["id"]?.stringValue)
            let talk = try await follow(node.address, "Talk", ["id": .string(toy)])
            let count = try await follow(node.address, "Howmany")
            try sql.until("SELECT count(*) FROM pg_replication_slots WHERE active", is: "1")

            // psql.
            try sql.run(describe("by psql"))
            _ = try await toys.subscriber.data { descriptions($0).allSatisfy { $0 == "by psql" } }
            // A trigger, beside what a mutation tells.
            try sql.run(
                """
                CREATE FUNCTION ask() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    INSERT INTO question (lot_id, name, text) VALUES (NEW.id, 'trigger', NEW.description);
                    RETURN NEW;
                END $$;
                CREATE TRIGGER ask AFTER UPDATE ON lot FOR EACH ROW EXECUTE FUNCTION ask()
                """)
            let edit: JSONObject = ["id": .string(toy), "category": "Toys", "description": "asked"]
            #expect(try await API.mutate(node.address, "EditLot", edit).status == 200)
            _ = try await toys.subscriber.data { descriptions($0).contains("asked") }
            _ = try await talk.subscriber.data {
                $0["lot"]?["questions_on_lot"]?[0]?["text"]?.stringValue == "asked"
            }
            // A cascade.
            let before = try await count.subscriber.data()["questions"]?[0]?["_count"]?.intValue
            #expect(before ?? 0 > 0)
            try sql.run("DELETE FROM lot WHERE id = '\(toy)'")
            _ = try await talk.subscriber.data { $0["lot"]?.isNull == true }
            // Many rows at once, a table emptied.
            try sql.run("INSERT INTO question (lot_id, name, text) SELECT id, 'all', 'all' FROM lot")
            let lots = try sql.run("SELECT count(*) FROM question")
            _ = try await count.subscriber.data {
                $0["questions"]?[0]?["_count"]?.intValue.map(String.init) == lots
            }
            try sql.run("TRUNCATE question")
            _ = try await count.subscriber.data { $0["questions"]?[0]?["_count"]?.intValue == 0 }
            // A migration, in a transaction with other work.
            try sql.run("BEGIN; ALTER TABLE lot ADD COLUMN extra int DEFAULT 5; \(describe("migrated")); COMMIT")
            _ = try await toys.subscriber.data { descriptions($0).allSatisfy { $0 == "migrated" } }
            #expect(try await metric("freshet_tailer_failures_total", admin) == 0)
        }
    }

    /// `freshet check --database` says what the database lacks.
    @Test func theDatabaseIsChecked() async throws {
        try await withProject { project, _ in
            let sum =
                """

                query Sum($category: String!) @auth(level: PUBLIC) {
                  lots(where: {category: {eq: $category}}) { _count }
                }

                """
            try append(Self.operations + sum, to: project + "/connector/queries.gql")
            try await Cluster.with(project: project, postgres: ["wal_level": "replica"]) { cluster in
                let url = cluster.servers.postgres.connectionString
                let sql = try PostgresOperator(cluster.servers.postgres)
                func findings(_ source: String) async throws -> String {
                    try "automatic: lists\nsource: \(source)\n".write(
                        toFile: project + "/refresh.yaml", atomically: true, encoding: .utf8)
                    return try await output(["check", project, "--database", url])
                }
                try sql.run(
                    """
                    CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
                    CREATE TRIGGER stamp BEFORE UPDATE ON lot FOR EACH ROW EXECUTE FUNCTION nothing()
                    """)
                let own = try await findings("mutations")
                #expect(own.contains("the trigger stamp of lot may change rows that \"Shelf\" reads"), "\(own)")
                #expect(!own.contains("[database-log]"))
                let log = try await findings("both")
                #expect(log.contains("wal_level of the database is replica, so its log has no rows"), "\(log)")
                #expect(log.contains("the database has no publications for its log"))
                #expect(log.contains("max_slot_wal_keep_size bounds it"))
                #expect(
                    log.contains("updates and deletes of lot by others refresh all queries with a guard on category"))
                #expect(!log.contains("[refresh-trigger]"))
                #expect(try await output(["explain", project, "Shelf"]).contains("replica identity: the key suffices"))
                #expect(
                    try await output(["explain", project, "Sum"]).contains("FULL, or an index with category, makes"))
                #expect(
                    try await output(["migrate", project, "--set", "postgres.url=\(url)", "--dry-run"]).contains(
                        "CREATE PUBLICATION freshet_changes FOR TABLE"))
                let done = try await output(["migrate", project, "--set", "postgres.url=\(url)"])
                #expect(done.contains("create publication freshet_outbox"), "\(done)")
                #expect(!(try await findings("both")).contains("publications"))
                // A node says what is missing, and serves all the same.
                let node = try await cluster.start(roles: "api,worker,gateway,admin")
                _ = try await follow(node.address, "Shelf", ["category": "Toys"])
                _ = try await node.process.line(containing: "it must be logical, which takes a restart")
            }
        }
    }

    /// Own mutations whose events tell everything are published once.
    @Test func ownMutationsAreNotRepeated() async throws {
        try await withCluster { cluster, sql in
            let node = try await cluster.start(roles: "api,worker,gateway,admin")
            let admin = try #require(node.admin)
            let toys = try await follow(node.address, "Shelf", ["category": "Toys"])
            let toy = try #require(toys.first["lots"]?[0]?["id"])
            try sql.until("SELECT count(*) FROM pg_replication_slots WHERE active", is: "1")
            for number in 0..<20 {
                let edit: JSONObject = ["id": toy, "category": "Toys", "description": .string("number \(number)")]
                #expect(try await API.mutate(node.address, "EditLot", edit).status == 200)
                _ = try await toys.subscriber.data { descriptions($0).contains("number \(number)") }
            }
            while try await metric("freshet_tailer_covered_total", admin) < 20 { try Task.checkCancellation() }
            #expect(try await metric("freshet_tailer_transactions_total", admin) == 0)
        }
    }

    /// An operator looks at the slot, and drops it with all that belongs to it once no query needs it.
    @Test func nothingIsLeftBehind() async throws {
        try await withCluster { cluster, sql in
            let node = try await cluster.start(roles: "worker,admin")
            let admin = try #require(node.admin)
            try sql.until("SELECT count(*) FROM pg_replication_slots WHERE active", is: "1")
            func slot(_ arguments: [String] = [], of admin: ServerAddress, code: Int32 = 0) async throws -> String {
                let url = "http://\(admin.host):\(admin.port)"
                return try await output(["admin", "slot", "--url", url] + arguments, code: code)
            }
            #expect(try await slot(of: admin).contains("reading"))
            #expect(try await slot(["--drop"], of: admin, code: 1).contains("source: wal or both"))
            await node.process.crash()
            try "automatic: lists\n".write(
                toFile: cluster.project + "/refresh.yaml", atomically: true, encoding: .utf8)
            // Otherwise the former version would be served for a while, and need the slot.
            try sql.run("DELETE FROM freshet.deployments")
            // As the owner of the publications.
            cluster.environment["FRESHET_POSTGRES_URL"] = cluster.servers.postgres.connectionString
            let next = try #require(try await cluster.start(roles: "worker,admin").admin)
            let dropped = try await slot(["--drop"], of: next)
            #expect(!dropped.isEmpty)
            let left = """
                SELECT (SELECT count(*) FROM pg_replication_slots) + (SELECT count(*) FROM pg_publication)
                    + (SELECT count(*) FROM freshet.change_slots)
                """
            #expect(try sql.run(left) == "0", "\(dropped)")
            #expect(try await slot(["--drop"], of: next, code: 1).contains("no replication slot"))
        }
    }

    @Test func theReaderDiesAndHangsAndTheSlotIsDropped() async throws {
        try await withCluster { cluster, sql in
            // Nothing is confirmed: a successor repeats everything.
            let settings = ["tailer.standbyMs=100", "tailer.silenceMs=2000", "tailer.confirmMs=60000"]
            let front = try await cluster.start(roles: "api,gateway").address
            let readers = [
                try await cluster.start(roles: "tailer,admin", settings: settings),
                try await cluster.start(roles: "tailer,admin", settings: settings),
            ]
            func reader() async throws -> (process: FreshetProcess, address: ServerAddress, admin: ServerAddress?) {
                while true {
                    for reader in readers {
                        if let admin = reader.admin, try await metric("freshet_tailer_reading", admin) == 1 {
                            return reader
                        }
                    }
                    try Task.checkCancellation()
                }
            }
            let first = try await reader()
            // A worker reads, too, if it finds the slot free.
            _ = try await cluster.start(roles: "worker,admin", settings: settings + ["tailer.standbyMs=60000"])
            let toys = try await follow(front, "Shelf", ["category": "Toys"])
            func shown(_ text: String) async throws {
                _ = try await toys.subscriber.data { descriptions($0).allSatisfy { $0 == text } }
            }
            try sql.run(describe("one"))
            try await shown("one")
            // A reader that lives is left alone, for longer than the others allow it to be silent.
            let reading = "SELECT active_pid FROM pg_replication_slots"
            let pid = try sql.run(reading)
            try sql.run("SELECT pg_sleep(5)")
            #expect(try sql.run(reading) == pid)

            // Paused, with the connection open: another one ends it.
            first.process.signal(SIGSTOP)
            try sql.run(describe("while it hangs"))
            try await shown("while it hangs")
            first.process.signal(SIGCONT)
            try sql.run(describe("after it woke"))
            try await shown("after it woke")

            // Dropped by somebody, with a change that no slot sees.
            try sql.run("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active")
            while try sql.attempt(
                """
                BEGIN; SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots;
                \(describe("unseen")); COMMIT
                """) == nil
            {
                try Task.checkCancellation()
                try sql.run("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active")
            }
            try await shown("unseen")

            // Killed.
            let second = try await reader()
            await second.process.crash()
            try sql.run(describe("after its death"))
            try await shown("after its death")
        }
    }

    /// The database removes log that nobody has read: it costs a run of what depends on it, and no miss.
    @Test func theDatabaseKeepsNoMoreThanItMay() async throws {
        let small = [
            "max_slot_wal_keep_size": "1MB", "max_wal_size": "32MB", "min_wal_size": "32MB",
            "wal_keep_size": "0",
        ]
        try await withCluster(postgres: small) { cluster, sql in
            let slot = "tailer.slot=mine"
            let first = try await cluster.start(roles: "tailer,admin", settings: [slot])
            try sql.until("SELECT string_agg(slot_name, '') FROM pg_replication_slots WHERE active", is: "mine")
            // The worker would read, too, as soon as it noticed that the slot is free.
            let front = try await cluster.start(
                roles: "api,gateway,worker", settings: [slot, "tailer.standbyMs=60000"])
            let toys = try await follow(front.address, "Shelf", ["category": "Toys"])
            try sql.run(describe("seen"))
            _ = try await toys.subscriber.data { descriptions($0).allSatisfy { $0 == "seen" } }
            first.process.signal(SIGSTOP)
            try sql.run(describe("unseen"))
            try sql.run("CREATE TABLE waste AS SELECT repeat(md5(n::text), 30) FROM generate_series(1, 100000) AS n")
            while try sql.run("SELECT wal_status FROM pg_replication_slots") != "lost" {
                try sql.run("SELECT pg_switch_wal(); CHECKPOINT")
                try Task.checkCancellation()
            }
            first.process.signal(SIGCONT)
            _ = try await toys.subscriber.data { descriptions($0).allSatisfy { $0 == "unseen" } }
            try sql.until("SELECT string_agg(wal_status, '') FROM pg_replication_slots WHERE active", is: "reserved")
        }
    }

    /// The standby has no slot, and lacks what the primary committed last.
    @Test func thePrimaryDiesAndTheStandbyHasNoSlot() async throws {
        try await withCluster { cluster, _ in
            let primary = cluster.servers.postgres
            var options = LocalPostgresOptions.forTests
            options.primary = primary.connectionString
            let standby = try await LocalPostgres.start(
                dataDirectory: cluster.servers.folder + "/standby", options: options)
            cluster.environment["FRESHET_POSTGRES_URL"] = Self.url([standby, primary])
            do {
                let settings = ["postgres.connectTimeoutMs=20000", "tailer.retryMaxMs=500"]
                let node = try await cluster.start(roles: "api,gateway,worker,admin", settings: settings)
                let toys = try await follow(node.address, "Shelf", ["category": "Toys"])
                func shown(_ text: String) async throws {
                    _ = try await toys.subscriber.data { descriptions($0).allSatisfy { $0 == text } }
                }
                let (old, new) = (try PostgresOperator(primary), try PostgresOperator(standby))
                try old.until("SELECT count(*) FROM pg_replication_slots WHERE active", is: "1")
                try old.run(describe("on the primary"))
                try await shown("on the primary")
                try new.until(
                    "SELECT count(*) FROM lot WHERE category = 'Toys' AND description <> 'on the primary'", is: "0")
                try new.run("SELECT pg_wal_replay_pause()")
                try old.run(describe("lost"))
                try await shown("lost")
                await primary.crash()
                try new.run("SELECT pg_wal_replay_resume()")
                try await standby.promote()
                try new.run(describe("on the standby"))
                try await shown("on the standby")
                try new.until("SELECT count(*) FROM pg_replication_slots WHERE active", is: "1")
                try new.run(describe("by its slot"))
                try await shown("by its slot")
            } catch {
                await standby.stop()
                throw error
            }
            await standby.stop()
        }
    }
}
