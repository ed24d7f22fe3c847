import AuctionsClient
import Foundation
import FreshetClient
import FreshetTesting
import TestSupport
import Testing

/// An app that follows queries and leaves them again holds no more after 100,000 times than after the first ones.
@Suite(.timeLimit(.minutes(3)))
struct MemoryTests {
    #if DEBUG
        private static let rounds = 4_000
    #else
        /// Two subscriptions each.
        private static let rounds = 50_000
    #endif
    /// Rounds until the cache is full and the allocator has its arenas.
    private static let warmingRounds = 2_000
    /// A leak of two hundred bytes each round would be more, in an optimised build.
    private static let growthMaxKiB = 8 * 1_024

    /// The resident size of this process.
    private static func residentKiB() throws -> Int {
        let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return (Int(pages[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE)) / 1_024
    }

    /// The client with a cache in memory: the link, the engine, what the store pins, and the streams of every kind.
    @Test func memoryStaysFlat() async throws {
        let server = ScriptedServer()
        server.setLots([1: 50, 2: 70])
        let auctions = server.auctions(cache: .memory(maxBytes: 200_000))
        let engine = try auctions.link.engine()
        var staying = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&staying) { $0.isConfirmed }

        /// A query with variables of its own. One subscriber leaves its loop, another one's task is cancelled.
        func round(_ number: Int) async throws {
            let query = auctions.listLots(category: Sent(String(1_000_000 + number)))
            let cancelled = Task {
                var count = 0
                for try await _ in query.live() { count += 1 }
                return count
            }
            for try await state in query.live() where state.isConfirmed { break }
            cancelled.cancel()
            _ = try await cancelled.value
            guard number % 10 == 0 else { return }
            var status = try await auctions.status.makeAsyncIterator()
            #expect(await status.next() == .connected)
            _ = try await auctions.queueEvents
            let watching = Task { for try await _ in auctions.observe(LotKey.self) {} }
            var snapshots = auctions.observeQuery(query, \.lots).makeAsyncIterator()
            #expect(try await snapshots.next()?.items.count == 2)
            watching.cancel()
            try await watching.value
        }
        /// The sizes once the engine has heard of all ends.
        func settled() async throws -> [String: Int] {
            try await waitUntil("the subscribers to go") {
                let counts = await engine.heldCounts
                return counts["subscribers"] == 1 && counts["observers"] == 0 && counts["statuses"] == 0
                    && counts["queueEvents"] == 0
            }
            return await engine.heldCounts
        }

        for number in 0..<Self.warmingRounds { try await round(number) }
        let (before, beforeKiB) = (try await settled(), try Self.residentKiB())
        for number in 0..<Self.rounds { try await round(Self.warmingRounds + number) }
        let (after, afterKiB) = (try await settled(), try Self.residentKiB())
        print("memory: \(Self.rounds) rounds, \(before), \(beforeKiB) KiB before, \(afterKiB) KiB after")
        func withoutResults(_ counts: [String: Int]) -> [String: Int] { counts.filter { $0.key != "results" } }
        #expect(withoutResults(before) == withoutResults(after))
        // The bound is one of bytes, and the variables of late rounds are longer.
        #expect(abs((after["results"] ?? 0) - (before["results"] ?? 0)) <= 8)
        #expect(after["pins"] == 1 && after["feeds"] == 2 && after["link"] == 2)
        #expect(afterKiB - beforeKiB < Self.growthMaxKiB)
        #expect(server.subscriptions == ["ListLots"] && server.connections == 1)
        withExtendedLifetime(staying) {}
    }
}
