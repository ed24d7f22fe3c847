import ArgumentParser
import Catalog
import Foundation
import LoadDriver
import LocalServers
import Logging
import Settings

struct ClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Runs a whole cluster on this machine: API nodes, workers, gateways and HAProxy, as processes.",
        discussion: """
            What deploy/compose runs in containers, for trying and for breaking: end any process by hand and it is \
            started again after a moment. A private Postgres and Redis keep their data in dev.dataDirectory/cluster. \
            Settings (--config, --set, FRESHET_…) go to every node. Ctrl-C stops everything.
            """)

    /// Of one role.
    static let nodesMax = 16

    @Argument(help: "Project folder: dataconnect.yaml, schema and connectors.")
    var project: String = "config/auctions"

    @Option(name: .shortAndLong, help: "The proxy's public port; 0: a free one.")
    var port: Int?

    @Option(help: "API nodes.")
    var api = 2

    @Option(help: "Fan-out workers.")
    var workers = 3

    @Option(help: "Gateways.")
    var gateways = 2

    @Option(
        help: """
            Connections of clients that HAProxy takes at once, two open files each; without it as many as the limit of \
            open files (ulimit -Hn) lets it have, 50000 at most.
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
        // The nodes inherit it.
        let openFiles = OpenFiles.raiseLimit()
        let connectionsPossible = HAProxyConfiguration.connectionsMax(openFiles: openFiles)
        if let connectionsMax, connectionsMax > connectionsPossible {
            Terminal.fail(
                "--connections-max \(connectionsMax) is more than HAProxy can take with \(openFiles) open files"
                    + " (ulimit -Hn): \(connectionsPossible) at most")
        }
        Ports.requireFree(own.http.host, own.http.port, remedy: "stop the other program or use --port")
        Ports.requireFree(ClusterPlan.host, own.admin.port, remedy: "stop the other program or --set admin.port=0")

        let processes = ClusterProcesses(folder: own.dev.dataDirectory + "/cluster")
        let run = ClusterRun(
            projectPath: self.project, project: project, catalog: catalog, loaded: loaded, api: api, workers: workers,
            gateways: gateways, loadsSeed: !noSeed,
            connectionsMax: connectionsMax ?? min(connectionsPossible, HAProxyConfiguration.connectionsMaxDefault),
            haproxy: haproxy)
        // Ctrl-C while starting: everything that has begun is stopped all the same.
        let end = Task { await Signals.waitForEnd() }
        let start = Task { try await run.begin(processes) }
        Task {
            await end.value
            start.cancel()
        }
        do {
            try await start.value
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
}
