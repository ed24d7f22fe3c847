import ArgumentParser
import Foundation
import JSON

/// Why a screen is stale, traces and tails.
extension AdminCommand {
    /// Whose live query of an operation is meant.
    struct Subscriber: ParsableArguments {
        @Option(name: .customLong("vars"), help: ArgumentHelp("Variables, a JSON object.", valueName: "json"))
        var variables: String?

        @Option(help: "The user's id.")
        var uid: String?

        @Option(help: ArgumentHelp("Claims of the user's token, a JSON object.", valueName: "json"))
        var claims: String?

        var items: [(String, String?)] { [("variables", variables), ("uid", uid), ("claims", claims)] }
    }

    struct Why: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Says why a screen is stale, or that it is fresh.",
            discussion: """
                Name the live query by its operation, variables and user, by its key, or by a session of a client. The \
                query runs once, and the result is compared with what the gateways hold; nobody gets the result. \
                Events and runs of the live query are recorded from then on for a time: repeat the mutation, and ask \
                again. The exit code is 0 if the screen is fresh, and 3 if it is, or may be, stale.
                """)
        @OptionGroup var connection: Connection

        @Argument(help: "CONNECTOR/OPERATION, or OPERATION where that is unique.")
        var operation: String?

        @OptionGroup var subscriber: Subscriber

        @Option(help: "The key of a live query, from `freshet admin live-queries --json`; with --session, of its.")
        var key: String?

        @Option(help: ArgumentHelp("A session.", valueName: "node/id"))
        var session: String?

        @Flag(help: "Do not run the query.")
        var noRun = false

        func validate() throws {
            if operation == nil, key == nil, session == nil {
                throw ValidationError("name an operation, --key or --session")
            }
            if operation != nil, key != nil { throw ValidationError("give an operation or --key") }
        }

        func run() async {
            let answer = await connection.ask(
                "/admin/v1/why",
                [("operation", operation)] + subscriber.items
                    + [("key", key), ("session", session), ("truth", noRun ? "no" : nil)])
            Terminal.out(connection.json ? answer.description : WhyText(answer).text)
            if answer["verdict"]?["isStale"]?.boolValue != false { Foundation.exit(3) }
        }
    }

    struct Trace: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows the way of a traced mutation from its commit to its deliveries, or lists the traces.",
            discussion: """
                A client has a mutation traced by the header `x-freshet-trace: 1`; the response has the trace's id. \
                --arm has all nodes, or the one of --node, trace a share of their mutations for some minutes, --stop \
                ends that and all other recording but open tails, and --recording says what is recorded.
                """)
        @OptionGroup var connection: Connection

        @Argument(help: "The trace's id; without it, the traces are listed.")
        var trace: String?

        @Option(help: ArgumentHelp("Trace this share of the nodes' mutations, 1 to 100.", valueName: "percent"))
        var arm: Int?

        @Option(help: "With --arm: for so many minutes.")
        var minutes = 10

        @Flag(help: "Record nothing any more, but for open tails.")
        var stop = false

        @Flag(help: "Say what the nodes record.")
        var recording = false

        func validate() throws {
            if [trace != nil, arm != nil, stop, recording].count(where: { $0 }) > 1 {
                throw ValidationError("give one of a trace, --arm, --stop and --recording")
            }
            if let arm, !(1...100).contains(arm) { throw ValidationError("--arm must be 1 to 100 percent") }
            if !(1...1_440).contains(minutes) { throw ValidationError("--minutes must be 1 to 1440") }
        }

        /// Shows what each node records.
        private func show(_ answer: JSONValue) {
            if connection.json { return Terminal.out(answer.description) }
            if let done = answer["done"]?.stringValue { Terminal.out(done) }
            Terminal.out(
                TextTable(
                    columns: [
                        "node", .init("recording until", "untilMs", .time) { _ in .yellow },
                        .init("traced", "traceRate", .percent), .init("live queries", "queries", .number),
                        .init("steps", "spans", .number), .init("tails", "tails", .number),
                        .init("size", "bytes", .bytes), .init("dropped", "dropped", .number),
                    ], rows: answer["nodes"]?.arrayValue ?? []
                ).text)
            connection.tellOfUnreachable(answer)
        }

        func run() async {
            let node: [(String, String?)] = [("node", connection.node)]
            if let arm {
                let query = Connection.query(
                    [("tracePercent", "\(arm)"), ("forMs", "\(Int64(minutes) * 60_000)")] + node)
                return show(await connection.post("/admin/v1/recording" + query))
            }
            if stop { return show(await connection.post("/admin/v1/recording/stop" + Connection.query(node))) }
            if recording { return show(await connection.get("/admin/v1/recording" + Connection.query(node))) }
            guard let trace else {
                return await connection.show(
                    "/admin/v1/traces", rows: "traces",
                    columns: [
                        .init("committed", "committedAtMs", .time), "mutation", .init("steps", "spans", .number),
                        "trace",
                    ])
            }
            let answer = await connection.get("/admin/v1/trace/\(AdminPath.part(trace))")
            Terminal.out(connection.json ? answer.description : TraceText.trace(answer))
        }
    }

    struct Tail: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Follows the events, runs, deliveries and sessions of all nodes as they come; --node: of one.",
            discussion: "--json prints an object for each, on a line of its own.")
        @OptionGroup var connection: Connection

        @Option(help: "Only this operation.")
        var operation: String?

        @Option(help: "Only these kinds, separated by commas: event, run, delivery, session.")
        var kind: String?

        @Option(help: "Only mutations and sessions of this user.")
        var uid: String?

        func run() async {
            let query = Connection.query([
                ("operation", operation), ("kind", kind), ("uid", uid), ("node", connection.node),
            ])
            let json = connection.json
            await connection.follow("/admin/v1/tail" + query) { kind, data in
                guard let entry = try? JSONParser.parse(Array(data.utf8)) else { return Terminal.out(data) }
                guard json else { return Terminal.out(TraceText.tail(kind, entry)) }
                let members = [("kind", .string(kind))] + (entry.objectValue?.entries ?? []).map { ($0.key, $0.value) }
                Terminal.out(JSONValue.object(JSONObject(members)).description)
            }
        }
    }
}
