package import GRPC
package import HTTPServer
package import LiveModel
package import NIOCore
package import Sessions

/// A call of `ConnectorStreamService.Connect` as the connection of a session.
package final class GRPCSessionConnection: SessionConnection {
    private let call: GRPCCall
    private var timer = SessionTimer()

    package init(_ call: GRPCCall) {
        self.call = call
    }

    package var eventLoop: any EventLoop { call.eventLoop }
    package var taskExecutor: LoopTaskExecutor { call.taskExecutor }
    package var pendingBytes: Int { call.pendingBytes }

    package func send(message: ByteBuffer) {
        call.send(prefix: [], shared: message)
    }

    package func send(result: ByteBuffer) { send(message: result) }

    package func send(_ shared: SharedResult, id: String, as format: ResultFormat) {
        let (prefix, rest) = shared.parts(id: id, as: format)
        call.send(prefix: prefix, shared: rest)
    }

    package func send(prefix: [UInt8], shared: SharedBody) {
        call.send(prefix: prefix, shared: shared.bytes)
    }

    package func gathered(_ body: () -> Void) {
        call.gathered(body)
    }

    /// Ends the call with the status that corresponds to a close code.
    package func close(code: UInt16, reason: String) {
        let status: RPCCode =
            switch code {
            case 1000: .ok
            case 1001: .unavailable
            case 1007: .invalidArgument
            case 1008, 1013: .resourceExhausted
            default: .internalError
            }
        call.finish(GRPCStatus(code: status.rawValue, message: reason))
    }

    package func wake(_ session: ClientSession, atMs: Int64) { timer.wake(session, atMs: atMs, on: eventLoop) }

    package func end(_ error: RequestError) {
        let failure = SQLConnectFailure(error)
        call.finish(GRPCStatus(code: failure.code.rawValue, message: failure.message))
    }
}

/// Passes the messages and events of a call to its session.
package final class GRPCSession: GRPCStream {
    package let session: ClientSession

    package init(_ session: ClientSession) {
        self.session = session
    }

    package func received(_ message: ByteBuffer) { session.received(binary: message) }
    package func inputEnded() { session.inputEnded() }
    package func writabilityChanged(pendingBytes: Int) { session.writabilityChanged(pendingBytes: pendingBytes) }
    package func closed() { session.closed(code: nil) }
}
