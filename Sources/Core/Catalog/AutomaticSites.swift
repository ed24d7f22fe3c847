import JSON
import LiveModel
import Operations
package import Refresh
package import SchemaModel

/// The places where a stored query reads rows whose changes refresh it by themselves.
package struct AutomaticSites: Sendable {
    package struct Site: Sendable {
        package let form: RowSite
        /// The operands of the guards, in the order of `form.guardFields`.
        let operands: [Operand]

        let binding: ReadSite.Binding?

        /// The conditions that a row must satisfy before or after its change: `lotId = $lotId`, `lotId of lots.id`.
        package var guardTexts: [String] {
            zip(form.guardFields, operands).map { "\($0) = \($1.nameInExplanations)" }
                + (binding.map { ["\($0.field) of \($0.sourceText)"] } ?? [])
        }
    }

    /// The meaning of a change of the rows.
    package enum Use: Sendable {
        case refreshes
        /// It is only counted.
        case isObserved
    }

    package let sites: [Site]
    package let use: Use
    /// The place where changes are noticed.
    package let source: AutomaticRefresh.Source
    /// Whether the query may read any table, so that every change refreshes it.
    package let mayReadAnything: Bool

    /// The sites in the words of the admin API: `bid where lotId = $id`.
    package var texts: [String] {
        sites.map { site in
            site.form.table
                + (site.guardTexts.isEmpty ? "" : " where \(site.guardTexts.joined(separator: ", "))")
        }
    }

    init(
        _ sites: ReadSites, operation: OperationReference, version: Digest, use: Use,
        source: AutomaticRefresh.Source
    ) {
        self.use = use
        self.source = source
        mayReadAnything = sites.mayReadAnything
        self.sites = sites.all.enumerated().map { number, site in
            Site(
                form: RowSite(
                    id: .init(operation: operation, version: version, number: number), table: site.table,
                    guardFields: site.guards.map(\.field), boundField: site.binding?.field, fields: site.fields),
                operands: site.guards.map(\.operand), binding: site.binding)
        }
    }

    /// The bindings by which results show the rows above each site with a bound field, in the order of the sites.
    var bindings: [ReadSite.Binding] { mayReadAnything ? [] : sites.compactMap(\.binding) }

    /// Returns the rules of a live query. A guard whose value is null or cannot be computed tests nothing.
    func rules(_ invocation: Invocation) -> AutomaticRules {
        let isObserved = use == .isObserved
        let heedsMutations = source != .wal
        if mayReadAnything {
            return AutomaticRules(
                sites: [], mayReadAnything: true, isObserved: isObserved, heedsMutations: heedsMutations)
        }
        return AutomaticRules(
            sites: sites.map { site in
                let values = site.operands.map { operand -> String? in
                    guard let value = try? operand.value(in: invocation), !value.isNull else { return nil }
                    return GuardValue.text(value)
                }
                return AutomaticRules.Site(form: site.form, values: values)
            }, mayReadAnything: false, isObserved: isObserved, heedsMutations: heedsMutations)
    }
}

extension StoredOperation {
    /// The SQL names of the tables in which a mutation may write, also by cascades; nil if it may be any.
    package var tablesWritten: Set<String>? {
        readWriteSet.mayWriteAnything ? nil : readWriteSet.tablesWritten.union(readWriteSet.tablesFollowing)
    }
}
