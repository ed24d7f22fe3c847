import GraphQLLanguage
import SchemaModel

/// Lists with aggregates, whose rows are grouped by the selected plain fields. Source: docs/reference/sql-connect.md
/// §5.4.
extension OperationScope {
    /// Returns the aggregate that a field name denotes; nil if it denotes none.
    func aggregate(_ name: String, _ table: Table) -> (Aggregate.Function, Column?)? {
        if name == "_count" { return (.count, nil) }
        guard table.column(ofField: name) == nil else { return nil }
        for function in Aggregate.Function.allCases where name.hasSuffix("_\(function.rawValue)") {
            if let column = table.column(ofField: String(name.dropLast(function.rawValue.count + 1))) {
                return (function, column)
            }
        }
        return nil
    }

    func groups(
        _ field: SelectedField, _ source: RowSource, _ selected: [SelectedField], _ values: [String: Value],
        _ given: ListArguments
    ) -> RowList? {
        let table = source.table
        var arguments = given
        let content = selected.compactMap { item -> GroupField? in
            guard let kind = groupKind(item, table), !item.inclusion.isNever else { return nil }
            return GroupField(
                responseKey: item.responseKey, inclusion: item.inclusion, kind: kind, policy: item.policy)
        }
        // For many-to-many relations, these refer to the join table, whose columns do not group.
        let argumentTable = source.argumentTable
        if let value = values["having"] { arguments.having = having(value, argumentTable, in: field.file) }
        if let value = values["orderBy"] {
            let grouped = argumentTable.name == table.name ? Self.groupedFields(content) : []
            arguments.order = orderTerms(value, argumentTable, in: field.file, grouped: grouped)
        }
        return RowList(source: source, arguments: arguments, content: .groups(content))
    }

    /// Returns the fields that rows are grouped by.
    private static func groupedFields(_ content: [GroupField]) -> Set<String> {
        var fields: Set<String> = []
        for case .plain(let kind) in content.map(\.kind) {
            switch kind {
            case .column(let column): fields.insert(column.field)
            case .reference(let reference, _): fields.formUnion(reference.localFields)
            case .typeName, .list, .single, .globalID, .metadata: break
            }
        }
        return fields
    }

    private func groupKind(_ field: SelectedField, _ table: Table) -> GroupField.Kind? {
        if let known = aggregate(field.name.value, table) {
            return aggregate(field, known).map(GroupField.Kind.aggregate)
        }
        if let plain = plainKind(field, table) {
            if case .column(let column)? = plain, column.type.scalar == .vector {
                error(.aggregateGrouping, at: field.nameRange, "rows cannot be grouped by a Vector")
                return nil
            }
            return plain.map(GroupField.Kind.plain)
        }
        error(
            .aggregateGrouping, at: field.nameRange,
            "\"\(field.name.value)\" cannot be selected next to an aggregate:"
                + " rows are grouped by columns and references",
            help: "select it in a separate field")
        return nil
    }

    private func aggregate(_ field: SelectedField, _ known: (Aggregate.Function, Column?)) -> Aggregate? {
        refuseSelection(field, of: "a number")
        let takesDistinct = known.1 != nil && known.0.takesDistinct
        let arguments = arguments(of: field, offered: takesDistinct ? ["distinct"] : [])
        var isDistinct = false
        if let value = arguments["distinct"] {
            if let flag = value.boolValue {
                isDistinct = flag
            } else {
                error(.valueType, at: field.fileRange(value.range), "\"distinct\" must be a literal true or false")
            }
        }
        return aggregate(known, isDistinct: isDistinct, at: field.nameRange)
    }

    private func aggregate(
        _ known: (Aggregate.Function, Column?), isDistinct: Bool = false, at range: FileRange
    ) -> Aggregate? {
        guard let column = known.1 else { return .countRows }
        guard known.0.applies(to: column.type) else {
            error(
                .aggregateType, at: range,
                "the aggregate \(known.0.rawValue) is not supported for \"\(column.field)\""
                    + " of type \(InputType(column.type).text)"
            )
            return nil
        }
        return .function(known.0, column, distinct: isDistinct)
    }

    /// Returns the aggregate of an input field such as `rating_avg`; nil, without a diagnostic, if the name denotes
    /// none.
    func namedAggregate(_ name: Name, _ table: Table, in file: SourceFile) -> Aggregate? {
        aggregate(name.value, table).flatMap { aggregate($0, at: FileRange(range: name.range, file: file)) }
    }

    func aggregateNames(_ table: Table) -> [String] { Aggregate.all(of: table).map(\.name) }
}
