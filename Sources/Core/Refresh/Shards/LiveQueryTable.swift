import LiveModel

/// The live queries of one shard, by slot and by key, with derived data: the rule index, counts by phase, and the
/// interest of each gateway. All of it changes together.
///
/// Slot parameters must be slots of this table that are still in use; any other is a programming error and traps. Where
/// the live query may have ended, check `contains` first.
struct LiveQueryTable: Sendable {
    private var queries: [Int32: LiveQueryState] = [:]
    private var slots: [LiveQueryKey: Int32] = [:]
    private var index = RuleIndex()
    private var phases = PhaseCounts()
    /// The live queries whose last run failed.
    private(set) var failing: Set<Int32> = []
    /// Live queries that gateways announced and this worker refused. Bound: the gateways' limits on live queries.
    private var refused: [NodeID: Set<LiveQueryKey>] = [:]
    /// The interest of subscribers and of refused gateways: a gateway counts both in its summaries.
    private var interest = InterestFingerprints()

    var count: Int { queries.count }
    var isEmpty: Bool { queries.isEmpty }
    var allSlots: some Collection<Int32> { queries.keys }
    var states: some Collection<LiveQueryState> { queries.values }
    /// The gateways with interest in this shard.
    var gateways: some Sequence<NodeID> { interest.gateways }

    func contains(_ slot: Int32) -> Bool { queries[slot] != nil }
    func slot(of key: LiveQueryKey) -> Int32? { slots[key] }
    func interest(of gateway: NodeID) -> InterestFingerprint? { interest[gateway] }
    func count(in phase: PhaseCounts.Name) -> Int { phases[phase] }

    /// Returns the live queries that an event concerns.
    func match(_ event: MutationEvent) -> RuleIndex.Matches { index.match(event) }

    func rules(of slot: Int32) -> QueryRules {
        guard let rules = index.rules(of: slot) else { preconditionFailure("slot \(slot) is in no rule index") }
        return rules
    }

    subscript(slot: Int32) -> LiveQueryState {
        guard let query = queries[slot] else { missing(slot) }
        return query
    }

    /// Whether a run would tell more about the rows that the live query reads than is known.
    func awaitsRows(_ slot: Int32) -> Bool { rules(of: slot).automatic?.awaitsRows ?? false }

    /// Whether a run without a cause may compare the result.
    func isVerifiable(_ slot: Int32) -> Bool {
        guard let automatic = rules(of: slot).automatic, automatic.isVerifiable, !automatic.isObserved else {
            return false
        }
        return self[slot].canBeChecked
    }

    /// Whether a run may show if a change that no rule noticed made the result stale.
    func canBeSampled(_ slot: Int32) -> Bool {
        rules(of: slot).automatic?.isVerifiable == true && self[slot].canBeChecked
    }

    // MARK: Changes

    mutating func insert(_ query: LiveQueryState, at slot: Int32, rules: QueryRules) {
        guard slots.updateValue(slot, forKey: query.query.key) == nil else {
            preconditionFailure("registered twice, now at slot \(slot): \(query)")
        }
        queries[slot] = query
        phases.entered(query.phase.name)
        index.insert(slot, rules: rules)
    }

    /// - Returns: whether other events may concern the live query than before.
    mutating func bind(_ slot: Int32, _ read: [RowsRead]?, countMax: Int) -> Bool {
        index.bind(slot, read, countMax: countMax)
    }

    mutating func remove(_ slot: Int32) {
        guard let query = queries.removeValue(forKey: slot) else { missing(slot) }
        for gateway in query.subscribers.sortedGateways { interest.remove(query.query.key, of: gateway) }
        index.remove(slot)
        phases.left(query.phase.name)
        failing.remove(slot)
        slots[query.query.key] = nil
    }

    /// Changes a live query in place. Subscribers change through `subscribe` and `unsubscribe`.
    mutating func update<Result>(_ slot: Int32, _ change: (inout LiveQueryState) -> Result) -> Result {
        guard let place = queries.index(forKey: slot) else { missing(slot) }
        let former = queries.values[place].phase.name
        let result = change(&queries.values[place])
        let phase = queries.values[place].phase.name
        if queries.values[place].lastFailure != nil {
            failing.insert(slot)
        } else if !failing.isEmpty {
            failing.remove(slot)
        }
        if phase != former {
            phases.left(former)
            phases.entered(phase)
        }
        return result
    }

    mutating func subscribe(_ gateway: NodeID, to slot: Int32, _ subscriber: Subscribers.Subscriber) {
        guard let place = queries.index(forKey: slot) else { missing(slot) }
        if queries.values[place].subscribe(gateway, subscriber) {
            interest.insert(queries.values[place].query.key, of: gateway)
        }
    }

    /// - Returns: whether that was the last subscriber, so that the live query ends. The caller removes it.
    mutating func unsubscribe(_ gateway: NodeID, from slot: Int32) -> Bool {
        guard let place = queries.index(forKey: slot) else { missing(slot) }
        guard queries.values[place].unsubscribe(gateway) else { return false }
        interest.remove(queries.values[place].query.key, of: gateway)
        return queries.values[place].subscribers.isEmpty
    }

    // MARK: Refused live queries

    /// Records a refused live query. The gateway counts it among its interest, so otherwise its announcement would seem
    /// lost.
    mutating func refuse(_ key: LiveQueryKey, to gateway: NodeID) {
        if refused[gateway, default: []].insert(key).inserted { interest.insert(key, of: gateway) }
    }

    mutating func forgetRefusal(of key: LiveQueryKey, to gateway: NodeID) {
        guard refused[gateway]?.remove(key) != nil else { return }
        if refused[gateway]?.isEmpty == true { refused[gateway] = nil }
        interest.remove(key, of: gateway)
    }

    mutating func forgetRefusals(to gateway: NodeID) {
        for key in refused.removeValue(forKey: gateway) ?? [] { interest.remove(key, of: gateway) }
    }

    private func missing(_ slot: Int32) -> Never {
        preconditionFailure("no live query at slot \(slot): \(count) live queries, index of \(index.count)")
    }
}
