import Admin
import Foundation
import JSON
import Observability

/// Traces and tails in words, those of the console.
enum TraceText {
    // MARK: Traces

    private static let names = [
        "received": "Received", "committed": "Committed", "published": "Published", "matched": "Matched",
        "query": "Live query", "ran": "Ran", "arrived": "Arrived", "delivered": "Delivered",
    ]

    static func trace(_ answer: JSONValue) -> String {
        let rows = (answer["spans"]?.arrayValue ?? []).map { span -> JSONValue in
            let ms = span["ms"]?.doubleValue ?? 0
            let kind = text(span, "kind")
            return [
                "ms": .string((ms >= 0 ? "+" : "") + HumanUnits.duration(ms: ms)),
                "kind": .string(kind), "step": .string(names[kind] ?? kind), "node": span["node"] ?? "",
                "about": .string(about(span)),
            ]
        }
        let columns: [TextTable.Column] = [
            .init("after the commit", "ms"),
            .init("step", "step") { $0["kind"] == "delivered" ? .green : .cyan }, "node", .init("what", "about"),
        ]
        return [text(answer, "sentence"), "", TextTable(columns: columns, rows: rows).text].joined(separator: "\n")
    }

    private static func about(_ span: JSONValue) -> String {
        switch text(span, "kind") {
        case "received": return "the request arrived"
        case "committed":
            let rows = int(span, "rows")
            return "rows and event in one transaction" + (rows > 0 ? ", \(HumanUnits.plural(rows, "row"))" : "")
        case "published":
            let shards = span["shards"]?.arrayValue ?? []
            return "to \(HumanUnits.plural(Int64(shards.count), "shard")) "
                + "(\(shards.map(\.description).joined(separator: ", ")))"
        case "matched":
            return "shard \(int(span, "shard")): \(int(span, "matched")) of \(liveQueries(int(span, "considered")))"
        case "query": return "\(text(span, "operation")), by \(list(span, "rules"))"
        case "ran":
            let others = int(span, "coalesced") - 1
            return "\(text(span, "operation")): \(text(span, "outcome")), \(duration(span, "durationMs"))"
                + (others > 0 ? ", with \(others) more" : "")
        case "arrived": return "result of \(HumanUnits.bytes(Double(int(span, "bytes")))) at the gateway"
        case "delivered":
            let sessions = span["sessionCount"]?.intValue ?? Int64(span["sessions"]?.arrayValue?.count ?? 0)
            let held = int(span, "held")
            return "to \(HumanUnits.plural(sessions, "session"))"
                + (held > 0 ? ", \(held) of them held for slow clients" : "")
        default: return ""
        }
    }

    // MARK: Tails

    private static let states = [
        "joined": "is heard", "lost": "is lost", "gone": "went away", "unreachable": "cannot be heard",
    ]

    static func tail(_ kind: String, _ entry: JSONValue) -> String {
        let node = text(entry, "node")
        switch kind {
        case "dropped":
            return "… \(HumanUnits.plural(int(entry, "count"), "entry", "entries")) of \(node) left out: "
                + "too many to read"
        case "node":
            let reason = text(entry, "reason")
            return "… \(node) \(states[text(entry, "state")] ?? text(entry, "state"))"
                + (reason.isEmpty ? "" : ": \(reason)")
        default:
            let padded = kind.padding(toLength: 8, withPad: " ", startingAt: 0)
            let trace = text(entry, "trace")
            return "\(UTCTime.text(epochMs: int(entry, "atMs"))) \(node) \(Terminal.colored(padded, .cyan)) "
                + sentence(kind, entry) + (trace.isEmpty ? "" : " [trace \(trace)]")
        }
    }

    /// One entry in words.
    private static func sentence(_ kind: String, _ entry: JSONValue) -> String {
        switch kind {
        case "event":
            return "\(text(entry, "mutation")): \(int(entry, "matched")) of \(liveQueries(int(entry, "considered"))) "
                + "matched"
        case "run":
            let events = int(entry, "coalesced")
            return "\(text(entry, "operation")) ran because of \(list(entry, "causes")): \(text(entry, "outcome")), "
                + duration(entry, "ms") + (events > 1 ? ", for \(events) events" : "")
        case "delivery":
            let uid = text(entry, "uid")
            return "\(text(entry, "operation")) to \(text(entry, "session"))\(uid.isEmpty ? "" : " (\(uid))"): "
                + HumanUnits.bytes(Double(int(entry, "bytes")))
                + (entry["isHeld"] == true ? ", held for a slow client" : "")
                + (entry["afterCommitMs"] == nil ? "" : ", \(duration(entry, "afterCommitMs")) after the commit")
        case "session":
            let reason = text(entry, "reason")
            return "\(text(entry, "session")) \(text(entry, "change"))" + (reason.isEmpty ? "" : ": \(reason)")
        default: return entry.description
        }
    }

    private static func text(_ value: JSONValue, _ name: String) -> String { value[name]?.stringValue ?? "" }
    private static func int(_ value: JSONValue, _ name: String) -> Int64 { value[name]?.intValue ?? 0 }
    private static func liveQueries(_ count: Int64) -> String { HumanUnits.plural(count, "live query", "live queries") }

    private static func duration(_ value: JSONValue, _ name: String) -> String {
        HumanUnits.duration(ms: value[name]?.doubleValue ?? 0)
    }

    private static func list(_ value: JSONValue, _ name: String) -> String {
        (value[name]?.arrayValue ?? []).compactMap(\.stringValue).joined(separator: ", ")
    }
}
