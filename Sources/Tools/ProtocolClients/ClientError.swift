package import LiveModel

/// An error of the client.
package struct ClientError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// The address or the TLS configuration is invalid.
        case invalidAddress
        /// No server responds at the address.
        case cannotConnect
        /// The server closed the connection with this WebSocket code.
        case closed(UInt16?)
        /// The server refused the request; `description` has its message.
        case refused
        /// The server violated the protocol.
        case protocolViolation
        case timeout
    }

    package let code: Code
    package let description: String
    /// The time after which the server wants a retry.
    package let retryAfterMs: Int64?

    package init(_ code: Code, _ description: String, retryAfterMs: Int64? = nil) {
        self.code = code
        self.description = description
        self.retryAfterMs = retryAfterMs
    }
}
