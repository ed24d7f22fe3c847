import ArgumentParser
import Foundation
import JSON

/// Reports about the cluster, in the words of the console.
extension AdminCommand {
    struct Shards: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the shards that need attention, and counts the others.",
            discussion: """
                verdict: the shard's state. due, running: live queries waiting to run, and in flight. \
                paced: rate-limited re-runs. replayed, kept, rerun: take-over cost (events replayed, live queries \
                whose results stayed valid, rate-limited re-runs). subscribers: gateways that follow the shard; only \
                for shards of the queried node. --json has more fields.
                """)
        @OptionGroup var connection: Connection

        @Flag(help: "List every shard.")
        var all = false

        func run() async {
            let answer = await connection.get("/admin/shards")
            if connection.json { return Terminal.out(answer.description) }
            let shards = answer["shards"]?.arrayValue ?? []
            let attention = shards.filter { $0["verdict"]?.stringValue != "ok" }
            let owners = Set(shards.compactMap { $0["owner"]?.stringValue })
            let liveQueries = shards.reduce(0) { $0 + ($1["liveQueries"]?.intValue ?? 0) }
            let behindMs = shards.reduce(0) { max($0, $1["behindMs"]?.intValue ?? 0) }
            Terminal.out(
                "\(shards.count) shards of \(owners.count) workers: \(shards.count - attention.count) ok, "
                    + "\(attention.count) need attention; \(liveQueries) live queries, "
                    + "at most \(behindMs) ms behind")
            let rows = all ? shards : attention
            if rows.isEmpty { return }
            Terminal.out(
                TextTable(
                    columns: [
                        "shard", "owner", .init("owned", "ownedForMs", .duration), "wanted", "epoch", "verdict",
                        "behindMs", "liveQueries", "subscribers", "due", "running", "paced", "replayed", "kept",
                        "rerun", "lastRefreshAgoMs",
                    ], rows: rows
                ).text)
        }
    }

    struct Sessions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the sessions of the cluster, the oldest first.")
        @OptionGroup var connection: Connection

        @Option(help: "Only sessions of this user.")
        var user: String?

        @Option(help: "Only sessions of this protocol, such as graphql-transport-ws.")
        var `protocol`: String?

        @Option(help: "Only sessions that follow this operation, CONNECTOR/OPERATION.")
        var operation: String?

        @Option(help: "Only sessions whose client contains this text.")
        var client: String?

        @Option(help: "The most rows to list.")
        var limit = 50

        func run() async {
            let answer = await connection.get(
                "/admin/v1/sessions"
                    + Connection.query([
                        ("limit", "\(limit)"), ("user", user), ("protocol", self.protocol), ("operation", operation),
                        ("client", client), ("node", connection.node),
                    ]))
            if connection.json { return Terminal.out(answer.description) }
            Terminal.out(
                TextTable(
                    columns: [
                        "node", "id", "user", "protocol", "client", "subscriptions", "operations",
                        .init("since", "sinceMs", .duration), "peer", "project",
                    ], rows: answer["sessions"]?.arrayValue ?? []
                ).text)
            Terminal.out("\(answer["matching"]?.intValue ?? 0) of \(answer["count"]?.intValue ?? 0) sessions")
            connection.tellOfUnreachable(answer)
        }
    }

    struct LiveQueries: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the live queries of the cluster's workers.")
        @OptionGroup var connection: Connection

        @Option(help: "List only live queries of this operation, CONNECTOR/OPERATION.")
        var operation: String?

        @Option(help: "The most rows to list.")
        var limit = 50

        func run() async {
            let answer = await connection.get(
                "/admin/v1/live-queries"
                    + Connection.query([
                        ("limit", "\(limit)"), ("operation", operation), ("node", connection.node),
                    ]))
            if connection.json { return Terminal.out(answer.description) }
            Terminal.out(
                TextTable(
                    columns: [
                        "operation", "node", "shard", "gateways", "runs", "failures", "lastRunMs", "lastTriggerAgoMs",
                        "lastRunAgoMs", "key", "rules",
                    ], rows: answer["liveQueries"]?.arrayValue ?? []
                ).text)
            Terminal.out("of \(answer["count"]?.intValue ?? 0) live queries")
            connection.tellOfUnreachable(answer)
        }
    }

    struct Rules: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows which refresh rules had an effect, and which changes none noticed.",
            discussion: """
                Since the workers' starts, by operation, the most wasted runs first. wasted: runs that found the same \
                result again. keyChanged, keyUnchanged: runs that only a write to a looked-up row caused; rule…: only \
                rules on mutations; row…: only automatic refresh. Many unchanged runs of a rule call for a narrower \
                condition. unnoticed: changes of rows that the query reads and no rule noticed, counted where \
                refresh.yaml says `automatic: observe`; checked, stale: sampled runs after them, and those that found \
                another result. Below the table, the mutations that made them, with the rule that would have noticed.
                """)
        @OptionGroup var connection: Connection

        func run() async {
            let answer = await connection.get("/admin/v1/rules" + Connection.query([("node", connection.node)]))
            if connection.json { return Terminal.out(answer.description) }
            let rows = answer["operations"]?.arrayValue ?? []
            Terminal.out(
                TextTable(
                    columns: [
                        "operation", "wasted", "keyChanged", "keyUnchanged", "ruleChanged", "ruleUnchanged",
                        "rowChanged", "rowUnchanged", "unnoticed", "checked", "stale",
                    ], rows: rows
                ).text)
            for row in rows {
                for mutation in row["unnoticedMutations"]?.arrayValue ?? [] {
                    Terminal.out(
                        "\(row["operation"]?.stringValue ?? ""): \(mutation["mutation"]?.stringValue ?? "") unnoticed "
                            + "\(mutation["count"]?.intValue ?? 0) times; would have been by "
                            + "\(mutation["rule"]?.stringValue ?? "")")
                }
            }
            connection.tellOfUnreachable(answer)
        }
    }

    struct Top: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows what each operation costs, the most time first: live in a terminal, once in a pipe.",
            discussion: """
                Per minute, over the last minute; with --total since the nodes' starts. share: of the time of all \
                operations. databaseMs: the time of statements that run live queries; p50, p95, p99: of one such \
                statement, since the nodes' starts. deliveries, bytesOut: results that sessions got, before compression.
                """)
        @OptionGroup var connection: Connection

        @Flag(help: "Since the nodes' starts instead of per minute.")
        var total = false

        @Flag(help: "Print once, also in a terminal.")
        var once = false

        @Option(help: "The most operations to list.")
        var limit = 20

        func run() async {
            let isLive = !once && !connection.json && Terminal.isInteractive
            repeat {
                let answer = await connection.get(
                    "/admin/v1/top" + Connection.query([("limit", "\(limit)"), ("node", connection.node)]))
                if connection.json { return Terminal.out(answer.description) }
                if isLive { Terminal.clear() }
                Terminal.out(Self.table(answer, total: total))
                connection.tellOfUnreachable(answer)
                if isLive { try? await Task.sleep(for: .seconds(2)) }
            } while isLive && !Task.isCancelled
        }

        private static func table(_ answer: JSONValue, total: Bool) -> String {
            let names = [
                "runs", "changed", "databaseMs", "requests", "requestMs", "deliveries", "bytesOut",
            ]
            let rows = (answer["operations"]?.arrayValue ?? []).map { row in
                let costs = row[total ? "total" : "perMinute"]
                var line: JSONObject = ["operation": row["operation"] ?? .null]
                for name in ["p50", "p95", "p99"] {
                    line[name] = row["statementMs"]?[name]?.doubleValue.map {
                        .string($0 < 10 ? "\(($0 * 10).rounded() / 10)" : "\(Int($0.rounded()))")
                    }
                }
                line["share"] = .string("\(Int(((row["share"]?.doubleValue ?? 0) * 100).rounded())) %")
                for name in names { line[name] = .int(Int64((costs?[name]?.doubleValue ?? 0).rounded())) }
                return JSONValue.object(line)
            }
            let head = total ? "since the nodes' starts" : "per minute, over the last minute"
            let columns: [TextTable.Column] = [
                "operation", "share", "runs", "changed", "databaseMs", .init("p50 ms", "p50"), .init("p95 ms", "p95"),
                .init("p99 ms", "p99"), "requests", "requestMs", "deliveries",
                .init("bytesOut", "bytesOut", .bytes),
            ]
            return head + "\n" + TextTable(columns: columns, rows: rows).text
        }
    }

    struct Capacity: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows unit costs as measured, and what a multiple of the load would need.")
        @OptionGroup var connection: Connection

        @Option(help: "The multiple of the present load.")
        var factor = 10

        func run() async {
            let answer = await connection.get(
                "/admin/v1/capacity" + Connection.query([("factor", "\(factor)"), ("node", connection.node)]))
            if connection.json { return Terminal.out(answer.description) }
            Terminal.out("measured")
            Terminal.out(TextTable(members: answer["measured"] ?? .null).text)
            Terminal.out("\n\(factor) times the load would need")
            Terminal.out(TextTable(members: answer["needed"] ?? .null).text)
            Terminal.out("")
            Terminal.out(
                TextTable(
                    columns: [
                        "node", "roles", "cores", "coresBusy", .init("peak", "peakBytes", .bytes), "sessions",
                        "nodesNeeded",
                    ], rows: answer["nodes"]?.arrayValue ?? []
                ).text)
            Terminal.out("")
            for line in answer["assumptions"]?.arrayValue ?? [] { Terminal.out(line.stringValue ?? "") }
            connection.tellOfUnreachable(answer)
        }
    }
}

extension AdminCommand.Connection {
    /// Returns a query without the items that have no value.
    static func query(_ items: [(String, String?)]) -> String {
        let given = items.compactMap { name, value in
            value.map { "\(name)=\(AdminPath.part($0))" }
        }
        return given.isEmpty ? "" : "?" + given.joined(separator: "&")
    }

    /// The bytes of a request target that servers take for sure; they take 8 KiB.
    private static let targetMax = 4_000

    /// Gets a report; sends in a body what does not fit into the request target.
    func ask(_ path: String, _ items: [(String, String?)]) async -> JSONValue {
        let target = path + Self.query(items)
        return target.utf8.count <= Self.targetMax ? await get(target) : await post(path, items)
    }

    /// Names the nodes whose part of a report is missing, on standard error.
    func tellOfUnreachable(_ answer: JSONValue) {
        for node in answer["unreachable"]?.arrayValue ?? [] {
            Terminal.error("without \(node["node"]?.stringValue ?? ""): \(node["reason"]?.stringValue ?? "")")
        }
    }
}
