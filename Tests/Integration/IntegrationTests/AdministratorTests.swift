import Foundation
import JSON
import NIOHTTP1
import ProtocolClients
import Testing

/// Texts of administrators and impersonated stored operations, on the admin port.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct AdministratorTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private static let service = "/v1/projects/p/locations/us-central1/services/auctions"

    private func call(
        _ address: ServerAddress, _ method: String, _ body: JSONObject, token: String? = "open sesame"
    ) async throws -> (status: Int, body: JSONValue) {
        var headers: HTTPHeaders = ["content-type": "application/json"]
        if let token { headers.add(name: "authorization", value: "Bearer \(token)") }
        let response = try await HTTPCall.send(
            .POST, address, path: Self.service + method, headers: headers, body: JSONWriter.compact(.object(body)))
        return (response.status, try JSONParser.parse(response.body))
    }

    @Test func textsRunBehindTheAdminTokenAndRefreshWhatLooksUpTheirRows() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway,admin",
                settings: ["admin.token=open sesame", "auth.mode=hs256", "auth.hs256Secret=\(Self.secret)"])
            let admin = try #require(node.admin)
            func run(_ query: String, _ variables: JSONObject = [:], _ method: String = ":executeGraphql") async throws
                -> (status: Int, body: JSONValue)
            {
                try await call(admin, method, ["query": .string(query), "variables": .object(variables)])
            }
            #expect(
                try await call(admin, ":executeGraphql", ["query": "{ lots { id } }"], token: "guess").status == 401)
            let public_ = try await call(node.address, ":executeGraphql", ["query": "{ lots { id } }"])
            #expect(public_.status == 404, "not on the public port")

            let read = try await run(
                "query ($n: Int!) { lots(limit: $n) { id title } }", ["n": 2], ":executeGraphqlRead")
            #expect(read.status == 200 && read.body["data"]?["lots"]?.arrayValue?.count == 2, "\(read)")
            let id = try #require(read.body["data"]?["lots"]?[0]?["id"]?.stringValue)
            let subscriber = try await Subscriber.connect(node.address)
            subscriber.subscribe("GetLot", ["id": .string(id)])
            _ = try await subscriber.data()
            let write = try await run(
                "mutation ($id: UUID!) { lot_update(id: $id, data: {description: \"by hand\"}) }", ["id": .string(id)]
            )
            #expect(write.status == 200 && write.body["errors"]?.arrayValue?.isEmpty ?? true, "\(write)")
            _ = try await subscriber.data { $0["lot"]?["description"]?.stringValue == "by hand" }

            #expect(
                try await run("mutation { lot_delete(id: \"\(id)\") }", [:], ":executeGraphqlRead").status == 400,
                "reading only")
            let wrong = try await run("{ lots { nothing } }")
            #expect(wrong.status == 400 && wrong.body.description.contains("nothing"), "\(wrong)")
            #expect(try await run("{ lots {").status == 400)
            #expect(try await run("query A { lots { id } } query B { lots { id } }").status == 400)
            let missing = try await run("query ($n: Int!) { lots(limit: $n) { id } }")
            #expect(missing.status == 200 && missing.body["errors"]?.arrayValue?.isEmpty == false)

            // Administrators learn table and constraint, clients only what they write themselves.
            let twice = try await run("mutation { lot_insert(data: {id: \"\(id)\", title: \"x\"}) }")
            let message = twice.body["errors"]?[0]?["message"]?.stringValue ?? ""
            #expect(message.contains("(Lot: "), "\(twice)")
            let question: JSONObject = [
                "lotId": "00000000-0000-4000-8000-000000000000", "name": "a", "text": "b",
            ]
            let asked = try await API.mutate(node.address, "AskQuestion", question)
            let error = try #require(asked.body["errors"]?[0], "\(asked)")
            #expect(error["extensions"] == ["code": "CONSTRAINT_VIOLATION", "fields": ["lotId"]])
            #expect(error["message"]?.stringValue?.hasSuffix(" (lotId)") == true, "\(error)")

            // An impersonated stored operation.
            func account(_ impersonate: JSONObject) async throws -> (status: Int, body: JSONValue) {
                try await call(
                    admin, "/connectors/auctions:impersonateQuery",
                    [
                        "operationName": "MyAccount",
                        "extensions": ["impersonate": .object(impersonate)],
                    ])
            }
            let ann = TestTokens.signed(uid: "ann", secret: Self.secret)
            _ = try await API.mutate(node.address, "SaveAccount", ["name": "ann's"], token: ann)
            let asAnn: JSONObject = [
                "authClaims": ["sub": "ann", "firebase": ["sign_in_provider": "password"]]
            ]
            #expect(try await account(asAnn).body["data"]?["user"]?["name"]?.stringValue == "ann's")
            #expect(try await account(["unauthenticated": true]).status == 401, "@auth holds")
            let asAdministrator = try await call(
                admin, "/connectors/auctions:impersonateQuery", ["operationName": "MyAccount", "extensions": [:]])
            #expect(asAdministrator.status == 200 && asAdministrator.body["data"]?["user"] == .null)
            let ungated = try await call(
                node.address, "/connectors/auctions:impersonateQuery",
                ["operationName": "MyAccount", "extensions": [:]])
            #expect(ungated.status == 404, "not on the public port")
            let guessed = try await call(
                admin, "/connectors/auctions:impersonateQuery", ["operationName": "MyAccount", "extensions": [:]],
                token: "guess")
            #expect(guessed.status == 401)
            let changed = try await call(
                admin, "/connectors/auctions:impersonateMutation",
                [
                    "operationName": "SaveAccount", "variables": ["name": "changed"],
                    "extensions": ["impersonate": .object(asAnn)],
                ])
            #expect(changed.status == 200, "\(changed)")
            #expect(try await account(asAnn).body["data"]?["user"]?["name"]?.stringValue == "changed")
            #expect(node.process.output.contains(":executeGraphql"), "audit")
        }
    }

    @Test func pagesOfOtherSitesReachNeitherTheAdminPortNorAdministratorRoutes() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway,admin")
            let admin = try #require(node.admin)
            func send(_ method: HTTPMethod, _ path: String, _ headers: HTTPHeaders) async throws -> Int {
                try await HTTPCall.send(method, admin, path: path, headers: headers).status
            }
            let json: HTTPHeaders = ["content-type": "application/json"]
            let revoke = "/admin/revocations?uid=ann"
            #expect(try await send(.POST, revoke, ["origin": "https://attacker.example"]) == 403)
            #expect(try await send(.POST, revoke, ["content-type": "text/plain"]) == 415)
            #expect(try await send(.POST, revoke, [:]) == 415)
            #expect(try await send(.GET, "/admin/status", ["host": "attacker.example"]) == 403)
            #expect(try await send(.GET, "/metrics", ["host": "attacker.example"]) == 403)
            #expect(try await send(.GET, "/readyz", ["host": "10.1.2.3"]) == 200, "probes")
            let text = Self.service + ":executeGraphql"
            var foreign = json
            foreign.add(name: "origin", value: "null")
            #expect(try await send(.POST, text, foreign) == 403)
            #expect(try await AdminClient(node.process).get("revocations").rows("revocations").isEmpty)
            #expect(try await send(.POST, revoke, json) == 200)
            #expect(try await AdminClient(node.process).get("revocations").rows("revocations").count == 1)
        }
    }
}
