import SchemaModel

/// An index that will replace another one with its name.
struct IndexReplacement {
    let desired: DatabaseDescription.Index
    /// Whether the plan contains the replacement, whose build reads the current state itself; otherwise it is not
    /// allowed yet.
    var isPlanned = false
}

/// Removes indexes that interrupted builds left. They are recognised by name: invalid indexes with names from the
/// schema, and temporary names of replacements and parts, which no schema uses.
extension DefinitionSQL {
    /// Returns the names of a table's indexes in the schema.
    func indexNames(of table: Table) -> [String] {
        table.indexes.map(\.name) + table.uniques.map(\.name) + [SearchDocument.indexName(table)]
    }

    /// Drops the invalid indexes of a table that concurrent builds left.
    func dropLeftovers(of table: Table, _ found: DatabaseDescription.Table) -> [SQLStatement] {
        let names = indexNames(of: table)
        let replacements = names.map(ConcurrentBuild.temporaryName)
        // The parent index of a partitioned table is created only when it is valid at once.
        let whole = found.partitioning == nil ? names + replacements : replacements
        let parts = (found.partitioning?.partitions ?? []).flatMap { partition in
            (names + replacements).compactMap { index -> SQLStatement? in
                let name = ConcurrentBuild.partName(index, of: partition.name)
                // Finished parts of an incomplete index are for its next build to use or drop.
                let isUseless = names.contains(index) && found.isWhole(index)
                guard
                    partition.invalidIndexes.contains(name.name)
                        || isUseless && partition.looseIndexes.contains(name.name)
                else { return nil }
                return dropLeftover(name, isDivided: partition.kind == .partitioned)
            }
        }
        return found.invalidIndexes.filter(whole.contains).map {
            dropLeftover(QualifiedName(namespace: namespace, name: $0), isDivided: found.partitioning != nil)
        } + parts
    }

    /// Drops finished replacements, and finished parts of them, that did not take over and are no longer desired.
    func dropReplacements(
        of table: Table, _ found: DatabaseDescription.Table, desired: [String: IndexReplacement]
    ) -> [SQLStatement] {
        let whole = found.replacements.filter { name in
            guard let kept = desired.first(where: { ConcurrentBuild.temporaryName($0.key) == name })?.value else {
                return true
            }
            return !kept.isPlanned && !found.replacement(name, fits: kept.desired)
        }
        let parts = (found.partitioning?.partitions ?? []).flatMap { partition in
            partition.looseIndexes.filter { name in
                func isPart(of index: String) -> Bool {
                    name == ConcurrentBuild.partName(ConcurrentBuild.temporaryName(index), of: partition.name).name
                }
                if let kept = desired.first(where: { isPart(of: $0.key) })?.value {
                    return !kept.isPlanned
                        && !partition.indexes.contains { $0.name == name && $0.fits(kept.desired, asPart: true) }
                }
                return ConcurrentBuild.isPartOfReplacement(name, of: partition.name)
                    || indexNames(of: table).contains(where: isPart)
            }.map {
                dropLeftover(
                    QualifiedName(namespace: partition.name.namespace, name: $0),
                    isDivided: partition.kind == .partitioned)
            }
        }
        return whole.map {
            dropLeftover(QualifiedName(namespace: namespace, name: $0), isDivided: found.partitioning != nil)
        } + parts
    }

    /// - Parameter isDivided: whether the table is partitioned, so that Postgres cannot drop its index concurrently.
    private func dropLeftover(_ name: QualifiedName, isDivided: Bool) -> SQLStatement {
        SQLStatement(
            "DROP INDEX IF EXISTS \(name.quoted)", summary: "drop index \(name.name), left by an interrupted migration",
            concurrent: isDivided ? nil : .alone("DROP INDEX CONCURRENTLY IF EXISTS \(name.quoted)"))
    }
}

extension DatabaseDescription.Table {
    /// Names of finished indexes that were built to replace others.
    var replacements: [String] {
        indexes.map(\.name).filter(ConcurrentBuild.isTemporary).sorted()
    }

    func isWhole(_ index: String) -> Bool {
        indexes.contains { $0.name == index }
    }

    /// Returns whether a finished replacement has the definition.
    func replacement(_ name: String, fits desired: DatabaseDescription.Index) -> Bool {
        indexes.contains { $0.name == name && $0.fits(desired) }
    }
}
