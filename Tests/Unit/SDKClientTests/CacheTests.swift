import AuctionsClient
import FreshetClient
import FreshetTesting
import TestSupport
import Testing

/// Seed rows 10 and 12 to 14: reads, and what the three policies use.
@Suite(.timeLimit(.minutes(1)))
struct CacheTests {
    @Test func preferCacheUsesWhatIsNotOlderThanMaxAge() async throws {
        let server = ScriptedServer()
        let time = ManualTime()
        let auctions = server.auctions(cache: .memory(maxAge: .seconds(5)), time: time)
        server.setLots([1: 5])
        #expect(try await auctions.listLots().get().source == .server)
        server.setLots([1: 6])
        time.advance(5_000)
        let cached = try await auctions.listLots().get()
        #expect(cached.source == .cache && cached.data.lots.first?.highestBid == 5)
        time.advance(1)
        let fetched = try await auctions.listLots().get()
        #expect(fetched.source == .server && fetched.data.lots.first?.highestBid == 6)
    }

    /// Row 12: with the default of zero, the cache serves `.cacheOnly` alone.
    @Test func withMaxAgeZeroPreferCacheAlwaysFetches() async throws {
        let server = ScriptedServer()
        let auctions = server.auctions(cache: .memory(), time: ManualTime())
        server.setLots([1: 5])
        #expect(try await auctions.listLots().get().source == .server)
        #expect(try await auctions.listLots().get().source == .server)
        #expect(server.requests.count == 2)
        #expect(try await auctions.listLots().get(.cacheOnly).source == .cache)
        #expect(server.requests.count == 2)
    }

    @Test func cacheOnlyUsesAnyAgeAndNeverTheNetwork() async throws {
        let server = ScriptedServer()
        let time = ManualTime()
        let auctions = server.auctions(cache: .memory(maxAge: .seconds(1)), time: time)
        let error = await #expect(throws: FreshetError.self) { try await auctions.listLots().get(.cacheOnly) }
        #expect(error?.code == .notCached)
        #expect(server.requests.isEmpty)
        server.setLots([1: 5])
        _ = try await auctions.listLots().get()
        server.goOffline()
        time.advance(3_600_000)
        #expect(try await auctions.listLots().get(.cacheOnly).data.lots.count == 1)
    }

    @Test func serverOnlyAlwaysFetches() async throws {
        let server = ScriptedServer()
        let auctions = server.auctions(cache: .memory(maxAge: .seconds(60)), time: ManualTime())
        server.setLots([1: 5])
        _ = try await auctions.listLots().get()
        server.setLots([1: 6])
        #expect(try await auctions.listLots().get(.serverOnly).data.lots.first?.highestBid == 6)
        server.goOffline()
        let error = await #expect(throws: FreshetError.self) { try await auctions.listLots().get(.serverOnly) }
        #expect(error?.code == .offline)
    }

    /// A live query that changes while the answer is under way is newer; the answer is the server's all the same.
    @Test func serverOnlyIsTheServersResultBesideLiveQueries() async throws {
        let server = ScriptedServer()
        let auctions = server.auctions()
        func soon(_ price: Int) -> AnyValue {
            [
                "lots": [
                    [
                        "id": AnyValue(lotID(2)), "title": "Lot 2", "category": "Clocks",
                        "highestBid": AnyValue(price), "closesAt": "2026-12-01T12:00:00Z",
                    ]
                ]
            ]
        }
        server.setLots([1: 5, 2: 6])
        _ = try await auctions.listLots().get()
        server.set(ClosingSoon.self, to: soon(6))
        var live = auctions.closingSoon().live().makeAsyncIterator()
        _ = try await state(&live) { $0.isConfirmed }
        server.setLots([1: 50, 2: 60])
        server.holdAnswers()
        let reading = Task { try await auctions.listLots().get(.serverOnly) }
        try await waitUntil("the request") { server.requests.count == 2 }
        server.set(ClosingSoon.self, to: soon(70))
        _ = try await state(&live) { $0.data?.lots.first?.highestBid == 70 }
        server.releaseAnswers()
        let read = try await reading.value
        #expect(read.source == .server && read.data.lots.map(\.highestBid) == [50, 70])
        #expect(try await auctions.listLots().get(.cacheOnly).data == read.data)
    }

