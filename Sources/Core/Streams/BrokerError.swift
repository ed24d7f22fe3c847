/// Why a broker call failed. The description holds the code and the server's error word, never payloads or keys.
package struct BrokerError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// A limit on waiting commands or bytes was reached. Nothing was sent; try again later.
        case overloaded
        /// The broker could not be reached before the deadline. Nothing was executed, or only what is safe to repeat.
        case unavailable
        /// The connection failed after the command was sent: it may or may not have been executed.
        case outcomeUnknown
        /// `close()` was called.
        case closed
        /// The waiting task was cancelled.
        case cancelled
        /// `next` was called while another `next` of the same reader was waiting.
        case concurrentRead
        /// Redis has no memory left for writes (`-OOM`). Not executed.
        case outOfMemory
        /// The server rejected the command (wrong type, no permission, …). Not executed; `detail` is its error word.
        case rejected
        /// The settings cannot work: a malformed address, TLS, a namespace with braces, a server that is too old.
        case misconfigured
        /// The server sent a reply that this client does not understand.
        case protocolViolation
    }

    package let code: Code
    /// The server's error word, or why the last connection failed, for operators.
    package let detail: String

    package init(_ code: Code, _ detail: String = "") {
        self.code = code
        self.detail = detail
    }

    package var description: String {
        let phrase =
            switch code {
            case .overloaded: "too many commands wait for Redis"
            case .unavailable: "Redis is unavailable"
            case .outcomeUnknown: "Redis: connection lost, the command may have run"
            case .closed: "the connection to Redis is closed"
            case .cancelled: "Redis: the call was cancelled"
            case .concurrentRead: "Redis: another call reads with the same reader"
            case .outOfMemory: "Redis has no memory left for writes"
            case .rejected: "Redis refused the command"
            case .misconfigured: "Redis cannot be used as configured"
            case .protocolViolation: "Redis: protocol error"
            }
        return detail.isEmpty ? phrase : "\(phrase) (\(detail))"
    }

    /// Whether the same call can succeed later without a change of settings.
    package var isTransient: Bool {
        switch code {
        case .overloaded, .unavailable, .outcomeUnknown, .outOfMemory: true
        case .closed, .cancelled, .concurrentRead, .rejected, .misconfigured, .protocolViolation: false
        }
    }
}
