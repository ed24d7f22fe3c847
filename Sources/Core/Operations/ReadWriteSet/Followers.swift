package import SchemaModel

extension Schema {
    /// The references to a table, with the tables that have them.
    package func references(to table: Table) -> [(child: Table, reference: Reference)] {
        tables.flatMap { child in
            child.references.filter { $0.targetType == table.typeName }.map { (child, $0) }
        }
    }

    /// Returns the tables, with their fields, that may change with these fields of a table. Freshet's own foreign keys
    /// do not follow a changed target, those of a database that was there before may (`ON UPDATE CASCADE`).
    package func followers(of table: Table, _ fields: Set<String>) -> [(table: Table, fields: [String])] {
        var found: [(table: Table, fields: [String])] = []
        var pending = [(table, fields)]
        while let (table, fields) = pending.popLast() {
            for (child, reference) in references(to: table) where !fields.isDisjoint(with: reference.targetFields) {
                let isKnown = found.contains { $0.table.name == child.name && $0.fields == reference.localFields }
                if isKnown { continue }
                found.append((child, reference.localFields))
                pending.append((child, Set(reference.localFields)))
            }
        }
        return found
    }
}

extension [RootField] {
    /// Whether native SQL is among the fields.
    package var hasNativeSQL: Bool {
        contains { if case .native = $0.kind { true } else { false } }
    }
}
