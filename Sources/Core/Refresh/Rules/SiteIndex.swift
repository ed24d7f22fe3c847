import JSON
import LiveModel

/// The live queries of one site, indexed by the values of their guards, and by the rows that their last runs read.
///
/// A change looks each image up by the first field that the image tells, and compares the others of the live queries
/// found there. An image that tells none of the fields selects all. Where results show the rows, the row before is
/// looked up by its key instead.
///
/// A live query whose first run is due is not found by what only the run tells: it is compared once the run ends.
struct SiteIndex: Sendable {
    /// How certainly a change concerns a live query.
    enum Certainty {
        case probable
        /// Nothing but the rows that the live query reads could tell, and these are not known.
        case possible
    }

    /// The live queries by the value of a guard.
    private struct Guarded: Sendable {
        var slots: [String: SlotSet] = [:]
        /// The live queries whose guard tests nothing.
        var others: Set<Int32> = []

        mutating func insert(_ slot: Int32, _ values: AutomaticRules.Values) {
            switch values {
            case .any: others.insert(slot)
            case .one(let value): slots.insert(slot, under: value)
            case .several(let values): for value in values { slots.insert(slot, under: value) }
            }
        }

        mutating func remove(_ slot: Int32, _ values: AutomaticRules.Values) {
            switch values {
            case .any: others.remove(slot)
            case .one(let value): slots.remove(slot, under: value)
            case .several(let values): for value in values { slots.remove(slot, under: value) }
            }
        }

        func forEach(_ value: String, _ body: (Int32) -> Void) {
            slots[value]?.forEach(body)
            others.forEach(body)
        }

        /// Calls the body for every live query, more than once for several values.
        func forEach(_ body: (Int32) -> Void) {
            for slots in slots.values { slots.forEach(body) }
            others.forEach(body)
        }
    }

    let form: RowSite
    /// The number of live queries.
    private var count = 0
    /// One for each guard of the form.
    private var guarded: [Guarded]
    /// The live queries to which no value of the first guard leads: those of a form without guards, and those whose
    /// first guard admits no value.
    private var unguarded: Set<Int32> = []
    /// The live queries by bound values, and those with any.
    private var bound = HashedSlots()
    private var unbound: Set<Int32> = []
    /// The live queries by the keys of the rows that they show, and those that may show any.
    private var shown = HashedSlots()
    private var unshown: Set<Int32> = []

    init(_ form: RowSite) {
        self.form = form
        guarded = Array(repeating: Guarded(), count: form.guardFields.count)
    }

    var isEmpty: Bool { count == 0 }

    mutating func insert(_ slot: Int32, _ site: AutomaticRules.Site) {
        precondition(
            site.values.count == guarded.count,
            "site \(form.id) has \(guarded.count) guards, not \(site.values.count)")
        count += 1
        if site.values.first?.admitsNothing ?? true { unguarded.insert(slot) }
        for (number, value) in site.values.enumerated() { guarded[number].insert(slot, value) }
        insertRows(slot, site)
    }

    private mutating func insertRows(_ slot: Int32, _ site: AutomaticRules.Site) {
        if case .awaited = site.rows { return }
        if form.boundField != nil {
            if let values = site.bound {
                for hash in values.all { bound.insert(slot, hash) }
            } else {
                unbound.insert(slot)
            }
        }
        if form.shown != nil {
            if let keys = site.shown {
                for hash in keys.all { shown.insert(slot, hash) }
            } else {
                unshown.insert(slot)
            }
        }
    }

    private mutating func removeRows(_ slot: Int32, _ site: AutomaticRules.Site) {
        for hash in site.bound?.all ?? [] { bound.remove(slot, hash) }
        for hash in site.shown?.all ?? [] { shown.remove(slot, hash) }
        unbound.remove(slot)
        unshown.remove(slot)
    }

    /// Replaces a live query's site after a run.
    mutating func rebind(_ slot: Int32, from former: AutomaticRules.Site, to site: AutomaticRules.Site) {
        removeRows(slot, former)
        insertRows(slot, site)
    }

    /// - Parameter site: as inserted, or as last rebound.
    mutating func remove(_ slot: Int32, _ site: AutomaticRules.Site) {
        count -= 1
        unguarded.remove(slot)
        for (number, value) in site.values.enumerated() { guarded[number].remove(slot, value) }
        removeRows(slot, site)
    }

