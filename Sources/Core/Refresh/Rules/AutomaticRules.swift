import LiveModel

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

        var admitsNothing: Bool { if case .several(let values) = self { values.isEmpty } else { false } }

        func contains(_ value: String) -> Bool {
            switch self {
            case .any: true
            case .one(let only): only == value
            case .several(let values): values.contains(value)
            }
        }
    }

    package var sites: Sites
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
        self.sites = Sites(sites)
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
    /// - Returns: the sites whose rows changed, before and after.
    mutating func bind(_ read: [RowsRead]?, _ countMax: Int) -> [(former: Site, site: Site)] {
        if mayReadAnything { return [] }
        var changed: [(former: Site, site: Site)] = []
        var next = 0
        for number in sites.indices where sites[number].form.readsRows {
            let known = read.flatMap { $0.indices.contains(next) ? $0[next] : nil }
            next += 1
            let former = sites[number]
            let site = former.after(known, countMax: countMax)
            guard site.rows != former.rows else { continue }
            sites[number] = site
            changed.append((former, site))
        }
        return changed
    }
}

extension AutomaticRules {
    /// The sites of a live query. Most have one, which takes no array: there may be a million live queries.
    package enum Sites: Sendable, RandomAccessCollection, MutableCollection {
        case one(Site)
        case several([Site])

        init(_ sites: [Site]) {
            if sites.count == 1, let only = sites.first { self = .one(only) } else { self = .several(sites) }
        }

        package var startIndex: Int { 0 }
        package var endIndex: Int {
            switch self {
            case .one: 1
            case .several(let sites): sites.count
            }
        }

        package subscript(position: Int) -> Site {
            get {
                switch self {
                case .one(let site):
                    precondition(position == 0, "there is one site")
                    return site
                case .several(let sites): return sites[position]
                }
            }
            set {
                switch self {
                case .one:
                    precondition(position == 0, "there is one site")
                    self = .one(newValue)
                case .several(var sites):
                    sites[position] = newValue
                    self = .several(sites)
                }
            }
        }

        /// Returns the site of a form that the live query is indexed under; nil if there is none.
        func site(of form: RowSite) -> Site? {
            switch self {
            case .one(let site): site
            // All are of one version of one operation.
            case .several(let sites): sites.first { $0.form.id.number == form.id.number }
            }
        }
    }
}
