import AuctionsClient
import Foundation
import FreshetClient
import FreshetCombine
import FreshetObservation
import FreshetTesting
import OpenCombine
import TestSupport
import Testing

/// The code of docs/clients/swift.md. `theStepsOfTheTutorialArePrograms` compares the tutorial with the programs that
/// its steps make, which `TutorialStepTests` runs. `everyBlockOfTheReferenceIsHere` compares the rest with this file,
/// and the other tests run what stands here.
@MainActor @Suite(.timeLimit(.minutes(1)))
struct TutorialTests {
    private static let page = "docs/clients/swift.md"

    /// The blocks of code between two headings of the page.
    private func blocks(from first: String, to last: String? = nil) throws -> [String] {
        let text = try Repository.text(Self.page)
        let start = try #require(text.range(of: "\n## \(first)\n")).upperBound
        let end = try last.map { try #require(text.range(of: "\n## \($0)\n")).lowerBound } ?? text.endIndex
        return text[start..<end].components(separatedBy: "```swift\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
    }

    /// Each step makes a program of the one before it. The last one is the sample app; the others are compiled as
    /// `TutorialSteps`. UPDATE_REFERENCE writes them.
    @Test func theStepsOfTheTutorialArePrograms() throws {
        let steps = try blocks(from: "Tutorial: an auction watcher", to: "A connector")
        #expect(steps.count == 6)
        let app = "Sources/Tools/auction-watcher/AuctionWatcher.swift"
        var program = TutorialProgram(try #require(steps.first))
        for (number, step) in zip(1..., steps) {
            if number > 1 { program.apply(step) }
            var (path, text) = (app, program.text)
            if number < steps.count {
                path = "Tests/TutorialSteps/Step\(number).swift"
                text =
                    "// Generated from \(Self.page): UPDATE_REFERENCE=1 with TutorialTests.\n\n"
                    + text.replacing("@main struct", with: "private struct")
                    + "\nfunc step\(number)(_ arguments: [String]) async { await AuctionWatcher.main(arguments) }\n"
            }
            if ProcessInfo.processInfo.environment["UPDATE_REFERENCE"] != nil {
                try text.write(toFile: Repository.path(path), atomically: true, encoding: .utf8)
            }
            #expect(try Repository.text(path) == text, "\(path): run the tests with UPDATE_REFERENCE=1 and commit it")
        }
        #expect(try Repository.text(app).split(separator: "\n", omittingEmptySubsequences: false).count <= 100)
    }

    @Test func everyBlockOfTheReferenceIsHere() throws {
        func lines(_ text: some StringProtocol) -> [String] {
            text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        }
        let own = lines(try Repository.text("Tests/Unit/SDKClientTests/TutorialTests.swift")).joined(separator: "\n")
        let blocks = try blocks(from: "A connector").map { lines($0).joined(separator: "\n") }
        for block in blocks { #expect(own.contains(block), "\(block)") }
        #expect(blocks.count > 8)
    }

    private func signedInToken() async throws -> String? { nil }

    @Test func aConnectorIsMade() {
        let auctions = AuctionsConnector(
            at: "https://api.example.com",
            cache: .persistent(maxAge: .seconds(5)),
            auth: .provider { try await signedInToken() })
        #expect(auctions.link.identity.connector == "auctions")
    }

    private func served() -> (ScriptedServer, AuctionsConnector) {
        let server = ScriptedServer()
        server.setLots([1: 50, 2: 70])
        server.answer(PlaceBid.self) { _ in
            .success(["bid_insert": ["id": AnyValue(lotID(9))], "lot_update": nil])
        }
        return (server, server.auctions(cache: .memory(maxAge: .seconds(5))))
    }

    @Test func aLiveQueryIsALoop() async throws {
        let (server, auctions) = served()
        var shown: [String] = []
        func show(_ lots: [ListLots.Data.Lot], note: String?) {
            shown.append("\(lots.count) \(note ?? "")")
            if shown.count == 1 { server.goOffline() }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for try await state in auctions.listLots(category: "Clocks").live() {
                guard let lots = state.data?.lots else { continue }
                show(lots, note: state.isConfirmed ? nil : "as of \(state.fetchedAt?.description ?? "?")")
                if shown.count == 2 { break }
            }
            group.cancelAll()
        }
        #expect(shown.first == "2 " && shown.last?.hasPrefix("2 as of 20") == true)
    }

    @Test func readsFollowAPolicy() async throws {
        let (_, auctions) = served()
        let lots = try await auctions.listLots().get().data.lots
        let fresh = try await auctions.listLots().get(.serverOnly)
        let cached = try await auctions.listLots().get(.cacheOnly)
        #expect(lots.count == 2 && fresh.source == .server && cached.source == .cache)
    }

    @Test func aMutationIsWaitedFor() async throws {
        let (server, auctions) = served()
        let lot = try #require(try await auctions.listLots().get().data.lots.first)
        var states = auctions.listLots().live().makeAsyncIterator()
        while let state = try await states.next(), !state.isConfirmed {}
        let bid = try await auctions.placeBid(lotId: lot.id, category: lot.category, amount: 100).run()
        try await auctions.wait(for: bid.position)
        #expect(server.waits == [bid.position] && bid.position != nil)
    }

    @Test func aMutationRuns() async throws {
        let (_, auctions) = served()
        let lot = try #require(try await auctions.listLots().get().data.lots.first)
        var printed: [String] = []
        func print(_ line: String) { printed.append(line) }
        do {
            let bid = try await auctions.placeBid(lotId: lot.id, category: lot.category, amount: 100).run()
            print("placed \(bid.data.bid_insert.id)")
        } catch {
            switch error.code {
            case .offline: print("no network, try again later")
            case .refused: print("\(error.message)")
            default: print("\(error)")
            }
        }
        #expect(printed == ["placed \(lotID(9))"])
    }

    @Test func aBidWaitsInTheQueue() async throws {
        let (server, auctions) = served()
        let lot = try #require(try await auctions.listLots().get().data.lots.first)
        server.goOffline()
        let bid = auctions.placeBid(lotId: lot.id, category: lot.category, amount: 100)
        let queued = try await bid.enqueue { expected in
            expected[lot.key].highestBid = 100
        }
        #expect(try await auctions.listLots().get(.cacheOnly).data.lots.first?.highestBid == 100)
        server.goOnline()
        try await auctions.start()
        _ = try await queued.value

        func report() async throws {
            for await event in try await auctions.queueEvents {
                if case .failure(let error) = event.outcome { print("\(event.operation): \(error.message)") }
            }
        }
        let reporting = Task { try await report() }
        reporting.cancel()
        try await reporting.value
    }

    @Test func aRowIsAddedToAList() async throws {
        let (server, auctions) = served()
        server.set(ListLots.self) { [lot = server.lot(1, 50)] variables in
            .success(["lots": variables["category"] == "Maps" ? [] : [lot]])
        }
        let lot = try #require(try await auctions.listLots().get().data.lots.first)
        _ = try await auctions.listLots(category: "Maps").get()
        server.goOffline()
        let move = auctions.moveLot(id: lot.id, from: lot.category, to: "Maps")
        _ = try await move.enqueue { expected in
            expected[lot.key].category = "Maps"
            expected.insert(lot.key, into: auctions.listLots(category: "Maps"), at: .start)
        }
        let maps = try await auctions.listLots(category: "Maps").get(.cacheOnly).data.lots
        #expect(maps.map(\.category) == ["Maps"] && maps.map(\.title) == [lot.title])
    }

    @Test func modelsArePublishersAndObservable() async throws {
        let (_, auctions) = served()
        let model = auctions.listLots(category: "Clocks").model()
        let following = Task { await model.follow() }
        try await onMain("live data") { model.phase == .live }
        following.cancel()
        try await onMain("the end") { model.phase == .idle }

        let prices = Recorder<Int?>()
        let subscription = auctions.listLots().publisher
            .map { $0.data?.lots.first?.highestBid }
            .sink(receiveCompletion: { _ in }, receiveValue: { prices.add($0) })
        try await onMain("a state") { prices.values == [50] || prices.values.last == 50 }
        subscription.cancel()
    }

    @Test func rowsAreObserved() async throws {
        let (_, auctions) = served()
        var snapshots = auctions.observeQuery(
            auctions.listLots(), \.lots,
            where: { ($0.highestBid ?? 0) > 60 }, sort: .ascending(\.closesAt)
        ).makeAsyncIterator()
        let snapshot = try await snapshots.next()
        #expect(snapshot?.items.count == 1 && snapshot?.isSynced == true)

        func watch() async throws {
            for try await change in auctions.observe(LotKey.self) {
                print("\(change.key.id): \(change.kind)")
            }
        }
        let watching = Task { try await watch() }
        watching.cancel()
        try await watching.value
    }

    @Test func anAppIsTestedWithAScriptedServer() async throws {
        let server = ScriptedServer()
        let auctions = server.connector(AuctionsConnector.self)
        server.set(ListLots.self, to: ["lots": []])
        server.answer(WithdrawLot.self) { _ in
            .failure(ResponseError(message: "The lot is closed.", code: "PERMISSION_DENIED"))
        }
        #expect(try await auctions.listLots().get().data.lots.isEmpty)
        await #expect(throws: FreshetError.self) { try await auctions.withdrawLot(id: lotID(1)).run() }
    }
}
