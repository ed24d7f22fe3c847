import Broker
import Catalog
import Deployments
import Execution
import Foundation
import LiveModel
import Logging
import Node
import Operations
import Postgres
import SchemaMigration
import SchemaModel
import Settings
import Streams

/// One run of `freshet deploy`: its connections, and the steps in their order.
struct Rollout {
    let settings: Settings
    private let database: Database
    private let store: DeploymentStore
    private let broker: any Broker
    let timeoutSeconds: Int
    private let allowsBreaking: Bool
    let begun = ContinuousClock.now

    static func open(_ settings: Settings, timeoutSeconds: Int, allowsBreaking: Bool) async throws -> Rollout {
        guard let url = settings.postgres.url else { throw RolloutRefused(description: "postgres.url is not set") }
        var logger = Logger(label: "freshet.deploy")
        // What is done is told on standard output.
        logger.logLevel = max(logger.logLevel, .warning)
        let database = Database(url: url, logger: logger)
        try await database.pool.start()
        do {
            try await database.pool.script(ServiceSchema.sql)
            let broker = try RedisBroker(
                try ServiceNode.redisConfiguration(settings), keys: try Keys(namespace: settings.cluster.namespace),
                name: "freshet-deploy", logger: logger)
            return Rollout(
                settings: settings, database: database, store: DeploymentStore(pool: database.pool), broker: broker,
                timeoutSeconds: timeoutSeconds, allowsBreaking: allowsBreaking)
        } catch {
            await database.pool.stop()
            throw error
        }
    }

    func close() async {
        await broker.close()
        await database.pool.stop()
    }

    // MARK: Commands

    func list() async throws {
        let history = try await store.history()
        let nodes = try await nodes()
        let schedule = schedule(history)
        for deployment in history.deployments.reversed() {
            let serving = nodes.filter { $0.project == deployment.version.hex }.map(\.id.name).sorted()
            let isLatest = history.deployments.last { $0.version == deployment.version } == deployment
            let role =
                !isLatest
                ? ""
                : schedule.current == nil && deployment.origin == .folder
                    ? "until the first deployment"
                    : schedule.current == deployment.version
                        ? "current"
                        : deployment.activeAtMs == nil && deployment.origin == .deploy
                            ? "announced" : schedule.others.contains(deployment.version) ? "former, still served" : ""
            Terminal.out(
                [
                    "\(deployment.id)", String(deployment.version.hex.prefix(12)), deployment.origin.rawValue,
                    Self.time(deployment.activeAtMs ?? deployment.createdAtMs), deployment.createdBy, role,
                    serving.isEmpty || !isLatest ? "" : "nodes: " + serving.joined(separator: " "),
                ].filter { !$0.isEmpty }.joined(separator: "  "))
        }
        if history.deployments.isEmpty { Terminal.out("nothing deployed, and no node has run yet") }
    }

    func deploy(_ project: Project, dryRun: Bool) async throws {
        let catalog = ProjectLoading.catalog(of: project, everyMinimumMs: settings.worker.everyMinimumMs)
        try await locked {
            try await roll(
                Candidate(archive: ProjectArchive(project), catalog: catalog, project: project), dryRun: dryRun,
                allowsBreaking: allowsBreaking)
        }
    }

    func goBack(dryRun: Bool) async throws {
        try await locked {
            let history = try await store.history()
            guard let current = schedule(history).current,
                let former = history.deployments.last(where: { isFormer($0, of: current, in: history) })
            else { throw RolloutRefused(description: "there is no version before the current one") }
            guard let text = try await store.project(former.version) else {
                throw RolloutRefused(description: "version \(former.version.hex.prefix(12)) is not stored any more")
            }
            let archive = try ProjectArchive(parsing: text)
            Terminal.out("back to deployment \(former.id), version \(archive.version.hex.prefix(12))")
            let catalog = ProjectLoading.catalog(
                of: archive.project, everyMinimumMs: settings.worker.everyMinimumMs)
            try await roll(
                Candidate(archive: archive, catalog: catalog, project: archive.project), dryRun: dryRun,
                allowsBreaking: true)
        }
    }

    /// Served before the row that made `current` current.
    private func isFormer(_ deployment: Deployment, of current: Digest, in history: DeploymentStore.History) -> Bool {
        let since = history.deployments.last { $0.version == current && $0.activeAtMs != nil }?.id ?? 0
        return deployment.id < since && deployment.version != current
            && (deployment.activeAtMs != nil || deployment.origin == .folder)
    }

    // MARK: Steps

    private struct Candidate {
        let archive: ProjectArchive
        let catalog: Catalog
        /// With paths as the user typed them.
        let project: Project
    }

