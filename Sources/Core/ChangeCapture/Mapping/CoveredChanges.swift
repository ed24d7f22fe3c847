import JSON
package import LiveModel

/// The row changes of an own transaction that its event leaves out, such as those of triggers and cascades.
package enum CoveredChanges {
    /// Returns the changes that the event's own do not cover. Events refresh by what they know, so a change is covered
    /// if each site that it concerns is also concerned by one of the event's own.
    /// - Parameters:
    ///   - changes: those of the transaction, from the write-ahead log.
    ///   - own: those that the event tells.
    ///   - tables: says of which tables rows may change in more fields than the event tells.
    package static func uncovered(
        _ changes: RowChanges, by own: RowChanges, _ tables: CapturedTables
    ) -> RowChanges {
        var unused = Dictionary(grouping: own.all, by: \.table)
        let all = unused
        return RowChanges(
            changes.all.filter { change in
                if all[change.table]?.contains(where: { isImplied(change, by: $0) }) == true { return false }
                // Without the whole former row, the log and the event may tell of one change differently. Each of the
                // event's own then accounts for one change: a second of the same row comes from a trigger.
                guard
                    let index = unused[change.table]?.firstIndex(where: {
                        mayBeSame(change, as: $0, isDerived: tables.isDerived(change.table))
                    })
                else { return true }
                unused[change.table]?.remove(at: index)
                return false
            })
    }

    /// Whether the event's change concerns whatever this one concerns.
    private static func isImplied(_ change: RowChange, by own: RowChange) -> Bool {
        guard tells(change.before, allOf: own.before), tells(change.after, allOf: own.after) else { return false }
        guard let ownChanged = own.changed else { return true }
        return change.changed.map { Set(ownChanged).isSuperset(of: $0) } ?? false
    }

    /// Whether the event knows all that the log knows of the change, and of an update's fields the log knows less.
    private static func mayBeSame(_ change: RowChange, as own: RowChange, isDerived: Bool) -> Bool {
        guard !change.isAnything, !own.isOfFollowers else { return false }
        guard tells(own.before, allOf: change.before), tells(own.after, allOf: change.after) else { return false }
        guard let ownChanged = own.changed else { return true }
        guard let changed = change.changed else { return !isDerived }
        return Set(ownChanged).isSuperset(of: changed)
    }

    /// Whether an image has each value of another.
    private static func tells(_ image: JSONObject?, allOf other: JSONObject?) -> Bool {
        guard let image, let other else { return image == nil && other == nil }
        return other.entries.allSatisfy { entry in
            guard let value = image[entry.key] else { return false }
            return value.isNull == entry.value.isNull && GuardValue.text(value) == GuardValue.text(entry.value)
        }
    }
}
