import JSON
import LiveModel

/// The live queries of one site, indexed by the values of their guards and of the bound field.
///
/// A change looks each image up by the first field that the image tells, and compares the others of the live queries
/// found there. An image that tells none of the fields selects all.
struct SiteIndex: Sendable {
    /// The live queries by the value of one field.
    private struct Indexed<Value: Hashable & Sendable>: Sendable {
        var slots: [Value: SlotSet] = [:]
        /// The live queries for which the field may have any value.
        var others: Set<Int32> = []

        mutating func insert(_ slot: Int32, _ values: some Sequence<Value>) {
            for value in values { slots.insert(slot, under: value) }
        }

        mutating func remove(_ slot: Int32, _ values: some Sequence<Value>) {
            for value in values { slots.remove(slot, under: value) }
        }

        func find(_ value: Value, _ found: (Int32) -> Void) {
            slots[value]?.forEach(found)
            others.forEach(found)
        }
    }

    let form: RowSite
    private var members: [Int32: AutomaticRules.Site] = [:]
    /// One for each guard of the form.
    private var guarded: [Indexed<String>]
    /// The live queries by the hashes of bound values.
    private var bound = Indexed<Int>()

    init(_ form: RowSite) {
        self.form = form
        guarded = Array(repeating: Indexed(), count: form.guardFields.count)
    }

    var isEmpty: Bool { members.isEmpty }

    mutating func insert(_ slot: Int32, _ site: AutomaticRules.Site) {
        precondition(
            site.values.count == guarded.count,
            "site \(form.id) has \(guarded.count) guards, not \(site.values.count)")
        members[slot] = site
        for (number, value) in site.values.enumerated() {
            if let value {
                guarded[number].insert(slot, CollectionOfOne(value))
            } else {
                guarded[number].others.insert(slot)
            }
        }
        insertBound(slot, site)
    }

    private mutating func insertBound(_ slot: Int32, _ site: AutomaticRules.Site) {
        guard form.boundField != nil else { return }
        if let values = site.bound { bound.insert(slot, values.hashes) } else { bound.others.insert(slot) }
    }

    private mutating func removeBound(_ slot: Int32, _ site: AutomaticRules.Site) {
        guard form.boundField != nil else { return }
        if let values = site.bound { bound.remove(slot, values.hashes) } else { bound.others.remove(slot) }
    }

    /// Replaces the bound values of a member.
    mutating func rebind(_ slot: Int32, _ values: BoundValues?) {
        guard var site = members[slot] else { preconditionFailure("slot \(slot) is no member of site \(form.id)") }
        removeBound(slot, site)
        site.bound = values
        members[slot] = site
        insertBound(slot, site)
    }

    mutating func remove(_ slot: Int32) {
        guard let site = members.removeValue(forKey: slot) else { return }
        for (number, value) in site.values.enumerated() {
            if let value {
                guarded[number].remove(slot, CollectionOfOne(value))
            } else {
                guarded[number].others.remove(slot)
            }
        }
        removeBound(slot, site)
    }

    /// - Parameter found: called for each live query that the change may concern, also more than once.
    /// - Returns: whether these are all live queries of the site, so that no other change finds more.
    func match(_ change: RowChange, found: (Int32) -> Void) -> Bool {
        guard change.concerns(fields: form.fields) else { return false }
        for image in change.images {
            /// Whether no other field is compared.
            func isLast(_ field: Int) -> Bool {
                form.boundField.map { image[$0] == nil } ?? true
                    && form.guardFields.dropFirst(field + 1).allSatisfy { image[$0] == nil }
            }
            func compare(_ slot: Int32) {
                guard let site = members[slot] else {
                    preconditionFailure("slot \(slot) is indexed in \(form.id) but is no member")
                }
                if site.mayHold(image) { found(slot) }
            }
            if let first = form.guardFields.firstIndex(where: { image[$0] != nil }),
                let value = image[form.guardFields[first]].map(GuardValue.text)
            {
                if isLast(first) { guarded[first].find(value, found) } else { guarded[first].find(value, compare) }
            } else if let value = form.boundField.flatMap({ image[$0] }) {
                bound.find(BoundValues.hash(GuardValue.text(value)), found)
            } else {
                members.keys.forEach(found)
                return true
            }
        }
        return false
    }
}
