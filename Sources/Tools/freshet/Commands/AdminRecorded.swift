import Admin
import ArgumentParser
import Foundation
import JSON
import Observability

/// Recorded events, trials of rules on them, and the flight recorders of users.
extension AdminCommand {
    struct Events: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Records events on all workers, and writes them to a file for `freshet rules try`.",
            discussion: """
                --record starts the recording, which ends by itself. Without options, says what is recorded. The file \
                has the events, the runs that ended meanwhile, and the live queries and rules of the moment when it is \
                written; values that inspect.redacted names are hidden, and tokens always are.
                """)
        @OptionGroup var connection: Connection

        @Option(help: ArgumentHelp("Record for so many minutes.", valueName: "minutes"))
        var record: Int?

        @Flag(help: "End the recording.")
        var stop = false

        @Option(help: ArgumentHelp("Write the recorded events to this file; - is standard output.", valueName: "file"))
        var out: String?

        @Option(help: "Only this query or mutation, CONNECTOR/OPERATION.")
        var operation: String?

        func validate() throws {
            let chosen = [record != nil, stop, out != nil].count { $0 }
            if chosen > 1 { throw ValidationError("give one of --record, --stop and --out") }
            if let record, !(1...1_440).contains(record) { throw ValidationError("--record must be 1 to 1440 minutes") }
        }

        func run() async {
            if record != nil || stop {
                let path = record.map { "/admin/v1/events/record?forMs=\(Int64($0) * 60_000)" }
                return show(await connection.post(path ?? "/admin/v1/events/stop"))
            }
            guard let out else { return show(await connection.get("/admin/v1/events/recording")) }
            let answer = await connection.get("/admin/v1/events" + Connection.query([("operation", operation)]))
            var lines = answer["lines"]?.arrayValue ?? []
            // A trial of the file says so, too.
            let missing =
                (answer["unreachable"]?.arrayValue ?? []).compactMap { $0["node"] }
                + (answer["unreadable"]?.arrayValue ?? [])
            if !missing.isEmpty, var head = lines.first?.objectValue {
                head["missingNodes"] = .array(missing)
                lines[0] = .object(head)
            }
            let text = lines.map { $0.description + "\n" }.joined()
            if out == "-" {
                FileHandle.standardOutput.write(Data(text.utf8))
            } else {
                do {
                    try Data(text.utf8).write(to: URL(fileURLWithPath: out), options: .atomic)
                } catch {
                    Terminal.fail("\(out) cannot be written: \(error.localizedDescription)")
                }
                Terminal.error(Self.sentence(answer) + " in \(out)")
            }
            connection.tellOfUnreachable(answer)
        }

        private static func sentence(_ answer: JSONValue) -> String {
            func count(_ name: String) -> Int64 { answer[name]?.intValue ?? 0 }
            return "\(count("events")) events, \(count("runs")) runs and \(count("liveQueries")) live queries"
        }

        private func show(_ answer: JSONValue) {
            if connection.json { return Terminal.out(answer.description) }
            Terminal.out(
                TextTable(
                    columns: [
                        "node", .init("recording until", "untilMs", .time), "events", .init("size", "bytes", .bytes),
                    ],
                    rows: answer["recording"]?.arrayValue ?? []
                ).text)
            connection.tellOfUnreachable(answer)
        }
    }

    struct TryRule: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Tries another condition of a rule on the recorded events, as the console does.",
            discussion: "`freshet rules try` does the same with a file of events, without a server.")
        @OptionGroup var connection: Connection

        @Argument(help: "The query, CONNECTOR/OPERATION.")
        var operation: String

        @Option(help: "The number of the edited rule in source order; not needed if the query has one only.")
        var rule: Int?

        @Option(help: "Try a further rule about this mutation, CONNECTOR/OPERATION, instead of an edited one.")
        var mutation: String?

        @Option(help: ArgumentHelp("The condition to try; without it the rule has none.", valueName: "cel"))
        var condition: String?

        func run() async {
            let answer = await connection.post(
                "/admin/v1/rules/try",
                [
                    ("operation", operation), ("rule", rule.map { "\($0)" }), ("mutation", mutation),
                    ("condition", condition),
                ])
            Terminal.out(connection.json ? answer.description : TrialText(answer).text)
            connection.tellOfUnreachable(answer)
        }
    }

    struct Flight: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows what happens to the sessions of a user, on all nodes and in order.",
            discussion: """
                --record starts the user's flight recorder, which ends by itself: sessions and clients, live queries \
                followed and left, deliveries, refusals, errors, tokens renewed and expired, ends and their reasons.
                """)
        @OptionGroup var connection: Connection

        @Option(help: "The user's id.")
        var uid: String

        @Option(help: ArgumentHelp("Record for so many minutes.", valueName: "minutes"))
        var record: Int?

        @Flag(help: "End the recording and forget it.")
        var stop = false

        func validate() throws {
            if record != nil, stop { throw ValidationError("give one of --record and --stop") }
            if let record, !(1...1_440).contains(record) { throw ValidationError("--record must be 1 to 1440 minutes") }
        }

        func run() async {
            let query: [(String, String?)] = [("uid", uid), ("forMs", record.map { "\(Int64($0) * 60_000)" })]
            let answer: JSONValue
            if record != nil {
                answer = await connection.post("/admin/v1/flight/record" + Connection.query(query))
            } else if stop {
                answer = await connection.post("/admin/v1/flight/stop" + Connection.query(query))
            } else {
                answer = await connection.get("/admin/v1/flight" + Connection.query(query))
            }
            if connection.json { return Terminal.out(answer.description) }
            let until = UTCTime.text(epochMs: answer["untilMs"]?.intValue ?? 0)
            let isArmed = answer["isArmed"]?.boolValue ?? false
            Terminal.out(isArmed ? "recording until \(until)" : "not recording; --record starts it")
            if let dropped = answer["dropped"]?.intValue, dropped > 0 {
                Terminal.out("\(HumanUnits.plural(dropped, "older entry was", "older entries were")) dropped")
            }
            Terminal.out(
                TextTable(
                    columns: [
                        "session", "protocol", "client", "subscriptions", .init("since", "sinceMs", .duration), "peer",
                    ], rows: answer["sessions"]?.arrayValue ?? []
                ).text)
            Terminal.out("")
            let rows = (answer["entries"]?.arrayValue ?? []).map { entry in
                var row = entry.objectValue ?? [:]
                row["details"] = .string(Self.details(entry))
                return JSONValue.object(row)
            }
            Terminal.out(
                TextTable(
                    columns: [.init("time", "atMs", .time), "session", .init("what", "kind"), "operation", "details"],
                    rows: rows
                ).text)
            connection.tellOfUnreachable(answer)
        }

        private static func details(_ entry: JSONValue) -> String {
            let known: Set = ["atMs", "node", "kind", "session", "operation", "count", "bytes"]
            var parts = (entry.objectValue?.entries ?? []).filter { !known.contains($0.key) }.map { member in
                switch member.key {
                case "tokenExpiresInMs": "token expires in \(HumanUnits.duration(ms: member.value.doubleValue ?? 0))"
                case "reason": member.value.stringValue ?? ""
                default: "\(member.key) \(member.value.stringValue ?? member.value.description)"
                }
            }
            if entry["kind"] == "delivered" {
                let results = HumanUnits.plural(entry["count"]?.intValue ?? 0, "result")
                parts.insert("\(results), \(HumanUnits.bytes(entry["bytes"]?.doubleValue ?? 0))", at: 0)
            }
            return parts.joined(separator: ", ")
        }
    }
}