    // MARK: Matching

    /// - Parameters:
    ///   - member: returns the site of a live query that was inserted.
    ///   - found: called for each live query that the change may concern, also more than once.
    /// - Returns: whether these are all live queries of the site, so that no other change finds more.
    func match(
        _ change: RowChange, member: (Int32) -> AutomaticRules.Site, found: (Int32, Certainty) -> Void
    ) -> Bool {
        guard change.concerns(fields: form.fields) else { return false }
        let isFiltered = form.isFiltered(change)
        /// Whether the fields that count for the live query let it notice the change.
        func uses(_ slot: Int32) -> Bool {
            (!form.namesFields || member(slot).uses(change)) && !(isFiltered && member(slot).keeps(change))
        }
        func foundProbably(_ slot: Int32) { found(slot, .probable) }
        func foundShown(_ slot: Int32) { if uses(slot) { found(slot, .probable) } }
        let isSure = !form.isConditional && !form.namesFields && !isFiltered
        guard let rows = form.shown else {
            return change.images.contains { image in
                lookUp(image, isSure: isSure, { uses($0) && member($0).mayHold(image) }, foundProbably)
            }
        }
        if let before = change.before {
            if let key = rows.key(of: change) {
                shown.forEach(key, foundShown)
                matchUnshown(before, { uses($0) && member($0).mayHold(before) }, found)
            } else if lookUp(before, isSure: isSure, { uses($0) && member($0).mayHold(before) }, foundProbably) {
                return true
            }
        }
        guard let after = change.after, form.mayEnter(change) else { return false }
        let row = AutomaticRules.Arrival(after, form)
        func admits(_ slot: Int32) -> Bool {
            let site = member(slot)
            return (!form.namesFields || site.uses(change) && site.mayEnter(change)) && site.admits(row)
                && !(isFiltered && site.keeps(change))
        }
        return lookUp(after, isSure: false, admits, foundProbably)
    }

    /// The most live queries that are asked one by one.
    private static let askedMax = 64

    /// Finds the live queries that may show any row.
    /// - Parameter accepts: whether a live query may hold the row before.
    private func matchUnshown(
        _ before: JSONObject, _ accepts: (Int32) -> Bool, _ found: (Int32, Certainty) -> Void
    ) {
        if unshown.isEmpty { return }
        let certainty: Certainty = form.comparedFields.contains { before[$0] != nil } ? .probable : .possible
        if unshown.count <= Self.askedMax {
            for slot in unshown where accepts(slot) { found(slot, certainty) }
        } else {
            _ = lookUp(
                before, isSure: false, { unshown.contains($0) && accepts($0) }, { found($0, certainty) })
        }
    }

    /// Finds the live queries that accept an image.
    /// - Parameters:
    ///   - isSure: whether each live query accepts an image that satisfies its guards and bound values.
    ///   - accepts: asked unless the lookup decided.
    /// - Returns: whether all live queries were found.
    private func lookUp(
        _ image: JSONObject, isSure: Bool, _ accepts: (Int32) -> Bool, _ found: (Int32) -> Void
    ) -> Bool {
        func ask(_ slot: Int32) { if accepts(slot) { found(slot) } }
        /// Whether no field after this guard is compared.
        func isLast(_ field: Int) -> Bool {
            form.boundField.map { image[$0] == nil } ?? true
                && form.guardFields.dropFirst(field + 1).allSatisfy { image[$0] == nil }
        }
        if let first = form.guardFields.firstIndex(where: { image[$0] != nil }),
            let value = image[form.guardFields[first]].map(GuardValue.text)
        {
            if isSure, isLast(first) {
                guarded[first].forEach(value, found)
            } else {
                guarded[first].forEach(value, ask)
            }
        } else if let hash = form.boundHash(image) {
            if isSure {
                bound.forEach(hash, found)
                unbound.forEach(found)
            } else {
                bound.forEach(hash, ask)
                unbound.forEach(ask)
            }
        } else if isSure {
            forEachMember(found)
            return true
        } else {
            forEachMember(ask)
        }
        return false
    }

    private func forEachMember(_ body: (Int32) -> Void) {
        guarded.first?.forEach(body)
        unguarded.forEach(body)
    }
}
