package import CEL
package import LiveModel

/// An index of rules that finds the live queries which an event concerns.
///
/// Instead of evaluating every live query for every event, it spends one dictionary lookup per event for its operation,
/// one hash lookup per trigger of that operation, and one lookup per row written: cost grows with matches, not with
/// live queries. What cannot be hashed is evaluated per candidate.
package struct RuleIndex: Sendable {
    /// Why a live query must run again: the kinds of rules, and which triggers.
    package struct Causes: OptionSet, Sendable, Hashable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        package static let implicit = Causes(rawValue: 1)
        package static let trigger = Causes(rawValue: 2)
        package static let automatic = Causes(rawValue: 4)
        /// A change of rows that is only counted, which is no reason to run.
        package static let observed = Causes(rawValue: 8)
        /// A change of rows of which nothing but the rows that the live query reads could tell whether it concerns it,
        /// and these are not known.
        static let possible = Causes(rawValue: 16)
        /// The rule `every`.
        static let timer = Causes(rawValue: 32)

        /// The triggers of a query that have a place of their own, but for the last, which further ones share.
        package static let triggersMax = 24
        private static let triggerShift = 8

        /// A trigger, with its kind.
        /// - Parameter number: its position among the query's triggers.
        package static func trigger(_ number: Int) -> Causes {
            Causes(rawValue: Causes.trigger.rawValue | 1 << (triggerShift + min(number, triggersMax - 1)))
        }

        /// The kinds without the triggers' numbers and the timer.
        package var kinds: Causes { intersection([.implicit, .trigger, .automatic, .observed, .possible]) }

        /// Calls `body` with the position of each trigger.
        func forEachTrigger(_ body: (Int) -> Void) {
            var rest = rawValue >> Self.triggerShift
            while rest != 0 {
                body(rest.trailingZeroBitCount)
                rest &= rest - 1
            }
        }

        /// The causes of a run.
        var ofRun: Causes {
            let rows: Causes = contains(.possible) ? .automatic : []
            return union(rows).subtracting([.observed, .possible])
        }
    }

    package struct Matches: Sendable {
        /// The live queries, ascending by slot and without duplicates, however many rules matched.
        package var live: [(slot: Int32, causes: Causes)]
        /// The number of condition errors per trigger; they counted as matches.
        package var conditionErrors: [Trigger.ID: Int]
    }

    private var triggers: [Trigger.ID: TriggerIndex] = [:]
    private var triggersOfMutation: [OperationReference: [Trigger.ID]] = [:]
    private var lookups: [EntityKey: SlotSet] = [:]
    private var sites: [RowSite.ID: SiteIndex] = [:]
    private var sitesOfTable: [String: [RowSite.ID]] = [:]
    /// The live queries with automatic refreshes.
    private var automatic: Set<Int32> = []
    /// Live queries for which these changes are only counted.
    private var observed: Set<Int32> = []
    /// Live queries for which only those changes count that the write-ahead log tells.
    private var heedlessOfMutations: Set<Int32> = []
    /// Live queries with automatic refreshes that may read any table.
    private var readersOfAnything: Set<Int32> = []
    private var rules: [Int32: QueryRules] = [:]

    package init() {}

    package var count: Int { rules.count }
    func rules(of slot: Int32) -> QueryRules? { rules[slot] }

    /// - Parameter slot: the caller's number for the live query; must not be in the index.
    package mutating func insert(_ slot: Int32, rules: QueryRules) {
        precondition(self.rules[slot] == nil, "slot \(slot) is in the index already")
        for trigger in rules.triggers {
            if triggers[trigger.id] == nil { triggersOfMutation[trigger.mutation, default: []].append(trigger.id) }
            triggers[trigger.id, default: TriggerIndex(trigger)].insert(slot, request: rules.request)
        }
        for key in rules.lookupKeys { lookups.insert(slot, under: key) }
        if let automatic = rules.automatic { insert(slot, automatic) }
        self.rules[slot] = rules
    }

    private mutating func insert(_ slot: Int32, _ rules: AutomaticRules) {
        automatic.insert(slot)
        if rules.isObserved { observed.insert(slot) }
        if !rules.heedsMutations { heedlessOfMutations.insert(slot) }
        if rules.mayReadAnything {
            readersOfAnything.insert(slot)
            return
        }
        for site in rules.sites {
            if sites[site.form.id] == nil { sitesOfTable[site.form.table, default: []].append(site.form.id) }
            sites[site.form.id, default: SiteIndex(site.form)].insert(slot, site)
        }
    }

    private mutating func remove(_ slot: Int32, _ rules: AutomaticRules) {
        automatic.remove(slot)
        observed.remove(slot)
        heedlessOfMutations.remove(slot)
        if readersOfAnything.remove(slot) != nil { return }
        for site in rules.sites {
            let (id, table) = (site.form.id, site.form.table)
            sites[id]?.remove(slot, site)
            guard sites[id]?.isEmpty == true else { continue }
            sites[id] = nil
            sitesOfTable[table]?.removeAll { $0 == id }
            if sitesOfTable[table]?.isEmpty == true { sitesOfTable[table] = nil }
        }
    }

    package mutating func remove(_ slot: Int32) {
        guard let rules = rules.removeValue(forKey: slot) else { return }
        for trigger in rules.triggers {
            // Absent if no event can concern a live query of this trigger (`TriggerIndex.insert`).
            triggers[trigger.id]?.remove(slot)
            if triggers[trigger.id]?.isEmpty == true {
                triggers[trigger.id] = nil
                triggersOfMutation[trigger.mutation]?.removeAll { $0 == trigger.id }
                if triggersOfMutation[trigger.mutation]?.isEmpty == true { triggersOfMutation[trigger.mutation] = nil }
            }
        }
        for key in rules.lookupKeys { lookups.remove(slot, under: key) }
        if let automatic = rules.automatic { remove(slot, automatic) }
    }

    /// Takes over which rows a run of a live query read (see `AutomaticRules.bind`).
    /// - Returns: whether they changed, so that other events may concern the live query than before.
    package mutating func bind(_ slot: Int32, _ read: [RowsRead]?, countMax: Int) -> Bool {
        guard let place = rules.index(forKey: slot), let changed = rules.values[place].automatic?.bind(read, countMax)
        else { return false }
        for (former, site) in changed { sites[site.form.id]?.rebind(slot, from: former, to: site) }
        return !changed.isEmpty
    }

    /// Returns all live queries that `event` concerns.
    package func match(_ event: MutationEvent) -> Matches {
        var causes: [Int32: Causes] = [:]
        for key in event.keysWritten {
            lookups[key]?.forEach { causes[$0, default: []].insert(.implicit) }
        }
        if !automatic.isEmpty {
            let heedless = event.isCaptured ? [] : heedlessOfMutations
            matchRows(of: event) { slot, certainty in
                if !heedless.isEmpty, heedless.contains(slot) { return }
                let cause: Causes =
                    observed.contains(slot) ? .observed : certainty == .possible ? .possible : .automatic
                causes[slot, default: []].insert(cause)
            }
        }
        var conditionErrors: [Trigger.ID: Int] = [:]
        if let ids = triggersOfMutation[event.operation] {
            let mutation = event.conditionValue
            for id in ids {
                guard let trigger = triggers[id] else {
                    preconditionFailure("trigger \(id) is listed under \(event.operation) but has no index")
                }
                var errors = 0
                let cause = Causes.trigger(id.number)
                trigger.match(
                    event, mutation: mutation, request: { request(of: $0, for: id) },
                    found: { causes[$0, default: []].formUnion(cause) }, errors: &errors)
                if errors > 0 { conditionErrors[id] = errors }
            }
        }
        let live = causes.map { (slot: $0.key, causes: $0.value) }.sorted { $0.slot < $1.slot }
        return Matches(live: live, conditionErrors: conditionErrors)
    }

    private func matchRows(of event: MutationEvent, found: (Int32, SiteIndex.Certainty) -> Void) {
        guard let rows = event.rows else { return automatic.forEach { found($0, .probable) } }
        if !rows.all.isEmpty { readersOfAnything.forEach { found($0, .probable) } }
        var finished: Set<RowSite.ID> = []
        for change in rows.all {
            for id in sitesOfTable[change.table] ?? [] where !finished.contains(id) {
                guard let site = sites[id] else {
                    preconditionFailure("site \(id) is listed under \(change.table) but has no index")
                }
                let isComplete = site.match(
                    change, member: { self.site(of: $0, site.form) }, found: found)
                if isComplete { finished.insert(id) }
            }
        }
    }

    private func site(of slot: Int32, _ form: RowSite) -> AutomaticRules.Site {
        guard let place = rules.index(forKey: slot), let site = rules.values[place].automatic?.sites.site(of: form)
        else { preconditionFailure("slot \(slot) is indexed in \(form.id) but has no such site") }
        return site
    }

    private func request(of slot: Int32, for trigger: Trigger.ID) -> Value {
        guard let rules = rules[slot] else {
            preconditionFailure("slot \(slot) is indexed under trigger \(trigger) but has no rules")
        }
        return rules.request
    }

    /// Whether `event` concerns a live query that is in no index; used to check results against older events.
    package static func concerns(_ event: MutationEvent, rules: QueryRules) -> Bool {
        if rules.lookupKeys.contains(where: event.keysWritten.contains) { return true }
        if let automatic = rules.automatic, !automatic.isObserved, automatic.concerns(event) { return true }
        let candidates = rules.triggers.filter { $0.mutation == event.operation }
        if candidates.isEmpty { return false }
        let activation = ConditionActivation(request: rules.request, mutation: event.conditionValue)
        return candidates.contains { trigger in
            guard let condition = trigger.condition else { return true }
            return ConditionOutcome(condition, of: event, activation) != .no
        }
    }
}

extension MutationEvent {
    /// CEL's `mutation`: `{variables, auth}`.
    package var conditionValue: Value {
        .map(
            MapValue([
                ("variables", Value(jsonObject: variables)), ("auth", Value(json: auth)),
            ]))
    }
}
