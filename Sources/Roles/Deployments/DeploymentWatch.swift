package import Catalog
package import DeploymentPlan
package import Execution
package import LiveModel
package import Logging
import Metrics
package import Operations
import Postgres
import SchemaModel
import Synchronization

/// The reason that this node cannot serve the deployed project.
package struct DeploymentError: Error, Sendable, CustomStringConvertible {
    package let description: String
    /// Whether the database was unreachable, so that a later call can succeed.
    package var isTransient = false
}

/// Follows the deployments of the cluster: compiles announced versions, swaps the catalogs, and reports when the
/// sessions of a former version must reconnect.
package final class DeploymentWatch: Sendable {
    package struct Settings: Sendable {
        package var schedule = DeploymentSchedule.Settings()
        package var pollMs = 2_000
        /// The most versions in memory besides the current one.
        package var othersMax = 4
        package var options = CatalogOptions()

        package init() {}
    }

    private struct State {
        var compiled: [Digest: Catalog]
        var problem = ""
        var staying: Set<Digest>
    }

    package let catalogs: ServedCatalogs
    private let store: DeploymentStore
    private let folder: ProjectArchive
    private let node: String
    private let settings: Settings
    private let logger: Logger
    private let state: Mutex<State>
    /// Whether sessions are being asked to reconnect; one task at a time does so.
    private let isMoving = Atomic<Bool>(false)
    private let turns = Turns()
    private let metrics = DeploymentMetrics()

    /// Loads the served version: the last deployment, or else the folder.
    /// - Throws: when the deployments cannot be read, or this node cannot compile the current one.
    package static func start(
        store: DeploymentStore, folder: ProjectArchive, catalog: Catalog, node: NodeID, settings: Settings,
        logger: Logger
    ) async throws(DeploymentError) -> DeploymentWatch {
        let watch = DeploymentWatch(store, folder, catalog, node, settings, logger)
        do {
            try await store.noteFolder(folder, by: node.name)
            try await watch.follow()
        } catch let error as DeploymentError {
            throw error
        } catch {
            let isTransient = (error as? PostgresError).map { $0.isRetryable || $0.isOutcomeUnknown } ?? false
            throw DeploymentError(
                description: "the deployments cannot be read: \(error)", isTransient: isTransient)
        }
        let served = watch.catalogs.set.current.version
        if served != folder.version {
            logger.notice(
                "the folder differs from the deployed version",
                metadata: ["deployed": "\(served.shortHex)", "folder": "\(folder.version.shortHex)"])
        }
        return watch
    }

    private init(
        _ store: DeploymentStore, _ folder: ProjectArchive, _ catalog: Catalog, _ node: NodeID, _ settings: Settings,
        _ logger: Logger
    ) {
        self.store = store
        self.folder = folder
        self.node = node.name
        self.settings = settings
        self.logger = logger
        state = Mutex(State(compiled: [folder.version: catalog], staying: [folder.version]))
        catalogs = ServedCatalogs(CatalogSet(current: .init(version: folder.version, catalog: catalog)), generation: 0)
    }

    /// The reason that an announced or deployed version is not served here; empty if all are.
    package var problem: String { state.withLock { $0.problem } }

    /// Runs until its task is cancelled. Returns when a call of `move` that is in progress, and cancelled, has ended.
    /// - Parameter move: asks all sessions to reconnect except those of the given versions; called after each poll. It
    ///   takes the versions that stay, because a node that was suspended may hold sessions of a version that is no
    ///   longer served anywhere.
    package func run(move: @escaping @Sendable (_ staying: Set<Digest>) async -> Void) async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(settings.pollMs))
                if Task.isCancelled { return }
                await poll()
                guard !isMoving.exchange(true, ordering: .acquiringAndReleasing) else { continue }
                let staying = state.withLock { $0.staying }
                group.addTask {
                    await move(staying)
                    self.isMoving.store(false, ordering: .releasing)
                }
            }
        }
    }

    /// Polls now. Returns when everything stored before the call is served; unreadable deployments change nothing.
    package func poll() async {
        await turns.take { await self.look() }
    }

    private func look() async {
        do {
            try await follow()
        } catch {
            state.withLock { $0.problem = "\(error)" }
            logger.warning("could not read the deployments", metadata: ["error": "\(error)"])
        }
    }

    private func follow() async throws {
        var history = try await store.history()
        if isFolderNoteDue(history) {
            try await store.noteFolder(folder, by: node)
            history = try await store.history()
        }
        let schedule = DeploymentSchedule(
            history.deployments, folder: folder.version, nowMs: history.nowMs, settings: settings.schedule)
        guard let wanted = schedule.current else { return }
        var problem = ""
        guard let current = try await catalog(of: wanted, problem: &problem) else {
            throw DeploymentError(description: problem)
        }
        var others: [CatalogSet.Member] = []
        var generation = schedule.generation
        for (index, version) in schedule.others.enumerated() {
            // Beyond the limit, the oldest are left out; their sessions get an error that asks them to reconnect.
            if index >= settings.othersMax { continue }
            if let catalog = try await catalog(of: version, problem: &problem) {
                let isBetween = schedule.announced.contains(version) || schedule.moving.contains(version)
                others.append(.init(version: version, catalog: catalog, takesRequests: !isBetween))
            } else if let first = history.deployments.first(where: { $0.version == version && $0.activeAtMs == nil }) {
                generation = min(generation, first.id - 1)
            }
        }
        let former = catalogs.snapshot
        let set = CatalogSet(current: .init(version: wanted, catalog: current), others: others)
        if !former.set.isServed(as: set) || former.generation != generation {
            catalogs.replace(set, generation: generation)
            metrics.swaps.increment()
            logger.info(
                "project versions served",
                metadata: [
                    "current": "\(wanted.shortHex)", "deployment": "\(generation)",
                    "others": "\(others.map { $0.version.shortHex }.joined(separator: ","))",
                ])
        }
        metrics.versions.record(1 + others.count)
        let served = Set(set.members.map(\.version))
        state.withLock { state in
            state.compiled = state.compiled.filter { served.contains($0.key) || $0.key == folder.version }
            state.problem = problem
            state.staying = served.subtracting(schedule.moving)
        }
    }

    /// Whether to record the folder again: before the first deployment, a folder that no node has recorded for long
    /// would count as former.
    private func isFolderNoteDue(_ history: DeploymentStore.History) -> Bool {
        if history.lastActive != nil { return false }
        guard let mine = history.deployments.last(where: { $0.origin == .folder && $0.version == folder.version })
        else { return true }
        return history.nowMs > mine.seenAtMs + settings.schedule.keepMs / 4
    }

    private func catalog(of version: Digest, problem: inout String) async throws -> Catalog? {
        if let known = state.withLock({ $0.compiled[version] }) { return known }
        guard let text = try await store.project(version) else {
            problem = "version \(version.shortHex) is not stored any more"
            return nil
        }
        let options = settings.options
        // Not on the event loops or on the threads of hot-path actors.
        let outcome = await Task.detached(priority: .utility) { () -> Result<Catalog, DeploymentError> in
            do {
                return .success(try Catalog.compile(try ProjectArchive(parsing: text).project, options: options))
            } catch let error as CatalogError {
                let errors = error.diagnostics.filter { $0.severity == .error }
                let first = errors.first.map { "\($0.file):\($0.line): \($0.message)" } ?? ""
                return .failure(DeploymentError(description: "\(errors.count) problems in the project, first \(first)"))
            } catch {
                return .failure(DeploymentError(description: "\(error)"))
            }
        }.value
        switch outcome {
        case .success(let catalog):
            state.withLock { $0.compiled[version] = catalog }
            return catalog
        case .failure(let error):
            problem = "version \(version.shortHex) cannot be compiled by this node: \(error)"
            logger.error("deployment not loaded", metadata: ["problem": "\(problem)"])
            return nil
        }
    }
}

/// Serializes polls, so that an older answer never replaces a newer one. Bound: one in progress, and one queued that
/// all callers in the meantime share.
private actor Turns {
    private var last: Task<Void, Never>?
    private var waiting: Task<Void, Never>?

    func take(_ look: @escaping @Sendable () async -> Void) async {
        if let waiting { return await waiting.value }
        let before = last
        let task = Task {
            await before?.value
            waiting = nil
            await look()
        }
        waiting = task
        last = task
        await task.value
    }
}
