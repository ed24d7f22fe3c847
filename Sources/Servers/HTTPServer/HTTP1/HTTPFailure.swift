import NIOCore
import NIOHTTP1

/// A response of the server itself, to a request that never reaches the application.
struct HTTPFailure: Error, Equatable {
    var status: HTTPResponseStatus
    var message: String
    var headers: HTTPHeaders = [:]

    /// Whether the peer may still be sending the request, so that input is dropped until it reads the response.
    var mayInterruptPeer: Bool { self != .overloaded && self != .requestTimeout }

    static func badRequest(_ message: String) -> HTTPFailure { HTTPFailure(status: .badRequest, message: message) }
    static let requestTimeout = HTTPFailure(status: .requestTimeout, message: "the request took too long to arrive")
    static let targetTooLong = HTTPFailure(status: .uriTooLong, message: "the request target is too long")
    static let bodyTooLarge = HTTPFailure(status: .payloadTooLarge, message: "the request body is too large")
    static let headerTooLarge = HTTPFailure(
        status: .requestHeaderFieldsTooLarge, message: "the request header is too large")
    static let badExpectation = HTTPFailure(status: .expectationFailed, message: "Expect supports only 100-continue")
    static let transferCoding = HTTPFailure(
        status: .notImplemented, message: "the only supported transfer coding is chunked")
    static let upgradeRequired = HTTPFailure(
        status: .upgradeRequired, message: "only WebSocket version 13 is supported",
        headers: ["upgrade": "websocket", "sec-websocket-version": "13"])
    static let overloaded = HTTPFailure(
        status: .serviceUnavailable, message: "too many connections", headers: ["retry-after": "1"])
    static let bodiesFull = HTTPFailure(
        status: .serviceUnavailable, message: "the server's memory for request bodies is full",
        headers: ["retry-after": "1"])

    init(status: HTTPResponseStatus, message: String, headers: HTTPHeaders = [:]) {
        self.status = status
        self.message = message
        self.headers = headers
    }

    /// Creates the response to an error of NIO's parser.
    init(parser error: HTTPParserError, inTarget: Bool) {
        switch error {
        case .headerOverflow:
            self = inTarget ? .targetTooLong : .headerTooLarge
        case .invalidVersion:
            self.init(status: .httpVersionNotSupported, message: "only HTTP/1.0 and HTTP/1.1 are supported")
        default:
            self = .badRequest("not a valid HTTP request")
        }
    }

    /// A GraphQL error that also has `message` at the top level, where SQL Connect clients read it. Messages and codes
    /// are constants of this file, so nothing needs escaping.
    var body: ByteBuffer {
        let code = HTTPFailureCodes.byStatus[Int(status.code)] ?? "BAD_REQUEST"
        let later = headers.contains(name: "retry-after") ? #","retryAfterMs":1000"# : ""
        let error = #"{"message":"\#(message)","extensions":{"code":"\#(code)"\#(later)}}"#
        return ByteBuffer(string: #"{"message":"\#(message)","errors":[\#(error)]}"#)
    }
}

/// The `extensions.code` of each status; `docs/reference/errors.md` has the same table.
package enum HTTPFailureCodes {
    package static let byStatus: [Int: String] = [
        400: "BAD_REQUEST", 405: "METHOD_NOT_ALLOWED", 408: "BAD_REQUEST", 413: "PAYLOAD_TOO_LARGE",
        414: "PAYLOAD_TOO_LARGE", 417: "BAD_REQUEST", 426: "BAD_REQUEST", 431: "PAYLOAD_TOO_LARGE",
        501: "BAD_REQUEST", 503: "UNAVAILABLE", 505: "BAD_REQUEST",
    ]
}
