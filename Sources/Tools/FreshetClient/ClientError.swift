package import LiveModel

/// Why a call of the client failed.
package struct ClientError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// The address cannot be used.
        case invalidAddress
        /// Nobody answers there.
        case cannotConnect
        /// The server closed the connection with this WebSocket code.
        case closed(UInt16?)
        /// The server refused the request; its own words are in `description`.
        case refused
        /// The server answered something else than the protocol says.
        case protocolViolation
        case timeout
    }

    package let code: Code
    package let description: String
    /// When the server wants to be asked again.
    package let retryAfterMs: Int64?

    package init(_ code: Code, _ description: String, retryAfterMs: Int64? = nil) {
        self.code = code
        self.description = description
        self.retryAfterMs = retryAfterMs
    }
}
