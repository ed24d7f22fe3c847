/// Every key name this system uses in Redis, for one namespace. Nothing else may spell a key.
///
/// Keys of one shard share the hash tag `{ns:shard:N}`, so that a script may touch the lease and the streams of a
/// shard together even where keys are spread over servers by slot.
package struct Keys: Hashable, Sendable {
    package let namespace: String

    /// The consumer group that shows how far the workers of a shard have come (`XINFO GROUPS`).
    package static let workersGroup = "workers"
    package static let namespaceLengthMax = 64

    /// Throws `.misconfigured` unless the namespace is 1 to 64 letters, digits, `-`, `_` or `.`.
    package init(namespace: String) throws(BrokerError) {
        let allowed = namespace.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard allowed, (1...Keys.namespaceLengthMax).contains(namespace.utf8.count) else {
            throw BrokerError(.misconfigured, "a namespace is 1 to 64 letters, digits, '-', '_' or '.'")
        }
        self.namespace = namespace
    }

    /// Stream of mutation events of a shard.
    package func events(shard: Int) -> String { "{\(namespace):shard:\(shard)}:events" }
    /// Stream of interest that gateways announce to and withdraw from a shard.
    package func control(shard: Int) -> String { "{\(namespace):shard:\(shard)}:control" }
    /// Hash with owner, epoch and expiry of a shard's lease.
    package func lease(shard: Int) -> String { "{\(namespace):shard:\(shard)}:lease" }
    /// Stream of results for one gateway.
    package func inbox(gateway: String) -> String { "{\(namespace):gateway:\(gateway)}:inbox" }
    /// Stream that wakes workers: nodes or leases changed (`Broker.tellNews`).
    package var news: String { "\(namespace):news" }
    /// Hash of node id to expiry and payload.
    package var nodes: String { "\(namespace):nodes" }
    /// Hash with shard count, format version and incarnation.
    package var meta: String { "\(namespace):meta" }
    /// Hash of what operators ordered: splits, moved shards, drained nodes; and its generation.
    package var orders: String { "\(namespace):orders" }
    /// Hash of who is not let in any more; written like the orders.
    package var revocations: String { "\(namespace):revocations" }

    package func key(of book: OverrideTable) -> String {
        switch book {
        case .cluster: orders
        case .revocations: revocations
        }
    }
}
