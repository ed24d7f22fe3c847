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
    package let isTransient: Bool

    fileprivate init(_ failure: DeploymentFollower<Catalog>.LookFailure) {
        switch failure {
        case .unreadable(let unreadable):
            description = "the deployments cannot be read: \(unreadable.reason)"
            isTransient = unreadable.isTransient
        case .unservable(let problem):
            description = problem
            isTransient = false
        }
    }
}

/// Performs `DeploymentFollower` on the deployments of the cluster: compiles versions, swaps the catalogs, and reports
/// when the sessions of a former version must reconnect.
///
/// Locking: the follower changes under a mutex; its effects are performed after the lock is released. At most one call
/// is in progress at a time, so catalogs are replaced one after the other.
package final class DeploymentWatch: Sendable {
    package struct Settings: Sendable {
        package var follower = DeploymentFollower<Catalog>.Settings()
        package var pollMs: Int
        package var options = CatalogOptions()

        package init(pollMs: Int) { self.pollMs = pollMs }
    }

    private typealias Follower = DeploymentFollower<Catalog>

    private struct State {
        var follower: Follower
        /// Callers by the look that they await. Bound: the callers.
        var waiting: [UInt64: [CheckedContinuation<Follower.LookFailure?, Never>]] = [:]
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
    private let metrics = DeploymentMetrics()

    /// Loads the served version: the last deployment, or else the folder.
    /// - Throws: when the deployments cannot be read, or this node cannot compile the current one.
    package static func start(
        store: DeploymentStore, folder: ProjectArchive, catalog: Catalog, node: NodeID, settings: Settings,
        logger: Logger
    ) async throws(DeploymentError) -> DeploymentWatch {
        let watch = DeploymentWatch(store, folder, catalog, node, settings, logger)
        if let failure = await watch.end(of: { $0.start() }) { throw DeploymentError(failure) }
        let served = watch.catalogs.set.current.version
        // A deployment says what the database says of the folder's SQL.
        var project = folder.project
        let current = watch.catalogs.set.current.catalog
        (project.sqlReads, project.sqlWrites) = (current.sqlReads, current.sqlWrites)
        if served != ProjectArchive(project).version {
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
        state = Mutex(State(follower: Follower(folder: folder.version, compiled: catalog, settings: settings.follower)))
        catalogs = ServedCatalogs(
            CatalogSet(current: .init(version: folder.version, catalog: catalog)), loadedDeployment: 0)
    }

    /// The reason that an announced or deployed version is not served here; empty if all are.
    package var problem: String { state.withLock { $0.follower.problem } }

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
                let staying = state.withLock { $0.follower.staying }
                group.addTask {
                    await move(staying)
                    self.isMoving.store(false, ordering: .releasing)
                }
            }
        }
    }

    /// Polls now. Returns when everything stored before the call is served, or why it is not.
    @discardableResult
    package func poll() async -> DeploymentError? { await end(of: { $0.look() }).map(DeploymentError.init) }

    /// Returns when the look has ended.
    private func end(
        of look: (inout Follower) -> (number: UInt64, effects: [Follower.Effect])
    ) async -> Follower.LookFailure? {
        await withCheckedContinuation { continuation in
            let effects = state.withLock { state in
                let (number, effects) = look(&state.follower)
                state.waiting[number, default: []].append(continuation)
                return effects
            }
            perform(effects)
        }
    }

    // MARK: Effects

    private func change(_ body: (inout Follower) -> [Follower.Effect]) {
        perform(state.withLock { body(&$0.follower) })
    }

    private func perform(_ effects: [Follower.Effect]) { for effect in effects { perform(effect) } }

    private func perform(_ effect: Follower.Effect) {
        switch effect {
        case .readHistory(let call):
            Task {
                let answer = await attempt { () throws(PostgresError) in try await store.history() }
                change { $0.historyRead(call, answer) }
            }
        case .noteFolder(let call):
            Task {
                let answer = await attempt { () throws(PostgresError) in try await store.noteFolder(folder, by: node) }
                change { $0.folderNoted(call, answer) }
            }
        case .compile(let call, let version):
            Task {
                let answer = await compile(version)
                change { $0.compiled(call, answer) }
            }
        case .serve(let call, let served):
            serve(served)
            change { $0.served(call) }
        case .reportProblem(let problem): logger.error("deployment not loaded", metadata: ["problem": "\(problem)"])
        case .endLook(let number, let failure): endLook(number, failure)
        }
    }

    private func serve(_ served: Follower.Served) {
        func member(_ member: Follower.Member) -> CatalogSet.Member {
            .init(version: member.version, catalog: member.compiled, takesRequests: member.takesRequests)
        }
        let set = CatalogSet(current: member(served.current), others: served.others.map(member))
        catalogs.replace(set, loadedDeployment: served.loadedDeployment)
        metrics.swaps.increment()
        logger.info(
            "project versions served",
            metadata: [
                "current": "\(served.current.version.shortHex)", "deployment": "\(served.loadedDeployment)",
                "others": "\(served.others.map { $0.version.shortHex }.joined(separator: ","))",
            ])
    }

    private func endLook(_ number: UInt64, _ failure: Follower.LookFailure?) {
        switch failure {
        case .unreadable(let unreadable):
            logger.warning("could not read the deployments", metadata: ["error": "\(unreadable.reason)"])
        case .unservable(let problem):
            logger.warning(
                "the deployed version is not served; the former one stays", metadata: ["error": "\(problem)"])
        case nil: metrics.versions.record(catalogs.set.members.count)
        }
        let ended = state.withLock { state in
            let ended = state.waiting.filter { $0.key <= number }
            state.waiting = state.waiting.filter { $0.key > number }
            return ended.values.flatMap { $0 }
        }
        for continuation in ended { continuation.resume(returning: failure) }
    }

    private func attempt<Value>(
        _ body: () async throws(PostgresError) -> Value
    ) async -> Result<Value, DeploymentsUnreadable> {
        do {
            return .success(try await body())
        } catch {
            return .failure(DeploymentsUnreadable("\(error)", isTransient: error.isTransient))
        }
    }

    private func compile(_ version: Digest) async -> Follower.Compilation {
        let stored = await attempt { () throws(PostgresError) in try await store.project(version) }
        let text: String
        switch stored {
        case .success(let project?): text = project
        case .success(nil): return .notStored
        case .failure(let unreadable): return .unreadable(unreadable)
        }
        let options = settings.options
        // Not on the event loops or on the threads of hot-path actors.
        return await Task.detached(priority: .utility) {
            do {
                let archive = try ProjectArchive(parsing: text)
                // A part that this release does not know would be missing from what it serves.
                guard archive.version == version else {
                    return .invalid(reason: "the project has parts that this release of Freshet does not know")
                }
                return .compiled(try Catalog.compile(archive.project, options: options))
            } catch let error as CatalogError {
                let errors = error.diagnostics.filter { $0.severity == .error }
                let first = errors.first.map { "\($0.file):\($0.line): \($0.message)" } ?? ""
                return .invalid(reason: "\(errors.count) problems in the project, first \(first)")
            } catch {
                return .invalid(reason: "\(error)")
            }
        }.value
    }
}
