import DequeModule
import NIOCore
import ProtocolClients

/// A pool of kept-alive connections to one address, for mutations and one-shot reads.
///
/// Confined to its event loop, hence `@unchecked Sendable`; `call` may be used from anywhere.
final class HTTPPool: @unchecked Sendable {
    static let connectionsMax = 256
    /// The limit on requests waiting for a connection; further ones fail with `DRIVER_OVERLOAD`.
    static let waitingMax = 65_536

    typealias Completion = (Result<PlainResponse, CodedFailure>) -> Void

    let eventLoop: any EventLoop
    let address: ServerAddress
    /// The time limit for one response, including the wait for a connection.
    let timeoutMs: Int64
    private var idle: [HTTPConnection] = []
    private var connections = 0
    private var connecting = 0
    private var waiting: Deque<Waiting> = []
    private var isClosed = false

    private struct Waiting {
        let request: PlainRequest
        let deadlineNs: Int64
        let completion: Completion
    }

    init(_ address: ServerAddress, timeoutMs: Int64, on eventLoop: any EventLoop) {
        self.address = address
        self.timeoutMs = timeoutMs
        self.eventLoop = eventLoop
    }

    func call(_ request: PlainRequest) async -> Result<PlainResponse, CodedFailure> {
        await withCheckedContinuation { continuation in
            eventLoop.execute { self.send(request) { continuation.resume(returning: $0) } }
        }
    }

    /// Sends a request. Call on the event loop; `completion` is called once, there.
    func send(_ request: PlainRequest, _ completion: @escaping Completion) {
        while let connection = idle.popLast() {
            if connection.isReusable { return perform(request, timeoutMs: timeoutMs, completion, on: connection) }
        }
        guard waiting.count < Self.waitingMax, !isClosed else {
            return completion(
                .failure(
                    CodedFailure(code: "DRIVER_OVERLOAD", message: "too many requests are waiting for a connection")))
        }
        let deadlineNs = DeliveryClock.nowNs() + timeoutMs * 1_000_000
        waiting.append(Waiting(request: request, deadlineNs: deadlineNs, completion: completion))
        connectIfNeeded()
    }

    /// Closes the pool. Call on the event loop.
    func close() {
        isClosed = true
        for connection in idle { connection.close() }
        idle = []
        while let waiting = waiting.popFirst() {
            waiting.completion(.failure(CodedFailure(code: "CONNECTION_LOST", message: "the run is over")))
        }
    }

    private func connectIfNeeded() {
        guard !isClosed, connections < Self.connectionsMax, connecting < waiting.count else { return }
        connections += 1
        connecting += 1
        HTTPConnection.connect(address, on: eventLoop).whenComplete { result in
            self.connecting -= 1
            switch result {
            case .success(let connection):
                connection.watchIdle {
                    self.connections -= 1
                    self.connectIfNeeded()
                }
                self.release(connection)
            case .failure(let error):
                self.connections -= 1
                // Each attempt belongs to one request.
                self.waiting.popFirst()?.completion(.failure(CodedFailure(error)))
            }
        }
    }

    private func release(_ connection: HTTPConnection) {
        guard connection.isReusable, !isClosed else {
            connection.close()
            connectIfNeeded()
            return
        }
        while let next = waiting.popFirst() {
            let leftMs = (next.deadlineNs - DeliveryClock.nowNs()) / 1_000_000
            if leftMs > 0 { return perform(next.request, timeoutMs: leftMs, next.completion, on: connection) }
            next.completion(
                .failure(CodedFailure(code: CodedFailure.timeout, message: "no free connection within \(timeoutMs) ms"))
            )
        }
        idle.append(connection)
    }

    private func perform(
        _ request: PlainRequest, timeoutMs: Int64, _ completion: @escaping Completion, on connection: HTTPConnection
    ) {
        let collector = ResponseCollector()
        connection.send(
            request, timeoutMs: timeoutMs,
            exchange: .init(
                onHead: { collector.head($0) },
                onBody: { collector.body($0) },
                onEnd: { error in
                    completion(collector.result(error))
                    self.release(connection)
                }))
    }
}
