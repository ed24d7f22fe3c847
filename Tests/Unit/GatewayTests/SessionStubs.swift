import Execution
import HTTPServer
import LiveModel
import NIOCore
import Sessions

@testable import Gateway

/// A connection that records what a session sends, and closes when the test tells it to.
final class StubConnection: SessionConnection {
    let eventLoop: any EventLoop
    let taskExecutor: LoopTaskExecutor
    var pendingBytes = 1_000
    var closes: [UInt16] = []
    var messages: [String] = []
    /// The operations whose results were sent, each with the number of messages before it.
    var results: [(id: String, messagesBefore: Int)] = []
    var onSend: () -> Void = {}

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        taskExecutor = LoopTaskExecutor(eventLoop)
    }

    func send(message: ByteBuffer) {
        messages.append(String(buffer: message))
        onSend()
    }
    func send(result: ByteBuffer) { send(message: result) }
    func send(_ shared: SharedResult, id: String, as format: ResultFormat) { results.append((id, messages.count)) }
    func send(prefix: [UInt8], shared: SharedBody) {}
    func gathered(_ body: () -> Void) { body() }
    func end(_ error: RequestError) {}
    func close(code: UInt16, reason: String) { closes.append(code) }
    func wake(_ session: ClientSession, atMs: Int64) {}
}

/// An executor that knows no operation.
final class StubExecutor: SessionRequestExecutor {
    let clock = ServiceClock { 0 }
    let quotas = QuotaGate()
    let invalidations = Invalidations()
    func resolve(
        _ request: OperationRequest, for identity: Identity, _ kinds: AllowedKinds
    ) throws(RequestError) -> ResolvedOperation { throw RequestError(.operationNotFound, "there is none") }
    func authenticate(_ credentials: Credentials) async throws(RequestError) -> Identity { .signedOut }
    func refusal(of identity: Identity) -> RequestError? { nil }
    func answer(_ resolved: ResolvedOperation, traceID: String) async throws(RequestError) -> OperationAnswer {
        throw RequestError(.internalError, "nothing is resolved")
    }
    func makeTraceID() -> String { "t" }
}
