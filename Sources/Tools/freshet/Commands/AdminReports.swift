import Admin
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
                    + "at most \(HumanUnits.duration(ms: Double(behindMs))) behind")
            let rows = all ? shards : attention
            if rows.isEmpty { return }
            Terminal.out(
                TextTable(
                    columns: [
                        "shard", "owner", .init("owned", "ownedForMs", .duration), "wanted", "epoch",
                        .init("verdict", "verdict") { $0["verdict"] == "ok" ? .green : .yellow },
                        .init("behind", "behindMs", .duration), .init("live queries", "liveQueries", .number),
                        "subscribers", "due", "running", "paced", "replayed", "kept", "rerun",
                        .init("last refresh ago", "lastRefreshAgoMs", .duration),
                    ], rows: rows
                ).text)
        }
    }

    struct Sessions: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the sessions of the cluster, the oldest first, or counts them.",
            discussion: """
                --by client counts the sessions of each client; --by version those that began with each version of the \
                project and, below it, those that follow each version of each operation: a former one that nobody \
                follows can go. Requests outside of sessions are not in it.
                """)
        @OptionGroup var connection: Connection

        enum Count: String, ExpressibleByArgument, CaseIterable {
            case client, version
        }

        @Option(help: "Count the sessions by client or by version instead.")
        var by: Count?

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

        func validate() throws {
            guard by != nil, user != nil || self.protocol != nil || operation != nil || client != nil else { return }
            throw ValidationError("--by counts all sessions; give no filter with it")
        }

        func run() async {
            if let by { return await count(by) }
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
                        "node", "id", .init("user", "user") { $0["user"] == .null ? nil : .cyan }, "protocol",
                        "client", .init("live queries", "subscriptions", .number), .init("follows", "operations"),
                        .init("since", "sinceMs", .duration), .init("address", "peer"),
                        .init("project", "project", .digest),
                    ], rows: answer["sessions"]?.arrayValue ?? []
                ).text)
            connection.tellHowMany(answer, rows: "sessions", "session", "sessions")
            connection.tellOfUnreachable(answer)
        }

        private func count(_ by: Count) async {
            let answer = await connection.get(
                "/admin/v1/adoption" + Connection.query([("limit", "\(limit)"), ("node", connection.node)]))
            if connection.json { return Terminal.out(answer.description) }
            func rows(_ name: String) -> [JSONValue] {
                (answer[name]?.arrayValue ?? []).map { row in
                    var row = row.objectValue ?? [:]
                    if let isCurrent = row["isCurrent"]?.boolValue { row["state"] = isCurrent ? "current" : "former" }
                    if row["client"] == "" { row["client"] = "unknown" }
                    return .object(row)
                }
            }
            let sessions = TextTable.Column("sessions", "sessions", .number)
            let state = TextTable.Column("state", "state") { $0["state"] == "former" ? .yellow : .green }
            switch by {
            case .client:
                Terminal.out(TextTable(columns: [sessions, "client"], rows: rows("clients")).text)
            case .version:
                Terminal.out(TextTable(columns: ["version", state, sessions], rows: rows("versions")).text)
                Terminal.out("")
                Terminal.out(
                    TextTable(
                        columns: ["operation", .init("operation's version", "version"), state, sessions],
                        rows: rows("operations")
                    ).text)
            }
            Terminal.out("of \(answer["count"]?.intValue ?? 0) sessions")
            connection.tellOfUnreachable(answer)
        }
    }

    struct LiveQueries: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the live queries of the cluster's workers.")
        @OptionGroup var connection: Connection

        @Option(help: "List only live queries of this operation, CONNECTOR/OPERATION.")
        var operation: String?

        @Option(help: "List only live queries that sessions of this user follow.")
        var user: String?

        @Option(help: "List only live queries whose key begins with these digits.")
        var key: String?

        @Option(help: "The most rows to list.")
        var limit = 50

        func run() async {
            let answer = await connection.get(
                "/admin/v1/live-queries"
                    + Connection.query([
                        ("limit", "\(limit)"), ("operation", operation), ("user", user), ("key", key),
                        ("node", connection.node),
                    ]))
            if connection.json { return Terminal.out(answer.description) }
            Terminal.out(
                TextTable(
                    columns: [
                        "key", "operation", .init("owner", "node"), "shard", "gateways", .init("runs", "runs", .number),
                        .init("failures", "failures", .number) { $0["failures"]?.intValue == 0 ? nil : .red },
                        .init("last run took", "lastRunMs", .duration),
                        .init("last event ago", "lastTriggerAgoMs", .duration),
                        .init("last run ago", "lastRunAgoMs", .duration), "rules",
                    ], rows: answer["liveQueries"]?.arrayValue ?? []
                ).text)
            connection.tellHowMany(answer, rows: "liveQueries", "live query", "live queries")
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

    /// Prints how many rows pass the filters, of how many, and how many of them are listed.
    func tellHowMany(_ answer: JSONValue, rows: String, _ one: String, _ many: String) {
        let (matching, count) = (answer["matching"]?.intValue ?? 0, answer["count"]?.intValue ?? 0)
        let listed = Int64(answer[rows]?.arrayValue?.count ?? 0)
        Terminal.out(
            "\(HumanUnits.number(Double(matching))) of \(HumanUnits.plural(count, one, many))"
                + (listed < matching ? "; --limit lists more than \(HumanUnits.number(Double(listed)))" : ""))
    }

    /// The bytes of a request target that servers take for sure; they take 8 KiB.
    private static let targetMax = 4_000

    /// Gets a report; sends in a body what does not fit into the request target.
    func ask(_ path: String, _ items: [(String, String?)]) async -> JSONValue {
        let target = path + Self.query(items)
        return target.utf8.count <= Self.targetMax ? await get(target) : await post(path, items)
    }

    /// Names the nodes whose part of a report is missing, on standard error.
    func tellOfUnreachable(_ answer: JSONValue) { Self.tellOfUnreachable(answer) }

    static func tellOfUnreachable(_ answer: JSONValue) {
        for node in answer["unreachable"]?.arrayValue ?? [] {
            Terminal.error("without \(node["node"]?.stringValue ?? ""): \(node["reason"]?.stringValue ?? "")")
        }
    }
}
