import ArgumentParser
import Broker
import Catalog
import DeploymentPlan
import Deployments
import Execution
import Foundation
import LiveModel
import Logging
import Migrations
import Node
import Operations
import Postgres
import SchemaModel
import Settings
import Streams

struct Deploy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Deploys a new version of the project to a running cluster.",
        discussion: """
            Checks the folder, compares it with the served version and the database, and refuses changes that would \
            break clients or lose data. Then it adds missing tables and columns and announces the version, which every \
            node loads. When all have, it becomes current for new requests and sessions. Sessions that began with the \
            previous version keep it for deploy.keepMs and are then asked to reconnect, over deploy.moveMs.
            """)

    @Argument(help: "Project folder: dataconnect.yaml, schema and connectors.")
    var project: String?

    @Flag(help: "List the deployments and the nodes that serve them.")
    var list = false

    @Flag(help: "Deploy the version before the current one again. Findings are printed but do not prevent it.")
    var rollback = false

    @Flag(help: "Only check and compare.")
    var dryRun = false

    @Flag(help: "Deploy even if clients of the served version may break. Never loses data.")
    var allowBreaking = false

    @Option(help: "libpq connection string, instead of the setting postgres.url.")
    var postgres: String?

    @Option(help: "Seconds to wait for the nodes to load the version, and again for them to serve it.")
    var timeout = 120

    @OptionGroup var options: SettingsOptions

    func validate() throws {
        guard [project != nil, list, rollback].count(where: { $0 }) == 1 else {
            throw ValidationError("Give a project folder, or --list, or --rollback.")
        }
        guard (1...600).contains(timeout) else { throw ValidationError("--timeout is 1 to 600 seconds.") }
    }

    func run() async {
        // This process opens no admin port, so it needs no admin.token, even if nodes share its settings.
        let further = ["cluster.roles=api"] + (postgres.map { ["postgres.url=\($0)"] } ?? [])
        let settings = options.load(.serve, further: further).settings
        _ = Observation.start(settings)
        do {
            try await connected(settings) { database, broker in
                try await perform(
                    Rollout(
                        database: database, broker: broker, settings: rolloutSettings(settings), report: Self.report),
                    settings)
            }
        } catch let error as CatalogError {
            Terminal.report(error.diagnostics)
            Terminal.fail("the project does not compile")
        } catch {
            Terminal.fail(Terminal.reason(error))
        }
    }

    private func perform(_ rollout: Rollout, _ settings: Settings) async throws {
        if list {
            let rows = try await rollout.listing()
            for row in rows { Terminal.out(Self.line(row)) }
            if rows.isEmpty { Terminal.out("nothing deployed, and no node has run yet") }
        } else if rollback {
            try await rollout.rollBack(by: NSUserName(), dryRun: dryRun)
        } else if let project {
            let project = ProjectLoading.project(at: project)
            let catalog = ProjectLoading.catalog(of: project, everyMinimumMs: settings.worker.everyMinimumMs)
            try await rollout.deploy(project, catalog, by: NSUserName(), dryRun: dryRun)
        }
    }

    private func connected(
        _ settings: Settings, _ body: (SchemaDatabase, any Broker) async throws -> Void
    ) async throws {
        guard let url = settings.postgres.url else { throw ValidationError("postgres.url is not set") }
        var logger = Logger(label: "freshet.deploy")
        // The steps are reported on standard output.
        logger.logLevel = max(logger.logLevel, .warning)
        let database = SchemaDatabase(url: url, logger: logger)
        try await database.pool.start()
        let outcome: Result<Void, any Error>
        do {
            try await database.pool.script(ServiceSchema.sql)
            let broker = try RedisBroker(
                try ServiceNode.redisConfiguration(settings), keys: try Keys(namespace: settings.cluster.namespace),
                name: "freshet-deploy", logger: logger)
            outcome = await Self.outcome { try await body(database, broker) }
            await broker.close()
        } catch {
            outcome = .failure(error)
        }
        await database.pool.stop()
        try outcome.get()
    }

    private static func outcome(of body: () async throws -> Void) async -> Result<Void, any Error> {
        do {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }

    private func rolloutSettings(_ settings: Settings) -> Rollout.Settings {
        var rollout = Rollout.Settings(historyMax: settings.deploy.historyMax)
        rollout.machine.schedule.keepMs = Int64(settings.deploy.keepMs)
        rollout.machine.schedule.moveMs = Int64(settings.deploy.moveMs)
        rollout.machine.versionsMax = settings.deploy.versionsMax
        rollout.machine.timeoutMs = Int64(timeout) * 1_000
        rollout.machine.heartbeatMs = Int64(settings.cluster.heartbeatMs)
        rollout.machine.nodeTtlMs = Int64(settings.cluster.nodeTtlMs)
        rollout.machine.allowsBreaking = allowBreaking
        rollout.options = CatalogOptions(everyMinimumMs: settings.worker.everyMinimumMs)
        rollout.lockRetries = .deploying(settings.deploy, settings.migrate)
        return rollout
    }

    // MARK: Lines

    @Sendable private static func report(_ event: Rollout.Event) {
        switch event {
        case .goingBack(let id, let version): Terminal.out("back to deployment \(id), version \(version.shortHex)")
        case .diagnostics(let diagnostics): Terminal.report(diagnostics)
        case .planned(let plan): report(SchemaDatabase.Event.planned(plan, losses: []))
        case .waiting(let holder): report(SchemaDatabase.Event.waiting(holder: holder))
        case .step(let report): Self.report(report)
        }
    }

    private static func report(_ report: RolloutMachine.Report) {
        switch report {
        case .alreadyDeployed(let version): Terminal.out("version \(version.shortHex) is deployed already")
        case .notCompared(let version):
            Terminal.error(
                "version \(version.shortHex) is served from a folder and not stored, "
                    + "so the new version was not compared with it")
        case .step(let summary, let isDryRun): Terminal.out(isDryRun ? "would \(summary)" : summary)
        case .deployable(let version): Terminal.out("version \(version.shortHex) could be deployed")
        case .announced(let id, let version):
            Terminal.out("deployment \(id), version \(version.shortHex): announced")
        case .progress(let goal, let done, let nodes): Terminal.out("\(done) of \(nodes) nodes \(goal) it")
        case .deployed(0): Terminal.out("deployed; no node is running, the next one to start serves it")
        case .deployed(let count):
            Terminal.out("deployed; \(count) \(count == 1 ? "node serves" : "nodes serve") it")
        }
    }

    private static func report(_ event: SchemaDatabase.Event) {
        for line in event.lines { Terminal.error(line) }
    }

    private static func line(_ row: RolloutListing) -> String {
        let deployment = row.deployment
        let time = Date(timeIntervalSince1970: Double(deployment.activeAtMs ?? deployment.createdAtMs) / 1_000)
        return [
            "\(deployment.id)", deployment.version.shortHex, deployment.origin.rawValue, time.formatted(.iso8601),
            deployment.createdBy, row.standing?.rawValue ?? "",
            row.nodes.isEmpty ? "" : "nodes: " + row.nodes.map(\.name).joined(separator: " "),
        ].filter { !$0.isEmpty }.joined(separator: "  ")
    }
}
