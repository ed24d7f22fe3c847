package import CEL
package import LiveModel

/// The rules that refresh one live query: those of its operation, compiled, with its variables and claims.
package struct QueryRules: Sendable {
    /// `@refresh(onMutationExecuted:)`, in source order.
    package var triggers: [Trigger]
    /// The rows that the query looks up by primary key (the implicit rule).
    package var lookupKeys: [EntityKey]
    /// The shortest `@refresh(every:)`; nil without one.
    package var everyMs: Int64?
    /// Nil if changes of rows do not refresh the query by themselves.
    package var automatic: AutomaticRules?
    /// CEL's `request`: `{variables, auth}`.
    package var request: Value
    /// The servers that a run waits for beside Postgres: those of custom resolvers, the embedding server.
    package var otherServers: [String]

    package init(
        triggers: [Trigger], lookupKeys: [EntityKey], everyMs: Int64?, automatic: AutomaticRules? = nil, request: Value,
        otherServers: [String] = []
    ) {
        self.triggers = triggers
        self.lookupKeys = lookupKeys
        self.everyMs = everyMs
        self.automatic = automatic
        self.request = request
        self.otherServers = otherServers
    }
}

/// The identity of a rule, or of a site, of a query: stored operation, its version, and a number.
package struct RuleID: Hashable, Sendable, Comparable {
    package let operation: OperationReference
    package let version: Digest
    package let number: Int

    package init(operation: OperationReference, version: Digest, number: Int) {
        self.operation = operation
        self.version = version
        self.number = number
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.operation, left.version.prefix, left.number) < (right.operation, right.version.prefix, right.number)
    }
}

/// An `onMutationExecuted` rule of a query operation.
package struct Trigger: Sendable {
    package typealias ID = RuleID

    package var id: ID
    package var mutation: OperationReference
    /// Compiled in `Trigger.environment`; nil matches every execution.
    package var condition: Program?

    package init(id: ID, mutation: OperationReference, condition: Program?) {
        self.id = id
        self.mutation = mutation
        self.condition = condition
    }
}

extension RequestError {
    /// The refusal of a live query whose version this node does not, or no longer, serve.
    package static let versionNotServed = RequestError(
        .unavailable, "this node does not serve the operation's version")
}
