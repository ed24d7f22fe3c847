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
    /// The fields whose changes count; nil for all.
    package let fields: Set<String>?

    package init(id: ID, table: String, guardFields: [String], boundField: String? = nil, fields: Set<String>?) {
        self.id = id
        self.table = table
        self.guardFields = guardFields
        self.boundField = boundField
        self.fields = fields
    }

    /// The fields by whose values a change is compared.
    package var comparedFields: [String] { guardFields + (boundField.map { [$0] } ?? []) }
}

/// The values of a bound field that the last run of a live query read. Different values may be equal here, which costs
/// a run that was not needed.
package struct BoundValues: Sendable, Hashable {
    /// Hashes of the values, ascending.
    let hashes: [Int]

    /// - Parameter values: in the form of `GuardValue`.
    package init(_ values: some Sequence<String>) { hashes = Set(values.map(Self.hash)).sorted() }

    package var count: Int { hashes.count }

    static func hash(_ value: String) -> Int {
        var hasher = Hasher()
        hasher.combine(value)
        return hasher.finalize()
    }

    func contains(hash: Int) -> Bool {
        var (low, high) = (0, hashes.count)
        while low < high {
            let middle = (low + high) / 2
            if hashes[middle] < hash { low = middle + 1 } else { high = middle }
        }
        return low < hashes.count && hashes[low] == hash
    }
}

/// The changes of rows that refresh a live query without a rule.
package struct AutomaticRules: Sendable {
    /// A site with the values of this live query's guards, in the form of `GuardValue`, in the order of
    /// `RowSite.guardFields`; nil for a guard that tests nothing.
    package struct Site: Sendable {
        package let form: RowSite
        package let values: [String?]
        /// The values of the bound field; nil if any may be among them.
        package internal(set) var bound: BoundValues?

        package init(form: RowSite, values: [String?], bound: BoundValues? = nil) {
            self.form = form
            self.values = values
            self.bound = bound
        }

        /// Whether a row with this image may be one of the site's.
        func mayHold(_ image: JSONObject) -> Bool {
            for (field, value) in zip(form.guardFields, values) {
                if let value, let known = image[field], GuardValue.text(known) != value { return false }
            }
            guard let field = form.boundField, let bound, let known = image[field] else { return true }
            return bound.contains(hash: BoundValues.hash(GuardValue.text(known)))
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
    /// Whether a run has read the values of bound fields.
    package private(set) var hasReadBound = false

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
            sites.contains { site in
                guard site.form.table == change.table, change.concerns(fields: site.form.fields) else { return false }
                return change.images.contains(where: site.mayHold)
            }
        }
    }

    /// Whether a run would tell more about the rows of some site.
    var awaitsBound: Bool { !hasReadBound && !mayReadAnything && sites.contains { $0.form.boundField != nil } }

    /// Takes over what a run read.
    /// - Parameters:
    ///   - values: those of each site with a bound field, in the order of the sites; nil if they are not known.
    ///   - countMax: a site with more may hold any row.
    /// - Returns: the sites whose values changed.
    mutating func bind(_ values: [BoundValues]?, _ countMax: Int) -> [(id: RowSite.ID, bound: BoundValues?)] {
        if mayReadAnything { return [] }
        hasReadBound = values != nil
        var changed: [(id: RowSite.ID, bound: BoundValues?)] = []
        var next = 0
        for number in sites.indices where sites[number].form.boundField != nil {
            let bound = values.flatMap { $0.indices.contains(next) && $0[next].count <= countMax ? $0[next] : nil }
            next += 1
            guard bound != sites[number].bound else { continue }
            sites[number].bound = bound
            changed.append((sites[number].form.id, bound))
        }
        return changed
    }
}
