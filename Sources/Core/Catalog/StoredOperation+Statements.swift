package import JSON
import LiveModel
import Operations
package import QuerySQL
package import SchemaModel

/// The statements of an operation, for people to read: `freshet explain`.
extension StoredOperation {
    package typealias Parameter = ExplainedParameter

    /// One step of a mutation.
    package struct Step: Sendable {
        package let responseKey: String
        /// Nil when it depends on the rows that a variable brings.
        package let sql: String?
    }

    /// The statement of a query for variables like these; their values do not matter, only which there are.
    /// `variables` are coerced. Nil for a mutation.
    package func statement(variables: JSONObject) -> (statement: QueryStatement, parameters: [Parameter])? {
        query?.explained(Variables(variables))
    }

    /// The statements of a mutation, likewise. Empty for a query.
    package func steps(variables: JSONObject) -> [Step] {
        let variables = Variables(variables)
        return mutation.map { Step(responseKey: $0.responseKey, sql: $0.sql(variables)) }
    }

    /// The rows that the query looks up by primary key: table and, in the order of the key, where its parts come from.
    package var lookups: [(table: String, key: [String])] {
        query?.lookups.map { ($0.table, $0.operands.map(\.source.words)) } ?? []
    }

    /// Variables with a value for each, to see the statement that has every part.
    package func sampleVariables(of schema: Schema) -> JSONObject {
        var object = JSONObject()
        for variable in variables {
            object[variable.name] =
                variable.defaultValue.flatMap { $0.isNull ? nil : $0 } ?? variable.plan.sample(schema)
        }
        return object
    }
}

extension StoredOperation {
    /// Whether followers of the query may ever get a second result.
    package var isRefreshed: Bool {
        kind == .query && !refresh.isEmpty
    }
}
