import FreshetClient
import Foundation
import JSON
import NIOHTTP1
import Testing

/// Texts of administrators and stored operations as somebody else, on the admin port.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct AdministratorTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private static let service = "/v1/projects/p/locations/us-central1/services/movies"

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
                try await call(admin, ":executeGraphql", ["query": "{ movies { id } }"], token: "guess").status == 401)
            let public_ = try await call(node.address, ":executeGraphql", ["query": "{ movies { id } }"])
            #expect(public_.status == 404, "not on the public port")

            let read = try await run(
                "query ($n: Int!) { movies(limit: $n) { id title } }", ["n": 2], ":executeGraphqlRead")
            #expect(read.status == 200 && read.body["data"]?["movies"]?.arrayValue?.count == 2, "\(read)")
            let id = try #require(read.body["data"]?["movies"]?[0]?["id"]?.stringValue)
            let subscriber = try await Subscriber.connect(node.address)
            subscriber.subscribe("GetMovieById", ["id": .string(id)])
            _ = try await subscriber.data()
            let write = try await run(
                "mutation ($id: UUID!) { movie_update(id: $id, data: {description: \"by hand\"}) }", ["id": .string(id)]
            )
            #expect(write.status == 200 && write.body["errors"]?.arrayValue?.isEmpty ?? true, "\(write)")
            _ = try await subscriber.data { $0["movie"]?["description"]?.stringValue == "by hand" }

            #expect(
                try await run("mutation { movie_delete(id: \"\(id)\") }", [:], ":executeGraphqlRead").status == 400,
                "reading only")
            let wrong = try await run("{ movies { nothing } }")
            #expect(wrong.status == 400 && wrong.body.description.contains("nothing"), "\(wrong)")
            #expect(try await run("{ movies {").status == 400)
            #expect(try await run("query A { movies { id } } query B { movies { id } }").status == 400)
            let missing = try await run("query ($n: Int!) { movies(limit: $n) { id } }")
            #expect(missing.status == 200 && missing.body["errors"]?.arrayValue?.isEmpty == false)

            // A stored operation as somebody else.
            func profile(_ impersonate: JSONObject) async throws -> (status: Int, body: JSONValue) {
                try await call(
                    admin, "/connectors/movies:impersonateQuery",
                    [
                        "operationName": "GetExtendedProfileByUser",
                        "extensions": ["impersonate": .object(impersonate)],
                    ])
            }
            let ann = TestTokens.signed(uid: "ann", secret: Self.secret)
            _ = try await API.mutate(node.address, "UpsertExtendedProfile", ["status": "ann's"], token: ann)
            let asAnn: JSONObject = [
                "authClaims": ["sub": "ann", "firebase": ["sign_in_provider": "password"]]
            ]
            #expect(try await profile(asAnn).body["data"]?["profile"]?["status"]?.stringValue == "ann's")
            #expect(try await profile(["unauthenticated": true]).status == 401, "@auth holds")
            let changed = try await call(
                admin, "/connectors/movies:impersonateMutation",
                [
                    "operationName": "UpsertExtendedProfile", "variables": ["status": "changed"],
                    "extensions": ["impersonate": .object(asAnn)],
                ])
            #expect(changed.status == 200, "\(changed)")
            #expect(try await profile(asAnn).body["data"]?["profile"]?["status"]?.stringValue == "changed")
            #expect(node.process.output.contains(":executeGraphql"), "audit")
        }
    }
}
