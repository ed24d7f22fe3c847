import AuctionsClient
import Foundation
import FreshetClient
import FreshetTesting
import TestSupport
import Testing

/// Rows that queued mutations add to lists: `OptimisticEdits.insert`.
@Suite(.timeLimit(.minutes(1)))
struct AddedRowTests {
    private static let closesAt = Timestamp("2026-12-01T12:00:00Z")

    func served() -> ScriptedServer {
        let server = ScriptedServer()
        server.setLots([1: 5, 2: 6])
        server.answer(CreateLot.self) { _ in .success(["lot_insert": ["id": AnyValue(lotID(3))]]) }
        return server
    }

    func creation(_ auctions: AuctionsConnector) throws -> Mutation<CreateLot> {
        auctions.createLot(
            title: "Lot 3", category: "Clocks", startPrice: 1, closesAt: try #require(Self.closesAt))
    }

    private func fill(_ row: inout EditedRow<LotKey>) {
        row.title = "Lot 3"
        row.category = "Clocks"
        row.closesAt = Self.closesAt
    }

    /// The changes of lots from now on.
    private func observed(
        _ auctions: AuctionsConnector
    ) async throws -> (Recorder<EntityChange<LotKey>>, Task<Void, any Error>) {
        let changes = Recorder<EntityChange<LotKey>>()
        let observing = Task { for try await change in auctions.observe(LotKey.self) { changes.add(change) } }
        try await waitUntil("the observer") { try await auctions.link.engine().observerCount == 1 }
        return (changes, observing)
    }

    @Test func anAddedRowIsShownAtOnceAndStaysWhenItIsApplied() async throws {
        let server = served()
        let auctions = server.auctions()
        let lots = auctions.listLots()
        var states = lots.live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        let (changes, observing) = try await observed(auctions)
        defer { observing.cancel() }
        server.holdAnswers()
        let queued = try await creation(auctions).enqueue { expected in
            expected.insert(LotKey(id: lotID(3)), into: lots, at: .start) { row in
                fill(&row)
                #expect(row.title == "Lot 3" && row.highestBid == nil)
            }
            #expect(expected[LotKey(id: lotID(3))].title == "Lot 3")
            expected[LotKey(id: lotID(3))].highestBid = 1
        }
        let shown = try await state(&states) { $0.data?.lots.count == 3 }
        let row = try #require(shown.data?.lots.first)
        #expect(row.key == LotKey(id: lotID(3)) && row.title == "Lot 3" && row.highestBid == 1)
        #expect(shown.hasPendingMutations)
        server.holdWaits()
        server.releaseAnswers()
        _ = try await queued.value
        #expect(try await lots.get(.cacheOnly).data.lots == shown.data?.lots)
        // The server's next result has it, at its own place.
        server.setLots([1: 5, 2: 6, 3: 1])
        let next = try await state(&states) { $0.data?.lots.first?.id == lotID(1) }
        #expect(next.data?.lots.map(\.id) == [lotID(1), lotID(2), lotID(3)])
        server.releaseWaits()
        _ = try await state(&states) { !$0.hasPendingMutations }
        // It is the same row, with the field that the app did not set.
        try await waitUntil("the server's fields") { changes.values.count == 2 }
        #expect(changes.values.map(\.key) == [row.key, row.key] && changes.values[0].kind == .created)
        #expect(changes.values[0].fields["highestBid"] == 1 && changes.values[0].fields["description"] == nil)
        guard case .updated(let fields) = changes.values[1].kind else {
            Issue.record("\(changes.values[1])")
            return
        }
        #expect(fields.contains("description"))
    }

    @Test func aRefusedRowIsGone() async throws {
        let server = served()
        server.answer(CreateLot.self) { _ in .failure(ResponseError(message: "no", code: "PERMISSION_DENIED")) }
        let auctions = server.auctions()
        let lots = auctions.listLots()
        var states = lots.live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        let (changes, observing) = try await observed(auctions)
        defer { observing.cancel() }
        server.holdAnswers()
        let queued = try await creation(auctions).enqueue {
            $0.insert(LotKey(id: lotID(3)), into: lots, at: .after(LotKey(id: lotID(1))), fill)
        }
        let shown = try await state(&states) { $0.data?.lots.count == 3 }
        #expect(shown.data?.lots.map(\.id) == [lotID(1), lotID(3), lotID(2)])
        server.releaseAnswers()
        await #expect(throws: FreshetError.self) { try await queued.value }
        _ = try await state(&states) { $0.data?.lots.count == 2 }
        try await waitUntil("the events") { changes.values.map(\.kind) == [.created, .deleted] }
    }

    /// The row is kept with its mutation, and with the result once that was applied.
    @Test func anAddedRowSurvivesRestarts() async throws {
        try await withFolder { folder in
            let server = served()
            let cache = CacheSettings.persistent(directory: folder)
            do {
                let auctions = server.auctions(cache: cache)
                _ = try await auctions.listLots().get()
                server.goOffline()
                _ = try await creation(auctions).enqueue {
                    $0.insert(LotKey(id: lotID(3)), into: auctions.listLots(), fill)
                }
                try await auctions.link.engine().flush()
            }
            do {
                let auctions = server.auctions(cache: cache)
                let shown = try await auctions.listLots().get(.cacheOnly).data.lots
                #expect(shown.map(\.id) == [lotID(1), lotID(2), lotID(3)])
                var events = try await auctions.queueEvents.makeAsyncIterator()
                server.goOnline()
                try await auctions.start()
                _ = try await #require(await events.next()).outcome.get()
                #expect(try await auctions.listLots().get(.cacheOnly).data.lots == shown)
                try await auctions.link.engine().flush()
            }
            let auctions = server.auctions(cache: cache)
            #expect(try await auctions.pendingMutations.isEmpty)
            #expect(try await auctions.listLots().get(.cacheOnly).data.lots.count == 3)
            _ = try await auctions.listLots().get(.serverOnly)
            #expect(try await auctions.listLots().get(.cacheOnly).data.lots.count == 2)
        }
    }

    /// A query whose result is not there gets the row with its result.
    @Test func aRowWaitsForItsResult() async throws {
        let server = served()
        let auctions = server.auctions()
        server.holdAnswers()
        let queued = try await creation(auctions).enqueue {
            $0.insert(LotKey(id: lotID(3)), into: auctions.listLots(), fill)
        }
        var states = auctions.listLots().live().makeAsyncIterator()
        let first = try await state(&states) { $0.isConfirmed }
        #expect(first.data?.lots.map(\.id) == [lotID(1), lotID(2), lotID(3)])
        server.releaseAnswers()
        _ = try await queued.value
    }

    /// A row that another query shows has its fields already.
    @Test func aKnownRowIsAddedAsItIs() async throws {
        let server = served()
        let auctions = server.auctions()
        let clocks = auctions.listLots(category: "Clocks")
        server.set(ListLots.self) { [lot = server.lot(7, 70)] variables in
            .success(["lots": variables["category"] == "Clocks" ? [lot] : []])
        }
        _ = try await clocks.get()
        _ = try await auctions.listLots().get()
        server.goOffline()
        _ = try await creation(auctions).enqueue { expected in
            expected.insert(LotKey(id: lotID(7)), into: auctions.listLots()) { row in
                #expect(row.title == "Lot 7")
                row.highestBid? += 1
            }
        }
        #expect(try await auctions.listLots().get(.cacheOnly).data.lots.map(\.highestBid) == [71])
        #expect(try await clocks.get(.cacheOnly).data.lots.map(\.highestBid) == [71])
    }

    /// Fields that were set before count, also when no other result has the row any more.
    @Test func anAddedRowIsAsItWasSetBefore() async throws {
        let server = served()
        let auctions = server.auctions()
        let clocks = auctions.listLots(category: "Clocks")
        let maps = auctions.listLots(category: "Maps")
        server.set(ListLots.self) { [lot = server.lot(7, 70)] variables in
            .success(["lots": variables["category"] == "Clocks" ? [lot] : []])
        }
        var states = clocks.live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        _ = try await maps.get()
        server.holdAnswers()
        _ = try await creation(auctions).enqueue { expected in
            expected[LotKey(id: lotID(7))].category = "Maps"
            expected.insert(LotKey(id: lotID(7)), into: maps) { #expect($0.category == "Maps") }
        }
        #expect(try await maps.get(.cacheOnly).data.lots.map(\.category) == ["Maps"])
        server.set(ListLots.self) { _ in .success(["lots": []]) }
        _ = try await state(&states) { $0.data?.lots.isEmpty == true }
        #expect(try await maps.get(.cacheOnly).data.lots.map(\.category) == ["Maps"])
    }

    /// An applied row is replaced by the server's list, if that is as it was.
    @Test func anAppliedRowThatDoesNotBelongThereIsGone() async throws {
        let server = served()
        let auctions = server.auctions()
        let lots = auctions.listLots()
        var states = lots.live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        server.holdWaits()
        let queued = try await creation(auctions).enqueue { $0.insert(LotKey(id: lotID(3)), into: lots, fill) }
        _ = try await queued.value
        _ = try await state(&states) { $0.data?.lots.count == 3 && $0.hasPendingMutations }
        server.releaseWaits()
        while let state = try await states.next() {
            let isSynced = state.isConfirmed && !state.hasPendingMutations
            #expect(!isSynced || state.data?.lots.count == 2)
            if isSynced { break }
        }
    }

    /// A row that cannot be shown is an error of `enqueue`, and nothing is kept.
    @Test(arguments: [false, true])
    func aRowThatDoesNotFitIsAnError(isInMemory: Bool) async throws {
        let server = served()
        let auctions = server.auctions()
        if isInMemory { _ = try await auctions.listLots().get() }
        server.goOffline()
        func message(_ edit: (inout OptimisticEdits) -> Void) async throws -> String? {
            let creation = try creation(auctions)
            let error = await #expect(throws: FreshetError.self) { try await creation.enqueue(optimistic: edit) }
            #expect(error?.code == .invalidEdit)
            return error?.message
        }
        let key = LotKey(id: lotID(3))
        #expect(
            try await message { $0.insert(key, into: auctions.listLots()) { $0.title = "Lot 3" } }
                == "the row for lots of ListLots does not fit: category: expected a text, found null")
        #expect(
            try await message { $0.insert(key, into: auctions.listLots(), list: "bids", fill) }
                == "ListLots has no list bids with rows of Lot")
        #expect(
            try await message { $0.insert(key, into: auctions.getLot(id: lotID(3)), fill) }
                == "GetLot has no list with rows of Lot")
        #expect(
            try await message { $0.insert(key, into: Query<TwoLists>(auctions.link, NoVariables()), fill) }
                == "TwoLists has several lists with rows of Lot: name one of new, old")
        #expect(
            try await message { $0.insert(key, into: Query<Counted>(auctions.link, NoVariables()), fill) }
                == "Counted has to be in memory for a row to be added, since its data has more than lots")
        let other = server.auctions()
        #expect(
            try await message { $0.insert(key, into: other.listLots(), fill) }
                == "ListLots is a query of another connector")
        #expect(try await auctions.pendingMutations.isEmpty)
        _ = try await creation(auctions).enqueue {
            $0.insert(key, into: Query<TwoLists>(auctions.link, NoVariables()), list: "old", fill)
        }
    }

    private struct Row: OperationData {
        let title: String
        init(from object: ObjectReader) throws(ResultError) { title = try object.value("title") }
    }

    private enum TwoLists: QueryOperation {
        static let name = "TwoLists"
        static let entities: EntityShape = .object([
            "old": .entity("Lot", key: ["id"]), "new": .entity("Lot", key: ["id"]),
        ])
        typealias Variables = NoVariables

        struct Data: OperationData {
            let old: [Row]?
            let new: [Row]?
            init(from object: ObjectReader) throws(ResultError) {
                old = try object.value("old")
                new = try object.value("new")
            }
        }
    }

    private enum Counted: QueryOperation {
        static let name = "Counted"
        static let entities: EntityShape = .object(["lots": .entity("Lot", key: ["id"])])
        typealias Variables = NoVariables

        struct Data: OperationData {
            let count: Int
            let lots: [Row]
            init(from object: ObjectReader) throws(ResultError) {
                count = try object.value("count")
                lots = try object.value("lots")
            }
        }
    }
}
