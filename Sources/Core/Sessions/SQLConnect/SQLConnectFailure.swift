package import JSON
package import LiveModel

/// `google.rpc.Code`, by which SQL Connect clients classify errors.
package enum RPCCode: Int, Sendable, Hashable {
    case ok = 0
    case cancelled = 1
    case unknown = 2
    case invalidArgument = 3
    case deadlineExceeded = 4
    case notFound = 5
    case alreadyExists = 6
    case permissionDenied = 7
    case resourceExhausted = 8
    case failedPrecondition = 9
    case aborted = 10
    case outOfRange = 11
    case unimplemented = 12
    case internalError = 13
    case unavailable = 14
    case dataLoss = 15
    case unauthenticated = 16

    package init(_ code: ErrorCode) {
        switch code {
        case .badRequest, .invalidVariable, .notAcceptable, .unsupportedMediaType, .idempotencyKeyReused:
            self = .invalidArgument
        case .operationNotFound, .notFound: self = .notFound
        case .unauthenticated: self = .unauthenticated
        case .permissionDenied: self = .permissionDenied
        case .alreadyApplied: self = .alreadyExists
        case .constraintViolation: self = .failedPrecondition
        case .idempotencyKeyInUse: self = .aborted
        case .databaseError, .resolverFailed, .outcomeUnknown: self = .unknown
        case .timeout: self = .deadlineExceeded
        case .limitExceeded, .payloadTooLarge: self = .resourceExhausted
        case .unavailable: self = .unavailable
        case .methodNotAllowed: self = .unimplemented
        case .internalError: self = .internalError
        }
    }

    /// The form in JSON: `PERMISSION_DENIED`.
    package var name: String {
        switch self {
        case .ok: "OK"
        case .cancelled: "CANCELLED"
        case .unknown: "UNKNOWN"
        case .invalidArgument: "INVALID_ARGUMENT"
        case .deadlineExceeded: "DEADLINE_EXCEEDED"
        case .notFound: "NOT_FOUND"
        case .alreadyExists: "ALREADY_EXISTS"
        case .permissionDenied: "PERMISSION_DENIED"
        case .resourceExhausted: "RESOURCE_EXHAUSTED"
        case .failedPrecondition: "FAILED_PRECONDITION"
        case .aborted: "ABORTED"
        case .outOfRange: "OUT_OF_RANGE"
        case .unimplemented: "UNIMPLEMENTED"
        case .internalError: "INTERNAL"
        case .unavailable: "UNAVAILABLE"
        case .dataLoss: "DATA_LOSS"
        case .unauthenticated: "UNAUTHENTICATED"
        }
    }
}

/// A request that failed as a whole: an HTTP status with `{"code","message","details"}` at the top, a gRPC status.
package struct SQLConnectFailure: Error, Sendable, Hashable {
    package let error: RequestError
    package let message: String

    package init(_ code: ErrorCode, _ message: String) {
        self.init(RequestError(code, message))
    }

    package init(_ error: RequestError) {
        self.error = error
        // Apps and the SDKs' own tests look for these phrases.
        switch error.code {
        case .unauthenticated: message = "unauthenticated: \(error.message)"
        case .permissionDenied:
            message = "unauthorized: you are not authorized to perform this operation (\(error.message))"
        default: message = error.message
        }
    }

    package var code: RPCCode { RPCCode(error.code) }

    package var json: [UInt8] {
        let object: JSONObject = ["code": .int(Int64(code.rawValue)), "message": .string(message), "details": []]
        return JSONWriter.compact(.object(object))
    }

    /// Whether an error that ended a run belongs to the operation, and so into `errors` of an answer, rather than being
    /// a failure of the request.
    package static func isOfExecution(_ code: ErrorCode) -> Bool {
        switch code {
        case .invalidVariable, .permissionDenied, .constraintViolation, .databaseError, .resolverFailed,
            .payloadTooLarge:
            true
        case .badRequest, .operationNotFound, .unauthenticated, .timeout, .limitExceeded, .unavailable,
            .outcomeUnknown, .notFound, .methodNotAllowed, .notAcceptable, .unsupportedMediaType, .internalError,
            .idempotencyKeyReused, .idempotencyKeyInUse, .alreadyApplied:
            false
        }
    }
}

extension RequestError {
    /// `GraphqlError`. The SDKs' types assume that `message` and `path` are always present.
    package var sqlConnectError: JSONValue {
        let path = path.map { element -> JSONValue in
            switch element {
            case .key(let key): .string(key)
            case .index(let index): .int(Int64(index))
            }
        }
        let status = RPCCode(code)
        var extensions: JSONObject = ["code": .string(status.name)]
        if status.name != code.rawValue { extensions["debugDetails"] = .string(code.rawValue) }
        return .object(["message": .string(message), "path": .array(path), "extensions": .object(extensions)])
    }
}
