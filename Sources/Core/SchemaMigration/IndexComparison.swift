import SchemaModel

/// Compares indexes.
extension MigrationPlanner {
    mutating func compareSearchIndex(_ table: Table, _ found: DatabaseDescription.Table?) {
        guard let desired = sql.desiredSearchIndex(of: table),
            !kept(table, found).contains(where: { $0.serves(desired) }),
            isUsable(table.columns.filter { $0.searchLanguage != nil }.map(\.field), of: table),
            let slot = slot(for: desired, table, found)
        else { return }
        sql.createSearchIndex(of: table, found, replaces: slot.former).map { add($0, slot) }
    }

    mutating func compareIndexes(_ table: Table, _ found: DatabaseDescription.Table?) {
        let kept = kept(table, found)
        for unique in table.uniques where isUsable(unique.fields, of: table) {
            let desired = sql.desired(unique, of: table)
            let columns = Set(desired.columns)
            if Set(found?.key ?? []) == columns || kept.contains(where: { $0.serves(desired) }) { continue }
            if let reason = found?.partitioning?.refusal(ofUnique: columns) {
                refuse(table.name, unique.name, "the table cannot have the unique index \"\(unique.name)\": \(reason)")
                continue
            }
            guard let slot = slot(for: desired, table, found) else { continue }
            add(sql.createUnique(unique, of: table, found, replaces: slot.former), slot)
        }
        for index in table.indexes where isUsable(index.fields, of: table) {
            let desired = sql.desired(index, of: table)
            if kept.contains(where: { $0.serves(desired) }) { continue }
            guard let slot = slot(for: desired, table, found) else { continue }
            add(sql.createIndex(index, of: table, found, replaces: slot.former), slot)
        }
    }

    /// Returns the indexes that serve the schema now and will continue to: excludes those that will be replaced, and
    /// replacements that have not yet taken over.
    private func kept(_ table: Table, _ found: DatabaseDescription.Table?) -> [DatabaseDescription.Index] {
        guard let found else { return [] }
        let desired = sql.desiredIndexes(of: table)
        var kept = found.indexes.filter { !ConcurrentBuild.isTemporary($0.name) && !goesWithColumn($0, table, found) }
        // Replacing one index may leave another desired index unserved, which then replaces its own.
        while true {
            let unserved = desired.filter { index in
                !(index.isUnique && Set(found.key) == Set(index.columns)) && !kept.contains { $0.serves(index) }
            }.map(\.name)
            let rest = kept.filter { !unserved.contains($0.name) }
            if rest.count == kept.count { return kept }
            kept = rest
        }
    }

    /// Returns whether Postgres drops an index with a column that the plan drops.
    private func goesWithColumn(
        _ index: DatabaseDescription.Index, _ table: Table, _ found: DatabaseDescription.Table
    ) -> Bool {
        guard permissions.contains(.drops) else { return false }
        let columns = Set(table.columns.map(\.name))
        return index.uses.contains { !columns.contains($0) }
    }

    /// Describes the indexes and foreign keys that are lost with a column.
    func lostIndexes(
        by column: DatabaseDescription.Column, _ table: Table, _ found: DatabaseDescription.Table
    ) -> String {
        found.indexes.filter { $0.uses.contains(column.name) }.map { index in
            "; index \"\(index.name)\" is dropped with it"
                + (lostUniqueness(of: index, table, found).map { ", and \($0)" } ?? "")
        }.joined()
            + found.foreignKeys.filter { $0.columns.contains(column.name) }.map {
                "; foreign key \"\($0.name)\" is dropped with it"
            }.joined()
    }

    /// Refuses to drop a column that the primary key includes, since Postgres would silently drop the key.
    /// - Returns: whether it was refused.
    mutating func keepForKey(
        _ column: DatabaseDescription.Column, _ table: Table, _ found: DatabaseDescription.Table
    ) -> Bool {
        guard permissions.contains(.drops), found.keyIncludes.contains(column.name) else { return false }
        let key = found.indexConstraints.values.joined().first { $0.kind == .primaryKey }
        let columns = found.key.map(SQLName.quoted).joined(separator: ", ")
        refuse(
            table.name, column.name,
            "column \"\(column.name)\" is not in the schema, but the primary key includes it"
                + " and would be dropped with it",
            suggestion: key.map {
                "ALTER TABLE \(sql.qualified(table.name)) DROP CONSTRAINT \(SQLName.quoted($0.name)),"
                    + " ADD CONSTRAINT \(SQLName.quoted($0.name)) PRIMARY KEY (\(columns))"
            })
        return true
    }

    private mutating func add(_ step: SQLStatement, _ slot: NameSlot) {
        if slot.former == nil { result.steps.append(step) } else { exchanges.append(step) }
    }

    /// Drops replacements that are no longer desired. Call it after all indexes are compared.
    mutating func dropReplacements(of table: Table, _ found: DatabaseDescription.Table) {
        result.steps += sql.dropReplacements(of: table, found, desired: replacements)
    }

    private struct NameSlot {
        /// The present holder of the name, which may be replaced.
        let former: ConcurrentBuild.Former?
    }

