/// Carries the SDK's messages: WebSockets and single HTTP requests to one server.
///
/// Implementations decide nothing: they report what happens, in order, and each socket ends with one `closed`.
public protocol Transport: Sendable {
    /// Opens a WebSocket. The connection may be used at once; what is sent before it is open is lost.
    /// - Parameters:
    ///   - path: below the server's address, such as `/graphql`.
    ///   - subprotocol: the value of `Sec-WebSocket-Protocol`.
    func connect(
        path: String, subprotocol: String, onEvent: @escaping @Sendable (SocketEvent) -> Void
    ) -> any SocketConnection

    /// Sends a request and collects the response.
    func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportResponse

    /// Sends a request whose response stays open. With status 200, the parts of its body are handed over as they
    /// arrive, each after `onPart` has returned for the former one. Ends when the task is cancelled.
    ///
    /// A transport that leaves this out follows queries by long-polls where WebSockets are blocked.
    /// - Returns: the response at its end; with status 200 without a body.
    func stream(
        _ request: TransportRequest, onPart: @escaping @Sendable ([UInt8]) async -> Void
    ) async throws(TransportFailure) -> TransportResponse

    /// Releases connections. Later calls fail.
    func close() async
}

extension Transport {
    public func stream(
        _ request: TransportRequest, onPart: @escaping @Sendable ([UInt8]) async -> Void
    ) async throws(TransportFailure) -> TransportResponse {
        throw TransportFailure(.lost, "this transport has no streams")
    }
}

public protocol SocketConnection: Sendable {
    /// Sends a text message. May be called from any thread.
    func send(_ text: [UInt8])
    /// Closes the connection.
    func close(code: UInt16)
    /// The receiver is done with one event. A transport bounds what it reports beyond that, by not reading.
    func eventProcessed()
}

extension SocketConnection {
    public func eventProcessed() {}
}

/// How far a WebSocket came before it ended.
public enum SocketEnd: Sendable, Hashable {
    /// There was no connection to the server.
    case unreachable
    /// The handshake was answered with another status than 101.
    case refused(status: Int)
    /// The connection ended, before or after the WebSocket was open.
    case lost
}

public enum SocketEvent: Sendable {
    case opened
    case text([UInt8])
    /// - Parameters:
    ///   - code: the server's close code; nil if the connection was lost or never made.
    ///   - retryAfterMs: the `Retry-After` of a refused handshake.
    ///   - end: how far it came.
    case closed(code: UInt16?, reason: String, retryAfterMs: Int64?, end: SocketEnd = .lost)
}

public struct TransportRequest: Sendable {
    public let method: String
    /// Path and query, percent-encoded.
    public let path: String
    /// Names in lower case.
    public let headers: [(name: String, value: String)]
    public let body: [UInt8]
    /// The limit for the whole response, or for the head of one that stays open.
    public let timeoutMs: Int64

    public init(
        method: String, path: String, headers: [(name: String, value: String)], body: [UInt8] = [], timeoutMs: Int64
    ) {
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
        self.timeoutMs = timeoutMs
    }
}

public struct TransportResponse: Sendable {
    public let status: Int
    /// Names in lower case; of several values the first.
    public let headers: [String: String]
    public let body: [UInt8]

    public init(status: Int, headers: [String: String], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

extension TransportResponse {
    /// The value of the header `Retry-After` in seconds, at most a day.
    package static func retryAfterMs(_ value: String?) -> Int64? {
        value.flatMap { Int64($0) }.map { min(max($0, 0), 86_400) * 1_000 }
    }
}

/// A request without a response.
public struct TransportFailure: Error, Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// The server was not reached: nothing was sent.
        case notSent
        /// The connection broke; the server may have received the request.
        case lost
        case timeout
    }

    public let kind: Kind
    public let reason: String

    public init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }
}
