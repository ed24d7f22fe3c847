/// Indexes of the tables.
extension MigrationPlanner {
    mutating func compareSearchIndex(_ table: Table, _ found: DatabaseDescription.Table?) {
        guard let wanted = sql.wantedSearchIndex(of: table),
            found?.expressionIndexes.contains(wanted.name) != true,
            isUsable(table.columns.filter { $0.searchLanguage != nil }.map(\.field), of: table),
            let place = place(for: wanted, table, found),
            let statement = sql.createSearchIndex(of: table, found, replaces: place.former)
        else { return }
        result.steps.append(statement)
    }

    mutating func compareIndexes(_ table: Table, _ found: DatabaseDescription.Table?) {
        // What is about to take the place of another one is not there yet.
        let present = (found?.indexes ?? []).filter { !ConcurrentBuild.isTemporary($0.name) }
        let uniques = [found?.key ?? []] + present.filter(\.isUnique).map(\.columns)
        for unique in table.uniques where isUsable(unique.fields, of: table) {
            let columns = Set(sql.names(unique.fields, of: table))
            if uniques.contains(where: { Set($0) == columns }) { continue }
            if let reason = found?.partitioning?.refusal(ofUnique: columns) {
                refuse(table.name, unique.name, "the table cannot have the unique index \"\(unique.name)\": \(reason)")
                continue
            }
            guard let place = place(for: sql.wanted(unique, of: table), table, found) else { continue }
            result.steps.append(sql.createUnique(unique, of: table, found, replaces: place.former))
        }
        for index in table.indexes where isUsable(index.fields, of: table) {
            let wanted = sql.wanted(index, of: table)
            if present.contains(where: {
                $0.columns == wanted.columns && $0.method == wanted.method
                    && (wanted.method != "btree" || $0.descending.elementsEqual(wanted.descending))
            }) {
                continue
            }
            guard let place = place(for: wanted, table, found) else { continue }
            result.steps.append(sql.createIndex(index, of: table, found, replaces: place.former))
        }
    }

    /// Of replacements that nobody wants any more; to be called when all indexes are compared.
    mutating func dropReplacements(of table: Table, _ found: DatabaseDescription.Table) {
        result.steps += sql.dropReplacements(of: table, found, wanted: replacements)
    }

    private struct Place {
        /// That has the name now and may be replaced.
        let former: ConcurrentBuild.Former?
    }

    /// Postgres would leave an index of a taken name out without a word: `IF NOT EXISTS` looks at the name only.
    /// - Returns: nil when it was refused.
    private mutating func place(
        for wanted: DatabaseDescription.Index, _ table: Table, _ found: DatabaseDescription.Table?
    ) -> Place? {
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
            guard found?.partitioning != nil else { return Place(former: nil) }
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
            return Place(former: nil)
        }
        return replacing(wanted, table, found)
    }

    /// The place of an index of the table that is of another definition.
    private mutating func replacing(
        _ wanted: DatabaseDescription.Index, _ table: Table, _ found: DatabaseDescription.Table?
    ) -> Place? {
        let name = wanted.name
        let constraints = found?.indexConstraints[name] ?? []
        // Postgres would say so when the new one is built already.
        if let reason = Self.obstacle(constraints, to: name) {
            replacements[name] = IndexReplacement(wanted: wanted)
            // Of a constraint, too: the two have one name.
            refuse(
                table.name, name, "index \"\(name)\" exists with another definition and cannot be replaced: \(reason)",
                suggestion: "ALTER INDEX \(sql.qualified(name)) RENAME TO …")
            return nil
        }
        let former: ConcurrentBuild.Former = constraints.isEmpty ? .index : .constraint
        let loss = MigrationPlan.Loss(
            object: "\(table.name).\(name)",
            message: former == .index
                ? "nothing is lost; the index is built anew"
                : "no row is lost; the UNIQUE constraint of that name is dropped, and the index takes its place",
            countSQL: nil)
        if allow(.rewrites, [], loss) {
            replacements[name] = IndexReplacement(wanted: wanted, isPlanned: true)
            return Place(former: former)
        }
        replacements[name] = IndexReplacement(wanted: wanted)
        let isBuilt = found?.replacement(ConcurrentBuild.temporaryName(name), fits: wanted) == true
        refuse(
            table.name, name,
            (former == .index ? "index" : "UNIQUE constraint") + " \"\(name)\" exists with another definition"
                + (isBuilt ? "; the index that is to replace it is built and waits for migrate --force" : ""),
            suggestion: former == .index
                ? "DROP INDEX \(sql.qualified(name))"
                : "ALTER TABLE \(sql.qualified(table.name)) DROP CONSTRAINT \(SQLName.quoted(name))",
            permission: .rewrites)
        return nil
    }

    /// Why an index must stay; nil where it may go, together with a UNIQUE constraint of its name.
    private static func obstacle(
        _ constraints: [DatabaseDescription.IndexConstraint], to index: String
    ) -> String? {
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
