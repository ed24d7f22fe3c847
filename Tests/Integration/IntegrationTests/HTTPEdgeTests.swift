import Foundation
import JSON
import LocalServers
import NIOCore
import NIOHTTP1
import NIOPosix
import ProtocolClients
import Testing

/// Refusals and outages over HTTP, on real processes.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct HTTPEdgeTests {
    private static let secret = "0123456789abcdef0123456789abcdef"

    private func code(_ body: [UInt8]) throws -> String? {
        try JSONParser.parse(body)["errors"]?[0]?["extensions"]?["code"]?.stringValue
    }

    @Test func oneShotReadsKeepTheBoundOfResults() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway", settings: ["gateway.resultBytesMax=1KiB"])
            let large = try await API.get(node.address, "ListLots", ["category": "Books"])
            #expect(large.status == 413)
            #expect(try code(large.body) == "PAYLOAD_TOO_LARGE")
            // A follower of the same gets the same.
            let subscriber = try await Subscriber.connect(node.address)
            subscriber.subscribe("ListLots", ["category": "Books"])
            let message = try await subscriber.message { $0["id"]?.stringValue == "1" }
            #expect("\(message)".contains("PAYLOAD_TOO_LARGE"))
            subscriber.send([
                "id": "2", "type": "subscribe",
                "payload": [
                    "query":
                        """
                    query ListLots($category: String) {
                      lots(
                        where: {category: {eq: $category}, open: {eq: true}, closesAt: {gt_time: {now: true}}}
                        orderBy: [{closesAt: ASC}]
                        limit: 10
                      ) { id title category description highestBid closesAt }
                    }
                    """,
                    "variables": ["category": "Books"],
                ],
            ])
            let once = try await subscriber.message { $0["id"]?.stringValue == "2" }
            #expect("\(once)".contains("PAYLOAD_TOO_LARGE"))
            subscriber.socket.close()
            let posted = try await HTTPCall.send(
                .POST, node.address, path: "/graphql", headers: ["content-type": "application/json"],
                body: Array(#"{"operationName":"ListLots","variables":{"category":"Books"}}"#.utf8))
            #expect(try code(posted.body) == "PAYLOAD_TOO_LARGE")
        }
    }

    @Test func theWrongKindIsRefusedBeforeVariablesAreRead() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway")
            let read = try await API.get(node.address, "EditLot", ["id": 7])
            #expect(read.status == 400)
            #expect(String(decoding: read.body, as: UTF8.self).contains("is a mutation: POST it"))
            let unknown = try await API.get(node.address, "NoSuch", ["id": 7])
            #expect(try unknown.status == 404 && code(unknown.body) == "OPERATION_NOT_FOUND")
            let wrote = try await API.mutate(node.address, "GetLot", ["id": 7])
            #expect(wrote.status == 400 && "\(wrote.body)".contains("is a query: GET it"))
            let byGet = try await HTTPCall.send(
                .GET, node.address, path: "/graphql?operationName=EditLot&variables=%7B%22id%22:7%7D")
            #expect(byGet.status == 405)
            #expect(byGet.headers.first(name: "allow") == "POST")
            let name = "/v1/projects/p/locations/us-central1/services/auctions/connectors/auctions"
            let executed = try await HTTPCall.send(
                .POST, node.address, path: name + ":executeQuery", headers: ["content-type": "application/json"],
                body: Array(#"{"operationName":"EditLot","variables":{"id":7}}"#.utf8))
            #expect(executed.status == 404)
            #expect(String(decoding: executed.body, as: UTF8.self).contains("is a mutation, no query"))
        }
    }

    /// A page that may call reads the errors of the server itself; otherwise its browser says "Failed to fetch".
    @Test func errorsOfTheServerCarryTheHeadersForBrowsers() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(
                roles: "api,worker,gateway",
                settings: [
                    "http.corsOrigins=https://a.example,https://b.example", "http.bodyBytesMax=1KiB",
                    "http.headerBytesMax=1KiB", "limits.variablesBytesMax=512",
                ])
            let large = String(repeating: "x", count: 4_000)
            for origin in ["https://a.example", "https://b.example", "https://c.example"] {
                let allowed = origin == "https://c.example" ? nil : origin
                let json: HTTPHeaders = ["origin": origin, "content-type": "application/json"]
                let body = try await HTTPCall.send(
                    .POST, node.address, path: "/graphql", headers: json, body: Array(large.utf8))
                #expect(body.status == 413)
                var fields = json
                fields.add(name: "x-large", value: large)
                let header = try await HTTPCall.send(.GET, node.address, path: "/graphql", headers: fields)
                #expect(header.status == 431)
                for answer in [body, header] {
                    #expect(answer.headers.first(name: "access-control-allow-origin") == allowed, "\(answer.status)")
                    #expect(answer.headers.first(name: "vary") == "Origin")
                    let exposed = answer.headers.first(name: "access-control-expose-headers")
                    #expect((exposed?.contains("retry-after") == true) == (allowed != nil))
                }
            }
            let full = try await cluster.start(
                roles: "api", settings: ["http.corsOrigins=https://a.example", "http.connectionsMax=1"])
            let holder = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: full.address.host, port: full.address.port).get()
            let refused = try await HTTPCall.send(.GET, full.address, path: "/healthz")
            #expect(refused.status == 503 && refused.headers.first(name: "retry-after") == "1")
            #expect(refused.headers.first(name: "access-control-allow-origin") == "https://a.example")
            try await holder.close()
            let several = try await cluster.start(
                roles: "api",
                settings: ["http.corsOrigins=https://a.example,https://b.example", "http.connectionsMax=1"])
            let other = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: several.address.host, port: several.address.port).get()
            let echoed = try await HTTPCall.send(
                .GET, several.address, path: "/healthz", headers: ["origin": "https://b.example"])
            #expect(echoed.status == 503)
            #expect(echoed.headers.first(name: "access-control-allow-origin") == "https://b.example")
            try await other.close()
        }
    }

    @Test func typenameIsAnsweredInTheFormatThatTheClientAccepts() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway")
            func ask(_ accept: String) async throws -> HTTPCall.Response {
                try await HTTPCall.send(
                    .POST, node.address, path: "/graphql",
                    headers: ["content-type": "application/json", "accept": accept],
                    body: Array(#"{"query":"{ __typename }"}"#.utf8))
            }
            let json = try await ask("application/json")
            #expect(String(decoding: json.body, as: UTF8.self) == #"{"data":{"__typename":"Query"}}"#)
            let stream = try await ask("text/event-stream")
            #expect(stream.headers.first(name: "content-type")?.hasPrefix("text/event-stream") == true)
            let text = String(decoding: stream.body, as: UTF8.self)
            #expect(text.contains("event: next\ndata: {\"data\":{\"__typename\":\"Query\"}}\n\n"), "\(text)")
            #expect(text.hasSuffix("event: complete\ndata: \n\n"), "\(text)")
            let subscriber = try await Subscriber.connect(node.address)
            subscriber.send(["id": "1", "type": "subscribe", "payload": ["query": "{ __typename }"]])
            #expect(try await subscriber.data() == ["__typename": "Query"])
            _ = try await subscriber.message { $0["type"] == "complete" }
            subscriber.socket.close()
        }
    }

    @Test func tokensWithoutAnEndAreRefusedUnlessTheyAreAllowed() async throws {
        let endless = TestTokens.signed(uid: "ann", secret: Self.secret, expiresAt: nil)
        let never = TestTokens.signed(uid: "ann", secret: Self.secret, expiresAt: .double(1e300))
        let auth = ["auth.mode=hs256", "auth.hs256Secret=\(Self.secret)"]
        try await Cluster.with { cluster in
            let strict = try await cluster.start(roles: "api,worker,gateway", settings: auth)
            for token in [endless, never] {
                let answer = try await API.get(
                    strict.address, "ClosingSoon", [:], headers: ["authorization": "Bearer \(token)"])
                #expect(try answer.status == 401 && code(answer.body) == "UNAUTHENTICATED")
            }
            let lenient = try await cluster.start(roles: "api", settings: auth + ["auth.expiryRequired=false"])
            for (token, status) in [(endless, 200), (never, 401)] {
                let answer = try await API.get(
                    lenient.address, "ClosingSoon", [:], headers: ["authorization": "Bearer \(token)"])
                #expect(answer.status == status)
            }
        }
    }

    /// A long-poll ends soon after its wait; streams send keep-alives and errors.
    @Test func clientsAreInformedWhileTheDatabaseIsAway() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway", settings: ["gateway.keepAliveMs=500"])
            let client = try await PythonClients.start(
                "outage_client.py", ["http://\(node.address.host):\(node.address.port)"])
            _ = try await client.line(containing: "live")
            await cluster.servers.postgres.crash()
            client.signal(SIGUSR1)
            _ = try await client.line(containing: "away")
            try await cluster.servers.postgres.restart()
            client.signal(SIGUSR1)
            try await PythonClients.output(of: client, "outage")
        }
    }
}
