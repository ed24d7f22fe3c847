import Catalog
import LiveModel
import Logging
import Pacing
import Synchronization

/// Logs the causes of failed operations, which clients do not see.
///
/// While Postgres, a custom resolver or the embedding server is unavailable, every request that needs it fails alike.
/// So one failure with each message is logged in each interval.
final class OperationFailureLog: Sendable {
    private let logger: Logger
    private let unavailable = Mutex(RepeatedFailures())

    init(_ logger: Logger) {
        self.logger = logger
    }

    func report(_ error: RequestError, of operation: OperationReference, traceID: String, nowMs: Int64) {
        guard let cause = error.cause else { return }
        var metadata: Logger.Metadata = ["trace": "\(traceID)", "operation": "\(operation)", "cause": "\(cause)"]
        if error.code == .unavailable {
            // Causes can name files and relations; the message is one of a few.
            guard let leftOut = unavailable.withLock({ $0.failed(error.message, nowMs: nowMs) }) else { return }
            metadata["notLogged"] = "\(leftOut)"
        }
        logger.error("operation failed", metadata: metadata)
    }
}
