import Metrics
import Observability

/// The metrics of project versions.
package struct DeploymentMetrics: Sendable {
    let versions = Metric.gauge("freshet_catalog_versions", "versions of the project that the node has loaded")
    let swaps = Metric.counter("freshet_catalog_swaps_total", "changes of the versions in service")

    package init() {}
}
