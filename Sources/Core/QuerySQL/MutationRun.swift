import JSON
package import LiveModel
package import Operations

/// The execution of a mutation whose fields must run one after the other, because values read earlier results and
/// checks decide whether to continue. Source: docs/reference/sql-connect.md §5.1, `@check`, `response`.
///
/// A pure state machine: the caller runs each step and passes its result back.
package struct MutationRun {
    /// Whether all steps run in one transaction.
    package let isTransaction: Bool
    /// The included fields, in order.
    package let responseKeys: [String]
    private let plans: [MutationPlan]
    private let policy: ResponsePolicy?
    private var invocation: Invocation

    package init(plans: [MutationPlan], policy: ResponsePolicy?, isTransaction: Bool, invocation: Invocation) {
        self.plans = plans.filter {
            $0.inclusion.isAlways || invocation.variables.satisfies($0.inclusion)
        }
        self.policy = policy
        self.isTransaction = isTransaction
        self.invocation = invocation
        responseKeys = self.plans.map(\.responseKey)
    }

    /// Returns the statement of a field, computed from earlier results.
    /// - Throws: `.invalidVariable` if one of its values cannot be computed.
    package func step(_ index: Int) throws(RequestError) -> MutationStep {
        guard let step = try plans[index].step(invocation) else {
            throw RequestError(.internalError, "the field is not included")
        }
        return step
    }

    /// Returns the request for a field of a custom resolver; nil for a field with a statement.
    package func remoteCall(_ index: Int) -> RemoteCall? {
        guard case .remote(let field) = plans[index].body else { return nil }
        return RemoteCall(field, invocation.variables)
    }

    /// Records the result of a field and checks it.
    /// - Returns: what to return to the client; nil for null, nothing if the field is redacted.
    /// - Throws: `.permissionDenied` with the message and path of a failed check, `.databaseError` for a value that
    ///   cannot be read; no later field may run then.
    package mutating func accept(_ index: Int, _ json: [UInt8]?) throws(RequestError) -> Visible {
        let key = responseKeys[index]
        let value = try json.map { json throws(RequestError) in try CheckedValue.parse(json) } ?? .null
        invocation.response[key] = value
        guard let node = policy?.children.first(where: { $0.responseKey == key }) else { return .value(json) }
        if let failure = node.failure(in: [value], path: [key], invocation) { throw failure }
        if node.isRedacted { return .nothing }
        return .value(json.map { JSONRedaction.strip($0, node.redactions) })
    }

    /// Returns whether `@redact` excludes a field from the data, even if it fails.
    package func isRedacted(_ responseKey: String) -> Bool {
        policy?.children.first { $0.responseKey == responseKey }?.isRedacted ?? false
    }

    package enum Visible: Sendable {
        case value([UInt8]?)
        case nothing
    }

    /// Evaluates the checks of the operation as a whole, after all fields.
    /// - Throws: `.permissionDenied`; the mutation must be rolled back then.
    package func finish() throws(RequestError) {
        guard let policy, !policy.checks.isEmpty else { return }
        guard let whole = ResponsePolicy(root: FieldPolicy(checks: policy.checks), children: []) else { return }
        if let failure = whole.failure(in: [.object(invocation.response)], path: [], invocation) { throw failure }
    }
}
