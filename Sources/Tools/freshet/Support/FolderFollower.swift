import Catalog
import Deployments
import DeploymentPlan
import Migrations
import Node
import Operations
import Postgres
import ProjectFolder
import SchemaModel
import Settings
import Synchronization

/// Reloads the project of `freshet dev` when its files change, and reports the result on standard error.
struct FolderFollower: Sendable {
    private let task: Task<Void, Never>
    private let database: SchemaDatabase

    /// - Parameter generator: of the client code that the project asks for; nil to generate none.
    static func start(
        _ path: String, _ node: ServiceNode, _ settings: Settings, _ database: SchemaDatabase,
        generator: CodeGenerator?
    ) async throws(PostgresError) -> FolderFollower {
        try await database.pool.start()
        var schedule = DeploymentSchedule.Settings()
        schedule.keepMs = Int64(settings.deploy.keepMs)
        schedule.moveMs = Int64(settings.deploy.moveMs)
        let attempt = Attempt()
        let reload = HotReload(
            .init(loadDeployments: { await node.loadDeployments() }, servedVersion: { node.servedVersion }),
            database: database,
            options: CatalogOptions(
                everyMinimumMs: settings.worker.everyMinimumMs, omitsInvalidOperations: true),
            schedule: schedule, historyMax: settings.deploy.historyMax,
            report: { event in
                attempt.take(event)
                report(event)
            })
        let task = Task {
            let watch = FolderWatch(path)
            var state = watch.look()
            generator.map(generate)
            while let changed = await watch.change(from: state) {
                state = changed
                await reload.reload { () throws(CatalogError) in try ProjectFolder.load(path) }
                attempt.end(node)
                generator.map(generate)
            }
        }
        return FolderFollower(task: task, database: database)
    }

    func stop() async {
        task.cancel()
        await task.value
        await database.pool.stop()
    }

    /// The reports of one reload, for the console.
    private final class Attempt: Sendable {
        private let state = Mutex((errors: [Diagnostic](), reason: String?.none, isRefused: false))

        func take(_ event: HotReload.Event) {
            state.withLock { state in
                switch event {
                case .diagnostics(let diagnostics): state.errors += diagnostics.filter { $0.severity == .error }
                case .notReloaded(let reason): (state.reason, state.isRefused) = (reason, true)
                case .database, .schemaChanged, .reloaded, .omitted: break
                }
            }
        }

        /// Tells the node the outcome, and forgets the reports.
        func end(_ node: ServiceNode) {
            let ended = state.withLock { state in
                defer { state = ([], nil, false) }
                return state
            }
            if ended.isRefused { node.notReloaded(ended.errors, reason: ended.reason) } else { node.reloaded() }
        }
    }

    /// Generates client code; a project that does not compile has been reported already.
    private static func generate(_ generator: CodeGenerator) {
        guard let outcome = try? generator.run() else { return }
        GenerationReport.show(outcome)
    }

    private static func report(_ event: HotReload.Event) {
        switch event {
        case .diagnostics(let diagnostics): Terminal.report(diagnostics)
        case .database(let event): for line in event.lines { Terminal.error(line) }
        case .schemaChanged(let summary): Terminal.error("schema: \(summary)")
        case .reloaded(let version): Terminal.error("reloaded: version \(version.shortHex) is served")
        case .omitted(let names): ProjectLoading.omission(names).map(Terminal.error)
        case .notReloaded(nil): Terminal.error("not reloaded: the previous version is still served")
        case .notReloaded(let reason?):
            Terminal.error("not reloaded: \(reason)\nthe previous version is still served")
        }
    }
}
