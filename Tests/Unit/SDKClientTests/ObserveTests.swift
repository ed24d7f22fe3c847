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
}
