import JSON
import ProtocolClients
import TestSupport
import Testing

/// Nodes that are killed and come back. Leases and node entries last ten minutes, longer than any test: a node
/// that waits for one to expire fails.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct RestartTests {
    private let patient = ["cluster.leaseTtlMs=600000", "cluster.nodeTtlMs=600000"]

    /// Returns when the first result of a live query has arrived.
    private func firstValue(_ gateway: ServerAddress) async throws -> Subscriber {
        let subscriber = try await Subscriber.connect(gateway)
        subscriber.subscribe("ListLots", ["category": "Hi-Fi"])
        _ = try await subscriber.data()
        return subscriber
    }

    /// Returns when the node's entry has the shards that it owns.
    private func announced(_ node: AdminClient, owner: String? = nil) async throws {
        try await node.wait("shards") { answer in
            let shards = answer.rows("shards")
            return !shards.isEmpty
                && shards.allSatisfy { shard in
                    let isOwners = owner == nil || shard["owner"]?.stringValue == owner
                    return isOwners && shard["verdict"]?.stringValue == "ok"
                }
        }
    }

    @Test(arguments: [[], ["cluster.nodeId=all"]])
    func aSingleNodeServesLiveQueriesAsSoonAsItIsBack(name: [String]) async throws {
        try await Cluster.with { cluster in
            let roles = "api,worker,gateway,admin"
            let first = try await cluster.start(roles: roles, settings: patient + name)
            _ = try await firstValue(first.address)
            try await announced(AdminClient(first.process))
            await first.process.crash()
            let second = try await cluster.start(roles: roles, settings: patient + name)
            _ = try await firstValue(second.address)
        }
    }

    @Test func aKilledWorkerIsReplacedByOthersOfItsMachine() async throws {
        try await Cluster.with { cluster in
            let edge = try await cluster.start(roles: "api,gateway,admin", settings: patient)
            let admin = try await AdminClient(edge.process)
            let worker = try await cluster.start(roles: "worker", settings: patient + ["cluster.nodeId=one"])
            _ = try await firstValue(edge.address)
            try await announced(admin, owner: "one")
            _ = try await cluster.start(roles: "worker", settings: patient + ["cluster.nodeId=two"])
            await worker.process.crash()
            // Every shard, also those that moved when the second worker came.
            try await announced(admin, owner: "two")
            _ = try await firstValue(edge.address)
            _ = try await cluster.start(roles: "worker", settings: patient + ["cluster.nodeId=one"])
            try await admin.wait("shards") { answer in
                answer.rows("shards").contains { $0["owner"]?.stringValue == "one" }
            }
            _ = try await firstValue(edge.address)
        }
    }
}
