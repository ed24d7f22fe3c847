public import FreshetTransport

#if canImport(FoundationNetworking)
    import Foundation
    public import FoundationNetworking
#else
    public import Foundation
#endif

/// Sockets and requests over `URLSession`, which follows the system's proxies and reachability: the transport of links
/// on Apple's systems. On Linux, links use `NIOTransport`; there this has no event streams, and is for tests.
public final class URLSessionTransport: Transport {
    private let endpoint: ServerEndpoint
    private let session: URLSession

    /// A configuration for links: neither results nor cookies are kept on disk, and each live query may hold a
    /// connection, where WebSockets are blocked and there is no HTTP/2.
    public static var configuration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.default
        configuration.httpMaximumConnectionsPerHost = 128
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        return configuration
    }

    public convenience init(
        _ endpoint: ServerEndpoint, configuration: URLSessionConfiguration = URLSessionTransport.configuration
    ) {
        self.init(endpoint, session: URLSession(configuration: configuration))
    }

    /// - Parameter session: its delegate may decide about certificates. `close` invalidates it.
    public init(_ endpoint: ServerEndpoint, session: URLSession) {
        self.endpoint = endpoint
        self.session = session
    }

    public func connect(
        path: String, subprotocol: String, onEvent: @escaping @Sendable (SocketEvent) -> Void
    ) -> any SocketConnection {
        let scheme = endpoint.isSecure ? "wss" : "ws"
        guard let url = URL(string: "\(scheme)://\(endpoint.authority)\(path)") else {
            onEvent(.closed(code: nil, reason: "no address", retryAfterMs: nil, end: .unreachable))
            return NoSocket()
        }
        let task = session.webSocketTask(with: url, protocols: [subprotocol])
        task.maximumMessageSize = 64 << 20
        let socket = URLSessionSocket(task)
        task.resume()
        // Reading begins when the socket is open; a failure is its first result.
        task.sendPing { error in if error == nil { onEvent(.opened) } }
        Task { await socket.read(onEvent) }
        return socket
    }

    public func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportResponse {
        let message = try self.message(request, timeoutMs: request.timeoutMs)
        do {
            let (body, response) = try await session.data(for: message)
            return try Self.response(response, Array(body))
        } catch {
            throw Self.failure(error)
        }
    }

    #if canImport(Darwin)
        public func stream(
            _ request: TransportRequest, onPart: @escaping @Sendable ([UInt8]) async -> Void
        ) async throws(TransportFailure) -> TransportResponse {
            let message = try self.message(request, timeoutMs: max(request.timeoutMs, Self.silenceMsMax))
            do {
                let (bytes, response) = try await session.bytes(for: message)
                var part: [UInt8] = []
                guard (response as? HTTPURLResponse)?.statusCode == 200 else {
                    for try await byte in bytes where part.count < Self.partBytesMax { part.append(byte) }
                    return try Self.response(response, part)
                }
                for try await byte in bytes {
                    part.append(byte)
                    guard byte == UInt8(ascii: "\n") || part.count == Self.partBytesMax else { continue }
                    await onPart(part)
                    part = []
                }
                return try Self.response(response, [])
            } catch {
                throw Self.failure(error)
            }
        }

        /// The time without data after which the session ends a stream. The SDK gives it up sooner.
        private static let silenceMsMax: Int64 = 120_000
        /// The bytes that are reported at once, unless a line ends before.
        private static let partBytesMax = 16 << 10
    #endif

    private func message(
        _ request: TransportRequest, timeoutMs: Int64
    ) throws(TransportFailure) -> URLRequest {
        guard let url = URL(string: endpoint.description + request.path) else {
            throw TransportFailure(.notSent, "no address")
        }
        var message = URLRequest(url: url, timeoutInterval: Double(timeoutMs) / 1_000)
        message.httpMethod = request.method
        for header in request.headers { message.setValue(header.value, forHTTPHeaderField: header.name) }
        if !request.body.isEmpty { message.httpBody = Foundation.Data(request.body) }
        return message
    }

    private static func response(
        _ response: URLResponse, _ body: [UInt8]
    ) throws(TransportFailure) -> TransportResponse {
        guard let response = response as? HTTPURLResponse else { throw TransportFailure(.lost, "no HTTP response") }
        let headers = response.allHeaderFields.map { ("\($0)".lowercased(), "\($1)") }
        return TransportResponse(
            status: response.statusCode, headers: Dictionary(headers, uniquingKeysWith: { first, _ in first }),
            body: body)
    }

    private static func failure(_ error: any Error) -> TransportFailure {
        if let failure = error as? TransportFailure { return failure }
        switch (error as? URLError)?.code {
        case .timedOut?: return TransportFailure(.timeout, error.localizedDescription)
        case .cannotConnectToHost?, .cannotFindHost?, .notConnectedToInternet?, .dnsLookupFailed?:
            return TransportFailure(.notSent, error.localizedDescription)
        default: return TransportFailure(.lost, error.localizedDescription)
        }
    }

    deinit { session.invalidateAndCancel() }

    public func close() async { session.invalidateAndCancel() }
}

