package import JSON
import NIOCore
import NIOHTTP1
import ProtocolClients

/// A request to the plain resources: `/v1/connectors/C/queries/OP` and `/v1/connectors/C/mutations/OP`.
struct PlainRequest: Sendable {
    var method: HTTPMethod
    var path: String
    var headers: HTTPHeaders
    var body: [UInt8] = []

    /// Makes a one-shot read; further headers make it a long-poll or an event stream.
    static func query(_ target: LiveQueryTarget) -> PlainRequest {
        PlainRequest(method: .GET, path: target.path, headers: authorization(target.token))
    }

    static func mutation(
        connector: String, operation: String, variables: JSONValue, token: String?, idempotencyKey: String? = nil
    ) -> PlainRequest {
        var headers = authorization(token)
        if let idempotencyKey { headers.add(name: "idempotency-key", value: idempotencyKey) }
        headers.add(name: "content-type", value: "application/json")
        let path = "/v1/connectors/\(PercentEncoding.encode(connector))/mutations/\(PercentEncoding.encode(operation))"
        return PlainRequest(
            method: .POST, path: path, headers: headers, body: JSONWriter.compact(["variables": variables]))
    }

    private static func authorization(_ token: String?) -> HTTPHeaders {
        token.map { ["authorization": "Bearer \($0)"] } ?? [:]
    }
}

struct PlainResponse: Sendable {
    /// The largest response; a larger one fails the call.
    static let bodyBytesMax = 16 << 20

    var status: Int
    var headers: HTTPHeaders
    var body: [UInt8]
}

/// A subscription of the scenario: a query with variables and a user. Subscribers with equal targets must end with the
/// same result.
package struct LiveQueryTarget: Sendable, Hashable {
    package let connector: String
    package let operation: String
    package let variables: JSONObject
    package let token: String?

    package init(connector: String, operation: String, variables: JSONObject, token: String? = nil) {
        self.connector = connector
        self.operation = operation
        self.variables = variables
        self.token = token
    }

    /// The path and query of the plain resource.
    package var path: String {
        let text = String(decoding: JSONWriter.compact(.object(variables)), as: UTF8.self)
        return "/v1/connectors/\(PercentEncoding.encode(connector))/queries/\(PercentEncoding.encode(operation))"
            + "?variables=\(PercentEncoding.encode(text))"
    }
}

/// Percent-encoding of all but the unreserved characters (RFC 3986 section 2.1).
enum PercentEncoding {
    static func encode(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 2)
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: bytes.append(byte)
            default:
                bytes.append(UInt8(ascii: "%"))
                bytes.append(hexDigit(byte >> 4))
                bytes.append(hexDigit(byte & 0xF))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func hexDigit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? 0x30 + nibble : 0x41 + nibble - 10
    }
}

/// A failure with the code under which it is counted.
struct CodedFailure: Error, Sendable, Hashable {
    static let timeout = "TIMEOUT_CLIENT"

    var code: String
    var message: String
    /// The time after which the server wants a retry.
    var retryAfterMs: Int64?

    init(code: String, message: String, retryAfterMs: Int64? = nil) {
        self.code = code
        self.message = message
        self.retryAfterMs = retryAfterMs
    }

    init(_ error: any Error) {
        guard let error = error as? ClientError else {
            self.init(code: "CLIENT", message: "\(error)")
            return
        }
        let code =
            switch error.code {
            case .invalidAddress: "INVALID_ADDRESS"
            case .cannotConnect: "CANNOT_CONNECT"
            case .closed(let number?): "CLOSED_\(number)"
            case .closed(nil): "CONNECTION_LOST"
            case .refused: "REFUSED"
            case .protocolViolation: "PROTOCOL_VIOLATION"
            case .timeout: Self.timeout
            }
        self.init(code: code, message: error.description, retryAfterMs: error.retryAfterMs)
    }

    /// Whether the same mutation may be sent again with its idempotency key: it has no answer, or the server asks for
    /// it.
    var invitesRetry: Bool {
        switch code {
        case "CANNOT_CONNECT", "CONNECTION_LOST", "REFUSED", "PROTOCOL_VIOLATION", Self.timeout, "UNAVAILABLE",
            "TIMEOUT", "OUTCOME_UNKNOWN", "LIMIT_EXCEEDED", "IDEMPOTENCY_KEY_IN_USE":
            true
        default: code.hasPrefix("CLOSED_") || code.hasPrefix("HTTP_5")
        }
    }

    /// Creates the failure of a response; nil if it has no `errors` and its status is a success.
    init?(status: Int, body: [UInt8]) {
        let answer = try? JSONParser.parse(body)
        if let first = answer?["errors"]?[0] {
            self.init(first)
        } else if status >= 400 {
            self.init(code: "HTTP_\(status)", message: "")
        } else {
            return nil
        }
    }

    init?(_ response: PlainResponse) {
        self.init(status: response.status, body: response.body)
        retryAfterMs = ReconnectDelay.retryAfterMs(response.headers.first(name: "retry-after")) ?? retryAfterMs
    }

    /// Creates a failure from a member of a GraphQL response's `errors`.
    init(_ error: JSONValue) {
        self.init(
            code: error["extensions"]?["code"]?.stringValue ?? "UNCODED",
            message: error["message"]?.stringValue ?? "")
    }
}
