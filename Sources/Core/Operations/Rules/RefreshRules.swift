package import CEL
package import JSON
package import LiveModel

/// The rules that refresh a query. Source: docs/reference/sql-connect.md §5.7.
package struct RefreshRules: Sendable {
    /// `onMutationExecuted`: applies if the named mutation committed and its condition, if any, holds.
    package struct Trigger: Sendable {
        /// The position among the query's triggers, from 0, in source order.
        package let index: Int
        /// A mutation of any connector; it may not exist, which is a compile-time warning.
        package let mutation: OperationReference
        package let condition: Program?
        package let conditionText: String?
    }

    /// The shortest interval of all `every` arguments, in milliseconds.
    package let everyMs: Int?
    package let triggers: [Trigger]
    /// SQL names of the tables that the query's root fields look up by primary key; implicit refreshes watch these.
    package let lookupTables: [String]

    /// Whether nothing ever refreshes the query.
    package var isEmpty: Bool { triggers.isEmpty && everyMs == nil && lookupTables.isEmpty }

    package static let none = RefreshRules(everyMs: nil, triggers: [], lookupTables: [])

    /// Returns the value of the variable `request`, slot 0 of a condition's activation.
    package static func requestValue(variables: JSONObject, auth: Auth?) -> Value {
        side(variables, Value(auth: auth))
    }

    /// Returns the value of slot 0 from the result of `AuthReads.project`, which is nil if no condition reads it.
    package static func requestValue(variables: JSONObject, projectedAuth: JSONValue?) -> Value {
        side(variables, projectedAuth.map(Value.init(json:)) ?? .null)
    }

    private static func side(_ variables: JSONObject, _ auth: Value) -> Value {
        .map(MapValue([("variables", Value(jsonObject: variables)), ("auth", auth)]))
    }

    /// Returns what the conditions read of `request.auth` or `mutation.auth`.
    package func authReads(of side: String, where isIncluded: (Trigger) -> Bool = { _ in true }) -> AuthReads {
        var reads = AuthReads.nothing
        for trigger in triggers where isIncluded(trigger) {
            for attribute in trigger.condition?.attributes ?? [] {
                if let path = ConditionActivation.authPath(attribute, of: side) { reads.add(path: path) }
            }
        }
        return reads
    }
}
