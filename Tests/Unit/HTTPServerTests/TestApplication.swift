import Dispatch
import HTTPServer
import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// The application of the tests' server; each path shows one way to use the API.
final class TestApplication: HTTPHandler {
    /// Events in order; tests wait for them with `event()`.
    let events = EventLog()
    /// The answer that a test ends.
    let held = Mutex<HTTPExchange?>(nil)
    /// A body that many sessions get.
    let shared = SharedBody(ByteBuffer(string: (0..<300).map { "{\"id\":\($0),\"name\":\"shared\"}" }.joined()))
    private let other = DispatchQueue(label: "other thread")

    func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
        switch request.path {
        case "/echo":
            let query = request.queryItems.map { "\($0.name)=\($0.value)" }.joined(separator: ",")
            let text = "\(request.method) \(request.path) [\(query)] \(String(buffer: request.body))"
            exchange.respond(.ok, headers: ["content-type": "text/plain"], body: ByteBuffer(string: text))
        case "/later":
            let text = request.query("text") ?? ""
            other.async { exchange.respond(.ok, body: ByteBuffer(string: text)) }
        case "/stream":
            exchange.startStream(.ok, headers: ["content-type": "text/event-stream"])
            other.async {
                for number in 1...3 { exchange.write(ByteBuffer(string: "data: \(number)\n\n")) }
                exchange.end()
            }
        case "/result":
            let bytes = Int(request.query("bytes") ?? "") ?? 5_000
            exchange.respond(
                .ok, headers: ["etag": "\"1\"", "vary": "Origin"],
                body: ByteBuffer(repeating: UInt8(ascii: "r"), count: bytes), as: .result)
        case "/patch":
            exchange.respond(
                .imUsed, headers: ["im": "json-patch", "etag": "\"2\""],
                body: ByteBuffer(repeating: UInt8(ascii: "p"), count: 5_000),
                as: .patch(acceptsGzip: request.header("a-im")?.contains("gzip") == true))
        case "/poll":
            // As the answers to polls: encoded once.
            let file = exchange.gzip(shared)
            let body = file ?? shared.bytes
            let head = "Content-Length: \(body.readableBytes)\r\n\r\n"
            var text = ByteBuffer(string: (file == nil ? "" : "Content-Encoding: gzip\r\n") + head)
            text.writeImmutableBuffer(body)
            exchange.respond("X-Own", "1", shared: text, plainBytes: file == nil ? nil : shared.bytes.readableBytes)
        case "/results":
            exchange.startStream(.ok, headers: ["content-type": "text/event-stream"], as: .result)
            exchange.write(ByteBuffer(string: ":\n\n"))
            exchange.write(prefix: Array("data: ".utf8), shared: shared)
            exchange.write(shared: SharedBody(ByteBuffer(string: "\n\n")))
            other.async {
                exchange.write(shared: self.shared)
                exchange.end()
            }
        case "/open":
            // A stream until its client goes away or the test says so.
            exchange.startStream(.ok)
            exchange.write(ByteBuffer(string: "begun"))
            held.withLock { $0 = exchange }
            events.add("open")
        case "/ticks":
            // A stream of three keep-alives.
            exchange.startStream(.ok)
            let left = AtomicBox(3)
            exchange.keepAlive(everyMs: 20) {
                exchange.write(ByteBuffer(string: "tick "))
                if left.value.wrappingSubtract(1, ordering: .relaxed).newValue == 0 { exchange.end() }
            }
        case "/hold":
            let events = events
            exchange.onClose { events.add("gone, closed \(exchange.isClosed)") }
            events.add("holding")
        case "/wait":
            // As a long-poll: an answer that is due when its client says no more.
            exchange.wait(60_000, Waiter(exchange))
            events.add("waiting")
        case "/big":
            let bytes = Int(request.query("bytes") ?? "") ?? 0
            exchange.respond(.ok, body: ByteBuffer(repeating: UInt8(ascii: "b"), count: bytes))
        case "/drip":
            // The next piece follows when the one before has gone out whole.
            let left = AtomicBox(5)
            exchange.startStream(.ok)
            let piece = ByteBuffer(repeating: UInt8(ascii: "d"), count: 1_000_000)
            exchange.onDrained {
                if left.value.wrappingSubtract(1, ordering: .relaxed).newValue > 0 {
                    exchange.write(piece)
                } else {
                    exchange.end()
                }
            }
            exchange.write(piece)
            events.add(exchange.pendingBytes > 0 ? "held back" : "not held back")
        case "/kept":
            let tag = request.header("if-none-match") ?? "no tag"
            if exchange.mayAttach {
                exchange.attach(Kept(request, exchange, events), tag: Kept.tag(0), forMs: Kept.ms(request))
            }
            exchange.respond(.ok, body: ByteBuffer(string: "first \(tag)"))
        case "/not-modified":
            exchange.respond(.notModified, headers: ["etag": "\"1\""], body: ByteBuffer(string: "must not be sent"))
        default:
            exchange.respond(.notFound, body: ByteBuffer(string: request.path))
        }
    }

    func failureHeaders(origin: String?) -> HTTPHeaders { ["x-origin": origin ?? "unknown"] }

    /// The rates of the address that WebSockets name in the header `x-address`.
    let rates = Mutex<AddressRates?>(nil)

    func webSocket(_ request: HTTPRequest) -> WebSocketDecision {
        let (events, shared) = (events, shared)
        let rates = rates.withLock { $0 }
        switch request.path {
        case "/ws-counted":
            let address = request.header("x-address") ?? ""
            return .accept(subprotocol: nil) {
                $0.count(for: rates?.rate(of: address, on: $0.eventLoop))
                return EchoSocket($0, events, shared)
            }
        case "/ws-woken":
            return .accept(subprotocol: nil) {
                $0.wake(atMs: 0)
                return EchoSocket($0, events, shared)
            }
        case "/ws":
            return .accept(subprotocol: nil) { EchoSocket($0, events, shared) }
        case "/ws-protocol":
            return .accept(subprotocol: "graphql-transport-ws", extraHeaders: ["x-extra": "1"]) {
                EchoSocket($0, events)
            }
        case "/ws-greeting":
            return .accept(subprotocol: nil) {
                $0.send(text: ByteBuffer(string: "hello"))
                return EchoSocket($0, events)
            }
        default:
            return .reject(.forbidden, body: ByteBuffer(string: "no"))
        }
    }
}

