import JSON
package import LiveModel

/// The rules for turning an operation's results into what clients receive: checks, redactions and entity ids.
package struct ResultForm: Sendable {
    /// Nil if nothing is checked or redacted.
    package let policy: ResponsePolicy?
    let order: RootFieldOrder
    let entities: EntityTree
    private var rows = RowsTree()
    private var sitesWithRows = 0

    init(
        policy: ResponsePolicy?, order: RootFieldOrder = RootFieldOrder([]), entities: EntityTree = EntityTree()
    ) {
        self.policy = policy
        self.order = order
        self.entities = entities
    }

    /// Returns the form of results that also tell the rows read at these sites.
    /// - Parameter fields: those that carry what the sites need.
    package func carrying(_ fields: [RootField], _ sites: [ReadSite]) -> ResultForm {
        var form = self
        (form.rows, form.sitesWithRows) = (RowsTree(fields, sites), sites.count)
        return form
    }

    package var tellsRows: Bool { sitesWithRows > 0 }
    package var hasPolicy: Bool { policy != nil }
    package var hasEntityIDs: Bool { !entities.isEmpty }

    /// Applies checks and redactions to a query's result and extracts its entity ids. Redacted members are removed, and
    /// fields withheld by a failed `@check` become null (see `RootFieldOrder`).
    /// - Parameters:
    ///   - text: the database's result.
    ///   - request: called only if there is a policy.
    /// - Throws: `.permissionDenied` with the message of a failed check that withholds the whole result.
    package func finish(_ text: [UInt8], _ request: () -> Invocation) throws(RequestError) -> FinishedResult {
        guard tellsRows else { return try finishSeparated(text, request) }
        let (body, read) = rows.separate(text, count: sitesWithRows)
        var finished = try finishSeparated(body, request)
        finished.rowsRead = read
        return finished
    }

    private func finishSeparated(_ text: [UInt8], _ request: () -> Invocation) throws(RequestError) -> FinishedResult {
        var parts = entities.separate(text)
        guard let policy else {
            return FinishedResult(OperationAnswer(body: parts.body, entities: parts.entities), isReduced: false)
        }
        let result = try CheckedValue.parse(parts.body)
        var invocation = request()
        invocation.response = result.objectValue ?? JSONObject()
        var redactions = policy.redactions
        var errors: [RequestError] = []
        if let failure = policy.failure(in: [result], path: [], invocation) {
            guard let withheld = order.withheld(by: failure, invocation.variables) else { throw failure }
            redactions.nulled = Set(withheld.map(\.responseKey))
            errors = withheld.map(\.error)
        }
        // Entity ids of removed members are removed with them.
        let kept = JSONRedaction.strip(text, redactions)
        let isReduced = !errors.isEmpty || kept != text
        if isReduced { parts = entities.separate(kept) }
        return FinishedResult(
            OperationAnswer(body: parts.body, errors: errors, entities: parts.entities), isReduced: isReduced)
    }
}

/// A query's result as clients receive it.
package struct FinishedResult: Sendable {
    package let answer: OperationAnswer
    /// Whether something was removed or withheld, so that the database's digest does not apply to this result.
    package let isReduced: Bool
    /// The rows read at each site that tells them, in order; nil without such sites.
    package internal(set) var rowsRead: [RowsRead]?

    init(_ answer: OperationAnswer, isReduced: Bool) {
        self.answer = answer
        self.isReduced = isReduced
    }
}
