package import LiveModel
package import Sharding

/// Whom a mutation's event concerns: the same for each run of it until a catalog or the orders change.
package struct RefreshTargets: Sendable, Hashable {
    /// Shards that own a query which the mutation could refresh.
    package let shards: [ShardID]
    /// What conditions read of the writer's `auth`.
    package let authReads: AuthReads

    package init(shards: [ShardID], authReads: AuthReads) {
        self.shards = shards
        self.authReads = authReads
    }
}

/// Audiences found before, by one state of the catalogs, told by its identity, and one generation of orders.
/// Bound: the mutations of the catalogs.
package struct RefreshTargetsCache<Catalogs: AnyObject & Sendable>: Sendable {
    /// Held, so that no other object can be taken for it.
    private var catalogs: Catalogs?
    private var ordersGeneration: UInt64 = 0
    private var known: [OperationReference: RefreshTargets] = [:]

    package init() {}

    package func known(
        _ mutation: OperationReference, by catalogs: Catalogs, _ orders: ClusterOverrides
    ) -> RefreshTargets? {
        self.catalogs === catalogs && ordersGeneration == orders.generation ? known[mutation] : nil
    }

    package mutating func note(
        _ audience: RefreshTargets, of mutation: OperationReference, by catalogs: Catalogs, _ orders: ClusterOverrides
    ) {
        // While any operation is split, who hears of it may depend on the time, too.
        guard orders.splits.isEmpty else { return }
        if self.catalogs !== catalogs || ordersGeneration != orders.generation {
            self.catalogs = catalogs
            ordersGeneration = orders.generation
            known = [:]
        }
        known[mutation] = audience
    }
}
