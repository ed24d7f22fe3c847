package import LiveModel

/// The state machine of a node that follows the deployments of its cluster: it decides which versions are compiled and
/// served, and which of them take requests.
///
/// A look reads the history, compiles the versions that are not in memory one after the other, and serves them. If the
/// history cannot be read or the current version cannot be compiled, what was served remains. Looks that are requested
/// during a look are served by one further look, so each sees everything stored before its request.
///
/// A version other than the current one that cannot be compiled is left out. If it was only announced, the loaded
/// deployment stays below its own: the rollout sees that this node has not loaded it.
///
/// At most one call awaits its answer; an answer with any other id is ignored. Bound: `othersMax` versions in memory
/// besides the current one and the folder.
package struct DeploymentFollower<Compiled: Sendable>: Sendable {
    package struct Settings: Sendable, Hashable {
        package var schedule = DeploymentSchedule.Settings()
        /// The most versions served besides the current one.
        package var othersMax = RolloutMachine.Settings().versionsMax

        package init() {}
    }

    /// Identifies a call that awaits an answer.
    package typealias CallID = UInt64

    package struct Member: Sendable {
        package let version: Digest
        package let compiled: Compiled
        /// Whether new requests and sessions may use it: false for a version that is only announced or about to go.
        package let takesRequests: Bool
    }

    package struct Served: Sendable {
        package let current: Member
        /// Youngest first.
        package let others: [Member]
        /// The greatest deployment id up to which every deployment is loaded.
        package let loadedDeployment: Int64
    }

    /// The outcome of an attempt to compile a stored version.
    package enum Compilation: Sendable {
        case compiled(Compiled)
        case notStored
        case invalid(reason: String)
        case unreadable(DeploymentsUnreadable)
    }

    /// The reason that a look changed nothing.
    package enum LookFailure: Sendable, Hashable {
        case unreadable(DeploymentsUnreadable)
        /// The current version is not served.
        case unservable(problem: String)
    }

    package enum Effect: Sendable {
        /// Read the history, then call `historyRead`.
        case readHistory(CallID)
        /// Record that this node was started with its folder, then call `folderNoted`.
        case noteFolder(CallID)
        /// Read and compile a stored version, then call `compiled`.
        case compile(CallID, Digest)
        /// Replace the versions in service, then call `served`.
        case serve(CallID, Served)
        /// Log that a version is not served.
        case reportProblem(String)
        /// Every look requested up to this number has ended. Sessions of versions other than `staying` are to
        /// reconnect.
        case endLook(UInt64, LookFailure?)
    }

    /// The findings of a look so far.
    private struct Plan: Sendable {
        let history: DeploymentHistory
        let schedule: DeploymentSchedule
        let current: Digest
        /// The other versions to serve; the oldest are left out if there are too many, and their sessions get an error
        /// that asks them to reconnect.
        let others: ArraySlice<Digest>
        var failed: Set<Digest> = []
        var problem = ""
    }

    private enum State: Sendable {
        case idle
        /// - Parameter isFirst: whether the node is starting.
        case notingFolder(CallID, isFirst: Bool)
        case readingHistory(CallID, isNoted: Bool)
        case compiling(CallID, Digest, Plan)
        case serving(CallID)
    }

    private let folder: Digest
    private let settings: Settings
    private var state = State.idle
    private var lastCall: CallID = 0
    private var lookNumber: UInt64 = 0
    private var isDueAgain = false
    private var compiled: [Digest: Compiled]
    /// The versions in service, those of them that take requests, and the loaded deployment.
    private var inService: (versions: [Digest], open: [Digest], loadedDeployment: Int64)
    /// The reason that an announced or deployed version is not served here; empty if all are.
    package private(set) var problem = ""
    /// The versions whose sessions remain.
    package private(set) var staying: Set<Digest>

    /// - Parameter folder: the version that the node was started with and serves until the first look, as deployment 0.
    package init(folder: Digest, compiled: Compiled, settings: Settings) {
        self.folder = folder
        self.settings = settings
        self.compiled = [folder: compiled]
        inService = ([folder], [folder], 0)
        staying = [folder]
    }

    // MARK: Looks

    /// Records the folder and looks for the first time.
    /// - Returns: the number of the look that serves this request.
    package mutating func start() -> (number: UInt64, effects: [Effect]) {
        guard case .idle = state, lookNumber == 0 else { preconditionFailure("started during \(state)") }
        lookNumber = 1
        let call = newCall()
        state = .notingFolder(call, isFirst: true)
        return (lookNumber, [.noteFolder(call)])
    }

    /// Looks for deployments now, or again after the look in progress.
    /// - Returns: the number of the look that serves this request.
    package mutating func look() -> (number: UInt64, effects: [Effect]) {
        guard case .idle = state else {
            isDueAgain = true
            return (lookNumber + 1, [])
        }
        return (lookNumber + 1, beginLook())
    }

    private mutating func beginLook() -> [Effect] {
        lookNumber += 1
        isDueAgain = false
        return readHistory(isNoted: false)
    }

    private mutating func end(_ failure: LookFailure? = nil) -> [Effect] {
        state = .idle
        switch failure {
        case .unreadable(let unreadable): problem = unreadable.reason
        case .unservable(let reason): problem = reason
        case nil: break
        }
        return [.endLook(lookNumber, failure)] + (isDueAgain ? beginLook() : [])
    }

    // MARK: Answers

    package mutating func folderNoted(_ call: CallID, _ answer: Result<Void, DeploymentsUnreadable>) -> [Effect] {
        guard case .notingFolder(call, let isFirst) = state else { return [] }
        switch answer {
        case .success: return readHistory(isNoted: !isFirst)
        case .failure(let unreadable): return end(.unreadable(unreadable))
        }
    }

    private mutating func readHistory(isNoted: Bool) -> [Effect] {
        let call = newCall()
        state = .readingHistory(call, isNoted: isNoted)
        return [.readHistory(call)]
    }

    package mutating func historyRead(
        _ call: CallID, _ answer: Result<DeploymentHistory, DeploymentsUnreadable>
    ) -> [Effect] {
        guard case .readingHistory(call, let isNoted) = state else { return [] }
        let history: DeploymentHistory
        switch answer {
        case .success(let read): history = read
        case .failure(let unreadable): return end(.unreadable(unreadable))
        }
        if !isNoted, history.isNoteDue(of: folder, keepMs: settings.schedule.keepMs) {
            let call = newCall()
            state = .notingFolder(call, isFirst: false)
            return [.noteFolder(call)]
        }
        let schedule = DeploymentSchedule(
            history.deployments, folder: folder, nowMs: history.nowMs, settings: settings.schedule)
        guard let current = schedule.current else { preconditionFailure("a node with a folder has no current version") }
        return advance(
            Plan(
                history: history, schedule: schedule, current: current,
                others: schedule.others.prefix(settings.othersMax)))
    }

    package mutating func compiled(_ call: CallID, _ answer: Compilation) -> [Effect] {
        guard case .compiling(call, let version, var plan) = state else { return [] }
        switch answer {
        case .compiled(let result):
            compiled[version] = result
            return advance(plan)
        case .unreadable(let unreadable): return end(.unreadable(unreadable))
        case .notStored: plan.problem = "version \(version.shortHex) is not stored any more"
        case .invalid(let reason):
            plan.problem = "version \(version.shortHex) cannot be compiled by this node: \(reason)"
        }
        let report = Effect.reportProblem(plan.problem)
        if version == plan.current { return [report] + end(.unservable(problem: plan.problem)) }
        plan.failed.insert(version)
        return [report] + advance(plan)
    }

    /// Compiles the next version that is missing, or serves the planned ones.
    private mutating func advance(_ plan: Plan) -> [Effect] {
        let wanted = [plan.current] + plan.others
        if let version = wanted.first(where: { compiled[$0] == nil && !plan.failed.contains($0) }) {
            let call = newCall()
            state = .compiling(call, version, plan)
            return [.compile(call, version)]
        }
        let served = served(plan)
        let versions = [served.current.version] + served.others.map(\.version)
        let open = [served.current.version] + served.others.filter(\.takesRequests).map(\.version)
        let isChanged = inService != (versions, open, served.loadedDeployment)
        inService = (versions, open, served.loadedDeployment)
        compiled = compiled.filter { versions.contains($0.key) || $0.key == folder }
        problem = plan.problem
        staying = Set(versions).subtracting(plan.schedule.moving)
        guard isChanged else { return end() }
        let call = newCall()
        state = .serving(call)
        return [.serve(call, served)]
    }

    /// Handles that the versions are in service. The look ends with it, and no other begins before.
    package mutating func served(_ call: CallID) -> [Effect] {
        guard case .serving(call) = state else { return [] }
        return end()
    }

    private func served(_ plan: Plan) -> Served {
        func member(_ version: Digest, takesRequests: Bool) -> Member? {
            compiled[version].map { Member(version: version, compiled: $0, takesRequests: takesRequests) }
        }
        guard let current = member(plan.current, takesRequests: true) else {
            preconditionFailure("version \(plan.current.shortHex) is to be served and not compiled")
        }
        var loadedDeployment = plan.schedule.newestID
        for version in plan.failed {
            let first = plan.history.deployments.first { $0.version == version && $0.activeAtMs == nil }
            if let first { loadedDeployment = min(loadedDeployment, first.id - 1) }
        }
        let closed = plan.schedule.announced.union(plan.schedule.moving)
        return Served(
            current: current,
            others: plan.others.compactMap { member($0, takesRequests: !closed.contains($0)) },
            loadedDeployment: loadedDeployment)
    }

    // MARK: Calls

    private mutating func newCall() -> CallID {
        lastCall += 1
        return lastCall
    }
}

/// The reason that the stored deployments could not be read.
package struct DeploymentsUnreadable: Error, Sendable, Hashable {
    package let reason: String
    /// Whether a later attempt may succeed.
    package let isTransient: Bool

    package init(_ reason: String, isTransient: Bool) {
        self.reason = reason
        self.isTransient = isTransient
    }
}