/// Answers when its client half-closes.
private final class Waiter: ResponseWaiter {
    private let exchange: HTTPExchange

    init(_ exchange: HTTPExchange) { self.exchange = exchange }

    func deadlineReached() {}
    func inputEnded() { exchange.respond(.ok, body: ByteBuffer(string: "waited")) }
    func connectionLost() {}
}

/// Counts the requests that it handles; leaves the one after `limit` to the application.
private final class Kept: ConnectionAttachment {
    private let limit: Int
    private let ms: Int64
    private let events: EventLog
    /// Held as by attachments that answer requests.
    private var exchange: HTTPExchange
    private let tellsEnd: Bool
    private var count = 0

    init(_ request: HTTPRequest, _ exchange: HTTPExchange, _ events: EventLog) {
        self.exchange = exchange
        tellsEnd = request.query("tell") != nil
        limit = Int(request.query("limit") ?? "") ?? .max
        ms = Self.ms(request)
        self.events = events
    }

    static func tag(_ number: Int) -> [UInt8] { Array("\"\(number)\"".utf8) }

    static func ms(_ request: HTTPRequest) -> Int64 { Int64(request.query("ms") ?? "") ?? 60_000 }

    func continues(_ exchange: HTTPExchange) -> Bool {
        guard count < limit else { return false }
        self.exchange = exchange
        count += 1
        exchange.attach(self, tag: Self.tag(count), forMs: ms)
        exchange.respond(.ok, body: ByteBuffer(string: "kept \(count)"))
        return true
    }

    func detached() { events.add("detached after \(count)") }

    deinit { if tellsEnd { events.add("freed") } }
}

