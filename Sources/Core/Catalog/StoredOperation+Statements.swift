package import JSON
import LiveModel
import Operations
package import QuerySQL
package import SchemaModel

/// The statements of an operation for people to read (`freshet explain`).
extension StoredOperation {
    package typealias Parameter = ExplainedParameter

    /// One step of a mutation.
    package struct Step: Sendable {
        package let responseKey: String
        /// Nil if the statement depends on the rows that a variable holds.
        package let sql: String?
    }

    /// Returns the statement of a query for variables like these; only their presence matters, not their values.
    /// `variables` are coerced. Nil for a mutation.
    package func statement(variables: JSONObject) -> (statement: QueryStatement, parameters: [Parameter])? {
        query?.explained(Variables(variables))
    }

    /// Returns the statements of a mutation for variables like these. `variables` are coerced. Empty for a query.
    package func steps(variables: JSONObject) -> [Step] {
        let variables = Variables(variables)
        return mutation.map { Step(responseKey: $0.responseKey, sql: $0.sql(variables)) }
    }

    /// The rows that the query looks up by primary key: the table and the sources of the key's parts, in key order.
    package var lookups: [(table: String, key: [String])] {
        query?.lookups.map { ($0.table, $0.operands.map(\.source.words)) } ?? []
    }

    /// Returns a value for every variable, which yields the statement with all its parts.
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
    /// Whether subscribers of the query may ever get a second result.
    package var isRefreshed: Bool {
        kind == .query && (!refresh.isEmpty || automaticSites?.use == .refreshes)
    }
}
