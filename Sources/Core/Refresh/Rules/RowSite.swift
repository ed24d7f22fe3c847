package import JSON
package import LiveModel

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
    /// The fields whose changes count; nil for all.
    package let fields: Set<String>?

    /// Rows of which the result shows each. One that it does not show matters only once it enters.
    package struct Shown: Sendable {
        /// The fields of the primary key.
        package let key: [String]
        /// The fields that decide whether a row is shown.
        package let deciding: Set<String>

        package init(key: [String], deciding: Set<String>) {
            self.key = key
            self.deciding = deciding
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

    package init(
        id: ID, table: String, guardFields: [String], boundField: String? = nil, shown: Shown? = nil,
        fields: Set<String>?
    ) {
        self.id = id
        self.table = table
        self.guardFields = guardFields
        self.boundField = boundField
        self.shown = shown
        self.fields = fields
    }

    /// The fields by whose values a change is compared with guards and bound values.
    package var comparedFields: [String] { guardFields + (boundField.map { [$0] } ?? []) }

    /// Whether runs tell which rows they read.
    package var readsRows: Bool { boundField != nil || shown != nil }

    /// Whether a row that was not shown may be shown after the change, as far as the fields tell that it sets.
    func mayEnter(_ change: RowChange) -> Bool {
        guard let shown, change.before != nil, let changed = change.changed else { return true }
        return changed.contains(where: shown.deciding.contains)
    }
}

/// The changes of rows that refresh a live query without a rule.
package struct AutomaticRules: Sendable {
    /// The values that a guard admits, in the form of `GuardValue`.
    package enum Values: Sendable, Hashable {
        /// The guard tests nothing.
        case any
        case one(String)
        /// Sorted.
        case several([String])

        /// The most values of one guard; with more it tests nothing.
        static let max = 256

        package init(_ values: some Collection<String>) {
            let values = Set(values)
            if values.count == 1, let only = values.first {
                self = .one(only)
            } else {
                self = values.count > Self.max ? .any : .several(values.sorted())
            }
        }

        func contains(_ value: String) -> Bool {
            switch self {
            case .any: true
            case .one(let only): only == value
            case .several(let values): values.contains(value)
            }
        }
    }

    /// A site with the values of this live query's guards, in the order of `RowSite.guardFields`.
    package struct Site: Sendable {
        package let form: RowSite
        package let values: [Values]
        /// Comparisons that a row must satisfy to enter, beside the guards.
        package let tests: [RowTest]
        /// The rows that the list shows at most; nil if any row may enter.
        package let window: ListWindow?
        /// Whether rows that it does not show may matter: the first ones are left out, so others move when these do.
        package let hasOffset: Bool
        package internal(set) var rows: Rows

        /// The rows that the last run read.
        package enum Rows: Sendable, Hashable {
            /// The first run is due, and will be compared with the events that arrive until it ends.
            case awaited
            /// Any row may be among them.
            case unknown
            /// A part that is nil may be any. `edge`: see `ListWindow`.
            case read(bound: RowHashes?, shown: RowHashes?, edge: [JSONValue]?)
        }

        package init(
            form: RowSite, values: [Values], tests: [RowTest] = [], window: ListWindow? = nil,
            hasOffset: Bool = false, rows: Rows = .awaited
        ) {
            self.form = form
            self.values = values
            self.tests = tests
            self.window = window
            self.hasOffset = hasOffset
            self.rows = rows
        }

        var bound: RowHashes? { if case .read(let bound, _, _) = rows { bound } else { nil } }
        var shown: RowHashes? { if case .read(_, let shown, _) = rows { shown } else { nil } }

        /// Whether a row with this image may be one of the site's.
        func mayHold(_ image: JSONObject) -> Bool {
            for (field, value) in zip(form.guardFields, values) {
                if let known = image[field], !value.contains(GuardValue.text(known)) { return false }
            }
            guard let field = form.boundField, let bound, let known = image[field] else { return true }
            return bound.contains(RowHasher.hash(CollectionOfOne(GuardValue.text(known))))
        }

        /// Whether a row that was not shown, with this image now, may be shown.
        func mayEnter(_ image: JSONObject) -> Bool {
            guard mayHold(image), tests.allSatisfy({ $0.mayHold(image) }) else { return false }
            guard let window, case .read(_, _, let edge?) = rows else { return true }
            return !window.isBeyond(image, edge)
        }

        /// Whether the change may concern the site's rows.
        func isConcerned(by change: RowChange) -> Bool {
            guard change.concerns(fields: form.fields) else { return false }
            guard let rows = form.shown else { return change.images.contains(where: mayHold) }
            if let before = change.before {
                if let key = rows.key(of: change), let shown {
                    if shown.contains(key) { return true }
                } else if mayHold(before) {
                    return true
                }
            }
            guard let after = change.after, form.mayEnter(change) else { return false }
            return mayEnter(after)
        }
    }

    package var sites: [Site]
    /// Whether the query may read any table: every change of rows refreshes it.
    package var mayReadAnything: Bool
    /// Whether changes are only counted.
    package var isObserved = false
    /// Whether changes count that events of mutations tell, beside those that the write-ahead log tells.
    package var heedsMutations = true
    /// Whether the result depends on nothing but rows: not on the time or other servers.
    package var isVerifiable = true

    package init(
        sites: [Site], mayReadAnything: Bool, isObserved: Bool = false, heedsMutations: Bool = true,
        isVerifiable: Bool = true
    ) {
        self.sites = sites
        self.mayReadAnything = mayReadAnything
        self.isObserved = isObserved
        self.heedsMutations = heedsMutations
        self.isVerifiable = isVerifiable
    }

    /// Whether the event may change what the live query reads.
    func concerns(_ event: MutationEvent) -> Bool {
        guard heedsMutations || event.isCaptured else { return false }
        guard let rows = event.rows else { return true }
        if mayReadAnything { return !rows.all.isEmpty }
        return rows.all.contains { change in
            sites.contains { $0.form.table == change.table && $0.isConcerned(by: change) }
        }
    }

    /// Whether a run would tell more about the rows of some site.
    var awaitsRows: Bool {
        guard !mayReadAnything else { return false }
        return sites.contains { site in
            guard site.form.readsRows else { return false }
            if case .read = site.rows { return false }
            return true
        }
    }

    /// Takes over what a run read.
    /// - Parameters:
    ///   - read: the rows of each site that reads rows, in the order of the sites; nil if they are not known.
    ///   - countMax: of a site with more, any row may be among them.
    /// - Returns: the sites whose rows changed.
    mutating func bind(_ read: [RowsRead]?, _ countMax: Int) -> [(id: RowSite.ID, rows: Site.Rows)] {
        if mayReadAnything { return [] }
        func known(_ hashes: RowHashes?) -> RowHashes? { hashes.flatMap { $0.count <= countMax ? $0 : nil } }
        var changed: [(id: RowSite.ID, rows: Site.Rows)] = []
        var next = 0
        for number in sites.indices where sites[number].form.readsRows {
            var rows = Site.Rows.unknown
            if let read, read.indices.contains(next) {
                rows = .read(
                    bound: known(read[next].bound),
                    shown: sites[number].hasOffset ? nil : known(read[next].shown),
                    edge: sites[number].window?.edge(read[next]))
            }
            next += 1
            guard rows != sites[number].rows else { continue }
            sites[number].rows = rows
            changed.append((sites[number].form.id, rows))
        }
        return changed
    }
}
