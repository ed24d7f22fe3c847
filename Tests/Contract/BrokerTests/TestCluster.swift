import Glibc
import Synchronization

@testable import Broker
import Streams

/// A private Redis Cluster of three primaries without replicas on free ports of 127.0.0.1, quick to notice failures.
final class TestCluster: Sendable {
    let nodes: [TestRedis]

    /// The cluster of tests that leave it as it is.
    static let shared = Result { try TestCluster() }

    init() throws {
        nodes = try (0..<3).map { _ in try TestRedis(options: ["--appendonly", "no"], port: .cluster) }
        for (number, node) in nodes.enumerated() {
            let first = number * SlotMap.slotCount / 3
            let last = (number + 1) * SlotMap.slotCount / 3 - 1
            _ = try node.command("CLUSTER", "ADDSLOTSRANGE", String(first), String(last))
            _ = try node.command("CLUSTER", "SET-CONFIG-EPOCH", String(number + 1))
        }
        for node in nodes.dropFirst() {
            _ = try node.command(
                "CLUSTER", "MEET", "127.0.0.1", String(nodes[0].port), String(nodes[0].port + 1))
        }
        while try !nodes.allSatisfy(isComplete) { usleep(5_000) }
    }

    private func isComplete(_ node: TestRedis) throws -> Bool {
        let info = try node.command("CLUSTER", "INFO").text ?? ""
        return info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
    }

    var configuration: RedisConfiguration {
        var configuration = nodes[0].configuration
        configuration.topology = .cluster(addresses: nodes.map(\.endpoint))
        return configuration
    }

    func broker(_ namespace: String, change: (inout RedisConfiguration) -> Void = { _ in }) throws -> RedisBroker {
        try nodes[0].broker(namespace) {
            $0.topology = .cluster(addresses: nodes.map(\.endpoint))
            change(&$0)
        }
    }

    func owner(of key: String) throws -> TestRedis {
        let port = try slots().owner(of: hashSlot(of: key))
        guard let node = nodes.first(where: { $0.endpoint == port }) else { throw TestRedis.StartError() }
        return node
    }

    private func slots() throws -> SlotMap {
        guard let map = SlotMap(try nodes[0].command("CLUSTER", "SLOTS"), asked: nodes[0].endpoint) else {
            throw TestRedis.StartError()
        }
        return map
    }

    /// The steps of `redis-cli --cluster reshard` for one slot; `meanwhile` runs when the first half of the keys has
    /// moved, or just those named.
    func moveSlot(
        of key: String, to target: TestRedis, first: [String]? = nil, meanwhile: () async throws -> Void = {}
    ) async throws {
        let source = try owner(of: key)
        let slot = String(hashSlot(of: key))
        let sourceID = try source.command("CLUSTER", "MYID").text ?? ""
        let targetID = try target.command("CLUSTER", "MYID").text ?? ""
        _ = try target.command("CLUSTER", "SETSLOT", slot, "IMPORTING", sourceID)
        _ = try source.command("CLUSTER", "SETSLOT", slot, "MIGRATING", targetID)
        let keys = try (source.command("CLUSTER", "GETKEYSINSLOT", slot, "1000").array ?? []).compactMap(\.text)
        func migrate(_ keys: some Sequence<String>) throws {
            for key in keys {
                _ = try source.command("MIGRATE", "127.0.0.1", String(target.port), key, "0", "5000")
            }
        }
        let early = first ?? Array(keys.prefix(keys.count / 2))
        try migrate(early)
        try await meanwhile()
        try migrate(keys.filter { !early.contains($0) })
        // Keys that meanwhile came to the source, which still takes those that it has.
        try migrate((source.command("CLUSTER", "GETKEYSINSLOT", slot, "1000").array ?? []).compactMap(\.text))
        for node in [target, source] + nodes.filter({ $0 !== target && $0 !== source }) {
            _ = try node.command("CLUSTER", "SETSLOT", slot, "NODE", targetID)
        }
    }
}
