internal import DequeModule
internal import FreshetClient
internal import NIOCore

/// Kept connections to one address, for mutations and one-shot reads.
///
/// Confined to its event loop, hence `@unchecked Sendable`; `call` may be used from anywhere.
final class HTTPPool: @unchecked Sendable {
    static let connectionsMax = 256
    /// Requests waiting for a connection; further ones fail with `DRIVER_OVERLOAD`.
    static let waitingMax = 65_536
    static let timeoutMs: Int64 = 30_000

    typealias Completion = (Result<PlainResponse, CodedFailure>) -> Void

    let eventLoop: any EventLoop
    let address: ServerAddress
    private var idle: [HTTPLine] = []
    private var connections = 0
    private var connecting = 0
    private var waiting: Deque<(PlainRequest, Completion)> = []
    private var isClosed = false

    init(_ address: ServerAddress, on eventLoop: any EventLoop) {
        self.address = address
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
            if line.isReusable { return perform(request, completion, on: line) }
        }
        guard waiting.count < Self.waitingMax, !isClosed else {
            return completion(
                .failure(CodedFailure(code: "DRIVER_OVERLOAD", message: "too many requests wait for a connection")))
        }
        waiting.append((request, completion))
        connectIfNeeded()
    }

    /// On the event loop.
    func close() {
        isClosed = true
        for line in idle { line.close() }
        idle = []
        while let (_, completion) = waiting.popFirst() {
            completion(.failure(CodedFailure(code: "CONNECTION_LOST", message: "the run is over")))
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
                if let (_, completion) = self.waiting.popFirst() { completion(.failure(CodedFailure(error))) }
            }
        }
    }

    private func free(_ line: HTTPLine) {
        guard line.isReusable, !isClosed else {
            line.close()
            connectIfNeeded()
            return
        }
        if let (request, completion) = waiting.popFirst() {
            perform(request, completion, on: line)
        } else {
            idle.append(line)
        }
    }

    private func perform(_ request: PlainRequest, _ completion: @escaping Completion, on line: HTTPLine) {
        let collector = ResponseCollector()
        line.send(
            request, timeoutMs: Self.timeoutMs,
            exchange: .init(
                onHead: { collector.head($0) },
                onBody: { collector.body($0) },
                onEnd: { error in
                    completion(collector.result(error))
                    self.free(line)
                }))
    }
}
