import GraphQLLanguage
import Operations
import SchemaModel

/// Generates the types of a table or view: its object type, and `_Key`, `_KeyOutput`, `_Data`, `_Filter`,
/// `_ListFilter`, `_Order`, `_Having` and `_FirstRow`. Source: docs/reference/sql-connect.md §5.4 to §5.6.
struct TableDefinitions {
    let schema: Schema
    let table: Table

    private var type: String { table.typeName }
    private var inverses: [InverseRelation] { schema.inverseRelations(ofType: type) }
    private var joins: [ManyToManyRelation] { schema.manyToManyRelations(ofType: type) }

    var definitions: [Definition] {
        var all = [object]
        if table.view == nil {
            all += [
                .input(
                    "\(type)_Key",
                    table.keyColumns.flatMap { keyFields($0) }
                        + table.keyReferences(in: schema).map {
                            InputValueDefinition($0.field, "\($0.targetType)_Key")
                        },
                    "All fields of the key, as values; in a literal also by _expr, or by the key of a reference."),
                .scalar("\(type)_KeyOutput", "The fields of the key by name."),
                .input("\(type)_Data", data),
            ]
        }
        return all + [
            .input("\(type)_Filter", filter),
            .input(
                "\(type)_ListFilter",
                [
                    InputValueDefinition(
                        "count", "Int_Filter",
                        default: .object([GraphQLLanguage.ObjectField(name: Name("gt"), value: Value(.int("0")))])),
                    InputValueDefinition("exist", "\(type)_Filter"),
                ]),
            .input("\(type)_Order", order),
            .input("\(type)_Having", having),
            .input(
                "\(type)_FirstRow",
                [
                    InputValueDefinition("where", "\(type)_Filter"),
                    InputValueDefinition("orderBy", "[\(type)_Order!]"),
                ]),
        ]
    }

    private func keyFields(_ column: Column) -> [InputValueDefinition] {
        [
            InputValueDefinition(column.field, column.type.typeText),
            InputValueDefinition(FieldForm.expression.name(of: column.field), column.type.expressionName),
        ]
    }

    // MARK: Results

    private var object: Definition {
        var fields = table.columns.map {
            FieldDefinition($0.field, $0.type.typeText + ($0.isNullable ? "" : "!"))
        }
        fields += table.references.map { FieldDefinition($0.field, $0.targetType + ($0.isNullable ? "" : "!")) }
        for relation in inverses {
            let child = relation.child.typeName
            fields.append(
                relation.isSingle
                    ? FieldDefinition(relation.name, child)
                    : FieldDefinition(relation.name, ListDefinitions.arguments(of: child), "[\(child)!]!"))
        }
        for relation in joins {
            fields.append(
                FieldDefinition(
                    relation.name, ListDefinitions.arguments(of: relation.join.typeName),
                    "[\(relation.target.typeName)!]!"))
        }
        fields.append(FieldDefinition("_metadata", "_Metadata"))
        if !table.key.isEmpty { fields.append(FieldDefinition("_id", "ID!")) }
        return .type(type, fields + aggregates)
    }

    private var aggregates: [FieldDefinition] {
        Aggregate.all(of: table).map { name, aggregate in
            var arguments: [InputValueDefinition] = []
            if case .function(let function, _, _) = aggregate, function.takesDistinct {
                arguments = [InputValueDefinition("distinct", "Boolean", default: .boolean(false))]
            }
            let isCount =
                switch aggregate {
                case .countRows, .function(.count, _, _): true
                case .function: false
                }
            return FieldDefinition(name, arguments, aggregate.type.typeText + (isCount ? "!" : ""))
        }
    }

    // MARK: Inputs

    private var data: [InputValueDefinition] {
        var fields: [InputValueDefinition] = []
        // A name that is also a field of the table denotes that field.
        func add(_ name: String, _ type: String) {
            guard table.column(ofField: name) == nil, table.reference(ofField: name) == nil else { return }
            fields.append(InputValueDefinition(name, type))
        }
        for column in table.columns {
            fields.append(InputValueDefinition(column.field, column.type.typeText))
            for form in column.forms {
                add(form.name(of: column.field), form.inputType(of: column.type))
            }
        }
        fields += table.references.filter { $0.targetFieldsAreKey(in: schema) }.map {
            InputValueDefinition($0.field, "\($0.targetType)_Key")
        }
        return fields
            + inverses.filter { $0.child.view == nil }.map {
                let row = "\($0.child.typeName)_Data"
                return InputValueDefinition($0.name, $0.isSingle ? row : "[\(row)!]")
            }
    }

    private var filter: [InputValueDefinition] {
        var fields = Self.logic("\(type)_Filter")
        fields += table.columns.map { InputValueDefinition($0.field, $0.type.filterName) }
        fields += table.references.map { InputValueDefinition($0.field, "\($0.targetType)_Filter") }
        fields += inverses.map {
            InputValueDefinition($0.name, "\($0.child.typeName)_\($0.isSingle ? "" : "List")Filter")
        }
        return fields + joins.map { InputValueDefinition($0.name, "\($0.target.typeName)_ListFilter") }
    }

    private var order: [InputValueDefinition] {
        var fields = table.columns.filter { $0.type.scalar != .vector }.map {
            InputValueDefinition($0.field, "OrderDirection")
        }
        fields += table.references.map { InputValueDefinition($0.field, "\($0.targetType)_Order") }
        fields += inverses.filter(\.isSingle).map { InputValueDefinition($0.name, "\($0.child.typeName)_Order") }
        return fields + Aggregate.all(of: table).map { InputValueDefinition($0.name, "OrderDirection") }
    }

    private var having: [InputValueDefinition] {
        Self.logic("\(type)_Having") + [InputValueDefinition("_distinct", "Boolean")]
            + Aggregate.all(of: table).map { InputValueDefinition($0.name, $0.aggregate.type.filterName) }
    }

    private static func logic(_ type: String) -> [InputValueDefinition] {
        [
            InputValueDefinition("_and", "[\(type)!]"), InputValueDefinition("_or", "[\(type)!]"),
            InputValueDefinition("_not", type),
        ]
    }
}

/// The arguments of lists.
enum ListDefinitions {
    static func arguments(of type: String) -> [InputValueDefinition] {
        [
            InputValueDefinition("where", "\(type)_Filter"),
            InputValueDefinition("orderBy", "[\(type)_Order!]"),
            InputValueDefinition("offset", "Int"),
            InputValueDefinition("limit", "Int", default: .int("\(ListArguments.limitDefault)")),
            InputValueDefinition("distinct", "Boolean", default: .boolean(false)),
            InputValueDefinition("having", "\(type)_Having"),
        ]
    }
}
