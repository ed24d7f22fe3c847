import ArgumentParser
import Catalog
import DeploymentPlan
import Deployments
import DevEnvironment
import LocalServers
import Logging
import Migrations
import Node
import Operations
import Postgres
import ProjectFolder
import SchemaModel
import Settings

struct Dev: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs everything on this machine: a private Postgres, a private Redis and every role in one process.",
        discussion: """
            Data is kept in dev.dataDirectory (.freshet in the current folder) for the next start. Tokens need no \
            signature. Edits of the folder are served as soon as they compile; sessions stay connected. Operations \
            with errors are not served, the others are. Ctrl-C stops everything.
            """)

    @Argument(help: "Project folder: dataconnect.yaml, schema and connectors.")
    var project: String = "config/auctions"

    @Option(name: .shortAndLong, help: "Public port.")
    var port: Int?

    @Flag(help: "Do not load the project's seed.sql into an empty database.")
    var noSeed = false

    @Flag(help: "Do not reload the project folder when it changes.")
    var noReload = false

    @Flag(help: "Do not generate the client code that connector.yaml asks for.")
    var noGenerate = false

    @OptionGroup var options: SettingsOptions

    func run() async {
        let further = port.map { ["http.port=\($0)"] } ?? []
        let loaded = options.load(.dev, further: further)
        var settings = loaded.settings
        // One person reads this log at a terminal, so by default it has only what needs attention.
        if !loaded.isGiven("log.level") { settings.log.level = "warning" }
        let metrics = Observation.start(settings)
        let logger = Logger(label: "freshet")
        let project = ProjectLoading.project(at: project)
        let catalog = ProjectLoading.catalog(
            of: project, everyMinimumMs: settings.worker.everyMinimumMs, omitsInvalidOperations: true)
        Ports.requireFree(
            settings.http.host, settings.http.port, remedy: "stop the other program or use --port")
        Ports.requireFree(
            settings.admin.host, settings.admin.port, remedy: "stop the other program or use --set admin.port=…")

        let directory = settings.dev.dataDirectory
        let postgres: LocalPostgres
        let redis: LocalRedis
        Terminal.error("starting Postgres and Redis in \(directory) …")
        do throws(LocalServerError) {
            postgres = try await LocalPostgres.start(dataDirectory: directory + "/postgres")
        } catch {
            Terminal.fail(Terminal.reason(error))
        }
        do throws(LocalServerError) {
            redis = try await LocalRedis.start(dataDirectory: directory + "/redis")
        } catch {
            await postgres.stop()
            Terminal.fail(Terminal.reason(error))
        }
        settings.postgres.url = postgres.connectionString
        settings.redis.url = redis.url
        // The servers' folders are locked, so this is the only node; after a crash it has its former leases at once.
        if settings.cluster.nodeId == nil { settings.cluster.nodeId = "dev" }
        let keepers = SupervisedServers.keep(postgres, redis, report: Terminal.error)
        do {
            let options = CatalogOptions(
                everyMinimumMs: settings.worker.everyMinimumMs, omitsInvalidOperations: true)
            let prepared = try await SchemaDatabase(url: postgres.connectionString, logger: logger)
                .prepare(project, catalog, options, loadsSeed: !noSeed, report: Terminal.error)
            let node = ServiceNode(
                settings: settings, catalog: prepared.project.catalog,
                folder: ProjectArchive(prepared.project.project), metrics: metrics,
                isDevelopment: true, logger: logger)
            let address = try await node.start()
            let follower =
                noReload
                ? nil
                : try await FolderFollower.start(
                    self.project, node, settings,
                    SchemaDatabase(url: postgres.connectionString, logger: logger),
                    generator: noGenerate ? nil : CodeGenerator(folder: self.project, options: .init()))
            Self.welcome(settings, address, project, example: prepared.example)
            Self.tellOfUnrefreshed(catalog)
            await Signals.waitForEnd()
            Terminal.error("stopping …")
            await follower?.stop()
            await node.drain(sessionsOverMs: 100, graceMs: 2_000)
        } catch {
            for keeper in keepers { await keeper.end() }
            await redis.stop()
            await postgres.stop()
            Terminal.fail(Terminal.reason(error))
        }
        for keeper in keepers { await keeper.end() }
        await redis.stop()
        await postgres.stop()
    }

    /// Names the queries that clients may follow in vain.
    private static func tellOfUnrefreshed(_ catalog: Catalog) {
        let names = catalog.connectors.values.flatMap(\.operations.values)
            .filter { $0.kind == .query && !$0.isRefreshed && $0.auth.level != .noAccess }
            .map { "\($0.reference)" }.sorted()
        guard let first = names.first else { return }
        let list =
            names.count == 1 ? first : "\(names.prefix(5).joined(separator: ", "))\(names.count > 5 ? ", …" : "")"
        Terminal.out(
            "Nothing refreshes \(names.count == 1 ? "one query" : "\(names.count) queries"): \(list)."
                + " \"automatic: lists\" in refresh.yaml lets changes of the rows that they read do it.")
    }

    /// A token of the user "ada01" in the sample's seed; `freshet dev` requires no signature.
    private static let adasToken = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEwMSJ9."

    private static func welcome(
        _ settings: Settings, _ address: ServiceNode.Address, _ project: Project, example: String?
    ) {
        let program = CommandLine.arguments[0]
        let url = "\(settings.http.scheme)://\(settings.http.host):\(address.publicPort)"
        let option = address.publicPort == 9399 ? "" : " --url \(url)"
        Terminal.out(
            """

            Freshet serves "\(project.serviceID)" at \(url)
              console   \(url)/
              admin     http://\(settings.admin.host):\(address.adminPort ?? 0)/   (\(program) admin status)

            """)
        if let example {
            Terminal.out(
                """
                Try, in other terminals:
                  \(program) subscribe ListLots --vars '{"category":"Books"}'\(option)
                  \(program) subscribe GetLot --vars '{"id":"\(example)"}'\(option)
                  \(program) execute PlaceBid --token \(Self.adasToken) \\
                    --vars '{"lotId":"\(example)","category":"Books","amount":1000}'\(option)
                  \(program) execute EditLot \
                --vars '{"id":"\(example)","category":"Books","description":"Fresh"}'\(option)

                """)
        }
        Terminal.out("Ctrl-C stops everything.")
    }
}
