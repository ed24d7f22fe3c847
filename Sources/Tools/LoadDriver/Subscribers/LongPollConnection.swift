import NIOCore
import NIOHTTP1
import ProtocolClients

/// A subscription by long-polls (`Prefer: wait=…` with `If-None-Match`), one after the other on a kept-alive
/// connection. Confined to its event loop, hence `@unchecked Sendable`.
final class LongPollConnection: SubscriberConnection, @unchecked Sendable {
    static let waitSeconds = 25
    static let timeoutMs: Int64 = 45_000
    /// The pause after an immediate response without a new result, so that a server that does not wait is not flooded.
    static let emptyPauseMs: Int64 = 100

    private let address: ServerAddress
    private let eventLoop: any EventLoop
    private weak var subscriber: Subscriber?
    private var connection: HTTPConnection?
    private var isOver = false

    init(_ subscriber: Subscriber, _ address: ServerAddress) {
        self.subscriber = subscriber
        self.address = address
        eventLoop = subscriber.shard.eventLoop
    }

    func open() {
        HTTPConnection.connect(address, on: eventLoop).whenComplete { result in
            switch result {
            case .success(let connection):
                guard !self.isOver else { return connection.close() }
                self.connection = connection
                // A resumed poll is answered only once there is a new result, so the connection itself counts.
                self.subscriber?.opened(self)
                self.poll()
            case .failure(let error): self.subscriber?.failed(self, CodedFailure(error))
            }
        }
    }

    func close() {
        isOver = true
        connection?.close()
        connection = nil
    }

    private func poll() {
        guard !isOver, let subscriber, let connection else { return }
        guard connection.isReusable else {
            // The server may close the connection between two polls; that loses nothing.
            self.connection = nil
            return open()
        }
        var request = PlainRequest.query(subscriber.target)
        request.headers.add(name: "prefer", value: "wait=\(Self.waitSeconds)")
        if let tag = subscriber.resumeTag { request.headers.add(name: "if-none-match", value: tag) }
        let collector = ResponseCollector()
        let sentNs = DeliveryClock.nowNs()
        connection.send(
            request, timeoutMs: Self.timeoutMs,
            exchange: .init(
                onHead: { collector.head($0) },
                onBody: { collector.body($0) },
                onEnd: { self.answered(collector.result($0), afterMs: (DeliveryClock.nowNs() - sentNs) / 1_000_000) }))
    }

    private func answered(_ result: Result<PlainResponse, CodedFailure>, afterMs: Int64) {
        guard !isOver, let subscriber else { return }
        switch result {
        case .failure(let failure): return subscriber.failed(self, failure)
        case .success(let response) where response.status == 304:
            pollAgain(atOnce: afterMs >= Self.emptyPauseMs)
        case .success(let response):
            if let failure = CodedFailure(response) {
                return subscriber.failed(self, failure)
            }
            let tag = response.headers.first(name: "etag")
            let isNew = tag == nil || tag != subscriber.resumeTag
            subscriber.resumeTag = tag
            response.body.withUnsafeBytes { subscriber.delivered(self, $0) }
            pollAgain(atOnce: (tag != nil && isNew) || afterMs >= Self.emptyPauseMs)
        }
    }

    private func pollAgain(atOnce: Bool) {
        // Not inside the callback of the exchange that has just ended.
        if atOnce {
            eventLoop.execute { self.poll() }
        } else {
            eventLoop.scheduleTask(in: .milliseconds(Self.emptyPauseMs)) { self.poll() }
        }
    }
}
