import LiveModel

/// The state machine of one rollout: the order of its steps, and what is refused.
///
/// Withdraw what an earlier run left announced → same version as the current one? → compare with what is served → plan
/// the migration → too many versions? → nodes that load no deployments? → migrate → announce → wait until every node
/// has loaded it → make it current → wait until every node serves it → prune.
///
/// A rollback first finds the version before the current one. A dry run ends before the migration. A reload of a folder
/// (`Settings.isReload`) compares and refuses nothing.
///
/// A step that fails ends the rollout with its error; a rollout that ends while nodes load the version withdraws it
/// first. One call at a time awaits its answer; an answer with any other id is ignored.
package struct RolloutMachine: Sendable {
    private enum State: Sendable {
        case new
        case readingFormer
        case loadingFormer(Digest)
        case withdrawing
        case readingHistory
        case listingServed(DeploymentSchedule)
        case comparing(DeploymentSchedule, remaining: ArraySlice<Digest>)
        case planning(DeploymentSchedule)
        case listingUnable(steps: [String])
        case migrating
        case announcing
        /// - Parameter isPause: whether it is the time between two reads of the node list.
        case waiting(RolloutWait, deployment: Int64, RolloutWait.Goal, isPause: Bool)
        case withdrawingAfter(any Error)
        case activating(deployment: Int64, RolloutRoster)
        case readingServed
        case pruning
        case over
    }

    private let settings: Settings
    /// Nil until a rollback has found it.
    private var candidate: Candidate?
    private var allowsBreaking: Bool
    /// Whether the version was current before this rollout: nothing is to be pruned.
    private var isCurrentAlready = false
    private var state = State.new
    private var lastCall: CallID = 0

    package init(settings: Settings) {
        self.settings = settings
        allowsBreaking = settings.allowsBreaking
    }

    // MARK: Beginning

    package mutating func deploy(_ candidate: Candidate) -> [Effect] {
        guard case .new = state else { preconditionFailure("deployed during \(state)") }
        return begin(candidate)
    }

    /// Deploys the version before the current one again; clients of the current one may break.
    package mutating func rollBack() -> [Effect] {
        guard case .new = state else { preconditionFailure("rolled back during \(state)") }
        allowsBreaking = true
        return call(.readHistory, .readingFormer)
    }

    private mutating func begin(_ candidate: Candidate) -> [Effect] {
        self.candidate = candidate
        guard candidate.byteCount <= ProjectArchive.bytesMax else { return end(RolloutRefused.tooLarge) }
        // Left over from an earlier run, which has ended: one rollout runs at a time.
        return call(.withdraw, .withdrawing)
    }

    private var version: Digest {
        guard let candidate else { preconditionFailure("no version to deploy during \(state)") }
        return candidate.version
    }

    // MARK: Answers

    package mutating func answered(_ id: CallID, _ answer: Answer, nowMs: Int64) -> [Effect] {
        guard id == lastCall else { return [] }
        if case .over = state { return [] }
        // No later answer to this call counts.
        lastCall += 1
        if case .failed(let error) = answer { return failed(error, nowMs: nowMs) }
        switch (state, answer) {
        case (.readingFormer, .history(let history)): return loadFormer(history)
        case (.loadingFormer, .candidate(let candidate)): return begin(candidate)
        case (.loadingFormer(let version), .notStored): return end(RolloutRefused.notStored(version))
        case (.withdrawing, .done): return call(.readHistory, .readingHistory)
        case (.readingHistory, .history(let history)): return check(schedule(history), nowMs: nowMs)
        case (.listingServed(let schedule), .nodes(let nodes)):
            // Before the first deployment, every node serves its own folder.
            let served = Set(nodes.compactMap { Digest(hex: $0.project) }).sorted { $0.hex < $1.hex }
            return compare(schedule, with: served[...])
        case (.comparing(let schedule, let remaining), .notStored):
            let report = remaining.first.map { [Effect.report(.notCompared($0))] } ?? []
            return report + compare(schedule, with: remaining.dropFirst())
        case (.comparing(let schedule, let remaining), .compared(let breaking)):
            if breaking > 0, !allowsBreaking, let served = remaining.first {
                return end(RolloutRefused.breaking(changes: breaking, clientsOf: served))
            }
            return compare(schedule, with: remaining.dropFirst())
        case (.planning(let schedule), .planned(let steps, let isHarmful)):
            return planned(steps, isHarmful: isHarmful, schedule)
        case (.listingUnable(let steps), .nodes(let nodes)): return checked(steps, nodes)
        case (.migrating, .done): return call(.announce, .announcing)
        case (.migrating, .candidate(let candidate)):
            self.candidate = candidate
            guard candidate.byteCount <= ProjectArchive.bytesMax else { return end(RolloutRefused.tooLarge) }
            return call(.announce, .announcing)
        case (.announcing, .announced(let id)):
            let report = Effect.report(.announced(deployment: id, version))
            return [report] + wait(for: .load, id, newRoster, nowMs: nowMs)
        case (.waiting(var wait, let id, let goal, isPause: false), .nodes(let nodes)):
            let actions = wait.looked(nodes, nowMs: nowMs)
            return perform(actions, wait, id, goal, nowMs: nowMs)
        case (.waiting(let wait, let id, let goal, isPause: true), .done):
            return call(.readNodes, .waiting(wait, deployment: id, goal, isPause: false))
        case (.withdrawingAfter(let error), .done): return end(error)
        case (.activating(let id, let roster), .activated(let isActive)):
            guard isActive else { return end(RolloutRefused.withdrawn(deployment: id)) }
            return wait(for: .serve, id, roster, nowMs: nowMs)
        case (.readingServed, .history(let history)):
            let served = schedule(history)
            return call(.prune(keeping: served.others + (served.current.map { [$0] } ?? [])), .pruning)
        case (.pruning, .done): return end()
        default: preconditionFailure("\(answer) does not answer \(state)")
        }
    }

    /// Handles a step that failed. A node list that cannot be read is waited for.
    private mutating func failed(_ error: any Error, nowMs: Int64) -> [Effect] {
        switch state {
        case .waiting(var wait, let id, let goal, isPause: false):
            let actions = wait.looked(nil, nowMs: nowMs)
            return perform(actions, wait, id, goal, nowMs: nowMs)
        case .waiting(_, _, .load, isPause: true): return withdraw(after: error)
        case .withdrawingAfter(let first): return end(first)
        default: return end(error)
        }
    }

    // MARK: Checks

    private mutating func loadFormer(_ history: DeploymentHistory) -> [Effect] {
        guard let former = DeploymentSchedule.former(of: schedule(history).current, in: history.deployments) else {
            return end(RolloutRefused.nothingBefore)
        }
        return call(.loadFormer(deployment: former.id, former.version), .loadingFormer(former.version))
    }

    private mutating func check(_ schedule: DeploymentSchedule, nowMs: Int64) -> [Effect] {
        if schedule.current == version {
            let report = Effect.report(.alreadyDeployed(version))
            if settings.isDryRun || settings.isReload { return [report] + end() }
            isCurrentAlready = true
            return [report] + wait(for: .serve, schedule.newestID, newRoster, nowMs: nowMs)
        }
        if settings.isReload { return call(.migrate, .migrating) }
        guard let current = schedule.current else { return call(.readNodes, .listingServed(schedule)) }
        return compare(schedule, with: [current])
    }

    private mutating func compare(_ schedule: DeploymentSchedule, with served: ArraySlice<Digest>) -> [Effect] {
        let remaining = served.drop { $0 == version }
        guard let next = remaining.first else { return call(.plan, .planning(schedule)) }
        return call(.compare(with: next), .comparing(schedule, remaining: remaining))
    }

    private mutating func planned(_ steps: [String], isHarmful: Bool, _ schedule: DeploymentSchedule) -> [Effect] {
        if isHarmful, !allowsBreaking { return end(RolloutRefused.harmfulDatabase) }
        let others = Set(schedule.others).union(schedule.current.map { [$0] } ?? []).subtracting([version])
        guard others.count <= settings.versionsMax else {
            return end(RolloutRefused.tooManyVersions(others.count, max: settings.versionsMax))
        }
        return call(.readNodes, .listingUnable(steps: steps))
    }

    private mutating func checked(_ steps: [String], _ nodes: [NodeRecordPayload]) -> [Effect] {
        let unable = RolloutProgress(nodes, deployment: 1, version: version).loading.filter { !$0.problem.isEmpty }
        guard unable.isEmpty else { return end(RolloutRefused.nodesWithoutDeployments(unable)) }
        let reports = steps.map { Effect.report(.step(summary: $0, isDryRun: settings.isDryRun)) }
        if settings.isDryRun { return reports + [.report(.deployable(version))] + end() }
        return reports + call(.migrate, .migrating)
    }

    // MARK: Waiting

    private var newRoster: RolloutRoster {
        RolloutRoster(heartbeatMs: settings.heartbeatMs, ttlMs: settings.nodeTtlMs)
    }

    private mutating func wait(
        for goal: RolloutWait.Goal, _ id: Int64, _ roster: RolloutRoster, nowMs: Int64
    ) -> [Effect] {
        let wait = RolloutWait(
            for: goal, id, version, roster, timeoutMs: settings.timeoutMs, nowMs: nowMs)
        return call(.readNodes, .waiting(wait, deployment: id, goal, isPause: false))
    }

    private mutating func perform(
        _ actions: [RolloutWait.Action], _ wait: RolloutWait, _ id: Int64, _ goal: RolloutWait.Goal, nowMs: Int64
    ) -> [Effect] {
        actions.flatMap { action -> [Effect] in
            switch action {
            case .report(let done, let nodes): return [.report(.progress(goal, done: done, nodes: nodes))]
            case .lookAgain:
                return call(.wait(ms: settings.lookMs), .waiting(wait, deployment: id, goal, isPause: true))
            case .finish(let nodes): return reached(goal, id, wait.roster, nodes: nodes)
            case .giveUp(let waiting):
                let refusal = RolloutRefused.notReached(goal, waiting)
                return goal == .load ? withdraw(after: refusal) : end(refusal)
            }
        }
    }

    private mutating func reached(
        _ goal: RolloutWait.Goal, _ id: Int64, _ roster: RolloutRoster, nodes: Int
    ) -> [Effect] {
        switch goal {
        case .load: return call(.activate(deployment: id), .activating(deployment: id, roster))
        case .serve:
            let report = Effect.report(.deployed(nodes: nodes))
            return [report] + (isCurrentAlready ? end() : call(.readHistory, .readingServed))
        }
    }

    // MARK: Ending

    private mutating func withdraw(after error: any Error) -> [Effect] { call(.withdraw, .withdrawingAfter(error)) }

    private mutating func end(_ error: (any Error)? = nil) -> [Effect] {
        state = .over
        return [.end(error)]
    }

    // MARK: Calls

    private mutating func call(_ call: Call, _ next: State) -> [Effect] {
        lastCall += 1
        state = next
        return [.perform(lastCall, call)]
    }

    private func schedule(_ history: DeploymentHistory) -> DeploymentSchedule {
        DeploymentSchedule(
            history.deployments, folder: settings.folder, nowMs: history.nowMs, settings: settings.schedule)
    }
}
