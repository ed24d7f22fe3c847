import GraphQLLanguage
import SchemaModel

/// Resolves a selection below a mutation's field: an addition to SQL Connect, where the result is a scalar, the key.
extension OperationScope {
    /// Returns the key of the row, or the fields of a selection below the mutation.
    func returned(_ field: SelectedField, _ table: Table) -> [ReturnedField] {
        guard !field.selections.isEmpty else {
            return table.keyColumns.map {
                ReturnedField(responseKey: $0.field, inclusion: .always, kind: .column($0))
            }
        }
        return fields(of: field.selections, on: table.typeName).compactMap { item in
            let name = item.name.value
            let kind: ReturnedField.Kind
            if name == "__typename" {
                kind = .typeName(typeName(item, table.typeName) ?? table.typeName)
            } else if let column = table.column(ofField: name) {
                refuseArguments(item)
                refuseSelection(item, of: InputType(column.type).text)
                kind = .column(column)
            } else {
                refuse(item, below: field, table)
                return nil
            }
            return item.inclusion.isNever
                ? nil
                : ReturnedField(
                    responseKey: item.responseKey, inclusion: item.inclusion, kind: kind, policy: item.policy)
        }
    }

    /// Reports a field that the result lacks, and whether a query of the row has it.
    private func refuse(_ item: SelectedField, below field: SelectedField, _ table: Table) {
        let name = item.name.value
        let message = "\"\(field.name.value)\" returns columns of the row only, not \"\(name)\""
        if let reference = table.reference(ofField: name) {
            let columns = reference.localFields.map { "\"\($0)\"" }.joined(separator: " and ")
            error(
                .unknownField, at: item.nameRange, message,
                help: "select \(columns), or read the row in a query", unknown: name)
            return
        }
        let relations =
            schema.inverseRelations(ofType: table.typeName).map(\.name)
            + schema.manyToManyRelations(ofType: table.typeName).map(\.name)
        if relations.contains(name) || ["_id", "_metadata"].contains(name) || aggregate(name, table) != nil {
            error(.unknownField, at: item.nameRange, message, help: "read the row in a query", unknown: name)
            return
        }
        unknownField(item, on: table.typeName, among: table.columns.map(\.field))
    }
}