    private func roll(_ candidate: Candidate, dryRun: Bool, allowsBreaking: Bool) async throws {
        let version = candidate.archive.version
        guard candidate.archive.text.utf8.count <= ProjectArchive.bytesMax else {
            throw RolloutRefused(description: "the project is larger than \(ProjectArchive.bytesMax >> 20) MiB")
        }
        // What a run before this one left behind: the lock says that it is over.
        try await store.withdrawAnnounced()
        let history = try await store.history()
        let schedule = schedule(history)
        if schedule.current == version {
            Terminal.out("version \(version.hex.prefix(12)) is deployed already")
            if dryRun { return }
            var roster = RolloutRoster(
                heartbeatMs: Int64(settings.cluster.heartbeatMs), ttlMs: Int64(settings.cluster.nodeTtlMs))
            return try await waitUntilServed(schedule.generation, version, &roster)
        }
        try await compare(candidate, with: schedule, allowsBreaking: allowsBreaking)
        let plan = try await database.plan(candidate.catalog.schema)
        guard plan.refused.isEmpty else { throw MigrationRefused(findings: plan.refused) }
        let harmful = plan.drift.filter(\.isHarmful)
        Database.tell(of: plan)
        guard harmful.isEmpty || allowsBreaking else {
            throw RolloutRefused(
                description: "operations would fail on the database as it is; nothing was changed. "
                    + "--allow-breaking deploys all the same")
        }
        let others = Set(schedule.others).union(schedule.current.map { [$0] } ?? []).subtracting([version])
        guard others.count <= settings.deploy.versionsMax else {
            throw RolloutRefused(
                description: "\(others.count) versions are still served (deploy.versionsMax is "
                    + "\(settings.deploy.versionsMax)): wait until deploy.keepMs is over for the oldest")
        }
        let deaf = RolloutProgress(try await nodes(), deployment: 1, version: version).loading
            .filter { !$0.problem.isEmpty }
        guard deaf.isEmpty else {
            throw RolloutRefused(
                description: "these nodes load no deployments: "
                    + deaf.map { "\($0.node) (\($0.problem))" }.joined(separator: ", ") + "; nothing was changed")
        }
        for step in plan.steps { Terminal.out(dryRun ? "would \(step.summary)" : step.summary) }
        if dryRun {
            Terminal.out("version \(version.hex.prefix(12)) could be deployed")
            return
        }
        try await migrate(candidate.catalog.schema)
        let id = try await store.announce(candidate.archive, by: NSUserName())
        Terminal.out("deployment \(id), version \(version.hex.prefix(12)): announced")
        var roster = RolloutRoster(
            heartbeatMs: Int64(settings.cluster.heartbeatMs), ttlMs: Int64(settings.cluster.nodeTtlMs))
        do {
            try await wait(for: "load", id, version, &roster) { $0.loading }
        } catch {
            try? await store.withdrawAnnounced()
            throw error
        }
        guard try await store.activate(id) else {
            throw RolloutRefused(description: "the announcement has become void; nothing was changed")
        }
        try await waitUntilServed(id, version, &roster)
        let after = try await store.history()
        let served = self.schedule(after)
        try await store.prune(
            keeping: served.others + (served.current.map { [$0] } ?? []), historyMax: settings.deploy.historyMax)
    }

    private func compare(
        _ candidate: Candidate, with schedule: DeploymentSchedule, allowsBreaking: Bool
    ) async throws {
        // Before the first deployment every node serves its own folder.
        var served = [schedule.current].compactMap { $0 }
        if served.isEmpty {
            served = Set(try await nodes().compactMap { Digest(hex: $0.project) }).sorted { $0.hex < $1.hex }
        }
        for version in served where version != candidate.archive.version {
            guard let text = try await store.project(version) else {
                Terminal.error("version \(version.hex.prefix(12)) is served but not stored: not compared")
                continue
            }
            let old = try Catalog.compile(
                ProjectArchive(parsing: text).project,
                options: CatalogOptions(everyMinimumMs: settings.worker.everyMinimumMs))
            let findings = CompatibilityCheck.findings(
                from: old, to: candidate.catalog, project: candidate.project)
            if findings.isEmpty { continue }
            Terminal.error(DiagnosticRenderer(usesColor: Terminal.usesColor).render(findings))
            let breaking = findings.count { $0.severity == .error }
            guard breaking == 0 || allowsBreaking else {
                throw RolloutRefused(
                    description: "\(breaking) changes would break clients of version \(version.hex.prefix(12)); "
                        + "nothing was changed. --allow-breaking deploys all the same")
            }
        }
    }

    private func migrate(_ schema: Schema) async throws {
        do {
            // Told already.
            _ = try await database.migrate(
                schema, patience: .deploying(settings.deploy, settings.migrate), tell: { _, _ in })
        } catch let error as TableNotFree {
            throw RolloutRefused(description: "\(error); nothing was deployed")
        } catch let error as PostgresError {
            // A unique constraint over rows that are not unique, say: the server says it best.
            throw RolloutRefused(
                description: "the database was not brought to the schema: \(error.message)"
                    + (error.detail.map { " (\($0))" } ?? "") + "; nothing was deployed")
        }
    }

    // MARK: What is there

    func nodes() async throws -> [NodeRecordPayload] {
        try await broker.nodes().compactMap { NodeRecordPayload(payload: $0.payload) }
    }

    private func schedule(_ history: DeploymentStore.History) -> DeploymentSchedule {
        var rules = DeploymentSchedule.Settings()
        rules.keepMs = Int64(settings.deploy.keepMs)
        rules.moveMs = Int64(settings.deploy.moveMs)
        return DeploymentSchedule(history.deployments, folder: nil, nowMs: history.nowMs, settings: rules)
    }

    /// One deployment at a time: the lock ends with the connection, so with this process at the latest.
    private func locked(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await database.pool.withSession { session in
            let answer = try await session.execute(
                "SELECT pg_try_advisory_lock(hashtextextended('freshet.deploy', 0))")
            guard answer.rows.first?.bool(0) == true else {
                throw RolloutRefused(description: "another deployment is under way")
            }
            do {
                try await body()
            } catch {
                _ = try? await session.execute("SELECT pg_advisory_unlock(hashtextextended('freshet.deploy', 0))")
                throw error
            }
            _ = try await session.execute("SELECT pg_advisory_unlock(hashtextextended('freshet.deploy', 0))")
        }
    }

    private static func time(_ ms: Int64) -> String {
        Date(timeIntervalSince1970: Double(ms) / 1_000).formatted(.iso8601)
    }
}
