import AuctionsClient
import Foundation
import FreshetClient
import FreshetCombine
import FreshetFirebase
import FreshetObservation
import FreshetTesting
import FreshetTransport
import Observation
import OpenCombine
import TestSupport
import Testing

/// Seed rows 6 to 8, 17 to 21 and 26: models and publishers.
@MainActor @Suite(.timeLimit(.minutes(1)))
struct ObservationTests {
    @Test func aModelFollowsItsQuery() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        let model = server.auctions().listLots().model()
        #expect(model.phase == .idle && model.data == nil)
        model.start()
        try await onMain("live data") { model.phase == .live }
        #expect(model.data?.lots.first?.highestBid == 5)
        // Observation sees the change.
        let changes = Counter()
        withObservationTracking {
            _ = model.data
        } onChange: {
            changes.add()
        }
        server.setLots([1: 6])
        try await onMain("the change") { model.data?.lots.first?.highestBid == 6 }
        #expect(changes.value == 1)
        server.goOffline()
        try await onMain("staleness") { model.phase == .stale }
        #expect(model.error?.code == .offline && model.data != nil)
        model.stop()
        #expect(model.phase == .idle)
    }

    /// Swift's `Observations` streams a model.
    @Test func observationsStreamAModel() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        let model = server.auctions().listLots().model()
        model.start()
        var prices = Observations { model.data?.lots.first?.highestBid }.makeAsyncIterator()
        for price in [5, 6] {
            server.setLots([1: Int64(price)])
            var shown: Int??
            repeat { shown = await prices.next() } while shown != nil && shown != price
            #expect(shown == price)
        }
        model.stop()
    }

    @Test func aModelForgetsTheDataOfAnotherUser() async throws {
        let server = ScriptedServer()
        let user = TestUser("ada")
        server.set(MyAccount.self, to: ["user": ["uid": "ada", "name": "Ada"]])
        let auctions = server.auctions(auth: user.auth)
        let model = auctions.myAccount().model()
        model.start()
        try await onMain("live data") { model.phase == .live }
        server.set(MyAccount.self, to: ["user": ["uid": "ben", "name": "Ben"]])
        user.become("ben")
        try await auctions.authChanged()
        try await onMain("the other user") { model.data?.user?.uid == "ben" }
        model.stop()
    }

    @Test func aPublisherGivesStatesUntilItIsCancelled() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        let prices = Recorder<Int?>()
        let subscription = server.auctions().listLots().publisher.sink(
            receiveCompletion: { _ in }, receiveValue: { prices.add($0.data?.lots.first?.highestBid) })
        try await onMain("a state") { prices.values.contains(5) }
        server.setLots([1: 6])
        try await onMain("the next state") { prices.values.last == 6 }
        subscription.cancel()
        try await onMain("the end of the subscription") { server.subscriptions == [] }
    }

    /// Row 26: a failure is the completion.
    @Test func aRefusalCompletesThePublisher() async throws {
        let server = ScriptedServer()
        server.set(ListLots.self) { _ in .failure(ResponseError(message: "no", code: "PERMISSION_DENIED")) }
        let failures = Recorder<String?>()
        let subscription = Freshet.Publisher.create(server.auctions().listLots().live()).sink(
            receiveCompletion: {
                if case .failure(let error) = $0 { failures.add(error.serverCode) }
            }, receiveValue: { _ in })
        try await onMain("the completion") { failures.values == ["PERMISSION_DENIED"] }
        subscription.cancel()
    }

    /// The seeds' spelling: `queryRef.data`, `lastError`, `execute()`, `subscribe().sink`.
    @Test func firebaseRefsFollowAsLongAsTheyAreSubscribed() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        let connector = AuctionsDataConnect(link: server.auctions().link)
        let queryRef = connector.listLotsQuery.ref(category: "Clocks")
        _ = try await queryRef.execute()
        #expect(queryRef.data?.lots.first?.highestBid == 5)
        var querySub: AnyCancellable? = try await queryRef.subscribe().sink { _ in }
        var other: AnyCancellable? = try await queryRef.subscribe().sink { _ in }
        try await onMain("the subscription") { server.subscriptions == ["ListLots"] }
        server.setLots([1: 6])
        try await onMain("the update") { queryRef.data?.lots.first?.highestBid == 6 }
        // Seed row 19: the last one ends it.
        querySub?.cancel()
        querySub = nil
        server.setLots([1: 7])
        try await onMain("the update") { queryRef.data?.lots.first?.highestBid == 7 }
        #expect(queryRef.lastError == nil)
        server.goOffline()
        try await onMain("the error") { queryRef.lastError?.code == .offline }
        other?.cancel()
        other = nil
        server.goOnline()
        #expect(querySub == nil && other == nil)
    }

    @Test func firebaseObservableObjectsTellOfChanges() async throws {
        let server = ScriptedServer()
        server.setLots([1: 5])
        let ref = QueryRefObservableObject(server.auctions().listLots())
        let changes = Counter()
        let subscription = ref.objectWillChange.sink { changes.add() }
        _ = try await ref.execute(fetchPolicy: .serverOnly)
        #expect(ref.data?.lots.count == 1 && changes.value > 0)
        server.goOffline()
        await #expect(throws: FreshetError.self) { try await ref.execute(fetchPolicy: .serverOnly) }
        #expect(ref.lastError?.code == .offline)
        subscription.cancel()
    }

    @Test func firebaseMutationsReturnTheirKeys() async throws {
        let server = ScriptedServer()
        server.answer(CreateLot.self) { _ in .success(["lot_insert": ["id": AnyValue(lotID(3))]]) }
        let connector = AuctionsDataConnect(link: server.auctions().link)
        let closesAt = try #require(Timestamp("2027-01-01T00:00:00Z"))
        let result = try await connector.createLotMutation.execute(
            title: "A clock", category: "Clocks", startPrice: 5, closesAt: closesAt)
        #expect(result.data.lot_insert.id == lotID(3))
    }

    /// Errors of single fields are thrown with what was committed beside them.
    @Test func firebaseErrorsHaveTheServersResponse() async throws {
        let server = ScriptedServer()
        server.answer(PlaceBid.self) { _ in
            .failure(ResponseError(message: "no such lot", code: "PERMISSION_DENIED"))
        }
        let connector = AuctionsDataConnect(link: server.auctions().link)
        let error = await #expect(throws: DataConnectOperationError.self) {
            try await connector.placeBidMutation.execute(lotId: lotID(1), category: "Clocks", amount: 7)
        }
        let response = try #require(error?.response)
        #expect(response.errors.map(\.message) == ["no such lot"])
        #expect(response.rawJsonData == "null" && response.data(asType: PlaceBid.Data.self) == nil)
        let partial = FreshetError(
            [ResponseError(message: "late", path: ["lots", 2, "id"])],
            partialData: ["lots": [server.lot(1, 5)], "count": 3])
        #expect(partial.response?.data(asType: ListLots.Data.self)?.lots.first?.highestBid == 5)
        #expect(partial.response?.errors.first?.path == [.field("lots"), .listIndex(2), .field("id")])
        struct Count: Decodable, Equatable { var count: Int }
        #expect(partial.response?.data(asType: Count.self) == Count(count: 3))
        server.goOffline()
        let lost = await #expect(throws: DataConnectOperationError.self) {
            try await connector.placeBidMutation.execute(lotId: lotID(1), category: "Clocks", amount: 7)
        }
        #expect(lost?.code == .offline && lost?.response == nil)
    }

    @Test func firebaseScalarsAreMade() throws {
        struct Size: Codable, Equatable { var width: Int, note: String? }
        let value = try AnyValue(codableValue: Size(width: 3, note: "ö"))
        #expect(value == ["width": 3, "note": "ö"])
        #expect(try value.decodeValue(Size.self) == Size(width: 3, note: "ö"))
        #expect(try AnyValue(codableValue: [1, 2]).decodeValue([Int].self) == [1, 2])
        #expect(throws: DecodingError.self) { try value.decodeValue([Int].self) }
        #expect(try LocalDate(localDateString: "2024-02-29") == LocalDate(year: 2024, month: 2, day: 29))
        #expect(throws: FreshetError.self) { try LocalDate(localDateString: "2023-02-29") }
        let noon = try #require(
            Calendar(identifier: .gregorian).date(from: DateComponents(year: 2024, month: 2, day: 29, hour: 12)))
        #expect(LocalDate(date: noon).description == "2024-02-29")
        #expect(LocalDate(date: Date(timeIntervalSince1970: -1e11)).description == "0001-01-01")
        #expect(LocalDate(date: Date(timeIntervalSince1970: 1e12)).description == "9999-12-31")
        #expect(
            AuctionsConnector.connectorConfig
                == ConnectorConfig(
                    serviceId: AuctionsConnector.identity.service, location: AuctionsConnector.identity.location,
                    connector: "auctions"))
    }

    /// Errors of single fields are thrown with the committed rest, as in Firebase's SDK.
    @Test func firebaseMutationsThrowErrorsOfFields() async throws {
        let server = ScriptedServer()
        let connector = AuctionsDataConnect(link: server.auctions().link)
        let body = """
            {"data":{"lot_insert":{"id":"\(lotID(3))"}},"errors":[{"message":"no","path":["other"],"extensions":
            {"code":"CONSTRAINT_VIOLATION"}}]}
            """
        server.respondNext(with: [.success(TransportResponse(status: 200, headers: [:], body: Array(body.utf8)))])
        let closesAt = try #require(Timestamp("2027-01-01T00:00:00Z"))
        let error = await #expect(throws: FreshetError.self) {
            try await connector.createLotMutation.execute(
                title: "A clock", category: "Clocks", startPrice: 5, closesAt: closesAt)
        }
        #expect(error?.serverCode == "CONSTRAINT_VIOLATION" && error?.errors.count == 1)
        #expect(error?.partialData?["lot_insert"]?["id"]?.stringValue == "\(lotID(3))")
        #expect(server.requests.count == 1)
    }

    /// Row 4: the accessor and the types have the seeds' names.
    @Test func firebaseConnectorsAreFoundByTheirNames() {
        let connector = DataConnect.auctionsConnector
        #expect(connector.link.identity == AuctionsConnector.identity)
        let ref: ListLotsQuery.Ref = connector.listLotsQuery.ref(category: "Clocks")
        #expect(ref.data == nil && ref.query.variables.category == "Clocks")
    }
}

/// Waits for a state of the main actor.
@MainActor
func onMain(_ what: String, _ condition: @MainActor () -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while !condition() {
        guard ContinuousClock.now < deadline else { throw WaitTimedOut(description: "waited for \(what)") }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// Collects values from any thread.
final class Recorder<Value: Sendable>: @unchecked Sendable {
    // Every access to `recorded` holds `lock`.
    private let lock = NSLock()
    private var recorded: [Value] = []

    func add(_ value: Value) { lock.withLock { recorded.append(value) } }
    var values: [Value] { lock.withLock { recorded } }
}
