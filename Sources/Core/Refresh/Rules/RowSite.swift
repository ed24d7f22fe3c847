import JSON
import LiveModel

/// A place where the queries of one stored operation read a table, for automatic refreshes. Shared by its live queries.
package final class RowSite: Sendable {
    /// The site's number is its own, apart from those of the operation's rules.
    package typealias ID = RuleID

    package let id: ID
    /// The SQL name of the table.
    package let table: String
    /// The fields that may have the same value in all rows of the site, sorted.
    package let guardFields: [String]
    /// The field that has values which only a run of the query tells: the rows below those that it read.
    package let boundField: String?
    /// How the result shows the rows; nil unless it shows them one by one.
    package let shown: Shown?
    /// Whether live queries may have a condition on the rows beside the guards.
    package let isConditional: Bool
    /// The fields whose changes count; nil for all.
    package let fields: Set<String>?
    /// Whether fewer fields count for a live query: those that the values of its variables name.
    package let namesFields: Bool
    /// The fields that count without those of which only the filter matters; nil if there are none of these.
    private let fieldsUnfiltered: Set<String>?

    /// Rows of which the result shows each. One that it does not show matters only once it enters.
    package struct Shown: Sendable {
        /// The fields of the primary key.
        package let key: [String]
        /// The fields that decide whether a row is shown.
        package let deciding: Set<String>
        /// The leading fields of the list's order, as far as values are compared.
        package let order: [SortTerm]

        package init(key: [String], deciding: Set<String>, order: [SortTerm] = []) {
            self.key = key
            self.deciding = deciding
            self.order = order
        }

        /// Returns the hash of the row's key before the change; nil if it is not known.
        func key(of change: RowChange) -> UInt32? {
            if let before = change.before, let hash = hash(before) { return hash }
            guard let after = change.after, let changed = change.changed, !changed.contains(where: key.contains) else {
                return nil
            }
            return hash(after)
        }

        private func hash(_ image: JSONObject) -> UInt32? {
            var hasher = RowHasher()
            for field in key {
                guard let value = image[field] else { return nil }
                hasher.combine(GuardValue.text(value))
            }
            return hasher.finish()
        }
    }

    /// A field by which rows come.
    package struct SortTerm: Sendable {
        package let field: String
        package let kind: SortKind

        package init(field: String, kind: SortKind) {
            self.field = field
            self.kind = kind
        }
    }

    /// - Parameter fieldsFiltered: the fields of which nothing matters but that the row satisfies the guards and
    ///   conditions.
    package init(
        id: ID, table: String, guardFields: [String], boundField: String? = nil, shown: Shown? = nil,
        isConditional: Bool = false, fields: Set<String>?, fieldsFiltered: Set<String> = [], namesFields: Bool = false
    ) {
        fieldsUnfiltered = fieldsFiltered.isEmpty ? nil : fields?.subtracting(fieldsFiltered)
        self.id = id
        self.table = table
        self.guardFields = guardFields
        self.boundField = boundField
        self.shown = shown
        self.isConditional = isConditional
        self.fields = fields
        self.namesFields = namesFields
    }

    /// The fields by whose values a change is compared with guards and bound values.
    package var comparedFields: [String] { guardFields + (boundField.map { [$0] } ?? []) }

    /// Returns the hash of the bound field's value; nil if it is not known, or the site has no such field.
    func boundHash(_ image: JSONObject) -> UInt32? {
        boundField.flatMap { image[$0] }.map { RowHasher.hash(CollectionOfOne(GuardValue.text($0))) }
    }

    /// Whether runs tell which rows they read.
    package var readsRows: Bool { boundField != nil || shown != nil }

    /// Whether nothing that counts differs but fields of which only the filter matters.
    func isFiltered(_ change: RowChange) -> Bool {
        guard let fieldsUnfiltered, change.before != nil, change.after != nil, !change.isOfFollowers else {
            return false
        }
        return !change.mayDiffer(in: fieldsUnfiltered)
    }

    /// Whether a row that was not shown may be shown after the change, as far as the fields tell that it sets.
    func mayEnter(_ change: RowChange) -> Bool {
        shown.map { change.mayDiffer(in: $0.deciding) } ?? true
    }
}
