import Metrics
import Observability

/// The metrics of requests to the embedding server.
package struct EmbeddingMetrics: Sendable {
    enum Outcome: String, MetricLabelValue {
        case answered, refused, late, failed
    }

    enum Cached: String, MetricLabelValue {
        case hit, miss
    }

    let requests = Metric.counters(
        "freshet_embedding_requests_total", by: "outcome", Outcome.self, "requests to the embedding server")
    let texts = Metric.counters(
        "freshet_embedding_texts_total", by: "cache", Cached.self, "texts for which vectors were requested")

    package init() {}
}
