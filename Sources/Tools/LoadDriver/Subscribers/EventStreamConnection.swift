import NIOCore
import NIOHTTP1
import ProtocolClients
import ServerSentEvents

/// A subscription over `text/event-stream`. Confined to its event loop, hence `@unchecked Sendable`.
final class EventStreamConnection: SubscriberConnection, @unchecked Sendable {
    private let address: ServerAddress
    private let eventLoop: any EventLoop
    private weak var subscriber: Subscriber?
    private var connection: HTTPConnection?
    private var parser = ServerSentEventParser()
    private var refusal: ResponseCollector?
    private var isOver = false

    init(_ subscriber: Subscriber, _ address: ServerAddress) {
        self.subscriber = subscriber
        self.address = address
        eventLoop = subscriber.shard.eventLoop
    }

    func open() {
        HTTPConnection.connect(address, on: eventLoop).whenComplete { result in
            switch result {
            case .success(let connection): self.connected(connection)
            case .failure(let error): self.subscriber?.failed(self, CodedFailure(error))
            }
        }
    }

    func close() {
        isOver = true
        connection?.close()
        connection = nil
    }

    private func connected(_ connection: HTTPConnection) {
        guard !isOver, let subscriber else { return connection.close() }
        self.connection = connection
        var request = PlainRequest.query(subscriber.target)
        request.headers.add(name: "accept", value: "text/event-stream")
        if let tag = subscriber.resumeTag { request.headers.add(name: "last-event-id", value: tag) }
        connection.send(
            request, timeoutMs: nil,
            exchange: .init(onHead: { self.head($0) }, onBody: { self.body($0) }, onEnd: { self.ended($0) }))
    }

    private func head(_ head: HTTPResponseHead) {
        guard !isOver else { return }
        if head.status == .ok, head.headers.first(name: "content-type")?.hasPrefix("text/event-stream") == true {
            subscriber?.opened(self)
        } else {
            refusal = ResponseCollector()
            refusal?.head(head)
        }
    }

    private func body(_ part: ByteBuffer) {
        guard !isOver, let subscriber else { return }
        if let refusal { return refusal.body(part) }
        for event in parser.feed(part.readableBytesView) {
            guard !isOver else { return }
            switch event.name {
            case "next":
                if let id = event.id { subscriber.resumeTag = id }
                event.data.withUnsafeBytes { subscriber.delivered(self, $0) }
            case "error":
                let failure = CodedFailure(status: 500, body: event.data)
                subscriber.noted(self, failure ?? CodedFailure(code: "UNCODED", message: ""))
            case "complete": subscriber.ended(self)
            default: break
            }
        }
        if parser.isTooLarge {
            subscriber.failed(self, CodedFailure(code: "PROTOCOL_VIOLATION", message: "the event is too large"))
        }
    }

    private func ended(_ error: ClientError?) {
        guard !isOver else { return }
        if let refusal {
            let failure: CodedFailure
            switch refusal.result(error) {
            case .success(let response):
                failure =
                    CodedFailure(response)
                    ?? CodedFailure(code: "PROTOCOL_VIOLATION", message: "the response is not an event stream")
            case .failure(let reason): failure = reason
            }
            subscriber?.failed(self, failure)
        } else if let error {
            subscriber?.failed(self, CodedFailure(error))
        } else {
            subscriber?.ended(self)
        }
    }
}
