/// The Redis keys of one namespace. No other code spells a key.
///
/// All keys of a shard share the hash tag `{ns:shard:N}`, so one script can use the shard's lease and streams together
/// even in a cluster.
package struct Keys: Hashable, Sendable {
    package let namespace: String

    /// The consumer group that shows the progress of a shard's workers (`XINFO GROUPS`).
    package static let workersGroup = "workers"
    package static let namespaceLengthMax = 64

    /// The rule for namespaces, for messages and the settings' reference.
    package static let namespaceRule = "1 to \(namespaceLengthMax) letters, digits, dots, - or _"

    /// Whether the text follows `namespaceRule`.
    package static func isNamespace(_ text: String) -> Bool {
        let allowed = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        return allowed && (1...namespaceLengthMax).contains(text.utf8.count)
    }

    /// Throws `.misconfigured` unless `isNamespace`.
    package init(namespace: String) throws(BrokerError) {
        guard Keys.isNamespace(namespace) else {
            throw BrokerError(.misconfigured, "a namespace is \(Keys.namespaceRule)")
        }
        self.namespace = namespace
    }

    /// The stream of a shard's mutation events.
    package func events(shard: Int) -> String { "{\(namespace):shard:\(shard)}:events" }
    /// The stream of interest that gateways announce to and withdraw from a shard.
    package func control(shard: Int) -> String { "{\(namespace):shard:\(shard)}:control" }
    /// The hash with owner, epoch and expiry of a shard's lease.
    package func lease(shard: Int) -> String { "{\(namespace):shard:\(shard)}:lease" }
    /// The stream of results for one gateway.
    package func inbox(gateway: String) -> String { "{\(namespace):gateway:\(gateway)}:inbox" }
    /// The stream in which a node without the role gateway checks that streams can be used.
    package func probe(node: String) -> String { "{\(namespace):node:\(node)}:probe" }
    /// The stream that wakes workers after changes of nodes or leases (`Broker.wakeWorkers`).
    package var wakeUps: String { "\(namespace):news" }
    /// The hash from node id to expiry and payload.
    package var nodes: String { "\(namespace):nodes" }
    /// The hash with shard count, format version and incarnation.
    package var meta: String { "\(namespace):meta" }
    /// The hash of cluster overrides (splits, moved shards, drained nodes) and their generation.
    package var overrides: String { "\(namespace):orders" }
    /// The hash of revoked users, tokens and API keys, in the format of the overrides.
    package var revocations: String { "\(namespace):revocations" }
    /// The hash of what clients are to drop from their caches, in the format of the overrides.
    package var invalidations: String { "\(namespace):invalidations" }

    package func key(of table: OverrideTable) -> String {
        switch table {
        case .cluster: overrides
        case .revocations: revocations
        case .invalidations: invalidations
        }
    }
}
