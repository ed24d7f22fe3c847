import Admin
import Catalog
import Cluster
import DeploymentPlan
import Deployments
import Embeddings
import Execution
import Logging
import OutboundHTTP
import RemoteServices
import Settings

/// The stage of a start that loads the served catalogs and creates the executors of their operations.
struct NodeExecution: Sendable {
    let catalogs: ServedCatalogs
    /// Nil for a node that follows no deployments.
    let deployments: DeploymentWatch?
    /// Nil for a node that follows no deployments.
    let deploymentReports: DeploymentReports?
    let queries: QueryExecutor
    let mutations: MutationExecutor

    /// Waits until the deployments are readable and the database fits the schema.
    static func open(
        _ node: NodeContext, _ storage: NodeStorage, _ sender: HTTPSender, _ gate: StartupGate, _ parts: ClosingStack
    ) async throws(NodeError) -> NodeExecution {
        let deployments = try await openDeployments(node, storage, gate)
        let catalogs = deployments?.catalogs ?? ServedCatalogs(node.catalog)
        try await SchemaGate(pool: storage.pool, catalogs: catalogs, deployments: deployments).pass(node, gate)
        let resolvers = HTTPResolvers(node.resolverSettings, sender: sender)
        let embeddings = openEmbeddings(node, catalogs, sender, parts)
        let queries = QueryExecutor(
            pool: storage.pool, replicas: storage.replicas, clock: node.clock, resolvers: resolvers,
            embeddings: embeddings, callsMax: node.settings.api.queryBatchMax)
        QueryBatchMetrics.observe(queries, in: node.metrics)
        return NodeExecution(
            catalogs: catalogs, deployments: deployments,
            deploymentReports: deployments.map { _ in
                DeploymentReports(
                    store: DeploymentStore(pool: storage.pool), settings: node.deploymentSettings.follower.schedule,
                    options: node.deploymentSettings.options)
            },
            queries: queries,
            mutations: MutationExecutor(
                pool: storage.pool, clock: node.clock, makeUUID: { RandomIdentity.uuid() }, resolvers: resolvers,
                embeddings: embeddings, idempotency: node.idempotencySettings, outbox: node.settings.outbox.kind))
    }

    private static func openDeployments(
        _ node: NodeContext, _ storage: NodeStorage, _ gate: StartupGate
    ) async throws(NodeError) -> DeploymentWatch? {
        guard let folder = node.folder else { return nil }
        return try await gate.until("deployments") { _ in
            do throws(DeploymentError) {
                return .done(
                    try await DeploymentWatch.start(
                        store: DeploymentStore(pool: storage.pool), folder: folder, catalog: node.catalog,
                        node: node.id, settings: node.deploymentSettings, logger: node.logger))
            } catch {
                return error.isTransient ? .away("\(error)") : .refused("\(error)")
            }
        }
    }

    private static func openEmbeddings(
        _ node: NodeContext, _ catalogs: ServedCatalogs, _ sender: HTTPSender, _ parts: ClosingStack
    ) -> HTTPEmbeddings? {
        guard let endpoint = node.embeddingEndpoint else {
            warnOfEmbeddings(in: catalogs.set.current.catalog, node.logger)
            return nil
        }
        let embeddings = HTTPEmbeddings(endpoint, node.embeddingSettings, sender: sender, logger: node.logger)
        parts.push("embeddings") { _ in embeddings.stop() }
        return embeddings
    }

    /// Logs once, at the start, which operations will fail because `embeddings.url` is not set.
    private static func warnOfEmbeddings(in catalog: Catalog, _ logger: Logger) {
        let operations = catalog.connectors.values.flatMap(\.operations.values).filter(\.hasEmbeddings)
        guard !operations.isEmpty else { return }
        logger.warning(
            "these operations need embeddings, but embeddings.url is not set",
            metadata: ["operations": "\(operations.map { "\($0.reference)" }.sorted().joined(separator: ", "))"])
    }
}
