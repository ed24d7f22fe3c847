import SchemaModel

extension Lint {
    /// `missing-index`: warns about a live query that filters a table by columns that no index begins with, so that
    /// each refresh scans the table. Based on the schema alone; `freshet check --database` asks Postgres instead.
    mutating func checkIndexes(_ subject: LintSubject) {
        let query = subject.operation
        guard subject.isRefreshed else { return }
        for read in query.readWriteSet.reads {
            guard case .list = read.kind, !read.searchedBy.isEmpty,
                let table = schema.tables.first(where: { $0.name == read.table })
            else { continue }
            let leading = Set(table.leadingIndexFields)
            guard leading.isDisjoint(with: read.searchedBy) else { continue }
            var fields: [String] = []
            for field in read.searchedBy where !fields.contains(field) { fields.append(field) }
            warn(
                .missingIndex, at: subject.range,
                "rows of \(table.typeName) are filtered by \(fields.joined(separator: ", ")), but no index begins with"
                    + " \(fields.count == 1 ? "it" : "any of them")",
                help: "in the schema: \(fields[0]) … @index, or @index(fields: […]) on \(table.typeName)")
        }
    }
}

extension Table {
    /// The first field of each B-tree: the primary key, unique constraints and indexes.
    fileprivate var leadingIndexFields: [String] {
        ([key] + uniques.map(\.fields) + indexes.filter { $0.method == "btree" }.map(\.fields)).compactMap(\.first)
    }
}
