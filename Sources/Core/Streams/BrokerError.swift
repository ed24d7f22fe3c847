/// Why a broker call failed. The description carries the code and the server's error word, never payloads or keys.
package struct BrokerError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// A bound was reached (commands or bytes waiting); nothing was sent. Try again later.
        case overloaded
        /// The broker could not be reached before the deadline; nothing was executed, or only what is safe to repeat.
        case unavailable
        /// The command was sent and the connection failed before the answer: it may or may not have been executed.
        case outcomeUnknown
        /// `close()` was called.
        case closed
        /// The waiting task was cancelled.
        case cancelled
        /// Two calls of `next` on one reader at a time.
        case concurrentRead
        /// Redis has no memory left for writes (`-OOM`); not executed.
        case outOfMemory
        /// The server refused the command (wrong type, no permission, …); `detail` is its error word; not executed.
        case rejected
        /// Settings that cannot work: an unreadable address, TLS, a namespace with braces, a server that is too old.
        case misconfigured
        /// The server answered something this client does not understand.
        case protocolViolation
    }

    package let code: Code
    /// What an operator needs beyond the code: the server's error word or the reason of the last failed connection.
    package let detail: String

    package init(_ code: Code, _ detail: String = "") {
        self.code = code
        self.detail = detail
    }

    package var description: String {
        detail.isEmpty ? "broker: \(code.rawValue)" : "broker: \(code.rawValue) (\(detail))"
    }

    /// Whether the same call can succeed later without anybody changing settings.
    package var isTransient: Bool {
        switch code {
        case .overloaded, .unavailable, .outcomeUnknown, .outOfMemory: true
        case .closed, .cancelled, .concurrentRead, .rejected, .misconfigured, .protocolViolation: false
        }
    }
}
