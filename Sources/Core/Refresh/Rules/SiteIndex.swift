import JSON
import LiveModel

/// The live queries of one site, indexed by the values of their guards.
///
/// A change looks each image up by the first guard whose field the image tells, and compares the other guards of the
/// live queries found there. An image that tells no guard's field selects all.
struct SiteIndex: Sendable {
    private struct Guarded: Sendable {
        var slots: [String: SlotSet] = [:]
        /// The live queries without a value for the guard.
        var unguarded: Set<Int32> = []
    }

    let form: RowSite
    private var members: [Int32: [String?]] = [:]
    /// One for each guard of the form.
    private var guarded: [Guarded]

    init(_ form: RowSite) {
        self.form = form
        guarded = Array(repeating: Guarded(), count: form.guardFields.count)
    }

    var isEmpty: Bool { members.isEmpty }

    mutating func insert(_ slot: Int32, _ values: [String?]) {
        precondition(values.count == guarded.count, "site \(form.id) has \(guarded.count) guards, not \(values.count)")
        members[slot] = values
        for (number, value) in values.enumerated() {
            if let value {
                guarded[number].slots.insert(slot, under: value)
            } else {
                guarded[number].unguarded.insert(slot)
            }
        }
    }

    mutating func remove(_ slot: Int32) {
        guard let values = members.removeValue(forKey: slot) else { return }
        for (number, value) in values.enumerated() {
            if let value {
                guarded[number].slots.remove(slot, under: value)
            } else {
                guarded[number].unguarded.remove(slot)
            }
        }
    }

    /// - Parameter found: called for each live query that the change may concern, also more than once.
    /// - Returns: whether these are all live queries of the site, so that no other change finds more.
    func match(_ change: RowChange, found: (Int32) -> Void) -> Bool {
        guard change.concerns(fields: form.fields) else { return false }
        for image in change.images {
            let known = form.guardFields.map { field in image[field].map(GuardValue.text) }
            guard let first = known.firstIndex(where: { $0 != nil }), let value = known[first] else {
                members.keys.forEach(found)
                return true
            }
            func compare(_ slot: Int32) {
                guard known.count > first + 1 else { return found(slot) }
                guard let values = members[slot] else {
                    preconditionFailure("slot \(slot) is indexed under a guard of \(form.id) but is no member")
                }
                let isSelected = zip(known, values).allSatisfy { known, value in
                    guard let known, let value else { return true }
                    return known == value
                }
                if isSelected { found(slot) }
            }
            guarded[first].slots[value]?.forEach(compare)
            guarded[first].unguarded.forEach(compare)
        }
        return false
    }
}
