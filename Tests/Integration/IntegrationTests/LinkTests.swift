import Chaos
import JSON
import LocalServers
import ProtocolClients
import Testing

/// A gateway whose link to Redis is cut for longer than its entry in the node list lives: its interest is forgotten
/// meanwhile, shards may have got other owners, and it knows of neither.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct LinkTests {
    /// More than twice the life of a node's entry.
    private static let cutMs = 3_500

    @Test(arguments: [Fault.Impairment.cut, .silent])
    func aGatewayIsBackSoonAfterItsLink(_ impairment: Fault.Impairment) async throws {
        try await Cluster.with { cluster in
            let link = try await FaultyLink.start(to: cluster.servers.redis.port)
            // Summaries would find it, too; they are not to.
            let settings = ["gateway.summaryMs=600000", "gateway.announceRetryMs=600000"]
            let api = try await cluster.start(roles: "api", settings: settings).address
            let worker = try await cluster.start(roles: "worker", settings: settings).process
            let gateway = try await cluster.start(
                roles: "gateway", settings: settings + ["redis.url=redis://127.0.0.1:\(link.port)"]
            ).address
            let list = try JSONParser.parse(try await API.get(api, "ListLots", ["category": "Hi-Fi"]).body)
            let id = try #require(list["data"]?["lots"]?[0]?["id"]?.stringValue)
            func update(_ description: String) async throws {
                let answer = try await API.mutate(
                    api, "EditLot", ["id": .string(id), "category": "Hi-Fi", "description": .string(description)])
                #expect(answer.status == 200, "\(answer.body)")
            }
            let subscriber = try await Subscriber.connect(gateway)
            subscriber.subscribe("GetLot", ["id": .string(id)], id: "one")
            _ = try await subscriber.data(id: "one")

            await link.set(impairment)
            _ = try await worker.line(containing: "gateway gone")
            // Also for live queries without followers until now.
            let second = try #require(list["data"]?["lots"]?[1]?["id"]?.stringValue)
            let newcomer = try await Subscriber.connect(gateway)
            newcomer.subscribe("GetLot", ["id": .string(second)], id: "two")
            // Elapsed time is the subject: the link is down for this long after the entry has ended.
            try await Task.sleep(for: .milliseconds(Self.cutMs))
            try await update("while it was cut off")
            await link.set(nil)
            let healed = ContinuousClock.now
            _ = try await subscriber.data(id: "one") {
                $0["lot"]?["description"]?.stringValue == "while it was cut off"
            }
            let known = ContinuousClock.now - healed
            _ = try await newcomer.data(id: "two")
            let new = ContinuousClock.now - healed
            print("\(impairment): back after \(known), what was new meanwhile after \(new)")
            try await update("afterwards")
            _ = try await subscriber.data(id: "one") { $0["lot"]?["description"]?.stringValue == "afterwards" }
            await link.stop()
        }
    }
}
