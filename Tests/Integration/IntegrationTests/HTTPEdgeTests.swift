import Foundation
import FreshetClient
import JSON
import LocalServers
import NIOHTTP1
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
            let told = try await subscriber.message { $0["id"]?.stringValue == "1" }
            #expect("\(told)".contains("PAYLOAD_TOO_LARGE"))
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
