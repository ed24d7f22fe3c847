import Metrics
import Observability
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

    package init() {}
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
