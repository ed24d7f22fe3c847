import ArgumentParser

/// Commands for the revocations of users, tokens and API keys.
extension AdminCommand {
    struct Revocations: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the revoked users, tokens and API keys, latest first.")
        @OptionGroup var connection: Connection

        @Option(help: "The most rows to list.")
        var limit = 50

        func run() async {
            await connection.show(
                "/admin/revocations?limit=\(limit)", rows: "revocations",
                columns: [
                    "subject", "tokens", .init("revoked", "atMs", .time),
                    .init("expires", "expiresInMs", .timeFromNow),
                ])
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revokes a user, a token or an API key on all nodes and ends its sessions.")
        @OptionGroup var connection: Connection

        @Argument(help: "uid (a user), jti (a token) or key (an API key).")
        var kind: String

        @Argument(help: "The user, the token's jti, or the key's name.")
        var value: String

        @Option(help: "Duration of the revocation in minutes; by default until it is lifted.")
        var minutes: Int?

        @Flag(help: "Keep accepting tokens issued after this moment, so that the user can sign in again.")
        var laterTokens = false

        func run() async {
            let until = minutes.map { "&forMs=\(Int64($0) * 60_000)" } ?? ""
            await connection.act(
                "/admin/revocations?\(AdminPath.part(kind))=\(AdminPath.part(value))\(until)"
                    + (laterTokens ? "&later=allowed" : ""))
        }
    }

    struct Unrevoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lifts a revocation.")
        @OptionGroup var connection: Connection

        @Argument(help: "uid (a user), jti (a token) or key (an API key).")
        var kind: String

        @Argument(help: "The user, the token's jti, or the key's name.")
        var value: String

        func run() async {
            await connection.act("/admin/revocations/clear?\(AdminPath.part(kind))=\(AdminPath.part(value))")
        }
    }
}
