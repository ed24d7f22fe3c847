package import LiveModel
import Refresh
package import SchemaModel

/// The queries that refresh by the database's write-ahead log, as a reader of it needs to know them, in one or several
/// versions of a project.
package struct CapturedReads: Sendable {
    /// The tables that these queries read, views excepted; one that several versions have occurs several times.
    package let tables: [Table]
    /// The fields, by table, whose values events tell.
    package let recordedFields: [String: RecordedFields]
    /// The fields of rows before their change, by table, that some site needs.
    package let formerFields: [String: Set<String>]
    /// Whether all of the queries also refresh by what events of mutations tell, so that these need no repetition.
    package let heedsMutations: Bool
    /// The queries by the SQL name of the table that they read, sorted.
    private let readers: [String: [OperationReference]]
    private let readersOfAnything: [OperationReference]
    /// All of the queries, sorted.
    package let all: [OperationReference]

    /// - Returns: nil if no query refreshes by the log.
    init?(_ versions: [(schema: Schema, operations: [StoredOperation])]) {
        var readers: [String: Set<OperationReference>] = [:]
        var readersOfAnything: Set<OperationReference> = []
        var tables: [Table] = []
        var sites: [AutomaticSites.Site] = []
        var heedsMutations = true
        for (schema, operations) in versions {
            var read: Set<String> = []
            var readsAnything = false
            for query in operations {
                guard let automatic = query.automaticSites, automatic.source != .mutations else { continue }
                heedsMutations = heedsMutations && automatic.source == .both
                if automatic.mayReadAnything {
                    readersOfAnything.insert(query.reference)
                    readsAnything = true
                }
                for site in automatic.sites {
                    read.insert(site.form.table)
                    readers[site.form.table, default: []].insert(query.reference)
                }
                sites += automatic.sites
            }
            tables += schema.tables.filter { $0.view == nil && (readsAnything || read.contains($0.name)) }
        }
        let all = readers.values.reduce(into: readersOfAnything) { $0.formUnion($1) }
        if all.isEmpty { return nil }
        self.tables = tables
        self.recordedFields = sites.recordedFields
        self.formerFields = sites.reduce(into: [:]) { $0[$1.form.table, default: []].formUnion($1.formerFields) }
        self.heedsMutations = heedsMutations
        self.readers = readers.mapValues { $0.sorted() }
        self.readersOfAnything = readersOfAnything.sorted()
        self.all = all.sorted()
    }

    /// The SQL names of the tables, sorted.
    package var tableNames: [String] { Set(tables.map(\.name)).sorted() }

    /// Returns the queries that changes of rows in these tables may concern.
    package func queries(reading tables: Set<String>) -> [OperationReference] {
        tables.reduce(into: Set(readersOfAnything)) { $0.formUnion(readers[$1] ?? []) }.sorted()
    }
}
