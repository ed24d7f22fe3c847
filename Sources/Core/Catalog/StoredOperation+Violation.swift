package import LiveModel
import SchemaModel

extension StoredOperation {
    /// Describes a violated constraint by the names of the schema.
    /// - Parameters:
    ///   - table: the SQL name of the constraint's table.
    ///   - constraint: the SQL name of the constraint.
    ///   - columns: SQL names that the database reported, in case the schema has no constraint of that name; others
    ///     than the table's columns do not count.
    ///   - isForeignKey: whether the columns may be those of the other table, on which the reference depends.
    package func violation(
        table name: String?, constraint: String?, columns: [String], isForeignKey: Bool
    ) -> ConstraintViolation {
        guard let table = schema.tables.first(where: { $0.name == name }) else {
            return ConstraintViolation(table: name, constraint: constraint, fields: [], givenFields: [])
        }
        let named =
            table.uniques.first { $0.name == constraint }?.fields
            ?? table.references.first { $0.constraintName == constraint }?.localFields
        var fields = columns.compactMap { column in table.columns.first { $0.name == column }?.field }
        if isForeignKey, !table.references.contains(where: { Set($0.localFields) == Set(fields) }) { fields = [] }
        if let named { fields = named }
        let given = givenFields[table.name] ?? []
        return ConstraintViolation(
            table: table.typeName, constraint: constraint, fields: fields, givenFields: fields.filter(given.contains))
    }
}
