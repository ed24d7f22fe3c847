import GRPC
import Gateway
import LiveModel
import NIOCore
import Sessions

/// `EmulatorService`, served under `freshet dev`. Source: docs/reference/sql-connect.md §3 and §7.
extension PublicRouter {
    private static let service = "/google.firebase.dataconnect.emulator.EmulatorService/"

    /// - Returns: nil if there is no such method.
    func emulator(_ emulator: EmulatorInfo, _ head: GRPCCallHead) -> GRPCAcceptance? {
        switch head.path {
        case Self.service + "GetEmulatorInfo":
            .unary { [executor] _, call in
                call.respond(
                    StreamProtobuf.emulatorInfo(
                        version: emulator.version, service: executor.serviceIdentity.service,
                        connectionString: emulator.connectionString))
            }
        case Self.service + "StreamEmulatorIssues": streamIssues(head)
        default: nil
        }
    }

    /// Serves `StreamEmulatorIssues`, like `GET /emulator/stream_issues`: one message without issues, then nothing
    /// until the editor hangs up.
    private func streamIssues(_ head: GRPCCallHead) -> GRPCAcceptance {
        let permit: SessionPermit
        do throws(RequestError) {
            try admitSession(from: address(head))
            permit = try SessionPermit(connectionFrom: nil, sessions, executor.quotas)
        } catch {
            return .refuse(GRPCStatus(SQLConnectFailure(error)))
        }
        return .stream { [executor] call in
            let stream = IssueCall(call, permit)
            permit.register(
                stream, on: call.eventLoop, peer: head.remoteAddress, version: executor.projectVersion)
            return stream
        }
    }
}

/// A call by which an editor listens for issues of the project.
private final class IssueCall: GRPCStream, ManagedSession {
    private let call: GRPCCall
    private let permit: SessionPermit
    private var hasAnswered = false

    init(_ call: GRPCCall, _ permit: SessionPermit) {
        self.call = call
        self.permit = permit
    }

    /// Sends one response. The request names a service, of which there is one; a response without issues has no bytes.
    func received(_ message: ByteBuffer) {
        if !hasAnswered { call.send(prefix: [], shared: ByteBuffer()) }
        hasAnswered = true
    }

    /// Ignored: the response continues after the request.
    func inputEnded() {}
    func writabilityChanged(pendingBytes: Int) {}
    func closed() { permit.end() }

    var protocolName: String { "issues" }
    func goAway() { call.finish(GRPCStatus(code: RPCCode.unavailable.rawValue, message: "the node is shutting down")) }
    func recheckIdentity() {}
}
