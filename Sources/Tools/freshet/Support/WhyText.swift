import JSON
import Observability

/// Answers of why for people.
struct WhyText {
    private let answer: JSONValue

    init(_ answer: JSONValue) {
        self.answer = answer
    }

    var text: String {
        let verdict = answer["verdict"] ?? .null
        let state = Self.text(verdict, "state")
        var lines = [
            Terminal.colored(state.uppercased(), ["fresh": .green, "unclear": .yellow][state] ?? .red) + "  "
                + Self.text(verdict, "code"),
            Self.text(verdict, "sentence"),
        ]
        lines += (verdict["next"]?.arrayValue ?? []).compactMap(\.stringValue).map { "  → \($0)" }
        lines += choices + query + database + owner + gateways + events + runs + rules
        for node in answer["unreachable"]?.arrayValue ?? [] {
            lines.append("node \(Self.text(node, "node")) was not asked: \(Self.text(node, "reason"))")
        }
        return lines.joined(separator: "\n")
    }

    private static func text(_ value: JSONValue?, _ name: String) -> String { value?[name]?.stringValue ?? "" }

    private static func int(_ value: JSONValue?, _ name: String) -> Int64 { value?[name]?.intValue ?? 0 }

    private static func time(_ ms: Int64) -> String { ms > 0 ? UTCTime.text(epochMs: ms) : "never" }

    private static func head(_ title: String) -> [String] { ["", Terminal.colored(title, .bold)] }

    private func rows(_ name: String) -> [JSONValue] { answer[name]?.arrayValue ?? [] }

    private func table(_ title: String, _ rows: [JSONValue], _ columns: [TextTable.Column]) -> [String] {
        rows.isEmpty ? [] : Self.head(title) + [TextTable(columns: columns, rows: rows).text]
    }

    private var choices: [String] {
        table("Live queries of the session", rows("choices"), ["operation", "subscription", "key"])
    }

    private var query: [String] {
        guard let query = answer["query"], query["version"] != nil else { return [] }
        var lines =
            Self.head("Live query") + [
                "  \(Self.text(query, "operation")) \(query["variables"]?.description ?? "{}")",
                "  key \(Self.text(query, "key"))",
            ]
        if let auth = query["auth"] { lines.append("  claims in the key: \(auth)") }
        let rules = query["rules"]?.arrayValue?.compactMap(\.stringValue) ?? []
        lines += rules.isEmpty ? ["  no rule refreshes it"] : rules.map { "  refreshed by \($0)" }
        return lines
    }

    private var database: [String] {
        guard let truth = answer["truth"] else { return [] }
        let state =
            switch Self.text(truth, "state") {
            case "same": "gateways hold what the database answers"
            case "differs": "gateways hold another result than the database answers"
            case "timedOut": "the query did not end in time"
            default: "the query failed: \(Self.text(truth, "error"))"
            }
        let replicas = truth["replicas"]?.arrayValue ?? []
        return Self.head("Database")
            + ["  \(state) (\(truth["ms"]?.description ?? "0") ms on \(Self.text(truth, "ranOn")))"]
            + replicas.compactMap { $0["problem"]?.stringValue }.map { "  \($0)" }
    }

    private var owner: [String] {
        guard let owner = answer["registered"] else {
            guard let shard = answer["shard"] else { return [] }
            return Self.head("Owner") + [
                "  shard \(Self.int(shard, "shard")): \(shard["owner"]?.stringValue ?? "no owner"), not registered"
            ]
        }
        var lines =
            Self.head("Owner") + [
                "  \(Self.text(owner, "node")), shard \(Self.int(owner, "shard")), epoch \(Self.int(owner, "epoch")), "
                    + "since " + Self.time(Self.int(owner, "sinceMs")),
                "  \(Self.text(owner, "phase")); \(Self.int(owner, "runs")) runs, the last "
                    + "\(Self.time(Self.int(owner, "lastRunAtMs"))) in \(Self.int(owner, "lastRunMs")) ms",
            ]
        if let error = owner["lastError"]?.stringValue { lines.append("  last error: \(error)") }
        return lines
    }

    private var gateways: [String] {
        let rows = rows("gateways")
        let words = ["sameAsDatabase": "as the database", "older": "older", "nothing": "nothing"]
        let shown = rows.map { row -> JSONValue in
            var row = row.objectValue ?? [:]
            row["holds"] = .string(words[row["holds"]?.stringValue ?? ""] ?? "unknown")
            return .object(row)
        }
        let columns: [TextTable.Column] = [
            "node",
            .init("holds", "holds") {
                ["as the database": .green, "older": .red, "nothing": .yellow][$0["holds"]?.stringValue ?? ""]
            }, .init("size", "bytes", .bytes), .init("waits for the owner", "isAwaitingOwner", .yesOrNo),
            .init("draining", "isDraining", .yesOrNo),
        ]
        return table("Gateways", shown, columns)
            + table(
                "Sessions", rows.flatMap { $0["sessions"]?.arrayValue ?? [] },
                [
                    "session", "protocol", "uid", "subscription", .init("pending", "pendingBytes", .bytes),
                    .init("queued", "queuedResults"), .init("token for", "tokenExpiresInMs", .duration),
                    .init("suspended", "isSuspended", .yesOrNo),
                ])
            + table(
                "Ended", self.rows("ended"), [.init("at", "atMs", .time), "session", "uid", "reason"])
    }

    private var events: [String] {
        let events = rows("events").map { event -> JSONValue in
            let rules = (event["rules"]?.arrayValue ?? []).filter { Self.text($0, "outcome") != "notConcerned" }
            let reasons = rules.map { Self.text($0, "reason") }
            return [
                "at": .string(Self.time(Self.int(event, "atMs"))), "mutation": event["mutation"] ?? "",
                "matched": .string(event["isMatched"]?.boolValue == true ? "yes" : "no"),
                "why": .string(reasons.isEmpty ? "no rule is about it" : reasons.joined(separator: "; ")),
            ]
        }
        return table("Events", events, ["at", "matched", "mutation", "why"])
    }

    private var runs: [String] {
        table(
            "Runs", rows("runs"),
            [
                .init("at", "startedAtMs", .time), .init("took", "ms", .duration), "causes", "coalesced", "outcome",
                "gateways", "error",
            ])
    }

    private var rules: [String] {
        let missing = answer["staticRules"]?["missing"]?.arrayValue ?? []
        return table("Mutations that no rule is about", missing, ["mutation", "tables", "rule"])
    }
}
