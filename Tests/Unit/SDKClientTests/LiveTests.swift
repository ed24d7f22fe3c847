import AuctionsClient
import FreshetClient
import FreshetTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct LiveTests {
    @Test func aLiveQueryShowsTheServersResultAndEveryChange() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        var states = server.auctions().listLots().live().makeAsyncIterator()
        let first = try await state(&states) { $0.isConfirmed }
        #expect(first.data?.lots.map(\.highestBid) == [5])
        #expect(first.source == .server && first.staleSince == nil && first.error == nil)
        server.setLots([1: 6, 2: nil])
        let second = try await state(&states) { $0.data?.lots.count == 2 }
        #expect(second.data?.lots.map(\.highestBid) == [6, nil])
    }

    /// Never silent: a loss is shown with its reason and time, and so is the way back.
    @Test func aLossIsShownAndTheWayBack() async throws {
        let server = ScriptedServer()
        let time = ManualTime()
        server.setLots([1: 5])
        var states = server.auctions(time: time).listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        server.goOffline()
        let stale = try await state(&states) { !$0.isConfirmed }
        #expect(stale.data?.lots.count == 1)
        #expect(stale.error?.code == .offline)
        #expect(stale.staleSince != nil)
        server.setLots([1: 7])
        server.goOnline()
        let advancing = Task {
            while !Task.isCancelled {
                time.advance(1_000)
                await Task.yield()
            }
        }
        let fresh = try await state(&states) { $0.isConfirmed }
        advancing.cancel()
        #expect(fresh.data?.lots.first?.highestBid == 7)
        #expect(fresh.error == nil && fresh.staleSince == nil)
    }

    @Test func withoutACacheAndAServerTheReasonIsShown() async throws {
        let server = ScriptedServer()
        server.goOffline()
        var states = server.auctions().listLots().live().makeAsyncIterator()
        let first = try #require(try await states.next())
        #expect(first.data == nil && first.error?.code == .offline && !first.isConfirmed)
    }

    /// Seed row 22: Firebase's SDK follows nothing without a `clientCache`.
    @Test func aLiveQueryNeedsNoCache() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        var states = server.auctions(cache: .off).listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        server.setLots([1: 6])
        _ = try await state(&states) { $0.isConfirmed && $0.data?.lots.first?.highestBid == 6 }
    }

    /// Cache first, then the server, over two runs of the app.
    @Test func theCachedResultComesFirst() async throws {
        try await withFolder { folder in
            let server = ScriptedServer()
            server.setLots([1: 5, 2: 8])
            do {
                var states = server.auctions(cache: .persistent(directory: folder)).listLots().live()
                    .makeAsyncIterator()
                _ = try await state(&states) { $0.isConfirmed }
            }
            server.goOffline()
            let auctions = server.auctions(cache: .persistent(directory: folder))
            var states = auctions.listLots().live().makeAsyncIterator()
            let cached = try await state(&states) { $0.data != nil }
            #expect(cached.source == .cache && !cached.isConfirmed && cached.staleSince != nil)
            #expect(cached.data?.lots.map(\.highestBid) == [5, 8])
            #expect(try #require(cached.age) < .seconds(60))
            server.setLots([1: 9])
            server.goOnline()
            try await auctions.networkChanged()
            let live = try await state(&states) { $0.isConfirmed }
            #expect(live.source == .server && live.data?.lots.map(\.highestBid) == [9])
        }
    }

    /// Seed row 19: a query that is used in several places has one subscription, which ends with the last of them.
    @Test func subscribersShareOneSubscription() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        let auctions = server.auctions()
        let states = Recorder<Int>()
        func follow(_ number: Int) -> Task<Void, any Error> {
            Task { for try await _ in auctions.listLots().live() { states.add(number) } }
        }
        let (first, second) = (follow(1), follow(2))
        try await waitUntil("a state for each") { Set(states.values) == [1, 2] }
        #expect(server.subscriptions == ["ListLots"])
        first.cancel()
        try await first.value
        server.setLots([1: 6])
        try await waitUntil("a state for the second") { states.values.last == 2 }
        #expect(server.subscriptions == ["ListLots"])
        second.cancel()
        try await waitUntil("the end of the subscription") { server.subscriptions == [] }
        #expect(server.connections == 1)
    }

    /// An iterator that goes away counts as an end.
    @Test func aLoopThatIsLeftEndsTheSubscription() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        let auctions = server.auctions()
        for try await state in auctions.listLots().live() where state.isConfirmed { break }
        try await waitUntil("the end of the subscription") { server.subscriptions == [] }
        try await auctions.stop()
    }

    /// A connector that goes away takes its socket with it.
    @Test func aConnectorThatGoesAwayClosesItsSocket() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        for try await state in server.auctions().listLots().live() where state.isConfirmed { break }
        try await waitUntil("the end of the socket") { server.openSockets == 0 }
    }

    /// Seed row 18: cancelling ends updates.
    @Test func cancellingTheTaskEndsTheSubscription() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        let auctions = server.auctions()
        let task = Task { for try await _ in auctions.listLots().live() {} }
        try await waitUntil("the subscription") { server.subscriptions == ["ListLots"] }
        task.cancel()
        try await task.value
        try await waitUntil("the end of the subscription") { server.subscriptions == [] }
    }

    /// Typed ends.
    @Test func aRefusalEndsTheSequenceWithTheServersCode() async throws {
        let server = ScriptedServer()
        server.set(MyAccount.self) { _ in .failure(ResponseError(message: "sign in", code: "PERMISSION_DENIED")) }
        var states = server.auctions().myAccount().live().makeAsyncIterator()
        let error = await #expect(throws: FreshetError.self) { try await states.next() }
        #expect(error?.code == .refused && error?.serverCode == "PERMISSION_DENIED")
        #expect(try await states.next() == nil)
    }

    /// Seed row 23: an entity that is updated in one area of the app updates in others.
    @Test func aRowOfOneQueryUpdatesAnother() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5, 2: 6])
        let auctions = server.auctions()
        var list = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&list) { $0.isConfirmed }
        server.set(
            ClosingSoon.self,
            to: [
                "lots": [
                    [
                        "id": AnyValue(lotID(2)), "title": "Renamed", "category": "Clocks", "highestBid": 60,
                        "closesAt": "2026-12-01T12:00:00Z",
                    ]
                ]
            ])
        _ = try await auctions.closingSoon().get(.serverOnly)
        let changed = try await state(&list) { $0.data?.lots.last?.highestBid == 60 }
        #expect(changed.data?.lots.map(\.title) == ["Lot 1", "Renamed"])
    }

    /// Seed row 11, through a whole query.
    @Test func aValueThatTheAppDoesNotKnowIsShown() async throws {
        let server = ScriptedServer()
        server.set(
            NewestLots.self,
            to: [
                "lots": [
                    ["id": AnyValue(lotID(1)), "title": "x", "category": "y", "description": nil, "grade": "RUINED"]
                ]
            ])
        let lots = try await server.auctions().newestLots().get(.serverOnly).data.lots
        switch try #require(lots.first?.grade) {
        case .MINT, .GOOD, .WORN: Issue.record("a known grade")
        case ._UNKNOWN(let name): #expect(name == "RUINED")
        }
    }

    /// SDK specification §4 (5): equality compares all fields.
    @Test func rowsWithTheSameKeyAndOtherFieldsAreNotEqual() throws {
        let server = ScriptedServer()
        let one = try ListLots.Data.Lot(result: server.lot(1, 5))
        let other = try ListLots.Data.Lot(result: server.lot(1, 6))
        #expect(one != other && one.id == other.id && one.key == other.key)
    }

    /// SDK specification §4 (6): the same variables are one query, however they are given.
    @Test func equalVariablesAreOneQuery() {
        let auctions = ScriptedServer().auctions()
        #expect(auctions.listLots(category: "Clocks") == auctions.listLots(category: Sent("Clocks")))
        #expect(auctions.listLots(category: .null) != auctions.listLots())
    }

    /// Seed row 27.
    @Test func stopIsSilentAndStartGoesOn() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        let auctions = server.auctions()
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        try await auctions.stop()
        #expect(server.subscriptions == [])
        server.setLots([1: 6])
        try await auctions.start()
        let next = try await state(&states) { $0.data?.lots.first?.highestBid == 6 }
        #expect(next.isConfirmed)
    }

    @Test func clearEmptiesTheCache() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        let auctions = server.auctions()
        _ = try await auctions.listLots().get()
        _ = try await auctions.listLots().get(.cacheOnly)
        try await auctions.clear()
        let error = await #expect(throws: FreshetError.self) { try await auctions.listLots().get(.cacheOnly) }
        #expect(error?.code == .notCached)
    }

    @Test func aWrongAddressIsAnErrorOfTheFirstOperation() async throws {
        let auctions = AuctionsConnector(at: "auctions.example.com", cache: .off)
        let error = await #expect(throws: FreshetError.self) { try await auctions.listLots().get() }
        #expect(error?.code == .invalidAddress)
    }

    /// Seed row 15.
    @Test func theEmulatorIsChosenBeforeTheFirstUse() async throws {
        let auctions = AuctionsConnector(at: "no address", cache: .off)
        // Nothing listens on port 1.
        #expect(auctions.useEmulator(port: 1))
        let error = await #expect(throws: FreshetError.self) { try await auctions.listLots().get() }
        #expect(error?.code == .offline)
        #expect(!auctions.useEmulator())
    }

    @Test func statusTellsOfTheLink() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        let time = ManualTime()
        let auctions = server.auctions(time: time)
        var statuses = try await auctions.status.makeAsyncIterator()
        #expect(await statuses.next() == .idle)
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        #expect(await statuses.next() == .connecting)
        #expect(await statuses.next() == .connected)
        server.goOffline()
        let since = Timestamp(ms: time.wallMs)
        #expect(await statuses.next() == .stale(since: since))
        guard case .reconnecting(_, let error)? = await statuses.next() else {
            Issue.record("not told")
            return
        }
        #expect(error.code == .offline)
        // One that begins to listen learns it, too, and the time is that of the loss.
        var later = try await auctions.status.makeAsyncIterator()
        #expect(await later.next() == .stale(since: since))
        guard case .reconnecting? = await later.next() else {
            Issue.record("not told")
            return
        }
        server.goOnline()
        try await auctions.networkChanged()
        #expect(await later.next() == .connecting)
        #expect(await later.next() == .connected)
        var last = try await auctions.status.makeAsyncIterator()
        #expect(await last.next() == .connected)
    }

    /// A result with errors is in no cache, but shows what becomes of its rows.
    @Test func aPartialResultFollowsRowsAndMutations() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5, 2: 6])
        let auctions = server.auctions()
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        server.push([
            "id": "1", "type": "next",
            "payload": [
                "data": ["lots": [server.lot(1, 50), server.lot(2, 60)]],
                "errors": [["message": "no", "path": ["lots", 0, "description"], "extensions": ["code": "TIMEOUT"]]],
            ],
        ])
        _ = try await state(&states) { $0.data?.lots.map(\.highestBid) == [50, 60] && !$0.errors.isEmpty }
        server.set(
            ClosingSoon.self,
            to: [
                "lots": [
                    [
                        "id": AnyValue(lotID(2)), "title": "Renamed", "category": "Clocks", "highestBid": 70,
                        "closesAt": "2026-12-01T12:00:00Z",
                    ]
                ]
            ])
        _ = try await auctions.closingSoon().get(.serverOnly)
        let followed = try await state(&states) { $0.data?.lots.last?.title == "Renamed" }
        #expect(followed.data?.lots.map(\.highestBid) == [50, 70] && !followed.errors.isEmpty)
        // The cache has the last whole result.
        #expect(try await auctions.listLots().get(.cacheOnly).data.lots.map(\.highestBid) == [5, 70])
        server.holdAnswers()
        server.answer(WithdrawLot.self) { _ in .failure(ResponseError(message: "no", code: "PERMISSION_DENIED")) }
        let queued = try await auctions.withdrawLot(id: lotID(1)).enqueue { $0.delete(LotKey(id: lotID(1))) }
        _ = try await state(&states) { $0.data?.lots.map(\.id) == [lotID(2)] }
        server.releaseAnswers()
        await #expect(throws: FreshetError.self) { try await queued.value }
        _ = try await state(&states) { $0.data?.lots.map(\.highestBid) == [50, 70] }
        server.setLots([1: 7])
        let whole = try await state(&states) { $0.errors.isEmpty }
        #expect(whole.data?.lots.map(\.highestBid) == [7])
        #expect(await (try auctions.link.engine()).heldCounts["partials"] == 0)
    }

    /// A result with errors is in no cache, but what it shows may be invalidated: it is asked for again.
    @Test func aPartialResultIsAskedForAgainAfterAnInvalidation() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        let time = ManualTime()
        let auctions = server.auctions(cache: .memory(maxAge: .seconds(1)), time: time)
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        server.push([
            "id": "1", "type": "next",
            "payload": ["data": ["lots": []], "errors": [["message": "no", "extensions": ["code": "TIMEOUT"]]]],
        ])
        let partial = try await state(&states) { !$0.errors.isEmpty }
        #expect(partial.data?.lots.isEmpty == true && partial.error?.serverCode == "TIMEOUT")
        // The cached whole result is not the one that is followed, so it ages.
        time.advance(2_000)
        #expect(try await auctions.listLots().get().source == .server)
        server.setLots([1: 9])
        server.push([
            "type": "ping",
            "payload": [
                "freshet": ["invalidations": ["position": "1-m", "drop": [["operation": "other/ListLots"]]]]
            ],
        ])
        server.push([
            "type": "ping",
            "payload": [
                "freshet": ["invalidations": ["position": "2-m", "drop": [["operation": "auctions/ListLots"]]]]
            ],
        ])
        let whole = try await state(&states) { $0.errors.isEmpty && $0.isConfirmed }
        #expect(whole.data?.lots.map(\.highestBid) == [9])
    }
}
