// Generated from docs/clients/swift.md: UPDATE_REFERENCE=1 with TutorialTests.

import ArgumentParser
import AuctionsClient
import Foundation
import FreshetClient

/// A sample app of the Swift SDK, built step by step in docs/clients/swift.md.
private struct AuctionWatcher: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Shows the lots of a category.")

    @Option(help: "The server's address.") var server = "http://127.0.0.1:9399"
    @Option(help: "The category to watch; all without it.") var category: String?
    @Option(help: "The folder of the cache.") var directory: String?
    @Option(help: "The token of the signed-in user; bids need one.") var token: String?

    func run() async throws {
        let auctions = AuctionsConnector(
            at: server, cache: .persistent(maxAge: .seconds(5), directory: directory),
            auth: token.map { .token($0) } ?? .none)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await watch(auctions) }
            group.addTask { try await read(auctions) }
            // The first error ends the program, and so does the command "quit".
            for try await _ in group {}
        }
    }

    /// Prints the lots, each with its number in the list.
    private func show(_ lots: [ListLots.Data.Lot]) {
        for (number, lot) in lots.enumerated() {
            let price = lot.highestBid.map { "\($0) €" } ?? "no bid"
            say("\(number + 1). \(lot.title) [\(lot.category)] \(price), until \(lot.closesAt)")
        }
    }

    /// Prints the list whenever it changes, and whether it is confirmed.
    private func watch(_ auctions: AuctionsConnector) async throws {
        for try await state in auctions.listLots(category: Sent(category)).live() {
            let reason = state.error?.message ?? (state.data == nil ? "connecting" : "from the cache")
            let mark = state.isConfirmed ? "live" : "not confirmed: \(reason)"
            let lots = state.data?.lots
            say("-- \(lots?.count.description ?? "no") lots (\(mark))")
            show(lots ?? [])
        }
    }

    /// Carries out the commands on standard input. After its end, the list goes on.
    private func read(_ auctions: AuctionsConnector) async throws {
        let lines = AsyncStream<String> { input in
            Thread.detachNewThread {
                while let line = readLine() { input.yield(line) }
                input.finish()
            }
        }
        for await line in lines {
            let words = line.split(separator: " ")
            if words == ["quit"] { throw ExitCode.success }
            if words.count == 3, words[0] == "bid", let number = Int(words[1]), let amount = Int(words[2]) {
                try await bid(amount, onLot: number, auctions)
            } else if !words.isEmpty {
                say("commands: bid NUMBER AMOUNT, quit")
            }
        }
    }

    /// Bids on the lot with this number in the list.
    private func bid(_ amount: Int, onLot number: Int, _ auctions: AuctionsConnector) async throws {
        let states = auctions.listLots(category: Sent(category)).live()
        let lots = try await states.first { $0.data != nil }?.data?.lots ?? []
        guard lots.indices.contains(number - 1) else { return say("there is no lot \(number)") }
        let lot = lots[number - 1]
        do {
            _ = try await auctions.placeBid(lotId: lot.id, category: lot.category, amount: amount).run()
            say("PlaceBid: done")
        } catch {
            say("PlaceBid: \(error.message)")
        }
    }
}

/// Prints a line at once, also into a pipe.
private func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

func step5(_ arguments: [String]) async { await AuctionWatcher.main(arguments) }
