package import CEL
package import JSON
package import LiveModel

/// What refreshes a query. Source: docs/reference/sql-connect.md §5.7.
package struct RefreshRules: Sendable {
    /// `onMutationExecuted`: the named mutation committed and the condition, if any, holds.
    package struct Trigger: Sendable {
        /// Position among the triggers of the query, from 0, as written.
        package let index: Int
        /// In the query's own connector; may name a mutation that does not exist (a warning at compile time).
        package let mutation: OperationReference
        package let condition: Program?
        package let conditionText: String?
    }

    /// The shortest interval of all `every`, in milliseconds.
    package let everyMs: Int?
    package let triggers: [Trigger]
    /// SQL names of the tables looked up by primary key at the top of the query: what implicit refreshes are about.
    package let lookupTables: [String]

    /// True when nothing ever refreshes the query.
    package var isEmpty: Bool { triggers.isEmpty && everyMs == nil && lookupTables.isEmpty }

    package static let none = RefreshRules(everyMs: nil, triggers: [], lookupTables: [])

    /// Slot 0.
    package static func requestValue(variables: JSONObject, auth: Auth?) -> Value {
        side(variables, Value(auth: auth))
    }

    /// Slot 0, from what `AuthReads.project` left: nil when no condition reads it.
    package static func requestValue(variables: JSONObject, projectedAuth: JSONValue?) -> Value {
        side(variables, projectedAuth.map(Value.init(json:)) ?? .null)
    }

    private static func side(_ variables: JSONObject, _ auth: Value) -> Value {
        .map(MapValue([("variables", Value(jsonObject: variables)), ("auth", auth)]))
    }

    /// What the conditions read of one side's auth.
    package func authReads(of side: String, where isIncluded: (Trigger) -> Bool = { _ in true }) -> AuthReads {
        var reads = AuthReads.nothing
        for trigger in triggers where isIncluded(trigger) {
            for attribute in trigger.condition?.attributes ?? [] where attribute.root == side {
                switch attribute.fields.first {
                case "auth": reads.add(path: attribute.fields.dropFirst())
                case nil: reads.add(path: [String]())
                default: break
                }
            }
        }
        return reads
    }
}
