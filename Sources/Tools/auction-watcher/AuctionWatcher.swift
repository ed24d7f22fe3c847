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
        // Asked for first, so that outcomes of bids of the last run are not missed.
        let outcomes = try await auctions.queueEvents
        try await auctions.start()
        let list = ShownList()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await watch(auctions, list) }
            group.addTask { await report(outcomes) }
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
                say("no list yet: \(state.error?.message ?? "connecting")")
                continue
            }
            await list.show(lots)
            let mark = state.isConfirmed ? "live" : "not confirmed: \(state.error?.message ?? "from the cache")"
            say("-- \(lots.count) lots (\(mark)\(state.hasPendingMutations ? ", bids are waiting" : ""))")
            for (number, lot) in lots.enumerated() {
                let price = lot.highestBid.map { "\($0) €" } ?? "no bid"
                say("\(number + 1). \(lot.title) [\(lot.category)] \(price), until \(lot.closesAt)")
            }
        }
    }

    /// Prints what became of bids.
    private func report(_ outcomes: AsyncStream<QueueEvent>) async {
        for await event in outcomes {
            switch event.outcome {
            case .success: say("\(event.operation): done")
            case .failure(let error): say("\(event.operation): \(error.message)")
            }
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
                    say("usage: bid NUMBER AMOUNT")
                    continue
                }
                let bid = auctions.placeBid(lotId: lot.id, category: lot.category, amount: amount)
                _ = try await bid.enqueue { $0[lot.key].highestBid = amount }
                say("the bid of \(amount) € on \(lot.title) is kept")
            case nil: continue
            default: say("commands: bid NUMBER AMOUNT, quit")
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

/// Prints a line at once, also into a pipe.
private func say(_ line: String) {
    print(line)
    fflush(nil)
}

/// The list that is on the screen.
private actor ShownList {
    private var lots: [ListLots.Data.Lot]?
    private var waiters: [CheckedContinuation<Void, Never>] = []

    func show(_ lots: [ListLots.Data.Lot]) {
        self.lots = lots
        for waiter in waiters { waiter.resume() }
        waiters = []
    }

    /// Waits for the first list.
    func lot(_ number: Int) async -> ListLots.Data.Lot? {
        if lots == nil { await withCheckedContinuation { waiters.append($0) } }
        guard let lots, lots.indices.contains(number - 1) else { return nil }
        return lots[number - 1]
    }
}