    /// A result that was asked for before an invalidation may be what is to be dropped: it is not kept.
    @Test(arguments: [false, true])
    func anAnswerOfBeforeAnInvalidationIsNotKept(isCleared: Bool) async throws {
        let server = ScriptedServer()
        let auctions = server.auctions()
        func isCached() async throws -> Bool {
            do throws(FreshetError) {
                _ = try await auctions.listLots().get(.cacheOnly)
                return true
            } catch {
                guard error.code == .notCached else { throw error }
                return false
            }
        }
        server.set(ClosingSoon.self, to: ["lots": []])
        server.setLots([1: 5])
        var live = auctions.closingSoon().live().makeAsyncIterator()
        _ = try await state(&live) { $0.isConfirmed }
        _ = try await auctions.listLots().get()
        let requests = server.requests.count
        server.holdAnswers()
        let reading = Task { try await auctions.listLots().get(.serverOnly) }
        try await waitUntil("the request") { server.requests.count == requests + 1 }
        if isCleared {
            try await auctions.clear()
        } else {
            let drop: AnyValue = ["position": "1-m", "drop": [["operation": "auctions/ListLots"]]]
            server.push(["type": "ping", "payload": ["freshet": ["invalidations": drop]]])
            try await waitUntil("the invalidation") { try await !isCached() }
        }
        server.releaseAnswers()
        #expect(try await reading.value.data.lots.count == 1)
        #expect(try await !isCached())
        withExtendedLifetime(live) {}
    }

    /// Row 12: the app works while the network is interrupted, also after a restart.
    @Test func aPersistentCacheSurvivesARestartAndAMemoryCacheDoesNot() async throws {
        try await withFolder { folder in
            let server = ScriptedServer()
            server.setLots([1: 5])
            let persistent = CacheSettings.persistent(maxAge: .seconds(60), directory: folder)
            _ = try await server.auctions(cache: persistent).listLots().get()
            _ = try await server.auctions(cache: .memory(maxAge: .seconds(60))).listLots().get()
            server.goOffline()
            let again = try await server.auctions(cache: persistent).listLots().get()
            #expect(again.source == .cache && again.data.lots.first?.highestBid == 5)
            let error = await #expect(throws: FreshetError.self) {
                try await server.auctions(cache: .memory(maxAge: .seconds(60))).listLots().get(.cacheOnly)
            }
            #expect(error?.code == .notCached)
        }
    }

    @Test func otherVariablesAreAnotherResult() async throws {
        let server = ScriptedServer()
        server.set(ListLots.self) { variables in
            let isClocks = variables["category"] == "Clocks"
            return .success(["lots": isClocks ? [] : [ScriptedServer().lot(1, 2)]])
        }
        let auctions = server.auctions()
        #expect(try await auctions.listLots(category: "Clocks").get().data.lots.isEmpty)
        #expect(try await auctions.listLots().get().data.lots.count == 1)
        #expect(try await auctions.listLots(category: "Clocks").get(.cacheOnly).data.lots.isEmpty)
    }

    /// A result of an older app that no longer fits is replaced by the server's.
    @Test func aCachedResultOfAnotherRevisionIsNotUsed() async throws {
        try await withFolder { folder in
            let server = ScriptedServer()
            server.setLots([1: 5])
            let cache = CacheSettings.persistent(maxAge: .seconds(60), directory: folder)
            _ = try await server.auctions(cache: cache).listLots().get()
            let newer = server.auctions(cache: cache)
            let query = Query<NewerListLots>(newer.link, NoVariables())
            let error = await #expect(throws: FreshetError.self) { try await query.get(.cacheOnly) }
            #expect(error?.code == .notCached)
            #expect(try await newer.listLots().get(.cacheOnly).data.lots.count == 1)
        }
    }

    @Test func aResultThatDoesNotFitSaysWhere() async throws {
        let server = ScriptedServer()
        server.set(ListLots.self, to: ["lots": [["id": "no uuid"]]])
        let error = await #expect(throws: FreshetError.self) { try await server.auctions().listLots().get() }
        #expect(error?.code == .unreadable)
        #expect(error?.message == "ListLots: lots.0.id: expected a UUID, found a text")
    }

    private enum NewerListLots: QueryOperation {
        static let name = "ListLots"
        static let revision = "2"
        typealias Variables = NoVariables

        struct Data: OperationData {
            init(from object: ObjectReader) throws(ResultError) {}
        }
    }
}
