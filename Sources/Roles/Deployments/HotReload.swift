package import Catalog
package import DeploymentPlan
package import LiveModel
package import Migrations
package import Operations
package import SchemaModel

/// Serves edits of a folder (`freshet dev`). A version that compiles becomes current as with `freshet deploy`, so
/// sessions stay connected and keep the version that they began with. While the folder does not compile, the last valid
/// version stays.
package struct HotReload: Sendable {
    /// The time limit for mutations in progress under the previous version's rules.
    private static let loadMaxMs: Int64 = 5_000
    private static let lookMs: Int64 = 20
    private static let user = "freshet dev"

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
    private let schedule: DeploymentSchedule.Settings
    private let historyMax: Int
    private let report: @Sendable (Event) -> Void
    private var store: DeploymentStore { DeploymentStore(pool: database.pool) }

    /// - Parameter database: its pool has been started.
    package init(
        _ node: Node, database: SchemaDatabase, options: CatalogOptions,
        schedule: DeploymentSchedule.Settings, historyMax: Int, report: @escaping @Sendable (Event) -> Void
    ) {
        self.node = node
        self.database = database
        self.options = options
        self.schedule = schedule
        self.historyMax = historyMax
        self.report = report
    }

    /// Makes the folder current before the node starts, because an earlier run may have left another version.
    package static func adopt(_ project: Project, in database: SchemaDatabase) async throws {
        let store = DeploymentStore(pool: database.pool)
        let archive = ProjectArchive(project)
        let active = try await store.history().lastActive
        if let active {
            if active.version == archive.version { return }
        } else if project.sqlReads.isEmpty, project.sqlWrites.isEmpty {
            // Nodes serve the folder, which does not say what its SQL reads and writes.
            return
        }
        try await store.withdrawAnnounced()
        _ = try await store.activate(try await store.announce(archive, by: user))
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
            let inspected = try await InspectedProject(project, catalog, options: options, database.pool)
            try await deploy(inspected)
        } catch {
            report(.notReloaded(reason: "\(error)"))
        }
    }

    private func deploy(_ inspected: InspectedProject) async throws {
        let steps = Steps(reload: self, inspected: inspected)
        var machine = RolloutMachine.Settings()
        machine.isReload = true
        machine.schedule = schedule
        machine.folder = node.servedVersion()
        machine.timeoutMs = Self.loadMaxMs
        machine.lookMs = Self.lookMs
        // The one node answers by itself.
        (machine.heartbeatMs, machine.nodeTtlMs) = (0, Self.loadMaxMs)
        var run = RolloutRun(store, steps)
        do {
            try await run.run(RolloutMachine(settings: machine)) {
                $0.deploy(steps.measure)
            }
        } catch RolloutRefused.notReached(let goal, _) {
            throw NotReloaded(description: "the node did not \(goal) it")
        } catch RolloutRefused.withdrawn {
            throw NotReloaded(description: "the deployment was withdrawn or expired")
        }
    }

    private struct NotReloaded: Error, CustomStringConvertible {
        let description: String
    }

    private struct Steps: RolloutSteps {
        let reload: HotReload
        private var inspected: InspectedProject
        private(set) var archive: ProjectArchive

        init(reload: HotReload, inspected: InspectedProject) {
            self.reload = reload
            self.inspected = inspected
            archive = ProjectArchive(inspected.project)
        }

        var measure: RolloutMachine.Candidate {
            RolloutMachine.Candidate(version: archive.version, byteCount: archive.text.utf8.count)
        }

        var user: String { HotReload.user }
        var historyMax: Int { reload.historyMax }

        func nodes() async throws -> [NodeRecordPayload] {
            let deployment = await reload.node.loadDeployments()
            return [
                NodeRecordPayload(
                    id: NodeID("dev"), roles: [], address: "", adminAddress: "", version: "", startedAtMs: 0,
                    isDraining: false, load: 0, project: reload.node.servedVersion()?.hex ?? "", deployment: deployment)
            ]
        }

        mutating func migrate() async throws -> RolloutMachine.Candidate? {
            let reload = reload
            for summary in try await reload.database.migrate(
                inspected.catalog.schema, report: { reload.report(.database($0)) })
            {
                reload.report(.schemaChanged(summary: summary))
            }
            inspected = try await InspectedProject(
                inspected.project, inspected.catalog, options: reload.options, reload.database.pool)
            for summary in try await ChangePublications.publish(inspected.catalog.captured, reload.database.pool) {
                reload.report(.schemaChanged(summary: summary))
            }
            let former = archive.version
            archive = ProjectArchive(inspected.project)
            return archive.version == former ? nil : measure
        }

        func report(_ report: RolloutMachine.Report) {
            if case .deployed = report { reload.report(.reloaded(archive.version)) }
        }

        func loadFormer(_: Int64, _: Digest) async throws -> RolloutMachine.Candidate? {
            preconditionFailure("a reload goes back to no version")
        }
        func breakingChanges(from _: Digest) async throws -> Int? {
            preconditionFailure("a reload compares no versions")
        }
        func plan() async throws -> RolloutMachine.Answer { preconditionFailure("a reload plans no migration") }
    }
}
