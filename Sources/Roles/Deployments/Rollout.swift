package import Broker
package import Catalog
package import DeploymentPlan
package import LiveModel
package import Migrations
package import Operations
import Postgres
package import SchemaMigration
package import SchemaModel
import Streams

/// Performs `RolloutMachine` for `freshet deploy`, on the cluster's database and node list.
package struct Rollout: Sendable {
    package struct Settings: Sendable {
        package var machine = RolloutMachine.Settings()
        /// The number of rows that pruning keeps.
        package var historyMax: Int
        package var options = CatalogOptions()
        package var lockRetries = LockRetryPolicy.ownServer

        package init(historyMax: Int) { self.historyMax = historyMax }
    }

    /// The progress that a rollout reports.
    package enum Event: Sendable {
        case goingBack(deployment: Int64, Digest)
        /// Findings about the project, or about changes that its clients will notice.
        case diagnostics([Diagnostic])
        case planned(MigrationPlan)
        /// Another migration is in progress; the rollout waits for its end.
        case waiting(holder: String)
        case step(RolloutMachine.Report)
    }

    private let database: SchemaDatabase
    private let store: DeploymentStore
    private let broker: any Broker
    private let settings: Settings
    private let report: @Sendable (Event) -> Void

    /// - Parameters:
    ///   - database: its pool has been started, and the service's own tables exist.
    ///   - report: called from any thread.
    package init(
        database: SchemaDatabase, broker: any Broker, settings: Settings, report: @escaping @Sendable (Event) -> Void
    ) {
        self.database = database
        store = DeploymentStore(pool: database.pool)
        self.broker = broker
        self.settings = settings
        self.report = report
    }

    // MARK: Commands

    /// Returns the history, newest first, with each version's state and the nodes that serve it.
    package func listing() async throws -> [RolloutListing] {
        let history = try await store.history()
        return RolloutListing.all(history.deployments, schedule(history), nodes: try await nodes())
    }

    /// - Parameters:
    ///   - catalog: compiled from `project`.
    ///   - user: recorded in the history.
    package func deploy(_ project: Project, _ catalog: Catalog, by user: String, dryRun: Bool) async throws {
        try await locked {
            let candidate = try await inspected(project, catalog)
            var run = RolloutRun(store, steps(candidate, by: user))
            try await run.run(machine(dryRun: dryRun)) { $0.deploy(candidate.measure) }
        }
    }

    /// Deploys the version before the current one again.
    package func rollBack(by user: String, dryRun: Bool) async throws {
        try await locked {
            var run = RolloutRun(store, steps(nil, by: user))
            try await run.run(machine(dryRun: dryRun)) { $0.rollBack() }
        }
    }

    // MARK: Steps

    private func inspected(_ project: Project, _ catalog: Catalog) async throws -> Candidate {
        let inspected = try await InspectedProject(project, catalog, options: settings.options, database.pool)
        return Candidate(
            archive: ProjectArchive(inspected.project), catalog: inspected.catalog, project: inspected.project)
    }

    private struct Candidate: Sendable {
        let archive: ProjectArchive
        let catalog: Catalog
        /// The project, with paths as the operator typed them.
        let project: Project

        var measure: RolloutMachine.Candidate {
            RolloutMachine.Candidate(version: archive.version, byteCount: archive.text.utf8.count)
        }
    }

    private struct Steps: RolloutSteps {
        let rollout: Rollout
        let user: String
        /// Nil until a rollback has loaded it.
        var candidate: Candidate?
        let isRollback: Bool

        var historyMax: Int { rollout.settings.historyMax }
        var archive: ProjectArchive { chosen.archive }

        private var chosen: Candidate {
            guard let candidate else { preconditionFailure("a rollback uses its version before it has loaded it") }
            return candidate
        }

        func nodes() async throws -> [NodeRecordPayload] { try await rollout.nodes() }

        mutating func loadFormer(_ deployment: Int64, _ version: Digest) async throws -> RolloutMachine.Candidate? {
            guard let text = try await rollout.store.project(version) else { return nil }
            let archive = try ProjectArchive(parsing: text)
            rollout.report(.goingBack(deployment: deployment, archive.version))
            let catalog = try Catalog.compile(archive.project, options: rollout.settings.options)
            if !catalog.warnings.isEmpty { rollout.report(.diagnostics(catalog.warnings)) }
            let candidate = Candidate(archive: archive, catalog: catalog, project: archive.project)
            self.candidate = candidate
            return candidate.measure
        }

        func breakingChanges(from version: Digest) async throws -> Int? {
            guard let text = try await rollout.store.project(version) else { return nil }
            let old = try Catalog.compile(ProjectArchive(parsing: text).project, options: rollout.settings.options)
            let findings = CompatibilityCheck.findings(from: old, to: chosen.catalog, project: chosen.project)
            if !findings.isEmpty { rollout.report(.diagnostics(findings)) }
            return findings.count { $0.severity == .error }
        }

        /// - Throws: `MigrationRefused`; nothing was changed.
        func plan() async throws -> RolloutMachine.Answer {
            let plan = try await rollout.database.plan(chosen.catalog.schema)
            guard plan.refused.isEmpty else { throw MigrationRefused(findings: plan.refused) }
            rollout.report(.planned(plan))
            let publications = try await ChangePublications.plan(chosen.catalog.captured, rollout.database.pool)
            return .planned(
                steps: plan.steps.map(\.summary) + publications.map(\.summary),
                isHarmful: plan.drift.contains(where: \.isHarmful))
        }

        mutating func migrate() async throws -> RolloutMachine.Candidate? {
            let report = rollout.report
            let former = chosen
            do {
                _ = try await rollout.database.migrate(
                    chosen.catalog.schema, retries: rollout.settings.lockRetries
                ) { event in
                    // The plan has already been reported.
                    if case .waiting(let holder) = event { report(.waiting(holder: holder)) }
                }
                // The migrated database may tell more; a former version stays what it was.
                if !isRollback { candidate = try await rollout.inspected(former.project, former.catalog) }
                _ = try await ChangePublications.publish(chosen.catalog.captured, rollout.database.pool)
            } catch let error as TableNotFree {
                throw RolloutRefused.migration("\(error)")
            } catch let error as PostgresError {
                // For example, a unique constraint over rows that are not unique: the server's message is the clearest.
                throw RolloutRefused.migration(
                    "migration failed: \(error.message)" + (error.detail.map { " (\($0))" } ?? ""))
            }
            return chosen.archive.version == former.archive.version ? nil : chosen.measure
        }

        func report(_ report: RolloutMachine.Report) { rollout.report(.step(report)) }
    }

    private func steps(_ candidate: Candidate?, by user: String) -> Steps {
        Steps(rollout: self, user: user, candidate: candidate, isRollback: candidate == nil)
    }

    private func machine(dryRun: Bool) -> RolloutMachine {
        var machine = settings.machine
        machine.isDryRun = dryRun
        return RolloutMachine(settings: machine)
    }

    // MARK: State

    private func nodes() async throws -> [NodeRecordPayload] {
        try await broker.nodes().compactMap { NodeRecordPayload(payload: $0.payload) }
    }

    private func schedule(_ history: DeploymentHistory) -> DeploymentSchedule {
        DeploymentSchedule(history.deployments, folder: nil, nowMs: history.nowMs, settings: settings.machine.schedule)
    }

    /// Runs `body` under a lock, one deployment at a time. The lock ends with the connection, at the latest when this
    /// process does.
    private func locked(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await database.pool.withSession { session in
            let answer = try await session.execute(
                "SELECT pg_try_advisory_lock(hashtextextended('freshet.deploy', 0))")
            guard answer.rows.first?.bool(0) == true else { throw RolloutRefused.underWay }
            func unlock() async throws {
                _ = try await session.execute("SELECT pg_advisory_unlock(hashtextextended('freshet.deploy', 0))")
            }
            do {
                try await body()
            } catch {
                try? await unlock()
                throw error
            }
            try await unlock()
        }
    }
}
