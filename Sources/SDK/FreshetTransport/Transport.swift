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

    /// Releases connections. Later calls fail.
    func close() async
}

public protocol SocketConnection: Sendable {
    /// Sends a text message. May be called from any thread.
    func send(_ text: [UInt8])
    /// Closes the connection.
    func close(code: UInt16)
}

public enum SocketEvent: Sendable {
    case opened
    case text([UInt8])
    /// - Parameters:
    ///   - code: the server's close code; nil if the connection was lost or never made.
    ///   - retryAfterMs: the `Retry-After` of a refused handshake.
    case closed(code: UInt16?, reason: String, retryAfterMs: Int64?)
}

public struct TransportRequest: Sendable {
    public let method: String
    /// Path and query, percent-encoded.
    public let path: String
    /// Names in lower case.
    public let headers: [(name: String, value: String)]
    public let body: [UInt8]
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
