import AuctionsClient
import Foundation
import FreshetClient
import ProtocolClients
import TestSupport
import Testing

/// The programs of the tutorial in docs/clients/swift.md, run as its reader runs them. The last one is the sample app,
/// for which see `SwiftSDKTests`.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct TutorialStepTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private static let user = "ada01"
    private static let settings = ["auth.mode=hs256", "auth.hs256Secret=\(secret)"]

    /// Starts the program of a step.
    /// - Parameter input: the file of its standard input.
    private func program(
        _ step: Int, _ server: ServerAddress, _ options: [String] = [], input: String = "/dev/null"
    ) throws -> FreshetProcess {
        let executable = URL(fileURLWithPath: Repository.freshet).deletingLastPathComponent()
            .appendingPathComponent("TutorialSteps").path
        let arguments = [input, executable, "\(step)", "--server", "\(server)", "--category", "Clocks"] + options
        return try FreshetProcess(
            ["-c", "exec < \"$1\"; shift; exec \"$@\"", "sh"] + arguments, executable: "/bin/sh")
    }

    /// The page's token has no signature, which only `freshet dev` accepts. Others sign for the same user.
    @Test func theTokenOfThePageIsThatOfItsUser() throws {
        let parts = [#"{"alg":"none"}"#, #"{"sub":"\#(Self.user)"}"#, ""].map { TestTokens.base64URL(Array($0.utf8)) }
        let page = try Repository.text("docs/clients/swift.md")
        #expect(page.contains("--token " + parts.joined(separator: ".") + "\n") && page.contains("`\(Self.user)`"))
    }

    @Test func everyStepDoesWhatThePageSays() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway", settings: Self.settings)
            let token = TestTokens.signed(uid: Self.user, secret: Self.secret)
            let auctions = AuctionsConnector(at: "\(node.address)", cache: .off, auth: .token(token))
            let lot = try #require(try await auctions.listLots(category: "Clocks").get().data.lots.first)

            // 1: a list, and the end.
            let list = try program(1, node.address)
            #expect(await list.waitForExit() == 0)
            #expect(list.output.contains("-- 10 lots\n1. \(lot.title) [Clocks] "), "\(list.output)")

            // 2: someone's bid is shown.
            let live = try program(2, node.address)
            _ = try await live.line(containing: "-- 10 lots")
            _ = try await auctions.placeBid(lotId: lot.id, category: "Clocks", amount: 41_000).run()
            #expect(try await live.line(containing: "41000 €").hasPrefix("1. "))
            await live.crash()

            // 5: a bid of one's own, a refused one, and the end.
            let input = folder.path + "/input"
            try "bid 1 42000\nbid 1 1\nbid 11 1\nbuy\nquit\n".write(toFile: input, atomically: true, encoding: .utf8)
            let bidding = try program(
                5, node.address, ["--token", token, "--directory", folder.path + "/5"], input: input)
            #expect(await bidding.waitForExit() == 0)
            for line in ["PlaceBid: done", "there is no lot 11", "commands: bid NUMBER AMOUNT, quit"] {
                #expect(bidding.output.contains(line + "\n"), "\(bidding.output)")
            }
            #expect(bidding.output.split(separator: "\n").filter { $0.hasPrefix("PlaceBid: ") }.count == 2)
            let bids = try await auctions.lotBids(lotId: lot.id).get(.serverOnly).data.bids
            #expect(bids.contains { $0.amount == 42_000 } && !bids.contains { $0.amount == 1 })

            // 3: a loss is said, and its end. 4: the list of the last run is there without a server.
            let stale = try program(3, node.address)
            let kept = ["--directory", folder.path + "/4"]
            let first = try program(4, node.address, kept)
            _ = try await stale.line(containing: "-- 10 lots (live)")
            _ = try await first.line(containing: "-- 10 lots (live)")
            try await SwiftSDKTests.untilStored(folder.path + "/4", node.address)
            await first.crash()
            await node.process.crash()
            _ = try await stale.line(containing: "-- 10 lots (not confirmed: ")
            let second = try program(4, node.address, kept)
            _ = try await second.line(containing: "-- 10 lots (not confirmed: ")
            #expect(try await second.line(containing: "42000 €").hasPrefix("1. "))
            let again = try await cluster.start(
                roles: "api,worker,gateway", settings: Self.settings + ["http.port=\(node.address.port)"])
            #expect(again.address.port == node.address.port)
            _ = try await second.line(containing: "-- 10 lots (live)")
            let back = AuctionsConnector(at: "\(node.address)", cache: .off, auth: .token(token))
            _ = try await back.placeBid(lotId: lot.id, category: "Clocks", amount: 43_000).run()
            for program in [stale, second] {
                _ = try await program.line(containing: "43000 €")
                await program.crash()
            }
        }
    }
}
