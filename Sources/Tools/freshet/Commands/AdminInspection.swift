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
                --arm has a node trace its mutations for ten minutes. Times are milliseconds since the commit.
                """)
        @OptionGroup var connection: Connection

        @Argument(help: "The trace's id; without it, the traces are listed.")
        var trace: String?

        @Option(help: ArgumentHelp("Trace this share of the node's mutations, 1 to 100.", valueName: "percent"))
        var arm: Int?

        func run() async {
            if let arm { return await connection.act("/admin/v1/recording?tracePercent=\(arm)") }
            guard let trace else {
                return await connection.show(
                    "/admin/v1/traces", rows: "traces",
                    columns: [.init("committed", "committedAtMs", .time), "mutation", "spans", "trace"])
            }
            let answer = await connection.get("/admin/v1/trace/\(AdminPath.part(trace))")
            Terminal.out(connection.json ? answer.description : WhyText.trace(answer))
        }
    }

    struct Tail: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Follows the events, runs, deliveries and sessions of all nodes as they come; --node: of one.")
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
            let kind = LastKind()
            await connection.follow("/admin/v1/tail" + query) { line in
                if line.hasPrefix("event: ") { kind.set(String(line.dropFirst(7))) }
                guard line.hasPrefix("data: ") else { return }
                let data = String(line.dropFirst(6))
                guard !json, let entry = try? JSONParser.parse(Array(data.utf8)) else { return Terminal.out(data) }
                Terminal.out(WhyText.tail(kind.value, entry))
            }
        }
    }
}

/// The kind of the entry whose data follows.
private final class LastKind: @unchecked Sendable {
    // Unchecked: only the connection's event loop uses it.
    private(set) var value = ""

    func set(_ kind: String) { value = kind }
}
