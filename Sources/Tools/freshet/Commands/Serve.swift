import ArgumentParser
import Catalog
import DeploymentPlan
import Logging
import Node
import Settings

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs one node of a cluster.",
        discussion: """
            The settings postgres.url and redis.url give the servers. `freshet migrate` migrates the database to the \
            schema; until it has the tables and columns, a node is alive but not ready. The folder is served until \
            the first `freshet deploy`; from then on every node serves the latest deployment, also when it starts. \
            SIGTERM drains the node: it hands its shards over, asks its sessions to reconnect elsewhere, and finishes \
            work in flight.
            """)

    @Argument(help: "Project folder: dataconnect.yaml, schema and connectors.")
    var project: String

    @Option(help: "Roles of this node, separated by commas: api, worker, gateway, admin.")
    var roles: String?

    @OptionGroup var options: SettingsOptions

    func run() async {
        let further = roles.map { ["cluster.roles=\($0)"] } ?? []
        let settings = options.load(.serve, further: further).settings
        let metrics = Observation.start(settings)
        let project = ProjectLoading.project(at: project)
        let catalog = ProjectLoading.catalog(of: project, everyMinimumMs: settings.worker.everyMinimumMs)
        let node = ServiceNode(
            settings: settings, catalog: catalog, folder: ProjectArchive(project), metrics: metrics,
            logger: Logger(label: "freshet"))
        // From here on, so that a node that waits for its servers stops cleanly, too.
        let drain = Task {
            await Signals.waitForEnd()
            await node.drain(
                delayMs: Int64(settings.drain.delayMs), sessionsOverMs: Int64(settings.drain.sessionsMs),
                graceMs: Int64(settings.drain.graceMs))
        }
        do throws(NodeError) {
            let address = try await node.start()
            let admin = address.adminPort.map { " admin http://\(settings.admin.host):\($0)" } ?? ""
            Terminal.out(
                "ready \(settings.http.scheme)://\(settings.http.host):\(address.publicPort) node \(node.id)\(admin)")
        } catch {
            if !Signals.hasCome { Terminal.fail(error.description) }
        }
        await drain.value
    }
}