final class AtomicBox: Sendable {
    let value: Atomic<Int>
    init(_ value: Int) { self.value = Atomic(value) }
}

/// Echoes, and obeys a few words.
final class EchoSocket: WebSocketHandler {
    let connection: WebSocketConnection
    let events: EventLog
    let shared: SharedBody?
    /// The connection that a test resumes.
    static let paused = Mutex<WebSocketConnection?>(nil)

    init(_ connection: WebSocketConnection, _ events: EventLog, _ shared: SharedBody? = nil) {
        self.connection = connection
        self.events = events
        self.shared = shared
    }

    func deadlineReached(nowMs: Int64) { connection.send(text: ByteBuffer(string: "woken")) }

    func received(text: ByteBuffer) {
        switch String(buffer: text) {
        case "pause":
            connection.isReadingPaused = true
            connection.send(text: ByteBuffer(string: "paused"))
            Self.paused.withLock { $0 = connection }
        case "cross":
            guard let other = Self.paused.withLock({ $0 }) else { return }
            connection.gathered {
                connection.send(prefix: [0x61], shared: ByteBuffer(string: "1"))
                other.send(prefix: [0x62], shared: ByteBuffer(string: "1"))
                other.gathered {
                    other.send(prefix: [0x62], shared: ByteBuffer(string: "2"))
                    connection.send(prefix: [0x61], shared: ByteBuffer(string: "2"))
                    other.send(prefix: [0x62], shared: ByteBuffer(string: "3"))
                }
                connection.send(prefix: [0x61], shared: ByteBuffer(repeating: 0x33, count: 40_000))
                connection.send(prefix: [0x61], shared: ByteBuffer(string: "4"))
            }
        case "shared": if let shared { connection.send(prefix: Array("own ".utf8), shared: shared) }
        case "frame":
            if let shared, let frame = connection.compressedFrame(prefix: [0x66], shared: shared) {
                connection.send(frame)
            }
        case "close": connection.close(code: 4001, reason: "requested")
        case "flood": SlowClientFlood.send(on: connection, events)
        case let text where text.utf8.count > 1_000: connection.send(result: ByteBuffer(string: text))
        default: connection.send(text: text)
        }
    }

    func received(binary: ByteBuffer) { connection.send(binary: binary) }

    func closed(code: UInt16?) { events.add("closed \(code.map(String.init) ?? "nil")") }

    func writabilityChanged(pendingBytes: Int) {
        if pendingBytes == 0 { events.add("drained") }
    }
}

/// Events from any thread, taken by the test in order.
final class EventLog: Sendable {
    private let events = Mutex<[String]>([])
    private let available = DispatchSemaphore(value: 0)

    func add(_ event: String) {
        events.withLock { $0.append(event) }
        available.signal()
    }

    /// The next event; "timeout" when none comes within 5 s.
    func next() -> String {
        guard available.wait(timeout: .now() + .seconds(5)) == .success else { return "timeout" }
        return events.withLock { $0.removeFirst() }
    }
}

/// Starts a server on a free port for the duration of `body`.
func withServer(
    _ configure: (inout HTTPServerConfiguration) -> Void = { _ in }, http2: HTTP2Setup? = nil, tls: TLSHandlers? = nil,
    addressRates: AddressRates? = nil, addresses: AddressSubjects? = nil, graceMs: Int64 = 0,
    _ body: (Int, TestApplication, HTTPServer) throws -> Void
) async throws {
    var configuration = HTTPServerConfiguration()
    // Limits that are soon reached, and no rate of frames, which the tests that need one set.
    configuration.headerBytesMax = 16 * 1024
    configuration.bodyBytesMax = 1024 * 1024
    configuration.webSocketFrameBytesMax = 256 * 1024
    configuration.webSocketFramesPerSecond = 0
    configure(&configuration)
    let application = TestApplication()
    let server = HTTPServer(
        configuration: configuration, handler: application,
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, http2: http2, tls: tls,
        addressRates: addressRates, addresses: addresses)
    let port = try await server.start()
    let result = Result { try body(port, application, server) }
    await server.shutdown(graceMs: graceMs)
    try result.get()
}
