import Foundation
import JSON
import LocalServers
import Logging
import NIOHTTP1
import Postgres
import ProtocolClients
import Testing

/// The commands that people run beside a service, and the folder that `freshet dev` follows.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct ToolTests: SampleProjectTests {
    private static let added = """

        query AddedWhileRunning($id: UUID!) @auth(level: PUBLIC) { lot(id: $id) { id title } }
        """

    @Test func editsAreServedAndSessionsStay() async throws {
        try await withProject { project, folder in
            let node = try FreshetProcess(
                ["dev", project]
                    + ["http.port=0", "admin.port=0", "dev.dataDirectory=\(folder)/data"].flatMap { ["--set", $0] })
            let line = try await node.line(containing: "Freshet serves")
            let address = try ServerAddress(String(line.split(separator: " ").last ?? ""))
            let list = try JSONParser.parse(try await API.get(address, "ListLots", ["category": "Toys"]).body)
            let id = try #require(list["data"]?["lots"]?[0]?["id"]?.stringValue)
            let subscriber = try await Subscriber.connect(address)
            subscriber.subscribe("GetLot", ["id": .string(id)])
            _ = try await subscriber.data()

            #expect(try await API.get(address, "AddedWhileRunning", ["id": .string(id)]).status == 404)
            let queries = project + "/connector/queries.gql"
            let sound = try String(contentsOfFile: queries, encoding: .utf8)
            try append(Self.added, to: queries)
            _ = try await node.line(containing: "reloaded: version")
            #expect(try await API.get(address, "AddedWhileRunning", ["id": .string(id)]).status == 200)
            // The code of the sample's clients follows (`generate:` of its connector).
            _ = try await node.line(containing: "new      \(project)/ios/Sources/AddedWhileRunning.swift")
            _ = try await node.line(containing: "changed  \(project)/web/index.d.ts")
            let types = try String(contentsOfFile: project + "/web/index.d.ts", encoding: .utf8)
            #expect(types.contains("AddedWhileRunningData"))

            // What the new version changed, and what a rollback would take away.
            let deployed = try JSONParser.parse(
                try await HTTPCall.send(.GET, address, path: "/admin/v1/deployments").body)
            let newest = deployed["deployments"]?[0]
            #expect(newest?["changes"]?["added"] == ["auctions/AddedWhileRunning"], "\(deployed)")
            #expect(newest?["isCurrent"] == true && newest?["changes"]?["breaking"] == 0, "\(deployed)")
            #expect(deployed["rollback"]?["changes"]?["breaking"] == 1, "\(deployed)")
            let former = deployed["deployments"]?.arrayValue?.first {
                $0["version"] == deployed["rollback"]?["version"]
            }
            #expect(former?["sessions"] == 1, "\(deployed)")

            // An operation with a mistake is reported and left out; the others are served.
            func notServed() async throws -> JSONValue? {
                try JSONParser.parse(try await HTTPCall.send(.GET, address, path: "/admin/v1/console").body)[
                    "notServed"]
            }
            #expect(try await notServed() == [])
            try append("\nquery Broken @auth(level: PUBLIC) { loots { id } }", to: queries)
            try append(Self.added.replacing("AddedWhileRunning", with: "AddedToo"), to: queries)
            _ = try await node.line(containing: "[unknown-field]")
            _ = try await node.line(containing: "not served, because it does not compile: auctions/Broken")
            while try await API.get(address, "AddedToo", ["id": .string(id)]).status != 200 { await Task.yield() }
            #expect(try await API.get(address, "AddedWhileRunning", ["id": .string(id)]).status == 200)
            #expect(try await API.get(address, "Broken", [:]).status == 404)
            #expect(try await notServed() == ["auctions/Broken"])
            for command in ["check", "migrate"] {
                let refused = try FreshetProcess([command, project])
                #expect(await refused.waitForExit() == 1)
                #expect(refused.output.contains("loots"), "\(command): \(refused.output)")
            }

            // The served version stays while a file cannot be parsed as GraphQL.
            try append("\nquery Open @auth(level: PUBLIC) {", to: queries)
            _ = try await node.line(containing: "query Open is not closed")
            _ = try await node.line(containing: "not reloaded: the previous version is still served")
            #expect(try await API.get(address, "AddedToo", ["id": .string(id)]).status == 200)

            // The session that began before the reloads still gets changes.
            let answer = try await API.mutate(
                address, "EditLot", ["id": .string(id), "category": "Toys", "description": "after the reload"])
            #expect(answer.status == 200)
            _ = try await subscriber.data { $0["lot"]?["description"]?.stringValue == "after the reload" }

            // A column that the new version needs is there before the first request for it.
            try sound.write(toFile: queries, atomically: true, encoding: .utf8)
            try append("\ntype Note @table { text: String }", to: project + "/schema/schema.gql")
            try append("\nquery Notes @auth(level: PUBLIC) { notes { text } }", to: queries)
            _ = try await node.line(containing: "create table note")
            while try await API.get(address, "Notes", [:]).status != 200 { await Task.yield() }
            #expect(try await API.get(address, "AddedWhileRunning", ["id": .string(id)]).status == 404)
            node.signal(SIGINT)
            #expect(await node.waitForExit() == 0)

            // The folder changes while nothing runs: the next start serves the folder, not the last reload.
            try sound.write(toFile: queries, atomically: true, encoding: .utf8)
            try append(Self.added, to: queries)
            let second = try FreshetProcess(
                ["dev", project, "--no-reload"]
                    + ["http.port=0", "admin.port=0", "dev.dataDirectory=\(folder)/data"].flatMap { ["--set", $0] })
            let again = try ServerAddress(
                String(try await second.line(containing: "Freshet serves").split(separator: " ").last ?? ""))
            #expect(try await API.get(again, "AddedWhileRunning", ["id": .string(id)]).status == 200)
            #expect(try await API.get(again, "Notes", [:]).status == 404)
            second.signal(SIGINT)
            #expect(await second.waitForExit() == 0)
        }
    }

    @Test func introspectionIsAnsweredUnderDevOnly() async throws {
        let question = "{ __schema { queryType { name } } __type(name: \"Lot_Key\") { kind } }"
        try await withProject { project, folder in
            let node = try FreshetProcess(
                ["dev", project, "--no-seed", "--no-reload"]
                    + ["http.port=0", "admin.port=0", "dev.dataDirectory=\(folder)/data"].flatMap { ["--set", $0] })
            let line = try await node.line(containing: "Freshet serves")
            let address = try ServerAddress(String(line.split(separator: " ").last ?? ""))
            let body = JSONWriter.compact(["query": .string(question)])
            let answer = try await HTTPCall.send(
                .POST, address, path: "/graphql", headers: ["content-type": "application/json"], body: body)
            #expect(
                String(decoding: answer.body, as: UTF8.self)
                    == #"{"data":{"__schema":{"queryType":{"name":"Query"}},"__type":{"kind":"INPUT_OBJECT"}}}"#)
            node.signal(SIGINT)
            #expect(await node.waitForExit() == 0)
        }
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway")
            let body = JSONWriter.compact(["query": .string(question)])
            let answer = try await HTTPCall.send(
                .POST, node.address, path: "/graphql", headers: ["content-type": "application/json"], body: body)
            #expect(String(decoding: answer.body, as: UTF8.self).contains("OPERATION_NOT_FOUND"))
        }
    }

    @Test func checkReportsInEveryFormatAndWatches() async throws {
        try await withProject { project, _ in
            // The sample itself gives no reason for a lint.
            let sound = "ok: 5 tables, 15 queries, 11 mutations\n"
            #expect(try await output(["check", project, "--warnings-as-errors"]) == sound)
            let queries = project + "/connector/queries.gql"
            try append(
                """

                # freshet: refresh off
                query Unfollowed($name: String!) @auth(level: USER) { users(where: {name: {eq: $name}}) { uid } }
                query Hurried @auth(level: USER) @refresh(every: {seconds: 10}) { users { name } }
                """, to: queries)
            #expect(try await output(["check", project, "--no-lints"]) == "ok: 5 tables, 17 queries, 11 mutations\n")
            #expect(try await output(["check", project]).contains("[refresh-missing]"))
            _ = try await output(["check", project, "--warnings-as-errors"], code: 1)
            let configuration = project + "/dataconnect.yaml"
            let known = try String(contentsOfFile: configuration, encoding: .utf8)
            try known.replacing("\"v1\"", with: "\"v9\"").write(
                toFile: configuration, atomically: true, encoding: .utf8)
            let printed = try await output(["check", project, "--no-lints"])
            #expect(printed.ranges(of: "[configuration-version]").count == 1, "\(printed)")
            #expect(printed.contains("\n1 warning\n"), "\(printed)")
            try known.write(toFile: configuration, atomically: true, encoding: .utf8)
            let sarif = try JSONParser.parse(Array(try await output(["check", project, "--format", "sarif"]).utf8))
            #expect(sarif["runs"]?[0]?["results"]?.arrayValue?.count == 2)

            let watch = try FreshetProcess(["check", project, "--watch", "--no-lints"])
            _ = try await watch.line(containing: "ok: 5 tables")
            try append("\nquery Broken @auth(level: PUBLIC) { loots { id } }", to: queries)
            _ = try await watch.line(containing: "[unknown-field]")
            try append("\ntype Note @table { text: String }", to: project + "/schema/schema.gql")
            let mended = try String(contentsOfFile: queries, encoding: .utf8).replacing("loots", with: "lots")
            try mended.write(toFile: queries, atomically: true, encoding: .utf8)
            _ = try await watch.line(containing: "ok: 6 tables, 18 queries")
            watch.signal(SIGKILL)
        }
    }

    @Test func schemaAndExplanationArePrinted() async throws {
        let text = try await output(["schema", "print", SampleProject.path])
        #expect(text.contains("type Lot {") && text.contains("lot_insert(data: Lot_Data!): Lot_KeyOutput!"))
        #expect(try await output(["explain", SampleProject.path, "LotBids"]).contains("index: hash key"))
        let json = try JSONParser.parse(
            Array(try await output(["explain", SampleProject.path, "auctions/WithdrawLot", "--json"]).utf8))
        #expect(json["refreshes"]?.arrayValue?.count == 13)
        #expect(
            try await output(["explain", SampleProject.path, "WithdrwLot"], code: 64).contains(
                "did you mean \"WithdrawLot\"?"))
    }

    /// Postgres is asked how it would read: of a large table without a fitting index, of one with it, of a small one.
    @Test func plansShowWhichFollowedQueriesReadWholeTables() async throws {
        try await withProject { project, _ in
            try await Cluster.with { cluster in
                let url = cluster.servers.postgres.connectionString
                func psql(_ sql: String) async throws -> String {
                    let process = try FreshetProcess(["-Atqc", sql, url], executable: "/usr/bin/psql")
                    _ = await process.waitForExit()
                    return process.output.trimmingCharacters(in: .newlines)
                }
                try append(
                    """

                    type Note @table { text: String stars: Int }
                    """, to: project + "/schema/schema.gql")
                try append(
                    """

                    query NotesByText($text: String!) @auth(level: USER) @refresh(every: {minutes: 1}) {
                      notes(where: {text: {eq: $text}}) { stars }
                    }
                    query NoteByID($id: UUID!) @auth(level: USER) { note(id: $id) { stars } }
                    # freshet: refresh off
                    query NotesUnfollowed($text: String!) @auth(level: USER) {
                      notes(where: {text: {eq: $text}}) { stars }
                    }
                    """, to: project + "/connector/queries.gql")
                _ = try await output(["migrate", project, "--set", "postgres.url=\(url)"])
                func scans() async throws -> [String] {
                    try await output(["check", project, "--database", url]).split(separator: "\n").map(String.init)
                        .filter { $0.contains("[sequential-scan]") }
                }
                #expect(try await scans() == [])
                _ = try await psql(
                    "INSERT INTO note (id, text) SELECT gen_random_uuid(), n::text FROM generate_series(1, 5000) n;"
                        + " ANALYZE note")
                let printed = try await scans()
                #expect(printed.count == 1, "\(printed)")
                #expect(printed.first?.contains("each refresh of \"NotesByText\" reads all 5000 rows of note") == true)
                _ = try await psql("CREATE INDEX ON note (text)")
                #expect(try await scans() == [])
                // Without the database the schema's own indexes are what there is to go by.
                let refusal = try await output(["check", project, "--database", "postgresql://nobody@127.0.0.1:1/none"])
                #expect(refusal.contains("--database: cannot connect to the database: "), "\(refusal)")
                #expect(refusal.contains("[missing-index]"))
            }
        }
    }

    @Test func migrationsBuildIndexesWhileOthersWriteAndDriftIsReported() async throws {
        try await withProject { project, _ in
            try await Cluster.with { cluster in
                let url = cluster.servers.postgres.connectionString
                func migrate(_ further: [String] = []) async throws -> String {
                    try await output(["migrate", project, "--set", "postgres.url=\(url)"] + further)
                }
                func psql(_ sql: String) async throws -> String {
                    let process = try FreshetProcess(["-Atqc", sql, url], executable: "/usr/bin/psql")
                    _ = await process.waitForExit()
                    return process.output.trimmingCharacters(in: .newlines)
                }
                #expect(try await migrate().contains("nothing to do"))
                let schema = project + "/schema/schema.gql"
                try append(
                    """

                    type Note @table @index(fields: ["text", "stars"]) @unique(fields: ["stars"]) {
                      text: String
                      stars: Int
                      lot: Lot @ref(references: ["id"])
                    }
                    """, to: schema)
                let plan = try await migrate(["--concurrently", "--dry-run"])
                #expect(plan.contains("CREATE INDEX CONCURRENTLY ") && plan.contains("create table note"))
                #expect(try await migrate(["--concurrently"]).contains("add foreign key"))
                #expect(try await migrate().contains("nothing to do"))

                // Existing rows are checked in a step of their own.
                let key = try await psql(
                    "SELECT conname FROM pg_constraint WHERE conrelid = 'note'::regclass AND contype = 'f'")
                _ = try await psql("ALTER TABLE note DROP CONSTRAINT \(key)")
                #expect(try await migrate(["--concurrently", "--dry-run"]).contains(" NOT VALID;"))
                #expect(try await migrate(["--concurrently"]).contains("add foreign key \(key)"))
                #expect(try await psql("SELECT convalidated FROM pg_constraint WHERE conname = '\(key)'") == "t")

                // Twice at once: the second waits for the first, and finds nothing to do.
                try append("\ntype Memo @table { text: String @index }", to: schema)
                async let first = migrate()
                async let second = migrate(["--concurrently"])
                let both = try await [first, second]
                #expect(both.filter { $0.contains("nothing to do") }.count == 1, "\(both)")

                // An index that a concurrent build left unfinished is removed and built again.
                let index = try await psql(
                    "SELECT indexname FROM pg_indexes WHERE tablename = 'memo' AND indexname LIKE '%text%'")
                _ = try await psql("DROP INDEX \(index)")
                _ = try await psql(
                    "INSERT INTO memo (id, text) VALUES (gen_random_uuid(), 'a'), (gen_random_uuid(), 'a')")
                #expect(try await psql("CREATE UNIQUE INDEX CONCURRENTLY \(index) ON memo (text)").contains("duplicat"))
                let mended = try await migrate(["--concurrently"])
                #expect(mended.contains("drop index \(index), left by an interrupted migration"))
                #expect(
                    try await psql("SELECT indisvalid FROM pg_index WHERE indexrelid = '\(index)'::regclass") == "t")

                // A step that would lose data is refused, and made with `--force`; a dry run lists the losses first.
                _ = try await psql("ALTER TABLE memo ALTER COLUMN text TYPE integer USING 7, ADD COLUMN old text")
                _ = try await psql("CREATE TABLE public.leftover (n int)")
                _ = try await psql("INSERT INTO public.leftover VALUES (1), (2), (3)")
                let before = try await psql("SELECT count(*) FROM memo")
                let refused = try await output(["migrate", project, "--set", "postgres.url=\(url)"], code: 1)
                #expect(refused.contains("column \"text\" is integer, but the schema requires text"), "\(refused)")
                #expect(refused.contains("run freshet migrate --force to make all of them"), "\(refused)")
                let losses = try await migrate(["--force", "--drop-extras", "--dry-run"])
                #expect(losses.contains("may lose: memo.text: changes integer to text"), "\(losses)")
                #expect(losses.contains("may lose: memo.old: drops the column with all its values (0 rows)"))
                #expect(losses.contains("may lose: leftover: drops the table with all its rows (3 rows)"))
                #expect(try await psql("SELECT count(*) FROM public.leftover") == "3")
                let forced = try await migrate(["--force", "--drop-extras"])
                #expect(forced.contains("change type of memo.text from integer to text"), "\(forced)")
                #expect(try await psql("SELECT count(*), min(text) FROM memo") == "\(before)|7")
                #expect(try await psql("SELECT to_regclass('public.leftover') IS NULL") == "t")
                #expect(try await migrate().contains("nothing to do"))
                // A run that fails half-way changes nothing.
                _ = try await psql("ALTER TABLE memo ADD COLUMN more text")
                try append("\ntype Need @table { a: String }", to: schema)
                _ = try await psql(
                    "CREATE TABLE public.need (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), a uuid);"
                        + " CREATE VIEW public.of_memo AS SELECT more FROM memo")
                let failed = try await output(
                    ["migrate", project, "--force", "--drop-extras", "--set", "postgres.url=\(url)"], code: 1)
                #expect(failed.contains("may lose: memo.more"), "\(failed)")
                #expect(try await psql("SELECT count(more) FROM memo") == "0")
                _ = try await psql("DROP VIEW public.of_memo")
                #expect(try await migrate(["--force", "--drop-extras"]).contains("drop column memo.more"))

                // A node whose database lacks a column is not ready until a migration adds it. What the database
                // lacks or has in addition is only reported if no operation reads it.
                _ = try await psql("ALTER TABLE lot DROP COLUMN tags")
                let node = try cluster.launch(roles: "api,worker,gateway", settings: ["log.level=info"])
                _ = try await node.line(containing: "the database lacks column \\\"lot.tags\\\": run freshet migrate")
                #expect(!node.output.contains("ready http://"))
                #expect(try await migrate().contains("add column lot.tags"))
                _ = try await node.line(containing: "ready http://")
                #expect(node.output.contains("table \\\"memo\\\" is not in the schema"))

                // A database that cannot be reached is reported in one line.
                let nowhere = "postgresql://nobody@127.0.0.1:1/none"
                let refusal = try await output(["migrate", project, "--set", "postgres.url=\(nowhere)"], code: 1)
                #expect(refusal.hasPrefix("error: cannot connect to the database: "), "\(refusal)")
                #expect(refusal.filter { $0 == "\n" }.count == 1, "\(refusal)")
            }
        }
    }
}
