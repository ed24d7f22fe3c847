import LiveModel
import Sharding
import Testing

@testable import Node

@Suite struct ClusterFormatTests {
    /// The digest of the placements of each format. Add a row for a new version; a changed row means that nodes of two
    /// releases route one live query differently.
    private static let placements: [Int: String] = [
        1: "782fda2c77253d231d38a876a9a3ecc3b49f0b109e62b5fc9f395907b307c1d7",
        2: "782fda2c77253d231d38a876a9a3ecc3b49f0b109e62b5fc9f395907b307c1d7",
    ]

    @Test func otherPlacementsAreAnotherFormat() {
        #expect(
            Self.placements[ClusterFormat.version] == Self.digest,
            "shards are placed differently: raise ClusterFormat.version and add a row")
        #expect(Self.placements.keys.max() == ClusterFormat.version)
    }

    @Test func aClusterWithoutLivingNodesIsRaised() {
        let (former, later) = (ClusterFormat.version - 1, ClusterFormat.version + 1)
        #expect(ClusterFormat.start(stored: ClusterFormat.version, living: ["a"]) == .join)
        #expect(ClusterFormat.start(stored: former, living: []) == .raise)
        let reason = "this release speaks format \(ClusterFormat.version), the cluster format"
        #expect(
            ClusterFormat.start(stored: former, living: ["a", "b"])
                == .refuse(reason: "\(reason) \(former); stop its nodes first: a, b"))
        #expect(ClusterFormat.start(stored: later, living: []) == .refuse(reason: "\(reason) \(later)"))
    }

    /// Shards, splits and owners for some operations, keys and workers.
    private static var digest: String {
        let workers = (0..<7).map { NodeID("worker-\($0)") }
        let operations = (0..<100).map { OperationReference(connector: "connector", operation: "Operation\($0)") }
        var lines: [String] = []
        for shardCount in [1, 2, 64, 256, 4_096] {
            for operation in operations {
                let shards = ShardRouting.shards(of: operation, splits: 8, shardCount: shardCount)
                lines.append("\(shardCount) \(operation) \(shards.map(\.number))")
            }
        }
        for number in 0..<100 {
            let key = LiveQueryKey(digest: Digest(of: "\(number)".utf8))
            lines.append("\(number) \([2, 3, 8, 64].map { ShardRouting.split(of: key, splits: $0) })")
            lines.append(ShardAssignment.owner(of: ShardID(number), among: workers)?.name ?? "none")
        }
        return Digest(of: lines.joined(separator: "\n").utf8).hex
    }
}
