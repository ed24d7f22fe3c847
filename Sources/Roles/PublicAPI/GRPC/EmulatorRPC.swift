import GRPC
import Gateway
import LiveModel
import NIOCore
import Sessions

/// `EmulatorService`, under `freshet dev`. Source: docs/reference/sql-connect.md §3 and §7.
extension PublicRouter {
    private static let service = "/google.firebase.dataconnect.emulator.EmulatorService/"

    /// - Returns: nil where there is no such method.
    func emulator(_ emulator: EmulatorInfo, _ head: GRPCCallHead) -> GRPCAcceptance? {
        switch head.path {
        case Self.service + "GetEmulatorInfo":
            .unary { [services] _, call in
                call.respond(
                    StreamProtobuf.emulatorInfo(
                        version: emulator.version, service: services.serviceIdentity.service,
                        connectionString: emulator.connectionString))
            }
        case Self.service + "StreamEmulatorIssues": streamIssues(head)
        default: nil
        }
    }

    /// As `GET /emulator/stream_issues`: one message that names none, and then nothing for as long as the editor listens.
    private func streamIssues(_ head: GRPCCallHead) -> GRPCAcceptance {
        do throws(RequestError) {
            try admitSession()
        } catch {
            return .refuse(GRPCStatus(SQLConnectFailure(error)))
        }
        return .stream { [self] call in
            let id = sessions.makeID()
            let stream = IssueCall(call) { [sessions] in sessions.remove(id) }
            sessions.insert(
                stream, id: id, eventLoop: call.eventLoop, peer: head.remoteAddress, version: services.projectVersion)
            return stream
        }
    }
}

/// An editor that listens for issues of the project.
private final class IssueCall: GRPCStream, ManagedSession {
    private let call: GRPCCall
    private let onClosed: () -> Void
    private var hasAnswered = false

    init(_ call: GRPCCall, onClosed: @escaping () -> Void) {
        self.call = call
        self.onClosed = onClosed
    }

    /// `StreamEmulatorIssuesRequest` names a service; there is one. `EmulatorIssuesResponse` without issues has no bytes.
    func received(_ message: ByteBuffer) {
        if !hasAnswered { call.send(prefix: [], shared: ByteBuffer()) }
        hasAnswered = true
    }

    /// The request is complete; the answer goes on.
    func inputEnded() {}
    func writabilityChanged(pendingBytes: Int) {}
    func closed() { onClosed() }

    var protocolName: String { "issues" }
    func goAway() { call.finish(GRPCStatus(code: RPCCode.unavailable.rawValue, message: "the node is leaving")) }
    func recheckIdentity() {}
}
