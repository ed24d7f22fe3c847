import AuctionsClient
import FreshetClient
import FreshetTesting
import Testing

extension AddedRowTests {
    /// Parts of the key in nested objects are set as well.
    @Test func aKeyInNestedObjectsIsSet() async throws {
        let server = served()
        let auctions = server.auctions()
        server.goOffline()
        _ = try await creation(auctions).enqueue { expected in
            expected.insert(
                WatchKey(user: "ann", lot: 3), into: Query<Watches>(auctions.link, NoVariables())
            ) { $0.setOrReset("note", to: "x") }
        }
        server.set(Watches.self, to: ["watches": []])
        server.goOnline()
        server.holdAnswers()
        var states = Query<Watches>(auctions.link, NoVariables()).live().makeAsyncIterator()
        let shown = try await state(&states) { $0.isConfirmed }
        #expect(shown.data?.watches == [try Watches.Watch(result: ["note": "x", "user": ["uid": "ann"], "lotId": 3])])
    }

    private struct WatchKey: EntityKey {
        static let entityType = "Watch"
        static let keyFields = ["userUid", "lotId"]
        let user: String
        let lot: Int
        init(user: String, lot: Int) { (self.user, self.lot) = (user, lot) }
        init(from object: ObjectReader) throws(ResultError) {
            user = try object.value("userUid")
            lot = try object.value("lotId")
        }
        var keyValues: [AnyValue] { [AnyValue(user), AnyValue(lot)] }
    }

    private enum Watches: QueryOperation {
        static let name = "Watches"
        static let entities: EntityShape = .object([
            "watches": .entity("Watch", key: ["user.uid", "lotId"], ["user": .entity("User", key: ["uid"])])
        ])
        typealias Variables = NoVariables

        struct Data: OperationData {
            let watches: [Watch]
            init(from object: ObjectReader) throws(ResultError) { watches = try object.value("watches") }
        }

        struct Watch: OperationData {
            let note: String
            let lotId: Int
            let user: User
            init(from object: ObjectReader) throws(ResultError) {
                note = try object.value("note")
                lotId = try object.value("lotId")
                user = try object.value("user")
            }
        }

        struct User: OperationData {
            let uid: String
            init(from object: ObjectReader) throws(ResultError) { uid = try object.value("uid") }
        }
    }
}
