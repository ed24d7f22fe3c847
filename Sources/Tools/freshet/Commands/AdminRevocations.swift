import ArgumentParser

/// Who is not let in any more.
extension AdminCommand {
    struct Revocations: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Users, tokens and API keys that are not let in any more, the latest first.")
        @OptionGroup var connection: Connection

        @Option(help: "At most so many.")
        var limit = 50

        func run() async {
            await connection.show(
                "/admin/revocations?limit=\(limit)", rows: "revocations",
                columns: ["subject", "tokens", "atMs", "expiresInMs"])
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lets a user, a token or an API key in no more, on all nodes; what runs for it is ended.")
        @OptionGroup var connection: Connection

        @Argument(help: "uid, jti or key.")
        var kind: String

        @Argument(help: "The user, the token's jti, or the key's name.")
        var value: String

        @Option(help: "For so many minutes; without, until taken back.")
        var minutes: Int?

        @Flag(help: "Only tokens issued until now: who signs in anew is let in.")
        var laterTokens = false

        func run() async {
            let until = minutes.map { "&forMs=\(Int64($0) * 60_000)" } ?? ""
            await connection.act(
                "/admin/revocations?\(AdminPath.part(kind))=\(AdminPath.part(value))\(until)"
                    + (laterTokens ? "&later=allowed" : ""))
        }
    }

    struct Unrevoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Takes a revocation back.")
        @OptionGroup var connection: Connection

        @Argument(help: "uid, jti or key.")
        var kind: String

        @Argument(help: "The user, the token's jti, or the key's name.")
        var value: String

        func run() async {
            await connection.act("/admin/revocations/clear?\(AdminPath.part(kind))=\(AdminPath.part(value))")
        }
    }
}
