package import Broker
package import Catalog
import Clocks
package import DeploymentPlan
package import LiveModel
package import Migrations
package import Operations
import Postgres
package import SchemaMigration
package import SchemaModel
import Streams

/// One rollout (`freshet deploy`): compares a project with the served one, migrates the database, announces the
/// version, waits until every node has loaded it, makes it current, and waits until every node serves it.
package struct Rollout: Sendable {
    package struct Settings: Sendable {
        package var schedule = DeploymentSchedule.Settings()
        /// The most versions that may still be served besides the new one.
        package var versionsMax = 4
        /// The number of rows that pruning keeps.
        package var historyMax = 20
        /// The time limit for the nodes to load the version, and again for them to serve it.
        package var timeoutMs: Int64 = 120_000
        package var heartbeatMs: Int64 = 1_000
        package var nodeTtlMs: Int64 = 5_000
        /// Whether to deploy even if clients of the served version may break.
        package var allowsBreaking = false
        package var options = CatalogOptions()
        package var lockRetries = LockRetryPolicy.ownServer

        package init() {}
    }

    /// The progress that a rollout reports.
    package enum Event: Sendable {
        case goingBack(deployment: Int64, Digest)
        case alreadyDeployed(Digest)
        /// Findings about the project, or about changes that its clients will notice.
        case diagnostics([Diagnostic])
        /// The version is served but not stored.
        case notCompared(Digest)
        case planned(MigrationPlan)
        /// Another migration is in progress; the rollout waits for its end.
        case waiting(holder: String)
        case step(summary: String, isDryRun: Bool)
        case deployable(Digest)
        case announced(deployment: Int64, Digest)
        case progress(RolloutWait.Goal, done: Int, nodes: Int)
        case deployed(nodes: Int)
    }

    private let database: SchemaDatabase
    private let store: DeploymentStore
    private let broker: any Broker
    private let settings: Settings
    private let report: @Sendable (Event) -> Void
    private let begunMs = MonotonicClock.nowMs()

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

    private struct Candidate {
        let archive: ProjectArchive
        let catalog: Catalog
        /// The project, with paths as the operator typed them.
        let project: Project
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
            try await roll(
                Candidate(archive: ProjectArchive(project), catalog: catalog, project: project), by: user,
                dryRun: dryRun, allowsBreaking: settings.allowsBreaking)
        }
    }

    /// Deploys the version before the current one again.
    package func rollBack(by user: String, dryRun: Bool) async throws {
        try await locked {
            let history = try await store.history()
            guard let former = DeploymentSchedule.former(of: schedule(history).current, in: history.deployments)
            else { throw RolloutRefused("there is no version before the current one") }
            guard let text = try await store.project(former.version) else {
                throw RolloutRefused("version \(former.version.shortHex) is not stored any more")
            }
            let archive = try ProjectArchive(parsing: text)
            report(.goingBack(deployment: former.id, archive.version))
            let catalog = try Catalog.compile(archive.project, options: settings.options)
            if !catalog.warnings.isEmpty { report(.diagnostics(catalog.warnings)) }
            try await roll(
                Candidate(archive: archive, catalog: catalog, project: archive.project), by: user, dryRun: dryRun,
                allowsBreaking: true)
        }
    }

    // MARK: Steps

    private func roll(
        _ candidate: Candidate, by user: String, dryRun: Bool, allowsBreaking: Bool
    ) async throws {
        let version = candidate.archive.version
        guard candidate.archive.text.utf8.count <= ProjectArchive.bytesMax else {
            throw RolloutRefused("the project is larger than \(ProjectArchive.bytesMax >> 20) MiB")
        }
        // Left over from an earlier run, which has ended: this one holds the lock.
        try await store.withdrawAnnounced()
        let schedule = schedule(try await store.history())
        if schedule.current == version {
            report(.alreadyDeployed(version))
            if !dryRun { try await wait(.serve, schedule.generation, version, roster()) }
            return
        }
        let plan = try await check(candidate, schedule, allowsBreaking: allowsBreaking)
        for step in plan.steps { report(.step(summary: step.summary, isDryRun: dryRun)) }
        if dryRun { return report(.deployable(version)) }
        try await migrate(candidate.catalog.schema)
        let id = try await store.announce(candidate.archive, by: user)
        report(.announced(deployment: id, version))
        let roster: RolloutRoster
        do {
            roster = try await wait(.load, id, version, self.roster())
        } catch {
            try? await store.withdrawAnnounced()
            throw error
        }
        guard try await store.activate(id) else {
            throw RolloutRefused(
                "deployment \(id) was withdrawn or expired before it became current; the previous version stays"
                    + " current, and added tables and columns stay")
        }
        try await wait(.serve, id, version, roster)
        let served = self.schedule(try await store.history())
        try await store.prune(
            keeping: served.others + (served.current.map { [$0] } ?? []), historyMax: settings.historyMax)
    }

    /// - Returns: the migration that the database needs.
    /// - Throws: `RolloutRefused`, `MigrationRefused`; nothing was changed.
    private func check(
        _ candidate: Candidate, _ schedule: DeploymentSchedule, allowsBreaking: Bool
    ) async throws -> MigrationPlan {
        let version = candidate.archive.version
        try await compare(candidate, with: schedule, allowsBreaking: allowsBreaking)
        let plan = try await database.plan(candidate.catalog.schema)
        guard plan.refused.isEmpty else { throw MigrationRefused(findings: plan.refused) }
        report(.planned(plan))
        guard allowsBreaking || !plan.drift.contains(where: \.isHarmful) else {
            throw RolloutRefused(
                "operations would fail on the database as it is; nothing was changed. "
                    + "--allow-breaking deploys all the same")
        }
        let others = Set(schedule.others).union(schedule.current.map { [$0] } ?? []).subtracting([version])
        guard others.count <= settings.versionsMax else {
            throw RolloutRefused(
                "\(others.count) versions are still served (deploy.versionsMax is \(settings.versionsMax)): wait until "
                    + "deploy.keepMs is over for the oldest")
        }
        let unable = RolloutProgress(try await nodes(), deployment: 1, version: version).loading
            .filter { !$0.problem.isEmpty }
        guard unable.isEmpty else {
            throw RolloutRefused(
                "these nodes load no deployments: "
                    + unable.map { "\($0.node) (\($0.problem))" }.joined(separator: ", ") + "; nothing was changed")
        }
        return plan
    }

    private func compare(
        _ candidate: Candidate, with schedule: DeploymentSchedule, allowsBreaking: Bool
    ) async throws {
        // Before the first deployment, every node serves its own folder.
        var served = [schedule.current].compactMap { $0 }
        if served.isEmpty {
            served = Set(try await nodes().compactMap { Digest(hex: $0.project) }).sorted { $0.hex < $1.hex }
        }
        for version in served where version != candidate.archive.version {
            guard let text = try await store.project(version) else {
                report(.notCompared(version))
                continue
            }
            let old = try Catalog.compile(ProjectArchive(parsing: text).project, options: settings.options)
            let findings = CompatibilityCheck.findings(from: old, to: candidate.catalog, project: candidate.project)
            if findings.isEmpty { continue }
            report(.diagnostics(findings))
            let breaking = findings.count { $0.severity == .error }
            guard breaking == 0 || allowsBreaking else {
                throw RolloutRefused(
                    "\(breaking) changes would break clients of version \(version.shortHex); nothing was changed. "
                        + "--allow-breaking deploys all the same")
            }
        }
    }

    private func migrate(_ schema: Schema) async throws {
        do {
            _ = try await database.migrate(schema, retries: settings.lockRetries) { event in
                // The plan has already been reported.
                if case .waiting(let holder) = event { report(.waiting(holder: holder)) }
            }
        } catch let error as TableNotFree {
            throw RolloutRefused("\(error); nothing was deployed")
        } catch let error as PostgresError {
            // For example, a unique constraint over rows that are not unique: the server's message is the clearest.
            throw RolloutRefused(
                "migration failed: \(error.message)"
                    + (error.detail.map { " (\($0))" } ?? "") + "; nothing was deployed")
        }
    }

    /// - Returns: the nodes seen, for a later wait.
    /// - Throws: `RolloutRefused` with the nodes' names when the time is over or a node cannot load the version.
    @discardableResult
    private func wait(
        _ goal: RolloutWait.Goal, _ id: Int64, _ version: Digest, _ roster: RolloutRoster
    ) async throws -> RolloutRoster {
        var wait = RolloutWait(
            for: goal, id, version, roster, timeoutMs: settings.timeoutMs, nowMs: elapsedMs)
        while true {
            for action in wait.looked(try? await nodes(), nowMs: elapsedMs) {
                switch action {
                case .report(let done, let nodes): report(.progress(goal, done: done, nodes: nodes))
                case .finish(let nodes):
                    if goal == .serve { report(.deployed(nodes: nodes)) }
                    return wait.roster
                case .giveUp(let waiting): throw RolloutRefused(goal, waiting)
                case .lookAgain: try await Task.sleep(for: .milliseconds(RolloutWait.lookMs))
                }
            }
        }
    }

    // MARK: State

    private var elapsedMs: Int64 { MonotonicClock.nowMs() - begunMs }

    private func roster() -> RolloutRoster {
        RolloutRoster(heartbeatMs: settings.heartbeatMs, ttlMs: settings.nodeTtlMs)
    }

    private func nodes() async throws -> [NodeRecordPayload] {
        try await broker.nodes().compactMap { NodeRecordPayload(payload: $0.payload) }
    }

    private func schedule(_ history: DeploymentStore.History) -> DeploymentSchedule {
        DeploymentSchedule(history.deployments, folder: nil, nowMs: history.nowMs, settings: settings.schedule)
    }

    /// Runs `body` under a lock, one deployment at a time. The lock ends with the connection, at the latest when this
    /// process does.
    private func locked(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await database.pool.withSession { session in
            let answer = try await session.execute(
                "SELECT pg_try_advisory_lock(hashtextextended('freshet.deploy', 0))")
            guard answer.rows.first?.bool(0) == true else { throw RolloutRefused("another deployment is under way") }
            do {
                try await body()
            } catch {
                _ = try? await session.execute("SELECT pg_advisory_unlock(hashtextextended('freshet.deploy', 0))")
                throw error
            }
            _ = try await session.execute("SELECT pg_advisory_unlock(hashtextextended('freshet.deploy', 0))")
        }
    }
}
