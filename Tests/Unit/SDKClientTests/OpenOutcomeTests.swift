import AuctionsClient
import FreshetClient
import FreshetTesting
import FreshetTransport
import TestSupport
import Testing

/// Mutations of which the app does not know at once whether they were applied, and those that wait long.
@Suite(.timeLimit(.minutes(1)))
struct OpenOutcomeTests {
    /// Only an answer about the key says that nothing was applied by an earlier attempt whose outcome is open.
    @Test func aRefusalAfterATimeoutLeavesTheOutcomeOpen() async throws {
        let server = ScriptedServer()
        let late = Result<TransportResponse, TransportFailure>.failure(TransportFailure(.timeout, "late"))
        var options = ConnectorOptions()
        options.retriesMax = 1
        let bid = server.auctions(options: options).placeBid(lotId: lotID(1), category: "Clocks", amount: 7)
        let expectations: [(String, FreshetError.Code)] = [
            ("PERMISSION_DENIED", .outcomeUnknown), ("UNAUTHENTICATED", .outcomeUnknown),
            ("IDEMPOTENCY_KEY_REUSED", .refused), ("CONSTRAINT_VIOLATION", .refused),
        ]
        for (code, expected) in expectations {
            server.respondNext(with: [late, MutationTests.refusal(400, code)])
            let error = await #expect(throws: FreshetError.self) { try await bid.run() }
            #expect(error?.code == expected && error?.serverCode == code)
        }
        // A first attempt that was refused leaves nothing open, nor does one that the server had no time for.
        let refusal = MutationTests.refusal(403, "PERMISSION_DENIED")
        server.respondNext(with: [MutationTests.refusal(503, "UNAVAILABLE"), refusal])
        let error = await #expect(throws: FreshetError.self) { try await bid.run() }
        #expect(error?.code == .refused)
        // In the queue, too.
        server.respondNext(with: [late, refusal])
        let queued = try await bid.enqueue()
        let other = await #expect(throws: FreshetError.self) { try await queued.value }
        #expect(other?.code == .outcomeUnknown && other?.serverCode == "PERMISSION_DENIED")
    }

    /// A mutation that never left the device is sent when there is a network, however late that is.
    @Test func aLongTimeWithoutANetworkLosesNothing() async throws {
        try await withFolder { folder in
            let server = ScriptedServer()
            let time = ManualTime()
            server.answer(PlaceBid.self) { _ in .success(MutationTests.bid) }
            server.goOffline()
            let cache = CacheSettings.persistent(directory: folder)
            do {
                let auctions = server.auctions(cache: cache, time: time)
                let bid = auctions.placeBid(lotId: lotID(1), category: "Clocks", amount: 7)
                _ = try await bid.enqueue()
                try await waitUntil("a delay") { await (try auctions.link.engine()).queueRetryAtMs != nil }
            }
            time.advance(30 * 3_600_000)
            let auctions = server.auctions(cache: cache, time: time)
            var events = try await auctions.queueEvents.makeAsyncIterator()
            server.goOnline()
            try await auctions.start()
            let event = try #require(await events.next())
            #expect(try event.outcome.get().errors == [])
            #expect(server.requests.count == 1)
        }
    }

    /// A higher bid that comes before the repeated answer stays.
    @Test func aRepeatedAnswerDoesNotUndoWhatCameSince() async throws {
        let server = ScriptedServer()
        let time = ManualTime()
        server.setLots([1: 50])
        server.answer(PlaceBid.self) { _ in .success(MutationTests.bid) }
        let auctions = server.auctions(time: time)
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        server.loseAnswers(1)
        let bid = auctions.placeBid(lotId: lotID(1), category: "Clocks", amount: 100)
        let queued = try await bid.enqueue { $0[LotKey(id: lotID(1))].highestBid = 100 }
        try await waitUntil("the bid") { !server.requests.isEmpty }
        server.set(ListLots.self, to: ["lots": [server.lot(1, 105), server.lot(2, 1)]])
        _ = try await state(&states) { $0.data?.lots.count == 2 }
        let advancing = Task {
            while !Task.isCancelled {
                time.advance(10)
                await Task.yield()
            }
        }
        defer { advancing.cancel() }
        _ = try await queued.value
        let settled = try await state(&states) { $0.isConfirmed && !$0.hasPendingMutations }
        #expect(settled.data?.lots.first?.highestBid == 105)
    }

    /// Operations that begin while the queue of an earlier run is read from the file wait for it: it goes first.
    @Test func aQueueOfAnEarlierRunGoesFirst() async throws {
        try await withFolder { folder in
            let server = ScriptedServer()
            let user = TestUser("ben")
            server.setLots([1: 5])
            server.answer(WithdrawLot.self) { _ in .success(["lot_delete": nil]) }
            let cache = CacheSettings.persistent(directory: folder)
            for run in 0..<20 {
                server.goOffline()
                do {
                    let auctions = server.auctions(cache: cache, auth: user.auth)
                    _ = try await auctions.withdrawLot(id: lotID(run)).enqueue()
                    try await waitUntil("a delay") { await (try auctions.link.engine()).queueRetryAtMs != nil }
                }
                server.goOnline()
                user.become("ada")
                let auctions = server.auctions(cache: cache, auth: user.auth)
                var states = auctions.listLots().live().makeAsyncIterator()
                _ = try await state(&states) { $0.isConfirmed }
                let before = server.requests.count
                user.become("ben")
                let changing = Task { try await auctions.authChanged() }
                // The end of a live query tells that the user is another one; their queue is read from then on.
                await #expect(throws: FreshetError.self) { while try await states.next() != nil {} }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 100..<104 {
                        group.addTask { _ = try await auctions.withdrawLot(id: lotID(number)).enqueue().value }
                        group.addTask { try await auctions.start() }
                    }
                    try await group.waitForAll()
                }
                try await changing.value
                let sent = server.requests.dropFirst(before)
                #expect(sent.first?.variables["id"] == AnyValue(lotID(run)) && sent.count == 5, "run \(run)")
            }
        }
    }
}
