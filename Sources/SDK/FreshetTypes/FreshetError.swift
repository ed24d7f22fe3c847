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
        /// The mutation may or may not have been applied. `run` can ask with its key; a queued one has waited for too
        /// long, or its outcome is no longer kept.
        public static let outcomeUnknown = Code("outcomeUnknown")
        /// The mutation was applied, and the server did not keep its answer.
        public static let alreadyApplied = Code("alreadyApplied")
        /// A row cannot be added to a list as the app expects it of a mutation.
        public static let invalidEdit = Code("invalidEdit")
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
    /// The key of a mutation that was run: with it, the same mutation can be run again without being applied twice.
    public private(set) var idempotencyKey: IdempotencyKey?

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

    package func with(_ key: IdempotencyKey) -> FreshetError {
        var copy = self
        copy.idempotencyKey = key
        return copy
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
    private static let retryableCodes: Set<String> = [
        "TIMEOUT", "LIMIT_EXCEEDED", "UNAVAILABLE", "IDEMPOTENCY_KEY_IN_USE",
    ]

    /// The messages of fields before and after the one that failed, in a transaction.
    private static let consequences: Set<String> = ["(rolled back)", "(aborted)"]

    /// The meaning of a response's errors.
    package init(_ errors: [ResponseError], partialData: AnyValue? = nil, retryAfterMs: Int64? = nil) {
        let cause = errors.first { !Self.consequences.contains($0.message) } ?? errors.first
        let code: Code =
            switch cause?.code {
            case "UNAUTHENTICATED": .unauthenticated
            case "OUTCOME_UNKNOWN": .outcomeUnknown
            case "ALREADY_APPLIED": .alreadyApplied
            case let code? where Self.retryableCodes.contains(code): .unavailable
            case .some: .refused
            // Every error of the server has a code; this one is of something in between.
            case nil: .unavailable
            }
        self.init(
            code, cause?.message ?? "the server gave no reason", serverCode: cause?.code, errors: errors,
            partialData: partialData, retryAfterMs: retryAfterMs ?? cause?.extensions["retryAfterMs"]?.intValue)
    }

    /// The codes of answers for which the server has looked at the mutation's key: an earlier attempt cannot have been
    /// applied unnoticed. Tokens, rights and variables are checked before (docs/reference/idempotency.md).
    private static let codesBehindTheKey: Set<String> = [
        "CONSTRAINT_VIOLATION", "IDEMPOTENCY_KEY_REUSED", "ALREADY_APPLIED",
    ]

    /// Whether a mutation may have been applied that was answered like this.
    package var leavesOpen: Bool {
        switch code {
        case .timeout, .outcomeUnknown: true
        case .offline: serverCode == Self.lostAnswer
        // With other codes an earlier attempt has the key, or it is not the server that answers.
        case .unavailable: !["LIMIT_EXCEEDED", "TIMEOUT", "UNAVAILABLE"].contains(serverCode)
        default: false
        }
    }

    /// The `serverCode` of an `.offline` whose request the server may have received.
    package static let lostAnswer = "LOST_ANSWER"

    /// The meaning of the last error of a mutation of which an earlier attempt left open whether it was applied.
    package var afterOpenAttempt: FreshetError {
        switch code {
        case .refused, .unauthenticated, .userChanged:
            if let serverCode, Self.codesBehindTheKey.contains(serverCode) { return self }
            return FreshetError(
                .outcomeUnknown, "an earlier attempt may have been applied; the last one failed: \(message)",
                serverCode: serverCode, errors: errors, partialData: partialData, retryAfterMs: retryAfterMs)
        default: return self
        }
    }

    /// Some fields of a mutation failed, and the others were committed: whatever the reason, the same mutation would
    /// not be applied again.
    package init(failedFields errors: [ResponseError], committed: AnyValue) {
        self.init(
            .refused, errors.first?.message ?? "the server gave no reason", serverCode: errors.first?.code,
            errors: errors, partialData: committed)
    }
}
