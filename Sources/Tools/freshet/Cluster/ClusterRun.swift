import Catalog
import Foundation
import FreshetClient
import LocalServers
import Logging
import SchemaModel
import Settings

/// One start of `freshet cluster`, from nothing to the lines that tell where to look.
struct ClusterRun: Sendable {
    let projectPath: String
    let project: Project
    let catalog: Catalog
    let loaded: LoadedSettings
    let api: Int
    let workers: Int
    let gateways: Int
    let loadsSeed: Bool
    /// Of the proxy.
    let connectionsMax: Int
    /// Path of the program.
    let haproxy: String

    /// Starts everything and says where it is. What was started before an error is left for `processes.stop()`.
    func begin(_ processes: ClusterProcesses) async throws {
        let own = loaded.settings
        Terminal.error("starting Postgres and Redis in \(processes.folder) …")
        let servers = try await processes.startServers()
        try Task.checkCancellation()
        let example = try await Database(url: servers.postgresURL, logger: Logger(label: "freshet"))
            .prepare(project, catalog, loadsSeed: loadsSeed)

        // Two more, for the proxy.
        let needed = ClusterPlan.portsNeeded(api: api, workers: workers, gateways: gateways) + 2
        var ports = Addresses.freeLoopbackPorts(needed)
        guard ports.count == needed else { throw LocalServerError(.startFailed, "no free port on 127.0.0.1") }
        let statsPort = ports.removeLast()
        let freePort = ports.removeLast()
        let publicPort = own.http.port == 0 ? freePort : own.http.port
        let plan = ClusterPlan(
            api: api, workers: workers, gateways: gateways, ports: ports, adminPort: own.admin.port)

        Terminal.error("starting \(plan.nodes.count) nodes …")
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
        try Data(DemoPage.html.utf8).write(to: URL(fileURLWithPath: pagePath))
        let configuration = HAProxyConfiguration(
            bind: "\(own.http.host):\(publicPort)", statsBind: "\(ClusterPlan.host):\(statsPort)",
            api: .listed(plan.servers("api")), gateways: .listed(plan.servers("gateway")),
            checkMs: ClusterPlan.checkMs, pagePath: pagePath, connectionsMax: connectionsMax)
        try await processes.startProxy(haproxy, configuration.text)
        let url = "http://\(own.http.host):\(publicPort)"
        if let proxy = await processes.proxy {
            try await processes.awaitReady(proxy, try ServerAddress(url), path: "/proxy-healthz")
        }
        await welcome(plan, processes, url: url, statsPort: statsPort, example: example)
    }

    private func welcome(
        _ plan: ClusterPlan, _ processes: ClusterProcesses, url: String, statsPort: Int, example: String?
    ) async {
        let program = CommandLine.arguments[0]
        let urlOption = url == "http://127.0.0.1:9399" ? "" : " --url \(url)"
        let adminPort = plan.nodes[0].adminPort
        let adminOption = adminPort == 9398 ? "" : " --url http://127.0.0.1:\(adminPort)"
        let rows = zip(plan.nodes, await processes.nodes).map { node, process in
            let name = node.name + String(repeating: " ", count: max(0, 10 - node.name.count))
            return
                "  \(name) \(node.address)  admin \(ClusterPlan.host):\(node.adminPort)  process \(process.processID ?? 0)"
        }
        Terminal.out(
            """

            Freshet cluster serves "\(project.serviceID)" at \(url)
              page       \(url)/
              proxy      http://127.0.0.1:\(statsPort)/
            \(rows.joined(separator: "\n"))
              logs       \(processes.folder)/*.log

            Try, in other terminals:
            """)
        if let example {
            Terminal.out(
                """
                  \(program) subscribe ListLots --vars '{"category":"Books"}'\(urlOption)
                  \(program) execute EditLot --vars '{"id":"\(example)","category":"Books","description":"Fresh"}'\(urlOption)
                """)
        }
        Terminal.out(
            """
              \(program) admin shards\(adminOption)

            End any process (kill -9 …), Postgres and Redis too, and look again: it is started again, \
            with a line that says when.
            Ctrl-C stops everything.
            """)
    }
}
