internal import ArgumentParser
internal import Catalog
internal import Logging
internal import Node
internal import Postgres
internal import Settings

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs one node of a cluster.",
        discussion: """
            The database and Redis are given by settings (postgres.url, redis.url); the schema is put into the database \
            by `freshet migrate`. The folder is served until the first `freshet deploy`; from then on every node serves what \
            was deployed last, also when it starts. SIGTERM drains: shards are handed over, sessions are told to come back elsewhere, work \
            in flight finishes.
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
        // Beside the start, which may have to wait for the database.
        let drift = Task { await Self.tellDrift(settings, catalog) }
        defer { drift.cancel() }
        do throws(NodeError) {
            let address = try await node.start()
            let admin = address.adminPort.map { " admin http://\(settings.admin.host):\($0)" } ?? ""
            Terminal.out(
                "ready \(settings.http.scheme)://\(settings.http.host):\(address.publicPort) node \(node.id)\(admin)")
        } catch {
            Terminal.fail(error.description)
        }
        await Signals.waitForEnd()
        await node.drain(
            delayMs: Int64(settings.drain.delayMs), sessionsOverMs: Int64(settings.drain.sessionsMs),
            graceMs: Int64(settings.drain.graceMs))
    }

    /// The database may be ahead or behind; a node starts all the same, and its log says where operations may fail.
    private static func tellDrift(_ settings: Settings, _ catalog: Catalog) async {
        guard let url = settings.postgres.url else { return }
        let logger = Logger(label: "freshet")
        let database = Database(url: url, logger: logger)
        do {
            try await database.pool.start()
            for finding in try await database.findings(catalog.schema).prefix(findingsMax) {
                logger.log(
                    level: finding.isHarmful ? .warning : .info, "the database is not as the schema says",
                    metadata: ["finding": "\(finding.text)"])
            }
        } catch {
            // That the database cannot be reached the node says itself.
            logger.debug("database not compared with the schema", metadata: ["error": "\(error)"])
        }
        await database.pool.stop()
    }

    /// Lines of the log.
    private static let findingsMax = 50
}
