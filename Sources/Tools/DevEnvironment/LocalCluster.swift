package import Catalog
import Foundation
import LocalServers
import Logging
import Migrations
import Operations
import ProtocolClients
package import SchemaModel
package import Settings

/// A whole cluster on this machine (`freshet cluster`): its parts and its start.
package struct LocalCluster: Sendable {
    package struct Sizes: Sendable {
        package let api: Int
        package let workers: Int
        package let gateways: Int

        package init(api: Int, workers: Int, gateways: Int) {
            self.api = api
            self.workers = workers
            self.gateways = gateways
        }
    }

    /// The HAProxy in front of the nodes.
    package struct Proxy: Sendable {
        package let programPath: String
        package let connectionsMax: Int

        package init(programPath: String, connectionsMax: Int) {
            self.programPath = programPath
            self.connectionsMax = connectionsMax
        }
    }

    /// The addresses of a started cluster.
    package struct Started: Sendable {
        package let plan: ClusterPlan
        package let url: String
        /// The port of the proxy's statistics page.
        package let statsPort: Int
        /// The id of a lot for examples, if the project is the sample.
        package let example: String?
    }

    private let projectPath: String
    private let project: Project
    private let catalog: Catalog
    private let loaded: LoadedSettings
    private let sizes: Sizes
    private let proxy: Proxy
    private let loadsSeed: Bool
    private let report: @Sendable (String) -> Void

    /// - Parameters:
    ///   - loaded: settings for every node.
    ///   - report: receives a line for each step.
    package init(
        projectPath: String, project: Project, catalog: Catalog, loaded: LoadedSettings, sizes: Sizes, proxy: Proxy,
        loadsSeed: Bool, report: @escaping @Sendable (String) -> Void
    ) {
        self.projectPath = projectPath
        self.project = project
        self.catalog = catalog
        self.loaded = loaded
        self.sizes = sizes
        self.proxy = proxy
        self.loadsSeed = loadsSeed
        self.report = report
    }

    /// Starts everything. After an error, `processes.stop()` ends what was started.
    package func start(_ processes: ClusterProcesses) async throws -> Started {
        let own = loaded.settings
        report("starting Postgres and Redis in \(processes.folder) …")
        let servers = try await processes.startServers()
        try Task.checkCancellation()
        let example = try await SchemaDatabase(url: servers.postgresURL, logger: Logger(label: "freshet"))
            .prepare(
                project, catalog, CatalogOptions(everyMinimumMs: own.worker.everyMinimumMs), loadsSeed: loadsSeed,
                report: report
            ).example

        // The proxy needs two more.
        let needed = ClusterPlan.portsNeeded(api: sizes.api, workers: sizes.workers, gateways: sizes.gateways) + 2
        var ports = Addresses.freeLoopbackPorts(needed)
        guard ports.count == needed else { throw LocalServerError(.startFailed, "no free port on 127.0.0.1") }
        let statsPort = ports.removeLast()
        let freePort = ports.removeLast()
        let publicPort = own.http.port == 0 ? freePort : own.http.port
        let plan = ClusterPlan(
            api: sizes.api, workers: sizes.workers, gateways: sizes.gateways, ports: ports, adminPort: own.admin.port)

        report("starting \(plan.nodes.count) nodes …")
        for node in plan.nodes {
            try Task.checkCancellation()
            let text = plan.settingsFile(
                for: node, given: loaded, postgresURL: servers.postgresURL, redisURL: servers.redisURL)
            try await processes.startNode(node.name, project: projectPath, settingsFile: text)
        }
        for (node, process) in zip(plan.nodes, await processes.nodes) {
            try await processes.awaitReady(process, try ServerAddress("http://" + node.address), path: "/readyz")
        }
        let pagePath = processes.folder + "/page.html"
        try Data(ClusterPage.html(service: project.serviceID, plan.nodes).utf8).write(
            to: URL(fileURLWithPath: pagePath))
        let configuration = HAProxyConfiguration(
            bind: "\(own.http.host):\(publicPort)", statsBind: "\(ClusterPlan.host):\(statsPort)",
            api: .listed(plan.servers("api")), gateways: .listed(plan.servers("gateway")),
            checkMs: ClusterPlan.checkMs, pagePath: pagePath, connectionsMax: proxy.connectionsMax)
        try await processes.startProxy(proxy.programPath, configuration.text)
        let url = "http://\(own.http.host):\(publicPort)"
        if let process = await processes.proxy {
            try await processes.awaitReady(process, try ServerAddress(url), path: "/proxy-healthz")
        }
        return Started(plan: plan, url: url, statsPort: statsPort, example: example)
    }
}
