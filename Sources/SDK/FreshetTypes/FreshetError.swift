/// An error of the SDK. It has no data of users beyond what the server wrote into its messages.
public struct FreshetError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error. Codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String
        private init(_ name: String) { description = name }

        /// The address is not `http[s]://host[:port]`.
        public static let invalidAddress = Code("invalidAddress")
        /// No server responds, or the link was lost. Try again later.
        public static let offline = Code("offline")
        /// No answer in time. Try again later.
        public static let timeout = Code("timeout")
        /// The server refused the operation for good; `serverCode` says why.
        public static let refused = Code("refused")
        /// The server asks for patience; `retryAfterMs` says how long.
        public static let unavailable = Code("unavailable")
        /// The server, or the way to it, cannot do what was asked.
        public static let unsupported = Code("unsupported")
        /// The token is missing, expired or rejected, or the app's provider of tokens failed.
        public static let unauthenticated = Code("unauthenticated")
        /// `.cacheOnly`, and nothing is cached.
        public static let notCached = Code("notCached")
        /// The result does not fit the generated types.
        public static let unreadable = Code("unreadable")
        /// The user has changed; begin again for the new one.
        public static let userChanged = Code("userChanged")
        /// The connector was closed.
        public static let closed = Code("closed")
        /// Too many mutations wait for the link.
        public static let queueFull = Code("queueFull")
        /// The mutation may or may not have been applied, and it is too late to ask with its key.
        public static let outcomeUnknown = Code("outcomeUnknown")
        /// The cache's or queue's file cannot be used.
        public static let storage = Code("storage")
    }

    public let code: Code
    public let message: String
    /// The server's `extensions.code` (docs/reference/errors.md).
    public let serverCode: String?
    /// The errors of the response.
    public let errors: [ResponseError]
    /// The data beside the errors, if any: a partial result.
    public let partialData: AnyValue?
    /// The server's wish, in milliseconds.
    public let retryAfterMs: Int64?

    public init(
        _ code: Code, _ message: String, serverCode: String? = nil, errors: [ResponseError] = [],
        partialData: AnyValue? = nil, retryAfterMs: Int64? = nil
    ) {
        self.code = code
        self.message = message
        self.serverCode = serverCode
        self.errors = errors
        self.partialData = partialData
        self.retryAfterMs = retryAfterMs
    }

    public var description: String { "\(serverCode ?? code.description): \(message)" }
}

/// One error of a response.
public struct ResponseError: Error, Sendable, Hashable {
    public let message: String
    /// Response keys and indices from the root of the data.
    public let path: [AnyValue]
    /// `extensions.code`.
    public let code: String?
    /// `extensions` as a whole.
    public let extensions: AnyValue

    public init(message: String, path: [AnyValue] = [], code: String? = nil, extensions: AnyValue = .null) {
        self.message = message
        self.path = path
        self.code = code
        self.extensions = extensions
    }

    package init(_ value: AnyValue) {
        let extensions = value["extensions"] ?? .null
        self.init(
            message: value["message"]?.stringValue ?? "no message", path: value["path"]?.arrayValue ?? [],
            code: extensions["code"]?.stringValue, extensions: extensions)
    }
}

extension FreshetError {
    /// Codes of the server after which the same request may succeed (docs/reference/errors.md).
    private static let retryableCodes: Set<String> = ["TIMEOUT", "LIMIT_EXCEEDED", "UNAVAILABLE"]

    /// The meaning of a response's errors.
    package init(_ errors: [ResponseError], partialData: AnyValue? = nil, retryAfterMs: Int64? = nil) {
        let first = errors.first
        let code: Code =
            switch first?.code {
            case "UNAUTHENTICATED": .unauthenticated
            case let code? where Self.retryableCodes.contains(code): .unavailable
            default: .refused
            }
        self.init(
            code, first?.message ?? "the server gave no reason", serverCode: first?.code, errors: errors,
            partialData: partialData, retryAfterMs: retryAfterMs ?? first?.extensions["retryAfterMs"]?.intValue)
    }
}
