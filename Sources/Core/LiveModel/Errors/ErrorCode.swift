/// The error codes that clients can receive, with their forms in each protocol. `docs/reference/errors.md` has the same
/// table, and a test compares the two.
package enum ErrorCode: String, Sendable, Hashable, CaseIterable {
    /// The request is malformed: bad JSON, a missing field, a wrong type.
    case badRequest = "BAD_REQUEST"
    /// There is no connector or operation of that name, or its text differs from the stored one.
    case operationNotFound = "OPERATION_NOT_FOUND"
    /// A variable is missing, unknown or of the wrong type.
    case invalidVariable = "INVALID_VARIABLE"
    /// The token is missing, invalid or expired.
    case unauthenticated = "UNAUTHENTICATED"
    /// `@auth` or a `@check` denies it.
    case permissionDenied = "PERMISSION_DENIED"
    /// A database constraint was violated: unique, foreign key, not null, check.
    case constraintViolation = "CONSTRAINT_VIOLATION"
    /// The idempotency key was used for another operation or with other variables.
    case idempotencyKeyReused = "IDEMPOTENCY_KEY_REUSED"
    /// The first mutation with this idempotency key is still under way.
    case idempotencyKeyInUse = "IDEMPOTENCY_KEY_IN_USE"
    /// The mutation was applied under this idempotency key, and its answer was too large to keep.
    case alreadyApplied = "ALREADY_APPLIED"
    /// The database refused the statement for another reason.
    case databaseError = "DATABASE_ERROR"
    /// A custom resolver or the embedding server returned an error or an invalid answer.
    case resolverFailed = "RESOLVER_FAILED"
    /// The statement, a custom resolver or the embedding server ran longer than its timeout.
    case timeout = "TIMEOUT"
    /// A limit of the connection, user, address or node was reached: subscriptions, requests in flight.
    case limitExceeded = "LIMIT_EXCEEDED"
    /// A body, frame or message exceeds its limit.
    case payloadTooLarge = "PAYLOAD_TOO_LARGE"
    /// The node is busy, or its database or broker is unreachable; try again.
    case unavailable = "UNAVAILABLE"
    /// The connection broke during execution: the mutation may have committed, or a custom resolver may have acted.
    case outcomeUnknown = "OUTCOME_UNKNOWN"
    /// There is no such path.
    case notFound = "NOT_FOUND"
    /// The path exists but does not support the method.
    case methodNotAllowed = "METHOD_NOT_ALLOWED"
    /// The client accepts none of the available formats.
    case notAcceptable = "NOT_ACCEPTABLE"
    /// This path does not accept a body of that media type.
    case unsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE"
    /// An internal error. Details are in the server's log, under the trace id.
    case internalError = "INTERNAL"

    /// The HTTP status of an answer with this error.
    package var httpStatus: Int {
        switch self {
        case .badRequest, .invalidVariable: 400
        case .unauthenticated: 401
        case .permissionDenied: 403
        case .operationNotFound, .notFound: 404
        case .methodNotAllowed: 405
        case .notAcceptable: 406
        case .constraintViolation, .idempotencyKeyInUse, .alreadyApplied: 409
        case .payloadTooLarge: 413
        case .unsupportedMediaType: 415
        case .idempotencyKeyReused: 422
        case .limitExceeded: 429
        case .databaseError, .internalError: 500
        case .resolverFailed: 502
        case .unavailable, .outcomeUnknown: 503
        case .timeout: 504
        }
    }

    /// Whether the same request can succeed later unchanged; such answers carry `Retry-After`.
    package var isRetryable: Bool {
        switch self {
        case .limitExceeded, .unavailable, .timeout, .idempotencyKeyInUse: true
        case .badRequest, .operationNotFound, .invalidVariable, .unauthenticated, .permissionDenied,
            .constraintViolation, .databaseError, .resolverFailed, .payloadTooLarge, .outcomeUnknown, .notFound,
            .methodNotAllowed, .notAcceptable, .unsupportedMediaType, .internalError, .idempotencyKeyReused,
            .alreadyApplied:
            false
        }
    }
}

/// An error as a client receives it. `message` never contains other users' data or server internals.
package struct RequestError: Error, Hashable, Sendable {
    package var code: ErrorCode
    package var message: String
    /// The response path (keys and indices) if the error belongs to one field.
    package var path: [PathElement]
    /// When to try again; nil unless `code.isRetryable`, or a mutation with an idempotency key may be repeated.
    package var retryAfterMs: Int?
    /// The database's report without its text about rows, for the server's log; never sent to a client.
    package var cause: String?
    /// The constraint that a write violated; never sent to a client.
    package var violation: ConstraintViolation?
    /// The part of `violation` that the client learns.
    package var disclosure: ConstraintViolation.Disclosure?

    package enum PathElement: Hashable, Sendable {
        case key(String)
        case index(Int)
    }

    package init(_ code: ErrorCode, _ message: String, path: [PathElement] = [], retryAfterMs: Int? = nil) {
        self.code = code
        self.message = message
        self.path = path
        self.retryAfterMs = retryAfterMs ?? (code.isRetryable ? 1_000 : nil)
    }
}
