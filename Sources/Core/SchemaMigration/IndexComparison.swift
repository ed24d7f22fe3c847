import SchemaModel

/// Indexes of the tables.
extension MigrationPlanner {
    mutating func compareSearchIndex(_ table: Table, _ found: DatabaseDescription.Table?) {
        guard let wanted = sql.wantedSearchIndex(of: table),
            !kept(table, found).contains(where: { $0.serves(wanted) }),
            isUsable(table.columns.filter { $0.searchLanguage != nil }.map(\.field), of: table),
            let place = place(for: wanted, table, found)
        else { return }
        sql.createSearchIndex(of: table, found, replaces: place.former).map { add($0, place) }
    }

    mutating func compareIndexes(_ table: Table, _ found: DatabaseDescription.Table?) {
        let kept = kept(table, found)
        for unique in table.uniques where isUsable(unique.fields, of: table) {
            let wanted = sql.wanted(unique, of: table)
            let columns = Set(wanted.columns)
            if Set(found?.key ?? []) == columns || kept.contains(where: { $0.serves(wanted) }) { continue }
            if let reason = found?.partitioning?.refusal(ofUnique: columns) {
                refuse(table.name, unique.name, "the table cannot have the unique index \"\(unique.name)\": \(reason)")
                continue
            }
            guard let place = place(for: wanted, table, found) else { continue }
            add(sql.createUnique(unique, of: table, found, replaces: place.former), place)
        }
        for index in table.indexes where isUsable(index.fields, of: table) {
            let wanted = sql.wanted(index, of: table)
            if kept.contains(where: { $0.serves(wanted) }) { continue }
            guard let place = place(for: wanted, table, found) else { continue }
            add(sql.createIndex(index, of: table, found, replaces: place.former), place)
        }
    }

    /// What serves the schema now and goes on to: neither what is to make room for another index of its name, nor what
    /// is to take the place of another one and does not have it yet.
    private func kept(_ table: Table, _ found: DatabaseDescription.Table?) -> [DatabaseDescription.Index] {
        guard let found else { return [] }
        let wanted = sql.wantedIndexes(of: table)
        var kept = found.indexes.filter { !ConcurrentBuild.isTemporary($0.name) && !goesWithColumn($0, table, found) }
        // One that goes may leave another one unserved, which then takes its own place.
        while true {
            let unserved = wanted.filter { index in
                !(index.isUnique && Set(found.key) == Set(index.columns)) && !kept.contains { $0.serves(index) }
            }.map(\.name)
            let rest = kept.filter { !unserved.contains($0.name) }
            if rest.count == kept.count { return kept }
            kept = rest
        }
    }

    /// Whether Postgres drops an index with a column that the plan drops.
    private func goesWithColumn(
        _ index: DatabaseDescription.Index, _ table: Table, _ found: DatabaseDescription.Table
    ) -> Bool {
        guard permissions.contains(.drops) else { return false }
        let columns = Set(table.columns.map(\.name))
        return index.uses.contains { !columns.contains($0) }
    }

    /// For the operator, after what is said of the column.
    func lostIndexes(
        by column: DatabaseDescription.Column, _ table: Table, _ found: DatabaseDescription.Table
    ) -> String {
        found.indexes.filter { $0.uses.contains(column.name) }.map { index in
            "; index \"\(index.name)\" goes with it"
                + (lostUniqueness(of: index, table, found).map { ", and \($0)" } ?? "")
        }.joined()
            + found.foreignKeys.filter { $0.columns.contains(column.name) }.map {
                "; foreign key \"\($0.name)\" goes with it"
            }.joined()
    }

    /// Postgres drops the key of a table without a word with a column that it only includes.
    /// - Returns: whether that was refused.
    mutating func keepForKey(
        _ column: DatabaseDescription.Column, _ table: Table, _ found: DatabaseDescription.Table
    ) -> Bool {
        guard permissions.contains(.drops), found.keyIncludes.contains(column.name) else { return false }
        let key = found.indexConstraints.values.joined().first { $0.kind == .primaryKey }
        let columns = found.key.map(SQLName.quoted).joined(separator: ", ")
        refuse(
            table.name, column.name,
            "column \"\(column.name)\" is not in the schema, and the primary key includes it and would be dropped with it",
            suggestion: key.map {
                "ALTER TABLE \(sql.qualified(table.name)) DROP CONSTRAINT \(SQLName.quoted($0.name)),"
                    + " ADD CONSTRAINT \(SQLName.quoted($0.name)) PRIMARY KEY (\(columns))"
            })
        return true
    }

    private mutating func add(_ step: SQLStatement, _ place: IndexPosition) {
        if place.former == nil { result.steps.append(step) } else { exchanges.append(step) }
    }

    /// Of replacements that nobody wants any more; to be called when all indexes are compared.
    mutating func dropReplacements(of table: Table, _ found: DatabaseDescription.Table) {
        result.steps += sql.dropReplacements(of: table, found, wanted: replacements)
    }

    private struct IndexPosition {
        /// That has the name now and may be replaced.
        let former: ConcurrentBuild.Former?
    }

