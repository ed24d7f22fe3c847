import Catalog
import Execution
import Gateway
import Inspection
import JSON
import LiveModel
import Operations

/// Plans of operations on demand.
extension AdminServices {
    /// The time that a statement may take, planned or measured.
    private static let planMs = 5_000

    /// Explains the statement of a query for given variables and user.
    /// - Parameter isMeasured: whether it is run, too.
    func plan(_ arguments: AdminArguments, isMeasured: Bool) async throws -> JSONValue {
        let question = try WhyQuestion(arguments)
        guard case .operation(let connector, let name, let variables, let auth) = question.subject else {
            throw RequestError(.badRequest, "operation is required")
        }
        let parts = why.node.parts
        let nowMs = parts.clock.nowMs()
        let resolved = try parts.catalogs.snapshot.lookup.resolve(
            connector: connector, name: name, document: nil, variables: variables, auth: auth, nowMs: nowMs,
            kinds: .only(.query), isAdministrator: true)
        if let refusal = resolved.refusal(nowMs: nowMs) { throw refusal }
        let (report, sql) = try await parts.components.queries.plan(
            resolved.operation, variables: resolved.variables, auth: auth, isMeasured: isMeasured,
            limitMs: Self.planMs)
        var answer: JSONObject = [
            "node": .string(parts.id.name), "operation": .string(resolved.operation.reference.description),
        ]
        for member in report.json.entries { answer[member.key] = member.value }
        answer["sql"] = .string(sql)
        return .object(answer)
    }
}
