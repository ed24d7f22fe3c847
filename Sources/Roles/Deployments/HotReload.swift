package import Catalog
import Clocks
import DeploymentPlan
package import LiveModel
package import Migrations
package import Operations
package import SchemaModel

/// Serves edits of a folder (`freshet dev`). A version that compiles becomes current as with `freshet deploy`, so
/// sessions stay connected and keep the version that they began with. While the folder does not compile, the last valid
/// version stays.
package struct HotReload: Sendable {
    /// The time limit for mutations in progress under the previous version's rules.
    private static let loadMaxMs = 5_000

    /// The one node that serves the folder.
    package struct Node: Sendable {
        /// Looks for deployments. Returns the last one that applies to every mutation in progress.
        package let loadDeployments: @Sendable () async -> Int64
        package let servedVersion: @Sendable () -> Digest?

        package init(
            loadDeployments: @escaping @Sendable () async -> Int64, servedVersion: @escaping @Sendable () -> Digest?
        ) {
            self.loadDeployments = loadDeployments
            self.servedVersion = servedVersion
        }
    }

    package enum Event: Sendable {
        case diagnostics([Diagnostic])
        case database(SchemaDatabase.Event)
        case schemaChanged(summary: String)
        case reloaded(Digest)
        /// These operations do not compile and are not served.
        case omitted([String])
        /// The previous version is still served. Nil: the diagnostics give the reason.
        case notReloaded(reason: String?)
    }

    private let node: Node
    private let database: SchemaDatabase
    private let options: CatalogOptions
    private let historyMax: Int
    private let report: @Sendable (Event) -> Void
    private var store: DeploymentStore { DeploymentStore(pool: database.pool) }

    /// - Parameter database: its pool has been started.
    package init(
        _ node: Node, database: SchemaDatabase, options: CatalogOptions, historyMax: Int,
        report: @escaping @Sendable (Event) -> Void
    ) {
        self.node = node
        self.database = database
        self.options = options
        self.historyMax = historyMax
        self.report = report
    }

    /// Makes the folder current before the node starts, because an earlier run may have left another version.
    package static func adopt(_ project: Project, in database: SchemaDatabase) async throws {
        let store = DeploymentStore(pool: database.pool)
        let archive = ProjectArchive(project)
        guard let active = try await store.history().lastActive, active.version != archive.version else { return }
        try await store.withdrawAnnounced()
        _ = try await store.activate(try await store.announce(archive, by: "freshet dev"))
    }

    /// Reloads the folder after a change.
    package func reload(_ load: () throws(CatalogError) -> Project) async {
        let project: Project
        let catalog: Catalog
        do throws(CatalogError) {
            project = try load()
            catalog = try Catalog.compile(project, options: options)
        } catch {
            report(.diagnostics(error.diagnostics))
            return report(.notReloaded(reason: nil))
        }
        if !catalog.warnings.isEmpty { report(.diagnostics(catalog.warnings)) }
        if !catalog.invalidOperations.isEmpty { report(.omitted(catalog.invalidOperations)) }
        do {
            try await deploy(ProjectArchive(project), catalog)
        } catch {
            report(.notReloaded(reason: "\(error)"))
        }
    }

    private func deploy(_ archive: ProjectArchive, _ catalog: Catalog) async throws {
        let current = try await store.history().lastActive?.version
        // A file was touched, or an edit was undone.
        if current == archive.version || current == nil && node.servedVersion() == archive.version { return }
        for summary in try await database.migrate(catalog.schema, report: { report(.database($0)) }) {
            report(.schemaChanged(summary: summary))
        }
        try await store.withdrawAnnounced()
        let id = try await store.announce(archive, by: "freshet dev")
        let deadline = Deadline(afterMs: Self.loadMaxMs)
        while await node.loadDeployments() < id {
            guard !deadline.isReached else {
                try await store.withdrawAnnounced()
                throw RolloutRefused("the node did not load it")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        guard try await store.activate(id) else { throw RolloutRefused("the deployment was withdrawn or expired") }
        _ = await node.loadDeployments()
        try await store.prune(keeping: [archive.version], historyMax: historyMax)
        report(.reloaded(archive.version))
    }
}
