import ArgumentParser
import AuctionsClient
import Foundation
import FreshetClient

/// A sample app of the Swift SDK: the lots of a category, live, and bids that wait for the network if they must.
@main
struct AuctionWatcher: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "auction-watcher",
        abstract: "Shows the lots of a category, live, and bids on them.",
        discussion: """
            Lines on standard input are commands: "bid NUMBER AMOUNT" bids on the lot with this number in the list,
            "quit" ends. A bid is shown at once and sent as soon as the server is reached, in this run or the next one.
            """)

    @Option(help: "The server's address.")
    var server = "http://127.0.0.1:9399"

    @Option(help: "The category to watch; all without it.")
    var category: String?

    @Option(help: "The token of the signed-in user; bids need one.")
    var token: String?

    @Option(help: "The folder of the cache and of waiting bids.")
    var directory: String?

    func run() async throws {
        let auctions = AuctionsConnector(
            at: server, cache: .persistent(maxAge: .seconds(5), directory: directory),
            auth: token.map { .token($0) } ?? .none)
        try await auctions.start()
        let list = ShownList()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await watch(auctions, list) }
            group.addTask { try await report(auctions) }
            group.addTask { try await read(auctions, list) }
            // The first that ends ends the program: a refusal, or the command "quit".
            _ = try await group.next()
            group.cancelAll()
        }
    }

    /// Prints the list whenever it changes, and whether it is confirmed.
    private func watch(_ auctions: AuctionsConnector, _ list: ShownList) async throws {
        for try await state in auctions.listLots(category: Sent(category)).live() {
            guard let lots = state.data?.lots else {
                print("no list yet: \(state.error?.message ?? "connecting")")
                continue
            }
            await list.show(lots)
            let mark = state.isConfirmed ? "live" : "not confirmed: \(state.error?.message ?? "from the cache")"
            print("-- \(lots.count) lots (\(mark)\(state.hasPendingMutations ? ", bids are waiting" : ""))")
            for (number, lot) in lots.enumerated() {
                let price = lot.highestBid.map { "\($0) €" } ?? "no bid"
                print("\(number + 1). \(lot.title) [\(lot.category)] \(price), until \(lot.closesAt)")
            }
            fflush(nil)
        }
    }

    /// Prints what became of bids.
    private func report(_ auctions: AuctionsConnector) async throws {
        for await event in try await auctions.queueEvents {
            switch event.outcome {
            case .success: print("\(event.operation): done")
            case .failure(let error): print("\(event.operation): \(error.message)")
            }
            fflush(nil)
        }
    }

    private func read(_ auctions: AuctionsConnector, _ list: ShownList) async throws {
        for await line in Self.lines() {
            let words = line.split(separator: " ")
            switch words.first {
            case "quit": return
            case "bid":
                guard words.count == 3, let number = Int(words[1]), let amount = Int(words[2]),
                    let lot = await list.lot(number)
                else {
                    print("usage: bid NUMBER AMOUNT")
                    continue
                }
                let bid = auctions.placeBid(lotId: lot.id, category: lot.category, amount: amount)
                _ = try await bid.enqueue { $0[lot.key].set("highestBid", amount) }
                print("the bid of \(amount) € on \(lot.title) is kept")
            case nil: continue
            default: print("commands: bid NUMBER AMOUNT, quit")
            }
        }
        // Without further input, the list goes on.
        try await Task.sleep(for: .seconds(365 * 86_400))
    }

    private static func lines() -> AsyncStream<String> {
        AsyncStream { continuation in
            Thread.detachNewThread {
                while let line = readLine() { continuation.yield(line) }
                continuation.finish()
            }
        }
    }
}

/// The list that is on the screen.
private actor ShownList {
    private var lots: [ListLots.Data.Lot] = []

    func show(_ lots: [ListLots.Data.Lot]) { self.lots = lots }
    func lot(_ number: Int) -> ListLots.Data.Lot? { lots.indices.contains(number - 1) ? lots[number - 1] : nil }
}
