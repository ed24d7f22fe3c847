import GraphQLLanguage
import Operations
import SchemaModel

/// Generates the inputs for each column type: filters, updates, expressions of lists. Source:
/// docs/reference/sql-connect.md §5.5 and §5.6.
struct ScalarDefinitions {
    let schema: Schema

    /// Sorted by name, since `Schema` does not keep their SDL order.
    var enums: [Definition] {
        schema.enums.values.sorted { $0.typeName < $1.typeName }.flatMap { type -> [Definition] in
            [
                .enum(
                    EnumTypeDefinition(
                        name: Name(type.typeName), values: type.values.map { EnumValueDefinition(name: Name($0)) })),
                .scalar("\(type.typeName)_Expr"),
            ]
        }
    }

    var inputs: [Definition] {
        types.flatMap { type -> [Definition] in
            var definitions: [Definition] = []
            if type.isList { definitions.append(.scalar(type.expressionName)) }
            let operators = FilterOperator.of(type).map { InputValueDefinition($0.name, $0.argumentType(of: type)) }
            definitions.append(.input(type.filterName, operators))
            let changes = type.changes
            if !changes.isEmpty {
                definitions.append(
                    .input(
                        type.updateName, changes.map { InputValueDefinition($0.name, $0.type) }, "Exactly one of them.")
                )
            }
            return definitions
        }
    }

    /// All possible column types, including unused ones, so that a growing schema changes little.
    private var types: [ColumnType] {
        let scalars: [ScalarType] =
            [.string, .uuid, .int, .int64, .float, .boolean, .date, .timestamp, .any, .vector]
            + schema.enums.keys.sorted().map(ScalarType.enumeration)
        return scalars.flatMap { scalar -> [ColumnType] in
            scalar == .vector ? [ColumnType(scalar)] : [ColumnType(scalar), ColumnType(scalar, isList: true)]
        }
    }
}
