import JSON
import NIOHTTP1
import ProtocolClients
import Testing

/// One node with every role: each surface, good and bad input.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct MainJobTests {
    static let category: JSONObject = ["category": "Books"]

    @Test func everySurfaceOfOneNode() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway,admin",
                settings: [
                    "auth.mode=hs256", "auth.hs256Secret=0123456789abcdef0123456789abcdef", "http.bodyBytesMax=65536",
                    "limits.variablesBytesMax=32768",
                    "gateway.subscriptionsPerSessionMax=3",
                ])
            let address = node.address
            let lot = try await firstLot(address)
            try await longPoll(address, lot)
            try await webSocket(address, lot)
            try await graphQLOverHTTP(address, lot)
            try await authorization(address)
            try await badInput(address, lot)
            try await malformedWebSocketAffectsNoOtherSession(address, lot)
        }
    }

    private func firstLot(_ address: ServerAddress) async throws -> String {
        let response = try await API.get(address, "ListLots", Self.category)
        #expect(response.status == 200)
        let body = try JSONParser.parse(response.body)
        #expect(body["data"]?["lots"]?.arrayValue?.count == 10)
        return try #require(body["data"]?["lots"]?[0]?["id"]?.stringValue)
    }

    private func update(_ address: ServerAddress, _ id: String, _ description: String) async throws {
        let answer = try await API.mutate(
            address, "EditLot", ["id": .string(id), "category": "Books", "description": .string(description)])
        #expect(answer.status == 200, "\(answer.body)")
        #expect(answer.body["data"]?["lot_update"]?["id"]?.stringValue == id)
    }

    // MARK: Plain resource

    private func longPoll(_ address: ServerAddress, _ id: String) async throws {
        let key: JSONObject = ["id": .string(id)]
        let first = try await API.get(address, "GetLot", key)
        let tag = try #require(first.headers.first(name: "etag"))
        // The content is the same: 304, at once without a wait.
        let same = try await API.get(address, "GetLot", key, headers: ["if-none-match": tag])
        #expect(same.status == 304)
        #expect(same.body.isEmpty)
        // No event happens within the wait.
        let waited = try await API.get(
            address, "GetLot", key, headers: ["if-none-match": tag, "prefer": "wait=1"])
        #expect(waited.status == 304)
        // Something does.
        async let news = API.get(address, "GetLot", key, headers: ["if-none-match": tag, "prefer": "wait=30"])
        try await update(address, id, "news for the poll")
        let changed = try await news
        #expect(changed.status == 200)
        #expect(
            try JSONParser.parse(changed.body)["data"]?["lot"]?["description"]?.stringValue == "news for the poll")
        let newTag = try #require(changed.headers.first(name: "etag"))
        #expect(newTag != tag)
        let again = try await API.get(
            address, "GetLot", key, headers: ["if-none-match": newTag, "prefer": "wait=1"])
        #expect(again.status == 304)
    }

    // MARK: graphql-transport-ws

    private func webSocket(_ address: ServerAddress, _ id: String) async throws {
        let subscriber = try await Subscriber.connect(address)
        subscriber.subscribe("ListLots", Self.category, id: "list")
        _ = try await subscriber.data(id: "list")
        try await update(address, id, "over the socket")
        _ = try await subscriber.data(id: "list") { data in
            data["lots"]?.arrayValue?.contains { $0["description"]?.stringValue == "over the socket" } == true
        }
        // A mutation of another category is none of this list's business; the ping is answered after it.
        let answer = try await API.mutate(
            address, "EditCategory", ["category": "Maps", "description": "not ours"])
        #expect(answer.status == 200)
        // One-shot operations over the same socket.
        subscriber.subscribe(
            "GetLot", ["id": .string(id)], id: "once",
            query: """
                query GetLot($id: UUID!) {
                  lot(id: $id) { id title category description startPrice highestBid bidCount open closesAt }
                }
                """)
        _ = try await subscriber.data(id: "once")
        _ = try await subscriber.message {
            $0["type"]?.stringValue == "complete" && $0["id"]?.stringValue == "once"
        }
        // Over the limit of three operations.
        for number in 2...3 { subscriber.subscribe("ListLots", Self.category, id: "list\(number)") }
        subscriber.subscribe("ListLots", Self.category, id: "list4")
        let refused = try await subscriber.message { $0["type"]?.stringValue == "error" }
        #expect(refused["id"]?.stringValue == "list4")
        #expect(refused["payload"]?[0]?["extensions"]?["code"]?.stringValue == "LIMIT_EXCEEDED")
        // A duplicate id closes the socket.
        subscriber.subscribe("ListLots", Self.category, id: "list")
        #expect(await subscriber.closeCode() == 4409)
    }

    // MARK: GraphQL over HTTP

    private func graphQL(
        _ address: ServerAddress, _ body: JSONValue, accept: String = "application/json"
    ) async throws -> HTTPCall.Response {
        try await HTTPCall.send(
            .POST, address, path: "/graphql", headers: ["content-type": "application/json", "accept": accept],
            body: JSONWriter.compact(body))
    }

    private func graphQLOverHTTP(_ address: ServerAddress, _ id: String) async throws {
        let found = try await graphQL(
            address, ["operationName": "GetLot", "variables": ["id": .string(id)]])
        #expect(found.status == 200)
        #expect(try JSONParser.parse(found.body)["data"]?["lot"]?["id"]?.stringValue == id)
        let unknown = try await graphQL(address, ["operationName": "Nothing"])
        #expect(unknown.status == 200)
        #expect(
            try JSONParser.parse(unknown.body)["errors"]?[0]?["extensions"]?["code"]?.stringValue
                == "OPERATION_NOT_FOUND")
        let strict = try await graphQL(
            address, ["operationName": "Nothing"], accept: "application/graphql-response+json")
        #expect(strict.status == 400)
        let other = try await graphQL(
            address,
            ["query": "query GetLot($id: UUID!) { lot(id: $id) { id } }", "variables": ["id": .string(id)]])
        #expect(
            try JSONParser.parse(other.body)["errors"]?[0]?["message"]?.stringValue?.contains("differs") == true)
    }

    // MARK: Authorization

    /// HS256 with the secret of the test's node.
    private static let ann = """
        eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.\
        eyJzdWIiOiJhbm4iLCJ1c2VyX2lkIjoiYW5uIiwiZXhwIjo0MTAyNDQ0ODAwLCJmaXJlYmFzZSI6eyJzaWduX2luX3Byb3Zp\
        ZGVyIjoicGFzc3dvcmQifX0.SIGNATURE
        """

    private func authorization(_ address: ServerAddress) async throws {
        // A user's query without a user.
        let anonymous = try await API.get(address, "MyAccount", [:])
        #expect(anonymous.status == 401)
        // A token that does not verify is refused even where none is needed.
        let forged = try await API.get(
            address, "ListLots", Self.category, headers: ["authorization": "Bearer " + Self.ann])
        #expect(forged.status == 401)
        // A signed-in user reads, and gets results of, only their own account.
        let token = TestTokens.signed(uid: "ann", secret: "0123456789abcdef0123456789abcdef")
        let subscriber = try await Subscriber.connect(
            address, payload: ["Authorization": .string("Bearer " + token)])
        subscriber.subscribe("MyAccount", [:])
        #expect(try await subscriber.data()["user"] == .null)
        let other = TestTokens.signed(uid: "bob", secret: "0123456789abcdef0123456789abcdef")
        for (bearer, name) in [(other, "bob was here"), (token, "ann was here")] {
            let answer = try await API.mutate(
                address, "SaveAccount", ["name": .string(name)], token: bearer)
            #expect(answer.status == 200, "\(answer.body)")
        }
        // The first thing that arrives is the own one.
        #expect(try await subscriber.data()["user"]?["name"]?.stringValue == "ann was here")
        subscriber.socket.close()
    }

    // MARK: Bad input

    private func badInput(_ address: ServerAddress, _ id: String) async throws {
        func code(_ response: HTTPCall.Response) throws -> String? {
            try JSONParser.parse(response.body)["errors"]?[0]?["extensions"]?["code"]?.stringValue
        }
        let unknown = try await API.get(address, "Nothing", [:])
        #expect(unknown.status == 404)
        #expect(try code(unknown) == "OPERATION_NOT_FOUND")
        let missing = try await API.get(address, "GetLot", [:])
        #expect(missing.status == 400)
        #expect(try code(missing) == "INVALID_VARIABLE")
        let wrong = try await API.get(address, "GetLot", ["id": 7])
        #expect(wrong.status == 400)
        let strange = try await API.get(address, "GetLot", ["id": .string(id), "x": 1])
        #expect(strange.status == 400)
        let method = try await HTTPCall.send(
            .DELETE, address, path: "/v1/connectors/auctions/queries/GetLot")
        #expect(method.status == 405)
        #expect(try await HTTPCall.send(.GET, address, path: "/nowhere").status == 404)
        let notJSON = try await HTTPCall.send(
            .POST, address, path: "/v1/connectors/auctions/mutations/EditLot",
            headers: ["content-type": "application/json"], body: Array("{\"variables\":".utf8))
        #expect(notJSON.status == 400)
        #expect(try code(notJSON) == "BAD_REQUEST")
        let form = try await HTTPCall.send(
            .POST, address, path: "/v1/connectors/auctions/mutations/EditLot",
            headers: ["content-type": "text/plain"], body: Array("x".utf8))
        #expect(form.status == 415)
        let large = try await HTTPCall.send(
            .POST, address, path: "/graphql", headers: ["content-type": "application/json"],
            body: Array(repeating: UInt8(ascii: " "), count: 70_000))
        #expect(large.status == 413)
        // A constraint of the database.
        let violated = try await API.mutate(
            address, "AskQuestion",
            ["lotId": "00000000000000000000000000000000", "name": "x", "text": "y"])
        #expect(violated.status == 409)
        #expect(
            violated.body["errors"]?[0]?["extensions"]?["code"]?.stringValue == "CONSTRAINT_VIOLATION",
            "\(violated.body)")
    }

    private func malformedWebSocketAffectsNoOtherSession(_ address: ServerAddress, _ id: String) async throws {
        let good = try await Subscriber.connect(address)
        good.subscribe("GetLot", ["id": .string(id)])
        _ = try await good.data()
        let bad = try await Subscriber.open(address)
        bad.socket.send(Array("this is not JSON".utf8))
        #expect(await bad.closeCode() == 4400)
        let early = try await Subscriber.open(address)
        early.subscribe("GetLot", ["id": .string(id)])
        #expect(await early.closeCode() == 4401)
        try await update(address, id, "still here")
        _ = try await good.data { $0["lot"]?["description"]?.stringValue == "still here" }
        good.socket.close()
    }
}
