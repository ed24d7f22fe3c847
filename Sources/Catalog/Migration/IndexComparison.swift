/// Indexes of the tables.
extension MigrationPlanner {
    /// An index of that name is taken for the right one: which expression it holds is not compared.
    mutating func compareSearchIndex(_ table: Table, _ found: DatabaseDescription.Table?) {
        let name = SearchSQL.indexName(table)
        guard table.columns.contains(where: { $0.searchLanguage != nil }),
            found?.expressionIndexes.contains(name) != true,
            isUsable(table.columns.filter { $0.searchLanguage != nil }.map(\.field), of: table),
            let place = place(for: name, table, found),
            let statement = sql.createSearchIndex(of: table, found?.partitioning, replaces: place == .taken)
        else { return }
        result.steps.append(statement)
    }

    mutating func compareIndexes(_ table: Table, _ found: DatabaseDescription.Table?) {
        // What is about to take the place of another one is not there yet.
        let present = (found?.indexes ?? []).filter { !$0.name.hasSuffix("_\(ConcurrentBuild.temporarySuffix)") }
        let unfinished = Set((found?.indexes ?? []).map(\.name)).subtracting(present.map(\.name))
        var replaced: Set<String> = []
        defer {
            // Of a replacement that nobody wants any more.
            let useless = unfinished.subtracting(replaced.map(ConcurrentBuild.temporaryName)).sorted()
            result.steps += useless.map { sql.dropIndex($0, of: found) }
        }
        let uniques = [found?.key ?? []] + present.filter(\.isUnique).map(\.columns)
        for unique in table.uniques where isUsable(unique.fields, of: table) {
            let columns = Set(sql.names(unique.fields, of: table))
            if uniques.contains(where: { Set($0) == columns }) { continue }
            guard let place = place(for: unique.name, table, found) else { continue }
            if let reason = found?.partitioning?.refusal(ofUnique: columns) {
                refuse(table.name, unique.name, "the table cannot have the unique index \"\(unique.name)\": \(reason)")
                continue
            }
            if place == .taken { replaced.insert(unique.name) }
            result.steps.append(sql.createUnique(unique, of: table, found?.partitioning, replaces: place == .taken))
        }
        for index in table.indexes where isUsable(index.fields, of: table) {
            let columns = sql.names(index.fields, of: table)
            let descending = columns.indices.map { index.order.indices.contains($0) && index.order[$0] == .descending }
            if present.contains(where: {
                $0.columns == columns && $0.method == index.method
                    && (index.method != "btree" || $0.descending.elementsEqual(descending))
            }) {
                continue
            }
            guard let place = place(for: index.name, table, found) else { continue }
            if place == .taken { replaced.insert(index.name) }
            result.steps.append(sql.createIndex(index, of: table, found?.partitioning, replaces: place == .taken))
        }
    }

    private enum Place {
        case free
        /// By another index of the table, which may be replaced.
        case taken
    }

    /// Postgres would leave an index of a taken name out without a word: `IF NOT EXISTS` looks at the name only.
    /// - Returns: nil when it was refused.
    private mutating func place(
        for name: String, _ table: Table, _ found: DatabaseDescription.Table?
    ) -> Place? {
        if let builder = found?.indexBuilders[name] {
            refuse(
                table.name, name,
                "index \"\(name)\" is just being built by another session (pid \(builder));"
                    + " once that has ended, run freshet migrate again")
            return nil
        }
        // What a broken build left behind is dropped before.
        if found?.invalidIndexes.contains(name) == true { return .free }
        if let holder = existing.relations[name], holder == name || holder != table.name {
            let isIndex = holder != name
            refuse(
                table.name, name,
                "the name \"\(name)\" of an index is taken by "
                    + (isIndex ? "an index of \"\(holder)\"" : "another relation"),
                suggestion: isIndex ? "ALTER INDEX \(sql.qualified(name)) RENAME TO …" : nil)
            return nil
        }
        guard existing.relations[name] != nil || found?.indexes.contains(where: { $0.name == name }) == true else {
            return .free
        }
        let loss = MigrationPlan.Loss(
            object: "\(table.name).\(name)", message: "nothing is lost; the index is built anew", countSQL: nil)
        if allow(.rewrites, [], loss) { return .taken }
        refuse(
            table.name, name, "index \"\(name)\" exists with another definition",
            suggestion: "DROP INDEX \(sql.qualified(name))", permission: .rewrites)
        return nil
    }
}
