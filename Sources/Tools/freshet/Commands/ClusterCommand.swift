import ArgumentParser
import Catalog
import DevEnvironment
import LoadDriver
import LocalServers
import SchemaModel
import Settings

struct ClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Runs a whole cluster on this machine: API nodes, workers, gateways and HAProxy, as processes.",
        discussion: """
            The same cluster as deploy/compose runs in containers, for experiments: kill any process, and it is \
            restarted after a moment. A private Postgres and Redis keep their data in dev.dataDirectory/cluster. \
            Settings (--config, --set, FRESHET_…) apply to every node. Ctrl-C stops everything.
            """)

    /// The most nodes of each role.
    static let nodesMax = 16

    @Argument(help: "Project folder: dataconnect.yaml, schema and connectors.")
    var project: String = "config/auctions"

    @Option(name: .shortAndLong, help: "The proxy's public port; 0 chooses a free one.")
    var port: Int?

    @Option(help: "API nodes.")
    var api = 2

    @Option(help: "Fan-out workers.")
    var workers = 3

    @Option(help: "Gateways.")
    var gateways = 2

    @Option(
        help: """
            Client connections that HAProxy accepts at a time, two open files each; by default as many as the limit \
            of open files (ulimit -Hn) allows, 50000 at most.
            """)
    var connectionsMax: Int?

    @Flag(help: "Do not load the project's seed.sql into an empty database.")
    var noSeed = false

    @OptionGroup var options: SettingsOptions

    func validate() throws {
        for (name, count) in [("api", api), ("workers", workers), ("gateways", gateways)]
        where !(1...Self.nodesMax).contains(count) {
            throw ValidationError("--\(name) must be from 1 to \(Self.nodesMax)")
        }
        if let connectionsMax, connectionsMax < 1 {
            throw ValidationError("--connections-max must be at least 1")
        }
    }

    func run() async {
        let further = port.map { ["http.port=\($0)"] } ?? []
        let loaded = options.load(.serve, further: further)
        var own = loaded.settings
        if !loaded.isGiven("log.level") { own.log.level = "warning" }
        _ = Observation.start(own)
        let project = ProjectLoading.project(at: project)
        let catalog = ProjectLoading.catalog(of: project, everyMinimumMs: own.worker.everyMinimumMs)
        let haproxy: String
        do throws(LocalServerError) {
            haproxy = try Programs.find("haproxy", package: "haproxy")
        } catch {
            Terminal.fail(error.message)
        }
        // The nodes inherit the limit.
        let openFiles = OpenFiles.raiseLimit()
        let connectionsPossible = HAProxyConfiguration.connectionsMax(openFiles: openFiles)
        if let connectionsMax, connectionsMax > connectionsPossible {
            Terminal.fail(
                "--connections-max \(connectionsMax) is more than HAProxy can take with \(openFiles) open files"
                    + " (ulimit -Hn): \(connectionsPossible) at most")
        }
        Ports.requireFree(own.http.host, own.http.port, remedy: "stop the other program or use --port")
        Ports.requireFree(ClusterPlan.host, own.admin.port, remedy: "stop the other program or --set admin.port=0")

        let processes = ClusterProcesses(folder: own.dev.dataDirectory + "/cluster", report: Terminal.error)
        let cluster = LocalCluster(
            projectPath: self.project, project: project, catalog: catalog, loaded: loaded,
            sizes: .init(api: api, workers: workers, gateways: gateways),
            proxy: .init(
                programPath: haproxy,
                connectionsMax: connectionsMax ?? min(connectionsPossible, HAProxyConfiguration.connectionsMaxDefault)),
            loadsSeed: !noSeed, report: Terminal.error)
        // Ctrl-C during the start stops what has been started, too.
        let end = Task { await Signals.waitForEnd() }
        let start = Task { try await cluster.start(processes) }
        Task {
            await end.value
            start.cancel()
        }
        do {
            await Self.welcome(try await start.value, processes, project)
        } catch {
            let wasEnded = start.isCancelled
            await processes.stop()
            if wasEnded { return }
            Terminal.fail("\(error)")
        }
        await end.value
        Terminal.error("stopping …")
        await processes.stop()
    }

    private static func welcome(
        _ cluster: LocalCluster.Started, _ processes: ClusterProcesses, _ project: Project
    ) async {
        let (plan, url, statsPort) = (cluster.plan, cluster.url, cluster.statsPort)
        let program = CommandLine.arguments[0]
        let urlOption = url == "http://127.0.0.1:9399" ? "" : " --url \(url)"
        let adminPort = plan.nodes[0].adminPort
        let adminOption = adminPort == 9398 ? "" : " --url http://127.0.0.1:\(adminPort)"
        let rows = zip(plan.nodes, await processes.nodes).map { node, process in
            let name = node.name + String(repeating: " ", count: max(0, 10 - node.name.count))
            return "  \(name) \(node.address)  admin \(ClusterPlan.host):\(node.adminPort)"
                + "  process \(process.processID ?? 0)"
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
        if let example = cluster.example {
            Terminal.out(
                """
                  \(program) subscribe ListLots --vars '{"category":"Books"}'\(urlOption)
                  \(program) execute EditLot \
                --vars '{"id":"\(example)","category":"Books","description":"Fresh"}'\(urlOption)
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