    /// Postgres would leave an index of a taken name out without a word: `IF NOT EXISTS` looks at the name only.
    /// - Returns: nil when it was refused.
    private mutating func place(
        for wanted: DatabaseDescription.Index, _ table: Table, _ found: DatabaseDescription.Table?
    ) -> IndexPosition? {
        let name = wanted.name
        if let builder = found?.indexBuilders[name] {
            refuse(
                table.name, name,
                "index \"\(name)\" is just being built by another session (pid \(builder));"
                    + " once that has ended, run freshet migrate again")
            return nil
        }
        if found?.invalidIndexes.contains(name) == true {
            // What a broken build left behind is dropped before.
            guard found?.partitioning != nil else { return IndexPosition(former: nil) }
            refuse(
                table.name, name, ConcurrentBuild.handmade(name),
                suggestion: "ALTER INDEX \(sql.qualified(name)) ATTACH PARTITION … for each that lacks one, or"
                    + " DROP INDEX \(sql.qualified(name))")
            return nil
        }
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
            return IndexPosition(former: nil)
        }
        return replacing(wanted, table, found)
    }

    /// The place of an index of the table that is of another definition.
    private mutating func replacing(
        _ wanted: DatabaseDescription.Index, _ table: Table, _ found: DatabaseDescription.Table?
    ) -> IndexPosition? {
        let name = wanted.name
        let index = found?.indexes.first { $0.name == name }
        let constraints = found?.indexConstraints[name] ?? []
        // Postgres would say so when the new one is built already, or not at all.
        if let reason = Self.obstacle(constraints, index) {
            replacements[name] = IndexReplacement(wanted: wanted)
            // Of a constraint, too: the two have one name.
            refuse(
                table.name, name, "index \"\(name)\" exists with another definition and cannot be replaced: \(reason)",
                suggestion: "ALTER INDEX \(sql.qualified(name)) RENAME TO …")
            return nil
        }
        let former: ConcurrentBuild.Former = constraints.isEmpty ? .index : .constraint
        if let index, let found, goesWithColumn(index, table, found) {
            // Said of the column.
            replacements[name] = IndexReplacement(wanted: wanted, isPlanned: true)
            return IndexPosition(former: former)
        }
        if let index, index.isFormerForm(of: wanted) {
            let isPlanned = !permissions.isDisjoint(with: [.rewrites, .concurrent])
            replacements[name] = IndexReplacement(wanted: wanted, isPlanned: isPlanned)
            if isPlanned { return IndexPosition(former: former) }
            drift(
                table.name, name,
                "index \"\(name)\" is "
                    + (wanted.expression == nil
                        ? "of another measure than the schema's"
                        : "of other searchable fields than the schema's, or in another language")
                    + ": searches scan the table; freshet migrate --concurrently builds it anew",
                permission: .concurrent)
            return nil
        }
        let lost = index.flatMap { lostUniqueness(of: $0, table, found) }
        let what =
            former == .index
            ? "the index is built anew"
            : "the UNIQUE constraint of that name is dropped, and the index takes its place"
        let loss = MigrationPlan.Loss(
            object: "\(table.name).\(name)", message: (lost ?? "no row and no rule is lost") + "; " + what,
            countSQL: nil)
        if allow(.rewrites, [], loss) {
            replacements[name] = IndexReplacement(wanted: wanted, isPlanned: true)
            return IndexPosition(former: former)
        }
        replacements[name] = IndexReplacement(wanted: wanted)
        let isBuilt = found?.replacement(ConcurrentBuild.temporaryName(name), fits: wanted) == true
        refuse(
            table.name, name,
            (former == .index ? "index" : "UNIQUE constraint") + " \"\(name)\" exists with another definition"
                + (isBuilt
                    ? "; the index that is to replace it is built and waits for migrate --force --concurrently" : ""),
            suggestion: former == .index
                ? "DROP INDEX \(sql.qualified(name))"
                : "ALTER TABLE \(sql.qualified(table.name)) DROP CONSTRAINT \(SQLName.quoted(name))",
            permission: .rewrites, isBuilt: isBuilt)
        return nil
    }

    /// What nothing else will keep unique once an index is replaced, for the operator.
    private func lostUniqueness(
        of index: DatabaseDescription.Index, _ table: Table, _ found: DatabaseDescription.Table?
    ) -> String? {
        guard index.isUnique else { return nil }
        let rules = [found?.key ?? []] + (kept(table, found) + sql.wantedIndexes(of: table)).compactMap(\.keepsUnique)
        // What is unique by fewer columns is unique by more.
        if rules.contains(where: { !$0.isEmpty && Set($0).isSubset(of: index.columns) }) { return nil }
        let by = index.expression ?? index.columns.map(SQLName.quoted).joined(separator: ", ")
        return "rows are no longer kept unique by (\(by))" + (index.predicate.map { " where \($0)" } ?? "")
    }

    /// Why an index must stay; nil where it may go, together with a UNIQUE constraint of its name.
    private static func obstacle(
        _ constraints: [DatabaseDescription.IndexConstraint], _ index: DatabaseDescription.Index?
    ) -> String? {
        if index?.isReplicaIdentity == true {
            return "it is the replica identity, without which updates of a published table fail"
        }
        if index?.isClustered == true { return "it is the one that CLUSTER goes by" }
        let foreignKeys = constraints.filter { $0.kind == .foreignKey }.map { "\"\($0.name)\" of \"\($0.table)\"" }
        if !foreignKeys.isEmpty {
            return "foreign key \(foreignKeys.joined(separator: ", ")) depends on it"
        }
        return switch constraints.first?.kind {
        case .primaryKey: "it is that of the primary key"
        case .exclusion: "it is that of an EXCLUDE constraint"
        case .unique, .foreignKey, nil: nil
        }
    }
}
