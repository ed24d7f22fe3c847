package import LiveModel
package import Sharding

/// Where a mutation's event goes and what it carries: the same for each run of the mutation until a catalog or the
/// overrides change.
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

/// Targets found before, by one state of the catalogs, known by its identity, and one generation of overrides.
/// Bound: the mutations of the catalogs.
package struct RefreshTargetsCache<Catalogs: AnyObject & Sendable>: Sendable {
    /// Held, so that no other object can be taken for it.
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
        // While any operation is split, the shards may depend on the time, too.
        guard overrides.splits.isEmpty else { return }
        if self.catalogs !== catalogs || overridesGeneration != overrides.generation {
            self.catalogs = catalogs
            overridesGeneration = overrides.generation
            known = [:]
        }
        known[mutation] = targets
    }
}
