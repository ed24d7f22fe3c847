import AuctionsClient
import FreshetClient
import FreshetTesting
import TestSupport
import Testing

/// Seed rows 25, 29, 30 and 32.
@Suite(.timeLimit(.minutes(1)))
struct ObserveTests {
    @Test func changesOfRowsAreReportedWhateverCausedThem() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5, 2: 6])
        let auctions = server.auctions()
        let changes = Recorder<EntityChange<LotKey>>()
        let observing = Task {
            for try await change in auctions.observe(LotKey.self) { changes.add(change) }
        }
        try await waitUntil("the observer") { try await auctions.link.engine().observerCount == 1 }
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        try await waitUntil("two rows") { changes.values.count == 2 }
        #expect(changes.values.allSatisfy { $0.kind == .created })
        server.setLots([1: 7])
        try await waitUntil("an update and an end") { changes.values.count == 4 }
        let (updated, deleted) = (changes.values[2], changes.values[3])
        #expect(updated.kind == .updated(fields: ["highestBid"]))
        #expect(updated.key == LotKey(id: lotID(1)) && updated.fields["highestBid"] == 7)
        #expect(deleted.kind == .deleted && deleted.key == LotKey(id: lotID(2)))
        // The app's own mutation.
        server.answer(EditLot.self) { _ in .success(["lot_update": nil]) }
        // The server does not adopt it, which would be the next change.
        server.holdWaits()
        _ = try await auctions.editLot(id: lotID(1), category: "Clocks", description: "new").enqueue {
            $0[LotKey(id: lotID(1))].description = "new"
        }
        try await waitUntil("the own mutation") { changes.values.count == 5 }
        #expect(changes.values.last?.kind == .updated(fields: ["description"]))
        observing.cancel()
        try await waitUntil("the end of the observer") { try await auctions.link.engine().observerCount == 0 }
    }

    @Test func snapshotsAreFilteredAndSorted() async throws {
        let server = ScriptedServer()
        server.setLots([1: 50, 2: 5, 3: 30, 4: nil])
        let auctions = server.auctions()
        var snapshots = auctions.observeQuery(
            auctions.listLots(), \.lots, where: { $0.title.hasPrefix("Lot") && ($0.highestBid ?? 0) > 10 },
            sort: .ascending(\.closesAt).then(.descending(\.title))
        ).makeAsyncIterator()
        var snapshot = try #require(try await snapshots.next())
        #expect(snapshot.items.map(\.title) == ["Lot 3", "Lot 1"] && snapshot.isSynced)
        // A row that no longer matches leaves.
        server.setLots([1: 50, 2: 5, 3: 3, 4: nil])
        snapshot = try #require(try await snapshots.next())
        #expect(snapshot.items.map(\.title) == ["Lot 1"])
    }

    /// Row 29: the first snapshot is the local one, `isSynced` follows with the server's.
    @Test func theFirstSnapshotIsTheCachedOne() async throws {
        try await withFolder { folder in
            let server = ScriptedServer()
            server.setLots([1: 5])
            let cache = CacheSettings.persistent(directory: folder)
            _ = try await server.auctions(cache: cache).listLots().get()
            server.goOffline()
            let auctions = server.auctions(cache: cache)
            var snapshots = auctions.observeQuery(auctions.listLots(), \.lots).makeAsyncIterator()
            let first = try #require(try await snapshots.next())
            #expect(first.items.count == 1 && !first.isSynced)
            server.goOnline()
            try await auctions.networkChanged()
            while let snapshot = try await snapshots.next() {
                if snapshot.isSynced { break }
            }
        }
    }

    /// Row 29: while a mutation waits, the items are not the server's.
    @Test func aWaitingMutationIsNotSynced() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        server.answer(EditLot.self) { _ in .success(["lot_update": nil]) }
        let auctions = server.auctions()
        var snapshots = auctions.observeQuery(auctions.listLots(), \.lots).makeAsyncIterator()
        let first = try #require(try await snapshots.next())
        #expect(first.isSynced)
        server.holdAnswers()
        let queued = try await auctions.editLot(id: lotID(1), category: "Clocks", description: "new").enqueue {
            $0[LotKey(id: lotID(1))].description = "new"
        }
        var snapshot = try #require(try await snapshots.next())
        while snapshot.items.first?.description != "new" { snapshot = try #require(try await snapshots.next()) }
        #expect(!snapshot.isSynced)
        let edited: AnyValue = [
            "id": AnyValue(lotID(1)), "title": "Lot 1", "category": "Clocks", "description": "new", "highestBid": 5,
            "closesAt": "2026-12-01T12:00:00.000000Z",
        ]
        server.set(ListLots.self, to: ["lots": [edited]])
        server.releaseAnswers()
        _ = try await queued.value
        while !snapshot.isSynced { snapshot = try #require(try await snapshots.next()) }
        #expect(snapshot.items.first?.description == "new")
    }

    /// Row 27: the sequence outlives `clear`; with `start` it begins again.
    @Test func aSequenceGoesOnAfterClearAndStart() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        let auctions = server.auctions()
        var snapshots = auctions.observeQuery(auctions.listLots(), \.lots).makeAsyncIterator()
        #expect(try await snapshots.next()?.isSynced == true)
        try await auctions.clear()
        #expect(server.subscriptions == [])
        server.setLots([1: 6, 2: 7])
        try await auctions.start()
        let again = try #require(try await snapshots.next())
        #expect(again.isSynced && again.items.map(\.highestBid) == [6, 7])
        // It is followed as before.
        server.setLots([2: 8])
        #expect(try await snapshots.next()?.items.map(\.highestBid) == [8])
    }

    /// An expected deletion is a deletion, and the mutation's end is nothing new.
    @Test func ownDeletionsAreToldOnce() async throws {
        let server = ScriptedServer()
        // Otherwise the results are fetched again, in which the row has not gone.
        server.holdWaits()
        server.setLots([1: 5, 2: 6])
        server.answer(WithdrawLot.self) { _ in .success(["lot_delete": nil]) }
        let auctions = server.auctions()
        let changes = Recorder<EntityChange<LotKey>>()
        let observing = Task {
            for try await change in auctions.observe(LotKey.self) { changes.add(change) }
        }
        defer { observing.cancel() }
        try await waitUntil("the observer") { try await auctions.link.engine().observerCount == 1 }
        var states = auctions.listLots().live().makeAsyncIterator()
        _ = try await state(&states) { $0.isConfirmed }
        _ = try await auctions.withdrawLot(id: lotID(1)).enqueue { $0.delete(LotKey(id: lotID(1))) }.value
        server.setLots([2: 7])
        try await waitUntil("the server's change") { changes.values.last?.fields["highestBid"] == 7 }
        #expect(changes.values.map(\.kind) == [.created, .created, .deleted, .updated(fields: ["highestBid"])])
        #expect(changes.values[2].key == LotKey(id: lotID(1)) && changes.values[2].fields["highestBid"] == 5)
    }
}
