import ArgumentParser
import Foundation
import JSON

/// Commands for the overrides of the whole cluster and the sessions of one node.
extension AdminCommand {
    struct Overrides: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the overrides: splits, moved shards, drained nodes.", aliases: ["orders"])
        @OptionGroup var connection: Connection

        func run() async {
            await connection.show(
                "/admin/overrides", rows: "overrides",
                columns: [
                    "override", "target", "value", "shards", "receiving",
                    .init("expires", "expiresInMs", .timeFromNow),
                ])
        }
    }

    struct Splits: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Divides the live queries of a hot operation over several shards, without interruption.")
        @OptionGroup var connection: Connection

        @Argument(help: "CONNECTOR/OPERATION, a stored query.")
        var operation: String

        @Argument(help: "Number of shards; 1 is the default.")
        var count: Int

        func run() async {
            let parts = operation.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2 else { Terminal.fail("an operation is CONNECTOR/OPERATION") }
            await connection.act(
                "/admin/operations/\(AdminPath.part(parts[0]))/\(AdminPath.part(parts[1]))/splits?count=\(count)")
        }
    }

    struct Move: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Moves a shard to a worker; while that worker is down, the shard is assigned as usual.")
        @OptionGroup var connection: Connection

        @Argument(help: "Number of the shard.")
        var shard: Int

        @Argument(help: "Id of the node.")
        var node: String

        @Option(help: "Duration of the move in minutes; by default until it is cleared.")
        var minutes: Int?

        func run() async {
            let until = minutes.map { "&forMs=\(Int64($0) * 60_000)" } ?? ""
            await connection.act("/admin/shards/\(shard)/move?to=\(AdminPath.part(node))\(until)")
        }
    }

    struct ClearMove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Clears the move of a shard.")
        @OptionGroup var connection: Connection

        @Argument(help: "Number of the shard.")
        var shard: Int

        func run() async { await connection.act("/admin/shards/\(shard)/clear-move") }
    }

    struct Drain: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Moves shards and sessions away from a node, which stays up but not ready until it is undrained.")
        @OptionGroup var connection: Connection

        @Argument(help: "Id of the node.")
        var node: String

        func run() async { await connection.act("/admin/nodes/\(AdminPath.part(node))/drain") }
    }

    struct Undrain: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lets a drained node serve again.")
        @OptionGroup var connection: Connection

        @Argument(help: "Id of the node.")
        var node: String

        func run() async { await connection.act("/admin/nodes/\(AdminPath.part(node))/undrain") }
    }

    struct EndSession: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Closes the connection of one session of a node (--node), so that its client reconnects.")
        @OptionGroup var connection: Connection

        @Argument(help: "Id of the session, from `freshet admin sessions`.")
        var session: UInt64

        func run() async { await connection.act("/admin/sessions/\(session)/end") }
    }
}

enum AdminPath {
    /// Percent-encodes a path segment or query value.
    static func part(_ text: some StringProtocol) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(.init(charactersIn: "-._~"))) ?? ""
    }
}
