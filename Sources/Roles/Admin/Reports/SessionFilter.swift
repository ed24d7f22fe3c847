import Gateway
import LiveModel

/// Which sessions a report lists. Pure.
struct SessionFilter: Sendable, Hashable {
    var user: String?
    var protocolName: String?
    var operation: OperationReference?
    /// Text that the client's description contains, in any case.
    var client: String?

    init() {}

    /// - Throws: `.badRequest` for an operation that is malformed.
    init(_ arguments: AdminArguments) throws(RequestError) {
        user = arguments["user"]
        protocolName = arguments["protocol"]
        client = arguments["client"]
        operation = try arguments.operation()
    }

    /// Whether a session passes.
    /// - Parameter operations: the operations that it follows.
    func passes(_ report: SessionRegistry.Report, operations: [OperationReference]) -> Bool {
        if let user, report.user != user { return false }
        if let protocolName, report.protocolName != protocolName { return false }
        if let client, !report.client.lowercased().contains(client.lowercased()) { return false }
        if let operation, !operations.contains(operation) { return false }
        return true
    }
}
