import DequeModule
import FreshetClient
import NIOCore

/// Kept connections to one address, for mutations and one-shot reads.
///
/// Confined to its event loop, hence `@unchecked Sendable`; `call` may be used from anywhere.
final class HTTPPool: @unchecked Sendable {
    static let connectionsMax = 256
    /// Requests waiting for a connection; further ones fail with `DRIVER_OVERLOAD`.
    static let waitingMax = 65_536

    typealias Completion = (Result<PlainResponse, CodedFailure>) -> Void

    let eventLoop: any EventLoop
    let address: ServerAddress
    /// For one answer, waiting for a connection included.
    let timeoutMs: Int64
    private var idle: [HTTPLine] = []
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

    /// On the event loop; `completion` is called once, there.
    func send(_ request: PlainRequest, _ completion: @escaping Completion) {
        while let line = idle.popLast() {
            if line.isReusable { return perform(request, timeoutMs: timeoutMs, completion, on: line) }
        }
        guard waiting.count < Self.waitingMax, !isClosed else {
            return completion(
                .failure(CodedFailure(code: "DRIVER_OVERLOAD", message: "too many requests wait for a connection")))
        }
        let deadlineNs = Clock.nowNs() + timeoutMs * 1_000_000
        waiting.append(Waiting(request: request, deadlineNs: deadlineNs, completion: completion))
        connectIfNeeded()
    }

    /// On the event loop.
    func close() {
        isClosed = true
        for line in idle { line.close() }
        idle = []
        while let waiting = waiting.popFirst() {
            waiting.completion(.failure(CodedFailure(code: "CONNECTION_LOST", message: "the run is over")))
        }
    }

    private func connectIfNeeded() {
        guard !isClosed, connections < Self.connectionsMax, connecting < waiting.count else { return }
        connections += 1
        connecting += 1
        HTTPLine.connect(address, on: eventLoop).whenComplete { result in
            self.connecting -= 1
            switch result {
            case .success(let line):
                line.watchIdle {
                    self.connections -= 1
                    self.connectIfNeeded()
                }
                self.free(line)
            case .failure(let error):
                self.connections -= 1
                // Each attempt was made for one request.
                self.waiting.popFirst()?.completion(.failure(CodedFailure(error)))
            }
        }
    }

    private func free(_ line: HTTPLine) {
        guard line.isReusable, !isClosed else {
            line.close()
            connectIfNeeded()
            return
        }
        while let next = waiting.popFirst() {
            let leftMs = (next.deadlineNs - Clock.nowNs()) / 1_000_000
            if leftMs > 0 { return perform(next.request, timeoutMs: leftMs, next.completion, on: line) }
            next.completion(
                .failure(CodedFailure(code: CodedFailure.timeout, message: "no free connection within \(timeoutMs) ms"))
            )
        }
        idle.append(line)
    }

    private func perform(
        _ request: PlainRequest, timeoutMs: Int64, _ completion: @escaping Completion, on line: HTTPLine
    ) {
        let collector = ResponseCollector()
        line.send(
            request, timeoutMs: timeoutMs,
            exchange: .init(
                onHead: { collector.head($0) },
                onBody: { collector.body($0) },
                onEnd: { error in
                    completion(collector.result(error))
                    self.free(line)
                }))
    }
}
