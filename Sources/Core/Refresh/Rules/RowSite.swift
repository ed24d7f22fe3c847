import JSON
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
    /// The fields whose changes count; nil for all.
    package let fields: Set<String>?

    package init(id: ID, table: String, guardFields: [String], fields: Set<String>?) {
        self.id = id
        self.table = table
        self.guardFields = guardFields
        self.fields = fields
    }
}

/// The changes of rows that refresh a live query without a rule.
package struct AutomaticRules: Sendable {
    /// A site with the values of this live query's guards, in the form of `GuardValue`, in the order of
    /// `RowSite.guardFields`; nil for a guard that tests nothing.
    package struct Site: Sendable {
        package let form: RowSite
        package let values: [String?]

        package init(form: RowSite, values: [String?]) {
            self.form = form
            self.values = values
        }
    }

    package var sites: [Site]
    /// Whether the query may read any table: every change of rows refreshes it.
    package var mayReadAnything: Bool

    package init(sites: [Site], mayReadAnything: Bool) {
        self.sites = sites
        self.mayReadAnything = mayReadAnything
    }

    /// Whether the event may change what the live query reads.
    func concerns(_ event: MutationEvent) -> Bool {
        guard let rows = event.rows else { return true }
        if mayReadAnything { return !rows.all.isEmpty }
        return rows.all.contains { change in
            sites.contains { site in
                guard site.form.table == change.table, change.concerns(fields: site.form.fields) else { return false }
                return change.images.contains { image in
                    zip(site.form.guardFields, site.values).allSatisfy { field, value in
                        guard let value, let known = image[field] else { return true }
                        return GuardValue.text(known) == value
                    }
                }
            }
        }
    }
}
