package import LiveModel
package import Logging
import Pacing
import Synchronization

/// Logs the causes of failed operations, which clients do not see.
package final class OperationFailureLog: Sendable {
    private let logger: Logger
    private let repeated = Mutex(RepeatedFailures())

    package init(_ logger: Logger) {
        self.logger = logger
    }

    /// Logs the failure of a request, if it has a cause. While Postgres, a custom resolver or the embedding server is
    /// unavailable, every request that needs it fails alike: one failure with each message is logged in each interval.
    package func requestFailed(
        _ error: RequestError, of operation: OperationReference, traceID: String, nowMs: Int64
    ) {
        guard let cause = error.cause else { return }
        guard error.code == .unavailable else { return log("operation failed", operation, traceID, cause, nil) }
        // Causes can name files and relations; the message is one of a few.
        guard let leftOut = counted(error.message, nowMs) else { return }
        log("operation failed", operation, traceID, cause, leftOut)
    }

    /// Logs that a live query could not be run, if that is not the fault of its variables. Live queries run again and
    /// again, so one failure with each message is logged in each interval for each operation.
    package func rerunFailed(_ error: RequestError, of operation: OperationReference, traceID: String, nowMs: Int64) {
        guard error.cause != nil || error.code == .timeout else { return }
        let isForAll = error.code == .unavailable
        guard let leftOut = counted(isForAll ? error.message : "\(operation): \(error.message)", nowMs) else { return }
        log("live query failed", operation, traceID, error.cause ?? error.message, leftOut)
    }

    /// - Returns: how many failures like this one were not logged since the last one that was; nil if this one is not.
    private func counted(_ text: String, _ nowMs: Int64) -> Int? {
        repeated.withLock { $0.failed(text, nowMs: nowMs) }
    }

    private func log(
        _ message: Logger.Message, _ operation: OperationReference, _ traceID: String, _ cause: String, _ leftOut: Int?
    ) {
        var metadata: Logger.Metadata = ["operation": "\(operation)", "cause": "\(cause)"]
        if !traceID.isEmpty { metadata["trace"] = "\(traceID)" }
        if let leftOut { metadata["notLogged"] = "\(leftOut)" }
        logger.error(message, metadata: metadata)
    }
}
