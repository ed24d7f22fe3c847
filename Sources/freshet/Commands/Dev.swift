internal import ArgumentParser
internal import Catalog
internal import Foundation
internal import LocalServers
internal import Logging
internal import Node
internal import Postgres
internal import Settings

struct Dev: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs everything on this machine: a private Postgres, a private Redis and every role in one process.",
        discussion: """
            Data stay in dev.dataDirectory (.freshet below the current folder) for the next start. Tokens need no \
            signature here. Ctrl-C stops everything.
            """)

    @Argument(help: "Project folder: dataconnect.yaml, schema and connectors.")
    var project: String = "config/movies"

    @Option(name: .shortAndLong, help: "Public port.")
    var port: Int?

    @Flag(help: "Do not load the project's seed.sql into an empty database.")
    var noSeed = false

    @OptionGroup var options: SettingsOptions

    func run() async {
        let further = port.map { ["http.port=\($0)"] } ?? []
        let loaded = options.load(.dev, further: further)
        var settings = loaded.settings
        // One person at a terminal: only what needs attention, unless asked for.
        if !loaded.isGiven("log.level") { settings.log.level = "warning" }
        let metrics = Observation.start(settings)
        let logger = Logger(label: "freshet")
        let project = ProjectLoading.project(at: project)
        let catalog = ProjectLoading.catalog(of: project, everyMinimumMs: settings.worker.everyMinimumMs)
        Self.requireFreePort(settings.http.host, settings.http.port)

        let directory = settings.dev.dataDirectory
        let postgres: LocalPostgres
        let redis: LocalRedis
        Terminal.error("starting Postgres and Redis in \(directory) …")
        do throws(LocalServerError) {
            postgres = try await LocalPostgres.start(dataDirectory: directory + "/postgres")
        } catch {
            Terminal.fail("\(error)")
        }
        do throws(LocalServerError) {
            redis = try await LocalRedis.start(dataDirectory: directory + "/redis")
        } catch {
            await postgres.stop()
            Terminal.fail("\(error)")
        }
        settings.postgres.url = postgres.connectionString
        settings.redis.url = redis.url
        do {
            let example = try await prepare(project, catalog, url: postgres.connectionString, logger: logger)
            let node = ServiceNode(
                settings: settings, catalog: catalog, metrics: metrics, page: Array(DemoPage.html.utf8), logger: logger)
            let address = try await node.start()
            Self.welcome(settings, address, project, example: example)
            await Signals.waitForEnd()
            Terminal.error("stopping …")
            await node.drain(sessionsOverMs: 100, graceMs: 2_000)
        } catch {
            await redis.stop()
            await postgres.stop()
            Terminal.fail("\(error)")
        }
        await redis.stop()
        await postgres.stop()
    }

    /// Before anything is started: a busy port is the most common mistake.
    private static func requireFreePort(_ host: String, _ port: Int) {
        guard port != 0 else { return }
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var reuse: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { return }
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if bound != 0, errno == EADDRINUSE {
            Terminal.fail("port \(port) on \(host) is in use; stop the other program or use --port")
        }
    }

    /// Migrates the schema and, once, loads the seed.
    /// - Returns: the id of a movie to try, where the project is the sample.
    private func prepare(
        _ project: Project, _ catalog: Catalog, url: String, logger: Logger
    ) async throws -> String? {
        var example: String?
        let database = Database(url: url, logger: logger)
        do {
            try await database.pool.start()
            let migrated = try await database.migrate(catalog.schema)
            if !migrated.isEmpty { Terminal.error("schema: \(migrated.count) changes made") }
            if let seed = project.seedSQL, !noSeed, try await database.isEmpty(catalog.schema) {
                try await database.pool.script(seed)
                Terminal.error("seed.sql loaded")
            }
            if catalog.connectors["movies"]?.operations["ListMoviesByGenre"] != nil {
                let found = try await database.pool.query(
                    "SELECT id FROM movie WHERE genre = 'Sci-Fi' ORDER BY id LIMIT 1")
                example = found.rows.first?.string(0)
            }
        } catch {
            await database.pool.stop()
            throw error
        }
        await database.pool.stop()
        return example
    }

    private static func welcome(
        _ settings: Settings, _ address: ServiceNode.Address, _ project: Project, example: String?
    ) {
        let program = CommandLine.arguments[0]
        let url = "http://\(settings.http.host):\(address.publicPort)"
        let option = address.publicPort == 9399 ? "" : " --url \(url)"
        Terminal.out(
            """

            Freshet serves "\(project.serviceID)" at \(url)
              page      \(url)/
              admin     http://\(settings.admin.host):\(address.adminPort ?? 0)/admin/shards   (\(program) admin shards)

            """)
        if let example {
            Terminal.out(
                """
                Try, in other terminals:
                  \(program) subscribe ListMoviesByGenre --vars '{"genre":"Sci-Fi"}'\(option)
                  \(program) execute ListMoviesByGenre --vars '{"genre":"Sci-Fi"}'\(option)
                  \(program) execute UpdateMovie --vars '{"id":"\(example)","genre":"Sci-Fi","description":"Fresh"}'\(option)

                """)
        }
        Terminal.out("Ctrl-C stops everything.")
    }
}
