import Catalog
import LiveModel
import Logging
import Synchronization
import Testing

import Execution

@Suite struct OperationFailureLogTests {
    private let lines = Lines()
    private let log: OperationFailureLog

    init() {
        let lines = lines
        log = OperationFailureLog(Logger(label: "test") { _ in lines })
    }

    private func report(_ code: ErrorCode, _ message: String = "m", cause: String?, nowMs: Int64) {
        var error = RequestError(code, message)
        error.cause = cause
        log.requestFailed(error, of: OperationReference(connector: "c", operation: "o"), traceID: "t", nowMs: nowMs)
    }

    @Test func anUnavailableDatabaseIsLoggedOnceInEachInterval() {
        for number in 0..<5 { report(.unavailable, "stopping", cause: "file \(number)", nowMs: Int64(number)) }
        for nowMs in [5, 6, 10_005] as [Int64] {
            report(.unavailable, "out of disk space", cause: "full", nowMs: nowMs)
            report(.unavailable, "stopping", cause: "file", nowMs: nowMs)
        }
        #expect(lines.all == ["c/o t file 0 0", "c/o t full 0", "c/o t full 1", "c/o t file 6"])
    }

    @Test func otherCausesAreAllLogged() {
        for _ in 0..<3 { report(.databaseError, cause: "42P01", nowMs: 0) }
        #expect(lines.all == ["c/o t 42P01 -", "c/o t 42P01 -", "c/o t 42P01 -"])
    }

    @Test func errorsWithoutACauseAreNotLogged() {
        report(.unavailable, cause: nil, nowMs: 0)
        rerun(.invalidVariable, "out of range", "a", nowMs: 0)
        #expect(lines.all == [])
    }

    private func rerun(_ code: ErrorCode, _ message: String, _ operation: String, cause: String? = nil, nowMs: Int64) {
        var error = RequestError(code, message)
        error.cause = cause
        log.rerunFailed(
            error, of: OperationReference(connector: "c", operation: operation), traceID: "", nowMs: nowMs)
    }

    @Test func aLiveQueryThatFailsAgainAndAgainIsLoggedOnceInEachInterval() {
        for nowMs in [0, 1, 2, 10_000] as [Int64] {
            rerun(.databaseError, "refused", "a", cause: "42P01", nowMs: nowMs)
            rerun(.timeout, "too long", "b", nowMs: nowMs)
        }
        #expect(lines.all == ["c/a - 42P01 0", "c/b - too long 0", "c/a - 42P01 2", "c/b - too long 2"])
    }

    @Test func anUnavailableDatabaseIsLoggedOnceForAllLiveQueries() {
        for operation in ["a", "b", "c"] { rerun(.unavailable, "stopping", operation, cause: "57P01", nowMs: 0) }
        #expect(lines.all == ["c/a - 57P01 0"])
    }
}

/// Keeps `operation trace cause notLogged` of each line.
private struct Lines: LogHandler {
    private final class Store: Sendable {
        let lines = Mutex<[String]>([])
    }

    private let store = Store()
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    var all: [String] { store.lines.withLock { $0 } }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let values = ["operation", "trace", "cause", "notLogged"].map { event.metadata?[$0]?.description ?? "-" }
        store.lines.withLock { $0.append(values.joined(separator: " ")) }
    }
}
