import JSON
import ProtocolClients
import Testing

/// The sample project: its bids keep their promises, and each of its live queries is refreshed by what changes it.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct AuctionsTests {
    private static let secret = "0123456789abcdef0123456789abcdef"

    /// A node, and an open lot of the category Books as its list shows it.
    private func withLot(_ body: (ServerAddress, _ lot: JSONValue) async throws -> Void) async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway", settings: ["auth.mode=hs256", "auth.hs256Secret=\(Self.secret)"])
            for uid in ["zoe", "yan"] {
                let saved = try await API.mutate(
                    node.address, "SaveAccount", ["name": .string(uid)], token: Self.token(uid))
                #expect(saved.status == 200, "\(saved.body)")
            }
            let list = try JSONParser.parse(
                try await API.get(node.address, "ListLots", ["category": "Books"]).body)
            try await body(node.address, try #require(list["data"]?["lots"]?[0]))
        }
    }

    private static func token(_ uid: String) -> String { TestTokens.signed(uid: uid, secret: secret) }

    private func bid(
        _ address: ServerAddress, _ uid: String, _ lot: JSONValue, _ amount: Int64, category: String = "Books"
    ) async throws -> (status: Int, body: JSONValue) {
        try await API.mutate(
            address, "PlaceBid",
            ["lotId": lot["id"] ?? .null, "category": .string(category), "amount": .int(amount)],
            token: Self.token(uid))
    }

    /// Messages of failed checks; those of fields that were undone stand in parentheses and are left out.
    private func reasons(_ answer: JSONValue) -> [String] {
        (answer["errors"]?.arrayValue ?? []).compactMap { $0["message"]?.stringValue }.filter { !$0.hasPrefix("(") }
    }

    private func read(_ address: ServerAddress, _ lot: JSONValue) async throws -> JSONValue {
        let body = try await API.get(address, "GetLot", ["id": lot["id"] ?? .null]).body
        return try JSONParser.parse(body)["data"]?["lot"] ?? .null
    }

    @Test func oneOfSeveralEqualBidsWins() async throws {
        try await withLot { address, lot in
            let before = try #require(try await read(address, lot)["bidCount"]?.intValue)
            let accepted = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let answer = try await bid(address, number % 2 == 0 ? "zoe" : "yan", lot, 10_000)
                        if answer.body["errors"] == nil { return 1 }
                        #expect(reasons(answer.body) == ["The bid must be higher than the highest."])
                        return 0
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(accepted == 1)
            let after = try await read(address, lot)
            #expect(after["bidCount"]?.intValue == before + 1)
            #expect(after["highestBid"]?.intValue == 10_000)
        }
    }

    @Test func bidsAreCheckedAndUndoneWhole() async throws {
        try await withLot { address, lot in
            let before = try await read(address, lot)
            for (uid, amount, category, reason) in [
                ("nobody", 10_000, "Books", "Save your account before you bid."),
                ("zoe", 10_000, "Maps", "The lot is of another category."),
                ("zoe", 0, "Books", "The bid is below the starting price."),
            ] as [(String, Int64, String, String)] {
                let answer = try await bid(address, uid, lot, amount, category: category)
                #expect(reasons(answer.body) == [reason])
                #expect(try await read(address, lot) == before, "\(reason)")
            }
            // The user's own lot: it ends before it begins, then is closed.
            for (closesAt, reason) in [
                ("2020-01-01T00:00:00Z", "The auction of this lot has ended."),
                ("2099-01-01T00:00:00Z", "The lot is closed."),
            ] {
                let made = try await API.mutate(
                    address, "CreateLot",
                    ["title": "Own", "category": "Books", "startPrice": 5, "closesAt": .string(closesAt)],
                    token: Self.token("zoe"))
                let own: JSONValue = ["id": try #require(made.body["data"]?["lot_insert"]?["id"])]
                func close(_ uid: String) async throws -> JSONValue {
                    try await API.mutate(address, "CloseLot", ["id": own["id"] ?? .null], token: Self.token(uid)).body
                }
                #expect(reasons(try await close("yan")) == ["Only the seller closes a lot."])
                #expect(try await read(address, own)["open"] == true)
                if reason.hasSuffix("closed.") { #expect(try await close("zoe")["errors"] == nil) }
                #expect(reasons(try await bid(address, "yan", own, 10).body) == [reason])
            }
        }
    }

    @Test func aBidRefreshesWhatItChangesAndNothingElse() async throws {
        try await withLot { address, lot in
            let id = try #require(lot["id"])
            func follow(_ operation: String, _ variables: JSONObject, uid: String? = nil) async throws -> Subscriber {
                let payload = uid.map { uid -> JSONValue in
                    ["Authorization": .string("Bearer " + Self.token(uid))]
                }
                let subscriber = try await Subscriber.connect(address, payload: payload)
                subscriber.subscribe(operation, variables)
                _ = try await subscriber.data()
                return subscriber
            }
            let one = try await follow("GetLot", ["id": id])
            let list = try await follow("ListLots", ["category": "Books"])
            let all = try await follow("ListLots", [:])
            let allByNull = try await follow("ListLots", ["category": .null])
            let bids = try await follow("LotBids", ["lotId": id])
            let board = try await follow("TopBidders", [:])
            let own = try await follow("MyBids", [:], uid: "zoe")
            let others = try await follow("MyBids", [:], uid: "yan")
            let elsewhere = try await follow("ListLots", ["category": "Maps"])

            #expect(try await bid(address, "zoe", lot, 90_000).body["errors"] == nil)
            #expect(try await one.data()["lot"]?["highestBid"]?.intValue == 90_000)
            _ = try await list.data { $0["lots"]?[0]?["highestBid"]?.intValue == 90_000 }
            for list in [all, allByNull] {
                _ = try await list.data { data in
                    data["lots"]?.arrayValue?.contains { $0["id"] == id && $0["highestBid"]?.intValue == 90_000 }
                        == true
                }
            }
            #expect(try await bids.data()["bids"]?[0]?["user"]?["uid"]?.stringValue == "zoe")
            #expect(try await board.data()["bids"]?[0]?["userUid"]?.stringValue == "zoe")
            #expect(try await own.data()["bids"]?[0]?["amount"]?.intValue == 90_000)

            // The other two receive nothing until a change concerns them.
            #expect(try await bid(address, "yan", lot, 95_000).body["errors"] == nil)
            #expect(try await others.data()["bids"]?.arrayValue?.count == 1)
            let moved = try await API.mutate(address, "MoveLot", ["id": id, "from": "Books", "to": "Maps"])
            #expect(moved.body["errors"] == nil, "\(moved.body)")
            #expect(try await elsewhere.data()["lots"]?[0]?["id"] == id)
            _ = try await list.data { data in data["lots"]?.arrayValue?.contains { $0["id"] == id } == false }
        }
    }
}
