import GraphQLLanguage
import Operations
import SchemaModel

/// Generates the fields of `Query` and `Mutation`. Source: docs/reference/sql-connect.md §5.4 and §5.6.
struct RootDefinitions {
    let schema: Schema

    var queries: [FieldDefinition] {
        schema.tables.flatMap(queries) + schema.views.map(list) + [
            FieldDefinition("_select", Self.native("SQL_Query"), "[Any]", "The rows of native SQL."),
            FieldDefinition("_selectFirst", Self.native("SQL_Query"), "Any"),
        ]
    }

    var mutations: [FieldDefinition] {
        schema.tables.flatMap(mutations) + [
            FieldDefinition(
                "query", [], "Query!", "Reads between writes; later expressions can read it as response.query."),
            FieldDefinition("_execute", Self.native("SQL_Mutation"), "Int", "The number of affected rows."),
            FieldDefinition("_executeReturning", Self.native("SQL_Mutation"), "[Any]"),
            FieldDefinition("_executeReturningFirst", Self.native("SQL_Mutation"), "Any"),
        ]
    }

    private func queries(_ table: Table) -> [FieldDefinition] {
        let type = table.typeName
        var fields = [FieldDefinition(table.singular, target(table), type), list(table)]
        if table.columns.contains(where: { $0.searchLanguage != nil }) {
            fields.append(
                FieldDefinition(
                    "\(table.plural)_search",
                    [
                        InputValueDefinition("query", "String"),
                        InputValueDefinition("queryFormat", "Search_QueryFormat", default: .enum("QUERY")),
                        InputValueDefinition("relevanceThreshold", "Float"),
                    ] + ListDefinitions.arguments(of: type), "[\(type)!]!"))
        }
        for column in table.columns where column.type.scalar == .vector {
            fields.append(
                FieldDefinition(
                    "\(table.plural)_\(column.field)_similarity",
                    [
                        InputValueDefinition("compare", "Vector"),
                        InputValueDefinition("compare_embed", EmbeddingSource.typeName),
                        InputValueDefinition(
                            "method", "VectorSimilarityMethod", default: .enum(SimilarityMethod.default.rawValue)),
                        InputValueDefinition("within", "Float"),
                        InputValueDefinition("where", "\(type)_Filter"),
                        InputValueDefinition("limit", "Int", default: .int("\(ListArguments.limitDefault)")),
                    ], "[\(type)!]!"))
        }
        return fields
    }

    private func list(_ table: Table) -> FieldDefinition {
        FieldDefinition(table.plural, ListDefinitions.arguments(of: table.typeName), "[\(table.typeName)!]!")
    }

    /// Returns the arguments that select a single row: the key's fields, `key` or `first`.
    private func target(_ table: Table) -> [InputValueDefinition] {
        table.keyColumns.flatMap {
            [
                InputValueDefinition($0.field, $0.type.typeText),
                InputValueDefinition(FieldForm.expression.name(of: $0.field), $0.type.expressionName),
            ]
            // A column named like the arguments below can only be given inside `key`.
            .filter { !["key", "first"].contains($0.name.value) }
        } + [
            InputValueDefinition("key", "\(table.typeName)_Key"),
            InputValueDefinition("first", "\(table.typeName)_FirstRow"),
        ]
    }

    private func mutations(_ table: Table) -> [FieldDefinition] {
        let name = table.singular
        let key = "\(table.typeName)_KeyOutput"
        let row = InputValueDefinition("data", "\(table.typeName)_Data!")
        let rows = InputValueDefinition("data", "[\(table.typeName)_Data!]!")
        let some = [
            InputValueDefinition("where", "\(table.typeName)_Filter"), InputValueDefinition("all", "Boolean"),
        ]
        return [
            FieldDefinition("\(name)_insert", [row], "\(key)!"),
            FieldDefinition("\(name)_insertMany", [rows], "[\(key)!]!"),
            FieldDefinition("\(name)_upsert", [row], "\(key)!"),
            FieldDefinition("\(name)_upsertMany", [rows], "[\(key)!]!"),
            FieldDefinition("\(name)_update", target(table) + [row], key),
            FieldDefinition("\(name)_updateMany", some + [row], "Int!"),
            FieldDefinition("\(name)_delete", target(table), key),
            FieldDefinition("\(name)_deleteMany", some, "Int!"),
        ]
    }

    private static func native(_ sql: String) -> [InputValueDefinition] {
        [InputValueDefinition("sql", "\(sql)!"), InputValueDefinition("params", "SQL_Params")]
    }
}
