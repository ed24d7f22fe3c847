package import LiveModel
package import Sharding

/// The destination and content of a mutation's events, the same for each run until a catalog or the overrides change.
package struct RefreshTargets: Sendable, Hashable {
    /// Shards that own a query which the mutation could refresh.
    package let shards: [ShardID]
    /// The shards among them that somebody follows, as far as this node knows.
    package let followedShards: [ShardID]
    /// The parts of the writer's `auth` that conditions read.
    package let authReads: AuthReads
    /// The fields, by table, whose values events tell of changed rows; nil if they tell no changes.
    package let recordedFields: [String: RecordedFields]?
    /// Whether the catalogs tell which queries the mutation could refresh; otherwise every shard receives its events.
    package let isKnown: Bool
    /// The generation of the overrides by which the shards were chosen.
    package let generation: UInt64
    /// The deployment that was loaded when the shards were chosen.
    package let loadedDeployment: Int64

    /// Chooses the targets before the mutation's transaction begins. `PublisherMachine` compares them with
    /// what is in force after its commit.
    package init(
        of mutation: OperationReference, rules: some PublishingRules, overrides: ClusterOverrides, shardCount: Int,
        nowMs: Int64
    ) {
        let queries = rules.queries(concernedBy: mutation)
        isKnown = queries != nil
        shards =
            queries.map {
                ShardRouting.shards(of: $0, shardCount: shardCount, overrides: overrides, nowMs: nowMs)
            } ?? ShardID.all(count: shardCount)
        followedShards = shards.filter { !overrides.unfollowed.contains($0) }
        authReads = rules.authReads(of: mutation)
        recordedFields = rules.recordedFields
        generation = overrides.generation
        loadedDeployment = rules.loadedDeployment
    }

    /// Whether the shards were chosen under these overrides and catalogs.
    func areCurrent(_ overrides: ClusterOverrides, _ rules: some PublishingRules) -> Bool {
        generation == overrides.generation && loadedDeployment == rules.loadedDeployment
    }
}

/// A cache of targets for one state of the catalogs, compared by identity, and one generation of overrides.
/// Bound: the number of mutations in the catalogs; those that these do not know are not cached.
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
        guard targets.isKnown, overrides.splits.isEmpty else { return }
        if self.catalogs !== catalogs || overridesGeneration != overrides.generation {
            self.catalogs = catalogs
            overridesGeneration = overrides.generation
            known = [:]
        }
        known[mutation] = targets
    }
}