    /// Determines whether the name of a desired index is free. `IF NOT EXISTS` only compares names, so Postgres would
    /// silently skip an index whose name is taken.
    /// - Returns: nil if the index was refused.
    private mutating func slot(
        for desired: DatabaseDescription.Index, _ table: Table, _ found: DatabaseDescription.Table?
    ) -> NameSlot? {
        let name = desired.name
        if let builder = found?.indexBuilders[name] {
            refuse(
                table.name, name,
                "index \"\(name)\" is being built by another session (pid \(builder));"
                    + " run freshet migrate again after that")
            return nil
        }
        if found?.invalidIndexes.contains(name) == true {
            // A broken build's index is dropped first.
            guard found?.partitioning != nil else { return NameSlot(former: nil) }
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
                "the index name \"\(name)\" is already used by "
                    + (isIndex ? "an index of \"\(holder)\"" : "another relation"),
                suggestion: isIndex ? "ALTER INDEX \(sql.qualified(name)) RENAME TO …" : nil)
            return nil
        }
        guard existing.relations[name] != nil || found?.indexes.contains(where: { $0.name == name }) == true else {
            return NameSlot(former: nil)
        }
        return replacing(desired, table, found)
    }

    /// Determines how to replace an index of the table that has the same name but another definition.
    private mutating func replacing(
        _ desired: DatabaseDescription.Index, _ table: Table, _ found: DatabaseDescription.Table?
    ) -> NameSlot? {
        let name = desired.name
        let index = found?.indexes.first { $0.name == name }
        let constraints = found?.indexConstraints[name] ?? []
        // Postgres would fail only after the new one is built, or not at all.
        if let reason = Self.obstacle(constraints, index) {
            replacements[name] = IndexReplacement(desired: desired)
            // The same text applies to a constraint, which has the index's name.
            refuse(
                table.name, name, "index \"\(name)\" exists with another definition and cannot be replaced: \(reason)",
                suggestion: "ALTER INDEX \(sql.qualified(name)) RENAME TO …")
            return nil
        }
        let former: ConcurrentBuild.Former = constraints.isEmpty ? .index : .constraint
        if let index, let found, goesWithColumn(index, table, found) {
            // The loss is reported with the column.
            replacements[name] = IndexReplacement(desired: desired, isPlanned: true)
            return NameSlot(former: former)
        }
        if let index, index.isFormerForm(of: desired) {
            let isPlanned = !permissions.isDisjoint(with: [.rewrites, .concurrent])
            replacements[name] = IndexReplacement(desired: desired, isPlanned: isPlanned)
            if isPlanned { return NameSlot(former: former) }
            drift(
                table.name, name,
                "index \"\(name)\" is "
                    + (desired.expression == nil
                        ? "for another distance function than the schema's"
                        : "for other searchable fields or another language than the schema's")
                    + ", so searches scan the table; freshet migrate --concurrently rebuilds it",
                permission: .concurrent)
            return nil
        }
        let lost = index.flatMap { lostUniqueness(of: $0, table, found) }
        let what =
            former == .index
            ? "rebuilds the index"
            : "replaces the UNIQUE constraint of that name by the index"
        let loss = MigrationPlan.Loss(
            object: "\(table.name).\(name)", message: (lost ?? "loses no rows and no rules") + "; " + what,
            countSQL: nil)
        if allow(.rewrites, [], loss) {
            replacements[name] = IndexReplacement(desired: desired, isPlanned: true)
            return NameSlot(former: former)
        }
        replacements[name] = IndexReplacement(desired: desired)
        let isBuilt = found?.replacement(ConcurrentBuild.temporaryName(name), fits: desired) == true
        refuse(
            table.name, name,
            (former == .index ? "index" : "UNIQUE constraint") + " \"\(name)\" exists with another definition"
                + (isBuilt
                    ? "; its replacement is built and waits for migrate --force --concurrently" : ""),
            suggestion: former == .index
                ? "DROP INDEX \(sql.qualified(name))"
                : "ALTER TABLE \(sql.qualified(table.name)) DROP CONSTRAINT \(SQLName.quoted(name))",
            permission: .rewrites, isBuilt: isBuilt)
        return nil
    }

    /// Describes the columns that nothing will keep unique after an index is replaced; nil if there are none.
    private func lostUniqueness(
        of index: DatabaseDescription.Index, _ table: Table, _ found: DatabaseDescription.Table?
    ) -> String? {
        guard index.isUnique else { return nil }
        let rules = [found?.key ?? []] + (kept(table, found) + sql.desiredIndexes(of: table)).compactMap(\.keepsUnique)
        // Rows that are unique by some columns are unique by more columns too.
        if rules.contains(where: { !$0.isEmpty && Set($0).isSubset(of: index.columns) }) { return nil }
        let by = index.expression ?? index.columns.map(SQLName.quoted).joined(separator: ", ")
        return "rows are no longer kept unique by (\(by))" + (index.predicate.map { " where \($0)" } ?? "")
    }

    /// Explains why an index cannot be replaced; nil if it can, together with a UNIQUE constraint of its name.
    private static func obstacle(
        _ constraints: [DatabaseDescription.IndexConstraint], _ index: DatabaseDescription.Index?
    ) -> String? {
        if index?.isReplicaIdentity == true {
            return "it is the replica identity, which updates of a published table need"
        }
        if index?.isClustered == true { return "CLUSTER uses it" }
        let foreignKeys = constraints.filter { $0.kind == .foreignKey }.map { "\"\($0.name)\" of \"\($0.table)\"" }
        if !foreignKeys.isEmpty {
            return "foreign key \(foreignKeys.joined(separator: ", ")) depends on it"
        }
        return switch constraints.first?.kind {
        case .primaryKey: "it belongs to the primary key"
        case .exclusion: "it belongs to an EXCLUDE constraint"
        case .unique, .foreignKey, nil: nil
        }
    }
}
