import JSON
package import LiveModel
package import Operations

/// One execution of a mutation whose fields must run one after the other: values read what earlier fields gave, and checks
/// decide whether the next one runs. Source: docs/reference/sql-connect.md §5.1, `@check`, `response`.
///
/// A value that decides and does no I/O: the caller runs each step and hands back what it gave.
package struct MutationRun {
    /// All steps in one transaction, all or nothing.
    package let isTransaction: Bool
    /// Fields that take part, in order.
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

    /// The statement of a field, from what the fields before gave.
    /// - Throws: `.invalidVariable` when one of its values cannot be computed.
    package func step(_ index: Int) throws(RequestError) -> MutationStep {
        guard let step = try plans[index].step(invocation) else {
            throw RequestError(.internalError, "the field does not take part")
        }
        return step
    }

    /// The request of a field that a custom resolver answers; nil for a field that is a statement.
    package func remoteCall(_ index: Int) -> RemoteCall? {
        guard case .remote(let field) = plans[index].body else { return nil }
        return RemoteCall(field, invocation.variables)
    }

    /// Takes what a field gave, and judges it.
    /// - Returns: what of it may be shown, nil for null; nothing at all when the field is redacted.
    /// - Throws: `.permissionDenied` with the message and path of a check that does not hold; nothing after it may run.
    package mutating func accept(_ index: Int, _ json: [UInt8]?) throws(RequestError) -> Shown {
        let key = responseKeys[index]
        let value = json.flatMap { try? JSONParser.parse($0) } ?? .null
        invocation.response[key] = value
        guard let node = policy?.children.first(where: { $0.responseKey == key }) else { return .value(json) }
        if let failure = node.failure(in: [value], path: [key], invocation) { throw failure }
        if node.isRedacted { return .nothing }
        return .value(json.map { JSONRedaction.strip($0, node.redactions) })
    }

    /// Whether `@redact` keeps a field out of the data, also when it fails.
    package func isRedacted(_ responseKey: String) -> Bool {
        policy?.children.first { $0.responseKey == responseKey }?.isRedacted ?? false
    }

    package enum Shown: Sendable {
        case value([UInt8]?)
        case nothing
    }

    /// The checks of the operation as a whole, when all fields are done.
    /// - Throws: `.permissionDenied`; nothing of the mutation may be kept.
    package func finish() throws(RequestError) {
        guard let policy, !policy.checks.isEmpty else { return }
        guard let whole = ResponsePolicy(root: FieldPolicy(checks: policy.checks), children: []) else { return }
        if let failure = whole.failure(in: [.object(invocation.response)], path: [], invocation) { throw failure }
    }
}
