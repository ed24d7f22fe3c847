import APINode
import ChangeTailer
import Deployments
import FanoutWorker
import Gateway
import Observability
import RemoteServices
import TraceExport

/// The page `docs/operations/metrics.md`, generated from the declarations of all metrics.
enum MetricsReference {
    static let sections: [(title: String, families: [MetricFamily])] = [
        (
            "Every node",
            Metric.families(of: NodeMetrics.init) + Metric.families(of: SessionMetrics.init)
                + Metric.families(of: RequestMetrics.init) + Metric.families(of: DeploymentMetrics.init)
                + [PrometheusMetrics.refused]
        ),
        (
            "API nodes",
            Metric.families(of: MutationMetrics.init) + Metric.families(of: PublisherMetrics.init)
                + Metric.families(of: SweeperMetrics.init) + Metric.families(of: IdempotencyMetrics.init)
                + Metric.families(of: MarkerMetrics.init)
        ),
        ("Workers", Metric.families(of: WorkerMetrics.init) + Metric.families(of: ShardMetrics.init)),
        ("Reader of the database's log", Metric.families(of: TailerMetrics.init)),
        ("Gateways", Metric.families(of: GatewayMetrics.init) + Metric.families(of: EncodingMetrics.init)),
        (
            "Postgres",
            Metric.families(of: QueryBatchMetrics.init) + Metric.families(of: DatabaseMetrics.init)
                + Metric.families(of: ConnectionMetrics.init)
        ),
        ("Embeddings", Metric.families(of: EmbeddingMetrics.init)),
        ("Export of traces", Metric.families(of: TraceExportMetrics.init)),
    ]

    static var page: String {
        var text = """
            # Metrics

            The admin port serves `/metrics` for Prometheus, behind its token. Scraping and alerts are in
            [deploy/prometheus](../../deploy/prometheus), a dashboard in [deploy/grafana](../../deploy/grafana).
            A histogram has the series `_bucket`, `_sum` and `_count`. This page is generated from the declarations in
            the sources; `/metrics` shows the same descriptions.

            """
        for (title, families) in sections {
            text += "\n## \(title)\n\n| metric | type | unit | meaning |\n| --- | --- | --- | --- |\n"
            for family in families {
                text += "| `\(family.name)` | \(family.kind.rawValue) | \(family.unit) | \(meaning(family)) |\n"
            }
        }
        return text
    }

    private static func meaning(_ family: MetricFamily) -> String {
        guard !family.labels.isEmpty else { return family.help }
        let labels = family.labels.map { label in
            let values = label.values.map { "`\($0)`" }.joined(separator: ", ")
            return "`\(label.name)`" + (values.isEmpty ? "" : " (\(values))")
        }
        return "\(family.help); labels: \(labels.joined(separator: ", "))"
    }
}