private struct NoSocket: SocketConnection {
    func send(_ text: [UInt8]) {}
    func close(code: UInt16) {}
}

private final class URLSessionSocket: SocketConnection {
    /// The messages that are reported and not processed; no more are read meanwhile.
    private static let unprocessedMax = 256

    private struct Unprocessed {
        var count = 0
        /// Waits for room.
        var reader: CheckedContinuation<Void, Never>?
    }

    private let task: URLSessionWebSocketTask
    private let unprocessed = Locked(Unprocessed())

    init(_ task: URLSessionWebSocketTask) { self.task = task }

    func eventProcessed() {
        let reader = unprocessed.withLock { state -> CheckedContinuation<Void, Never>? in
            state.count = max(0, state.count - 1)
            return state.count < Self.unprocessedMax ? state.reader.take() : nil
        }
        reader?.resume()
    }

    private func room() async {
        await withCheckedContinuation { continuation in
            let hasRoom = unprocessed.withLock { state in
                state.count += 1
                if state.count < Self.unprocessedMax { return true }
                state.reader = continuation
                return false
            }
            if hasRoom { continuation.resume() }
        }
    }

    func send(_ text: [UInt8]) {
        task.send(.string(String(decoding: text, as: UTF8.self))) { _ in }
    }

    func close(code: UInt16) {
        // What is still to be processed does not count any more.
        let reader = unprocessed.withLock { state in
            state.count = 0
            return state.reader.take()
        }
        reader?.resume()
        task.cancel(with: URLSessionWebSocketTask.CloseCode(rawValue: Int(code)) ?? .normalClosure, reason: nil)
    }

    func read(_ onEvent: @Sendable (SocketEvent) -> Void) async {
        while true {
            do {
                switch try await task.receive() {
                case .string(let text):
                    onEvent(.text(Array(text.utf8)))
                    await room()
                default: break
                }
            } catch {
                let code = task.closeCode == .invalid ? nil : UInt16(clamping: task.closeCode.rawValue)
                let reason = task.closeReason.map { String(decoding: $0, as: UTF8.self) } ?? "\(error)"
                let head = task.response as? HTTPURLResponse
                let retryAfterMs = TransportResponse.retryAfterMs(head?.value(forHTTPHeaderField: "Retry-After"))
                onEvent(.closed(code: code, reason: reason, retryAfterMs: retryAfterMs, end: end(error)))
                return
            }
        }
    }

    /// A device without a network must not look like a network without WebSockets.
    private func end(_ error: any Error) -> SocketEnd {
        switch (error as? URLError)?.code {
        case .cannotConnectToHost?, .cannotFindHost?, .dnsLookupFailed?, .notConnectedToInternet?, .timedOut?,
            .dataNotAllowed?, .internationalRoamingOff?, .secureConnectionFailed?:
            return .unreachable
        default:
            guard let response = task.response as? HTTPURLResponse, response.statusCode != 101 else { return .lost }
            return .refused(status: response.statusCode)
        }
    }
}
