import Clocks
import HTTPServer
import JSON
import LiveModel
import NIOCore
import Synchronization

/// The number of reports that are followed on a node, which is limited.
package final class ReportStreams: Sendable {
    private let streamsMax: Int
    private let open = Mutex(0)

    package init(streamsMax: Int) {
        self.streamsMax = streamsMax
    }

    /// Takes a place, which `leave` gives back.
    /// - Throws: `.limitExceeded` if there is none.
    func enter() throws(RequestError) {
        let isAdmitted = open.withLock { open in
            guard open < streamsMax else { return false }
            open += 1
            return true
        }
        guard isAdmitted else {
            throw RequestError(
                .limitExceeded, "\(streamsMax) reports are followed on this node (inspect.reportStreamsMax)")
        }
    }

    func leave() { open.withLock { $0 -= 1 } }
}

/// A report as server-sent events: at once, and again when it differs (`ReportChanges`). It is made only while somebody
/// reads, and not while the last one waits for a slow reader, who gets a newer one instead.
struct ReportStream: Sendable {
    /// The limits are those of what it costs, and of one look in the audit logs of other nodes (`LookLog.pauseMs`).
    static let every = AdminParameter.query(
        "every", .integer(500...20_000),
        "Of an event stream: the milliseconds after which the report is made again; at least as many as it takes.",
        standard: "2000")

    let exchange: HTTPExchange
    let everyMs: Int64
    let make: @Sendable () async throws -> JSONValue

    /// Opens the stream, which ends with the connection.
    /// - Throws: `.limitExceeded` if as many are open as may be.
    func open(_ streams: ReportStreams) throws(RequestError) {
        try streams.enter()
        exchange.eventLoop.execute {
            exchange.startEvents("a report every \(everyMs) ms, when it differs")
            let task = Task { await run() }
            exchange.onClose {
                task.cancel()
                streams.leave()
            }
        }
    }

    private func run() async {
        var changes = ReportChanges()
        while !Task.isCancelled {
            let startMs = MonotonicClock.nowMs()
            if exchange.pendingBytes == 0 {
                let result: Result<JSONValue, RequestError>
                do {
                    result = .success(try await make())
                } catch {
                    result = .failure(RequestError(of: error))
                }
                if Task.isCancelled { return }
                if let event = changes.event(of: result, nowMs: MonotonicClock.nowMs()) {
                    exchange.writeEvent(event.name, event.data)
                }
            }
            let tookMs = MonotonicClock.nowMs() - startMs
            try? await Task.sleep(for: .milliseconds(max(everyMs, tookMs)))
        }
    }
}
