import FreshetClient
import NIOCore
import NIOHTTP1

/// `Prefer: wait=…` with `If-None-Match`, one poll after the other on a kept connection. Confined to its event loop,
/// hence `@unchecked Sendable`.
final class LongPollWire: SubscriberWire, @unchecked Sendable {
    static let waitSeconds = 25
    static let timeoutMs: Int64 = 45_000
    /// Pause after an answer without news that came at once, so that a server which does not wait is not hammered.
    static let emptyPauseMs: Int64 = 100

    private let address: ServerAddress
    private let eventLoop: any EventLoop
    private weak var subscriber: Subscriber?
    private var line: HTTPLine?
    private var isOver = false

    init(_ subscriber: Subscriber, _ address: ServerAddress) {
        self.subscriber = subscriber
        self.address = address
        eventLoop = subscriber.shard.eventLoop
    }

    func open() {
        HTTPLine.connect(address, on: eventLoop).whenComplete { result in
            switch result {
            case .success(let line):
                guard !self.isOver else { return line.close() }
                self.line = line
                // A resumed poll is answered only when there is news: the connection itself counts.
                self.subscriber?.opened(self)
                self.poll()
            case .failure(let error): self.subscriber?.failed(self, CodedFailure(error))
            }
        }
    }

    func close() {
        isOver = true
        line?.close()
        line = nil
    }

    private func poll() {
        guard !isOver, let subscriber, let line else { return }
        guard line.isReusable else {
            // Between two polls the server may close; that loses nothing.
            self.line = nil
            return open()
        }
        var request = PlainRequest.query(subscriber.target)
        request.headers.add(name: "prefer", value: "wait=\(Self.waitSeconds)")
        if let tag = subscriber.resumeTag { request.headers.add(name: "if-none-match", value: tag) }
        let collector = ResponseCollector()
        let sentNs = Clock.nowNs()
        line.send(
            request, timeoutMs: Self.timeoutMs,
            exchange: .init(
                onHead: { collector.head($0) },
                onBody: { collector.body($0) },
                onEnd: { self.answered(collector.result($0), afterMs: (Clock.nowNs() - sentNs) / 1_000_000) }))
    }

    private func answered(_ result: Result<PlainResponse, CodedFailure>, afterMs: Int64) {
        guard !isOver, let subscriber else { return }
        switch result {
        case .failure(let failure): return subscriber.failed(self, failure)
        case .success(let response) where response.status == 304:
            again(atOnce: afterMs >= Self.emptyPauseMs)
        case .success(let response):
            if let failure = CodedFailure(response) {
                return subscriber.failed(self, failure)
            }
            let tag = response.headers.first(name: "etag")
            let isNews = tag == nil || tag != subscriber.resumeTag
            subscriber.resumeTag = tag
            response.body.withUnsafeBytes { subscriber.delivered(self, $0) }
            again(atOnce: (tag != nil && isNews) || afterMs >= Self.emptyPauseMs)
        }
    }

    private func again(atOnce: Bool) {
        // Not inside the callback of the exchange that has just ended.
        if atOnce {
            eventLoop.execute { self.poll() }
        } else {
            eventLoop.scheduleTask(in: .milliseconds(Self.emptyPauseMs)) { self.poll() }
        }
    }
}
