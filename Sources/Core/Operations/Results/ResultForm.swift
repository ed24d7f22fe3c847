import JSON
package import LiveModel

/// What of an operation's results clients may see, and where ids of entities stand in them.
package struct ResultForm: Sendable {
    /// Nil where all is shown.
    package let policy: ResponsePolicy?
    let order: RootFieldOrder
    let entities: EntityTree

    init(
        policy: ResponsePolicy?, order: RootFieldOrder = RootFieldOrder([]), entities: EntityTree = EntityTree()
    ) {
        self.policy = policy
        self.order = order
        self.entities = entities
    }

    package var hasPolicy: Bool { policy != nil }
    package var hasEntityIDs: Bool { !entities.isEmpty }

    /// What of a query's result may be shown: what is redacted is taken out, what a failed `@check` withholds is null
    /// (see `RootFieldOrder`), and the ids of entities stand apart.
    /// - Parameters:
    ///   - text: the result as the database made it.
    ///   - request: called only where there is a policy.
    /// - Throws: `.permissionDenied` with the message of a check that does not hold and leaves nothing to be shown.
    package func finish(_ text: [UInt8], _ request: () -> Invocation) throws(RequestError) -> FinishedResult {
        var parts = entities.separate(text)
        guard let policy else {
            return FinishedResult(OperationAnswer(body: parts.body, entities: parts.entities), isReduced: false)
        }
        guard let result = try? JSONParser.parse(parts.body) else {
            throw RequestError(.internalError, "the result is not JSON")
        }
        var invocation = request()
        invocation.response = result.objectValue ?? JSONObject()
        var redactions = policy.redactions
        var errors: [RequestError] = []
        if let failure = policy.failure(in: [result], path: [], invocation) {
            guard let withheld = order.withheld(by: failure, invocation.variables) else { throw failure }
            redactions.nulled = Set(withheld.map(\.responseKey))
            errors = withheld.map(\.error)
        }
        // Ids of what is taken out go with it.
        let kept = JSONRedaction.strip(text, redactions)
        let isReduced = !errors.isEmpty || kept != text
        if isReduced { parts = entities.separate(kept) }
        return FinishedResult(
            OperationAnswer(body: parts.body, errors: errors, entities: parts.entities), isReduced: isReduced)
    }
}

/// A query's result as clients get it.
package struct FinishedResult: Sendable {
    package let answer: OperationAnswer
    /// Something was taken out or withheld, so the database's digest is not that of this result.
    package let isReduced: Bool

    init(_ answer: OperationAnswer, isReduced: Bool) {
        self.answer = answer
        self.isReduced = isReduced
    }
}
