import SchemaModel

/// An index that is to take the place of another one of its name.
struct IndexReplacement {
    let wanted: DatabaseDescription.Index
    /// By the plan, whose build looks itself at what is there; otherwise it is not allowed yet.
    var isPlanned = false
}

/// What builds of indexes left behind. Ours is what has a name that we give: what the schema calls an index, where a
/// build under that name was cut off; and names that no schema gives, those of replacements and of parts.
extension DefinitionSQL {
    /// Names of the indexes that the schema gives a table.
    func indexNames(of table: Table) -> [String] {
        table.indexes.map(\.name) + table.uniques.map(\.name) + [SearchDocument.indexName(table)]
    }

    /// What concurrent builds of a table's indexes left unfinished.
    func dropLeftovers(of table: Table, _ found: DatabaseDescription.Table) -> [SQLStatement] {
        let names = indexNames(of: table)
        let replacements = names.map(ConcurrentBuild.temporaryName)
        // Of a table with partitions the whole index is created when it can be valid at once.
        let whole = found.partitioning == nil ? names + replacements : replacements
        let parts = (found.partitioning?.partitions ?? []).flatMap { partition in
            (names + replacements).compactMap { index -> SQLStatement? in
                let name = ConcurrentBuild.partName(index, of: partition.name)
                // Finished parts of what is not whole yet are for its next build to take or drop.
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

    /// Finished replacements that did not take their place, and finished parts of them, where nobody wants them any more.
    func dropReplacements(
        of table: Table, _ found: DatabaseDescription.Table, wanted: [String: IndexReplacement]
    ) -> [SQLStatement] {
        let whole = found.replacements.filter { name in
            guard let kept = wanted.first(where: { ConcurrentBuild.temporaryName($0.key) == name })?.value else {
                return true
            }
            return !kept.isPlanned && !found.replacement(name, fits: kept.wanted)
        }
        let parts = (found.partitioning?.partitions ?? []).flatMap { partition in
            partition.looseIndexes.filter { name in
                func isPart(of index: String) -> Bool {
                    name == ConcurrentBuild.partName(ConcurrentBuild.temporaryName(index), of: partition.name).name
                }
                if let kept = wanted.first(where: { isPart(of: $0.key) })?.value {
                    return !kept.isPlanned
                        && !partition.indexes.contains { $0.name == name && $0.fits(kept.wanted, asPart: true) }
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

    /// - Parameter isDivided: of a table with partitions, of which Postgres drops no index concurrently.
    private func dropLeftover(_ name: QualifiedName, isDivided: Bool) -> SQLStatement {
        SQLStatement(
            "DROP INDEX IF EXISTS \(name.quoted)", summary: "drop index \(name.name), which was left unfinished",
            concurrent: isDivided ? nil : .alone("DROP INDEX CONCURRENTLY IF EXISTS \(name.quoted)"))
    }
}

extension DatabaseDescription.Table {
    /// Names of finished indexes that were built to take the place of others.
    var replacements: [String] {
        indexes.map(\.name).filter(ConcurrentBuild.isTemporary).sorted()
    }

    func isWhole(_ index: String) -> Bool {
        indexes.contains { $0.name == index }
    }

    /// Whether a finished replacement is of the definition.
    func replacement(_ name: String, fits wanted: DatabaseDescription.Index) -> Bool {
        indexes.contains { $0.name == name && $0.fits(wanted) }
    }
}
