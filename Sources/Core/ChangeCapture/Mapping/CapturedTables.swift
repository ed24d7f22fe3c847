package import LiveModel
package import SchemaModel

/// The tables of the loaded schemas, as a reader of the write-ahead log needs them: which column holds which field, and
/// which fields events tell.
package struct CapturedTables: Sendable {
    struct Field: Sendable {
        let name: String
        /// The columns that hold the field, several if versions of the project disagree.
        var columns: [Column]

        /// The column whose value the field has in images; nil if images leave it out.
        ///
        /// Versions that give the field another type compare its values differently.
        var toldColumn: Column? {
            guard let first = columns.first,
                first.isIdentifiedByText || first.dataType == nil && [.date, .timestamp].contains(first.type.scalar),
                first.dataType?.ignoresTrailingBlanks != true,
                columns.allSatisfy({ $0.name == first.name && $0.type == first.type && $0.dataType == first.dataType })
            else { return nil }
            return first
        }
    }

    struct CapturedTable: Sendable {
        var fields: [Field]
        let recorded: RecordedFields
        /// Whether its partitions hold the rows. Each tells former rows by its own replica identity, but under the
        /// table's, so nothing of them is certain.
        let isPartitioned: Bool
        /// Whether an update may change more fields of a row than it sets: by a trigger or a generated column.
        let isDerived: Bool

        /// The names of the columns by field.
        var columnNames: [String: Set<String>] {
            Dictionary(uniqueKeysWithValues: fields.map { ($0.name, Set($0.columns.map(\.name))) })
        }
    }

    /// The Postgres schema that holds the tables.
    let namespace: String
    private var tables: [String: CapturedTable] = [:]

    /// - Parameters:
    ///   - tables: those that sites read, of all loaded versions; one that several versions have occurs several times.
    ///   - recordedFields: the fields of images, by table.
    ///   - partitioned: the names of the tables with partitions.
    ///   - derived: the names of the tables of whose rows an update may change more fields than it sets.
    package init(
        namespace: String, tables: some Sequence<Table>, recordedFields: [String: RecordedFields],
        partitioned: Set<String> = [], derived: Set<String> = []
    ) {
        self.namespace = namespace
        for table in tables where table.view == nil {
            var captured =
                self.tables[table.name]
                ?? CapturedTable(
                    fields: [], recorded: recordedFields[table.name] ?? RecordedFields(),
                    isPartitioned: partitioned.contains(table.name), isDerived: derived.contains(table.name))
            for column in table.columns {
                if let index = captured.fields.firstIndex(where: { $0.name == column.field }) {
                    captured.fields[index].columns.append(column)
                } else {
                    captured.fields.append(Field(name: column.field, columns: [column]))
                }
            }
            self.tables[table.name] = captured
        }
    }

    /// The names of the tables, sorted.
    package var names: [String] { tables.keys.sorted() }

    /// Whether an update of the table may change more fields of a row than it sets, by triggers or generated columns.
    func isDerived(_ table: String) -> Bool { tables[table].map { $0.isDerived || $0.isPartitioned } ?? true }

    /// Returns the tables, sorted, of which `former` does not tell all that this one does.
    package func tables(beyond former: CapturedTables) -> [String] {
        tables.filter { name, table in
            guard let known = former.tables[name], former.namespace == namespace else { return true }
            return !known.recorded.all.isSuperset(of: table.recorded.all) || table.isPartitioned && !known.isPartitioned
                || table.isDerived && !known.isDerived
                || known.columnNames != table.columnNames
        }.keys.sorted()
    }

    /// Returns nil for a table that no site reads.
    func table(of relation: ReplicationMessage.Relation) -> CapturedTable? {
        relation.namespace == namespace ? tables[relation.name] : nil
    }
}
