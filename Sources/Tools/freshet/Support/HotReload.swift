import Catalog
import Deployments
import LiveModel
import Logging
import Node
import Operations
import Postgres
import SchemaModel

/// `freshet dev` follows its folder: what compiles becomes current the way `freshet deploy` does it, so sessions stay
/// connected and keep the version that they began with; what does not compile is told, and the last sound version stays.
struct HotReload: Sendable {
    /// For mutations under way that began by the rules of the version before.
    private static let loadMaxMs = 5_000

    let path: String
    let node: ServiceNode
    let database: Database
    let everyMinimumMs: Int
    let historyMax: Int
    private var store: DeploymentStore { DeploymentStore(pool: database.pool) }

    init(_ path: String, node: ServiceNode, database: Database, everyMinimumMs: Int, historyMax: Int) {
        self.path = path
        self.node = node
        self.database = database
        self.everyMinimumMs = everyMinimumMs
        self.historyMax = historyMax
    }

    /// Before the node starts: an earlier run may have left another version than the folder as the current one.
    static func adopt(_ project: Project, in database: Database) async throws {
        let store = DeploymentStore(pool: database.pool)
        let archive = ProjectArchive(project)
        let active = try await store.history().deployments.last { $0.origin == .deploy && $0.activeAtMs != nil }
        guard let active, active.version != archive.version else { return }
        try await store.withdrawAnnounced()
        _ = try await store.activate(try await store.announce(archive, by: "freshet dev"))
    }

    /// The task that follows the folder.
    struct Running: Sendable {
        fileprivate let task: Task<Void, Never>
        fileprivate let database: Database

        func stop() async {
            task.cancel()
            await task.value
            await database.pool.stop()
        }
    }

    func start() -> Running { Running(task: Task { await run() }, database: database) }

    private func run() async {
        let watch = FolderWatch(path)
        var state = watch.look()
        while let changed = await watch.change(from: state) {
            state = changed
            await reload()
        }
    }

    private func reload() async {
        let project: Project
        let catalog: Catalog
        do throws(CatalogError) {
            project = try ProjectLoading.load(path)
            catalog = try Catalog.compile(project, options: CatalogOptions(everyMinimumMs: everyMinimumMs))
        } catch {
            Terminal.error(DiagnosticRenderer(usesColor: Terminal.usesColor).render(error.diagnostics))
            Terminal.error("not reloaded: the version before is still served")
            return
        }
        let warnings = catalog.warnings
        if !warnings.isEmpty { Terminal.error(DiagnosticRenderer(usesColor: Terminal.usesColor).render(warnings)) }
        do {
            try await deploy(ProjectArchive(project), catalog)
        } catch {
            Terminal.error("not reloaded: \(error)\nthe version before is still served")
        }
    }

    private func deploy(_ archive: ProjectArchive, _ catalog: Catalog) async throws {
        let deployments = try await store.history().deployments
        let current = deployments.last { $0.origin == .deploy && $0.activeAtMs != nil }?.version
        // A touched file, or an edit taken back.
        if current == archive.version || current == nil && node.servedVersion == archive.version { return }
        for line in try await database.migrate(catalog.schema) { Terminal.error("schema: \(line)") }
        try await store.withdrawAnnounced()
        let id = try await store.announce(archive, by: "freshet dev")
        let start = ContinuousClock.now
        while await node.loadDeployments() < id {
            guard ContinuousClock.now - start < .milliseconds(Self.loadMaxMs) else {
                try await store.withdrawAnnounced()
                throw RolloutRefused(description: "the node did not load it")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        guard try await store.activate(id) else { throw RolloutRefused(description: "the announcement is void") }
        _ = await node.loadDeployments()
        try await store.prune(keeping: [archive.version], historyMax: historyMax)
        Terminal.error("reloaded: version \(archive.version.hex.prefix(12)) is served")
    }
}
