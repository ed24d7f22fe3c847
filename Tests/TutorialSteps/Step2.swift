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

    func run() async throws {
        let auctions = AuctionsConnector(at: server, cache: .off)
        try await watch(auctions)
    }

    /// Prints the lots, each with its number in the list.
    private func show(_ lots: [ListLots.Data.Lot]) {
        for (number, lot) in lots.enumerated() {
            let price = lot.highestBid.map { "\($0) €" } ?? "no bid"
            say("\(number + 1). \(lot.title) [\(lot.category)] \(price), until \(lot.closesAt)")
        }
    }

    /// Prints the list whenever it changes.
    private func watch(_ auctions: AuctionsConnector) async throws {
        for try await state in auctions.listLots(category: Sent(category)).live() {
            guard let lots = state.data?.lots else { continue }
            say("-- \(lots.count) lots")
            show(lots)
        }
    }
}

/// Prints a line at once, also into a pipe.
private func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

func step2(_ arguments: [String]) async { await AuctionWatcher.main(arguments) }
