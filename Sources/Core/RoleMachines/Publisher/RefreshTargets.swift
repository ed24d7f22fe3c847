package import LiveModel
package import Sharding

/// The destination and content of a mutation's events, the same for each run until a catalog or the overrides change.
package struct RefreshTargets: Sendable, Hashable {
    /// Shards that own a query which the mutation could refresh.
    package let shards: [ShardID]
    /// The parts of the writer's `auth` that conditions read.
    package let authReads: AuthReads

    package init(shards: [ShardID], authReads: AuthReads) {
        self.shards = shards
        self.authReads = authReads
    }
}

/// A cache of targets for one state of the catalogs, compared by identity, and one generation of overrides.
/// Bound: the number of mutations in the catalogs.
package struct RefreshTargetsCache<Catalogs: AnyObject & Sendable>: Sendable {
    /// Retained, so that no other object can have the same identity.
    private var catalogs: Catalogs?
    private var overridesGeneration: UInt64 = 0
    private var known: [OperationReference: RefreshTargets] = [:]

    package init() {}

    package func known(
        _ mutation: OperationReference, by catalogs: Catalogs, _ overrides: ClusterOverrides
    ) -> RefreshTargets? {
        self.catalogs === catalogs && overridesGeneration == overrides.generation ? known[mutation] : nil
    }

    package mutating func note(
        _ targets: RefreshTargets, of mutation: OperationReference, by catalogs: Catalogs,
        _ overrides: ClusterOverrides
    ) {
        // While any operation is split, the shards may also depend on the time.
        guard overrides.splits.isEmpty else { return }
        if self.catalogs !== catalogs || overridesGeneration != overrides.generation {
            self.catalogs = catalogs
            overridesGeneration = overrides.generation
            known = [:]
        }
        known[mutation] = targets
    }
}
