internal import Catalog
internal import Execution
internal import LiveModel
internal import Sharding

/// Whom a mutation's event concerns: the same for each run of it until a catalog or the orders change.
struct MutationAudience: Sendable {
    /// Shards that own a query which the mutation could refresh.
    let shards: [ShardID]
    /// What conditions read of the writer's `auth`.
    let authReads: AuthReads
}

/// Audiences found before, by one catalog and one generation of orders. Bound: the mutations of the catalog.
struct MutationAudiences {
    private var catalogs: ServedCatalogs.Snapshot?
    private var ordersGeneration: UInt64 = 0
    private var known: [OperationReference: MutationAudience] = [:]

    func known(
        _ mutation: OperationReference, _ catalogs: ServedCatalogs.Snapshot, _ orders: Orders
    ) -> MutationAudience? {
        self.catalogs === catalogs && ordersGeneration == orders.generation ? known[mutation] : nil
    }

    mutating func note(
        _ audience: MutationAudience, of mutation: OperationReference, _ catalogs: ServedCatalogs.Snapshot,
        _ orders: Orders
    ) {
        // Who hears of an operation that is being split depends on the time, too.
        guard orders.splits.isEmpty else { return }
        if self.catalogs !== catalogs || ordersGeneration != orders.generation {
            self.catalogs = catalogs
            ordersGeneration = orders.generation
            known = [:]
        }
        known[mutation] = audience
    }
}
