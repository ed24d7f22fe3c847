import LiveModel
import Metrics
import Observability
import RoleMachines
import Sessions

/// The metrics of a gateway's live queries.
package struct GatewayMetrics: Sendable {
    let delivered = Metric.timer("freshet_commit_to_gateway_seconds", "time from commit to the arrival of the result")
    let results = Metric.counter("freshet_gateway_results_total", "results received")
    let liveQueries = Metric.gauge("freshet_gateway_live_queries", "live queries with subscribers")
    let subscriptions = Metric.gauge("freshet_gateway_subscriptions", "subscriptions")
    let awaiting = Metric.gauge(
        "freshet_gateway_awaiting_live_queries", "live queries whose owner has not answered yet")
    let resultBytes = Metric.gauge("freshet_gateway_result_bytes", "bytes of results kept")
    let undelivered = Metric.gauge(
        "freshet_lag_oldest_undelivered_seconds",
        "age of the oldest marker that a followed shard lacks; 0: none is missing; includes clock differences")
    let slowestShard = Metric.gauge(
        "freshet_lag_slowest_shard_seconds",
        "greatest time from commit to delivery among the last markers of the followed shards")
    let endToEnd = Metric.timer(
        "freshet_lag_end_to_end_seconds",
        "time of a marker from its commit until every event loop has delivered what came before it")
    let append = Metric.timer(
        "freshet_lag_append_seconds", "time of a marker from its commit to its append in Redis")
    let read = Metric.timer("freshet_lag_read_seconds", "time of a marker from its append until the worker has read it")
    let runs = Metric.timer(
        "freshet_lag_runs_seconds", "time of a marker at the worker, which runs and sends what came before it")
    let inbox = Metric.timer(
        "freshet_lag_inbox_seconds", "time of a marker from the worker until the gateway has read it")
    let handOver = Metric.timer(
        "freshet_lag_hand_over_seconds",
        "time of a marker in the gateway until every event loop has delivered what came before it")
    let waits = Metric.gauge("freshet_gateway_waits", "waits of sessions for what was committed before")
    let waited = Metric.timer("freshet_wait_seconds", "time of a wait until its session had what was committed before")
    let waitOutcomes = Metric.counters(
        "freshet_waits_total", by: "outcome", WaitOutcome.self, "waits that ended, by outcome")

    package init() {}

    /// - Parameter problem: why the wait failed; nil: it did not.
    func recordWait(_ problem: RequestError?, tookMs: Int64) {
        waitOutcomes[WaitOutcome(problem)].increment()
        if problem == nil { waited.recordMilliseconds(max(0, tookMs)) }
    }

    func record(_ hops: MarkerHops) {
        endToEnd.recordMilliseconds(hops.endToEndMs)
        append.recordMilliseconds(hops.appendMs)
        read.recordMilliseconds(hops.readMs)
        runs.recordMilliseconds(hops.runsMs)
        inbox.recordMilliseconds(hops.inboxMs)
        handOver.recordMilliseconds(hops.handOverMs)
    }

    func record(_ lag: LagReport) {
        undelivered.record(Double(lag.undeliveredMs) / 1_000)
        slowestShard.record(Double(lag.endToEndMs ?? 0) / 1_000)
    }
}

/// The end of a wait.
enum WaitOutcome: String, MetricLabelValue {
    case shown
    case timeout
    /// Too many waits on this gateway.
    case refused
    /// The database failed, or this node has none.
    case failed

    init(_ problem: RequestError?) {
        self =
            switch problem?.code {
            case nil: .shown
            case .timeout?: .timeout
            case .limitExceeded?: .refused
            default: .failed
            }
    }
}

/// The metric of encoded results. An event loop encodes a result once per form, however many sessions it has.
package struct EncodingMetrics: Sendable {
    static let shared = EncodingMetrics()

    let encodings = Metric.counters(
        "freshet_gateway_encodings_total", by: "form", EncodedForm.self,
        "encodings of results: one per form and event loop, shared by its sessions")

    package init() {}
}

/// A form in which results are encoded.
enum EncodedForm: MetricLabelValue {
    case message(ResultFormat)
    case stream(StreamFormat)

    static let allCases = ResultFormat.allCases.map { message($0) } + StreamFormat.allCases.map { stream($0) }

    var labelValue: String {
        switch self {
        case .message(let format): "\(format)"
        case .stream(let format): "\(format)"
        }
    }
}

/// The metrics of a node's admission of sessions.
package struct SessionMetrics: Sendable {
    enum Refusal: String, MetricLabelValue {
        /// Too many sessions started recently.
        case rate
        /// The node has its maximum of sessions.
        case full
        /// The address began too many.
        case address
    }

    let refused = Metric.counters(
        "freshet_sessions_refused_total", by: "reason", Refusal.self,
        "sessions refused, because too many started at once, on the node or from one address, or the node is full")

    package init() {}
}

/// The metrics of a node's admission of requests.
package struct RequestMetrics: Sendable {
    let refused = Metric.counter(
        "freshet_requests_refused_total", "requests refused because too many were in flight")

    package init() {}
}
