import LiveModel
import RoleMachines
import Sharding
import Streams

/// Performs `PublisherMachine` and `SweeperMachine` over simulated servers: it commits, acknowledges and publishes
/// mutations.
final class SimulatedAPINode: Process {
    private static let refreshMs: Int64 = 1_000

    private(set) var publisher = PublisherMachine(settings: .init(), shardCount: 0)
    private(set) var sweeper = SweeperMachine(settings: .init(), shardCount: 0)
    private lazy var streams = EventStreams(
        keys: world.redis.keys, shardCount: Workload.shardCount, lengthMax: World.eventsLengthMax)
    private lazy var overrideList = SimulatedOverrideList(self)
    private var rules: SimulatedCatalogs { deployments.served }
    private lazy var membership = newMembership()
    private var count = 0
    /// The transaction that took rows; it ends with the process.
    private var sweep: SimulatedPostgres.Sweep?
    /// Whether the node used a former primary of Redis and the shards have no resync markers yet.
    private var owesResync = false

    override var roles: Set<Role> { [.api] }

    override func prepare() {
        publisher = PublisherMachine(settings: world.publisherSettings, shardCount: Workload.shardCount)
        sweeper = SweeperMachine(settings: world.sweeperSettings, shardCount: Workload.shardCount)
        (overrideList, owesResync) = (SimulatedOverrideList(self), false)
        membership = newMembership()
    }

    override func start(_ part: NodePart, _ next: @escaping () -> Void) {
        switch part {
        case .membership:
            overrideList.read { _ in }
            every(Self.refreshMs) { [self] in overrideList.read { _ in } }
            membership.start(then: next)
        case .deployments: deployments.start(then: next)
        case .sweeper:
            if world.sabotage != .noSweeper { perform(.wait(ms: world.sweeperSettings.sweepMs)) }
            if world.logsEvents { announceEvents() }
            if world.carriesMarkers { every(MarkerChecks.everyMs) { [self] in if world.hasFaults { commitMarker() } } }
            next()
        case .gateway, .sessions, .worker, .tailer: next()
        }
    }

    override func stop(_ part: NodePart, _ next: @escaping () -> Void) {
        switch part {
        case .membership: membership.leave(then: next)
        // Mutations in progress end.
        case .sessions: later(1_000, next)
        case .deployments, .gateway, .worker, .tailer, .sweeper: next()
        }
    }

    private func newMembership() -> SimulatedMembership {
        SimulatedMembership(self, NodeID(name), role: .api) { _ in }
    }

    override func killed() { endSweep() }

    override var mustLive: Bool {
        formerRedis != nil || owesResync && (publisher.hasPublished || sweeper.hasPublished)
    }

    override func stay(with former: SimulatedRedis, ms: Int64) {
        owesResync = true
        super.stay(with: former, ms: ms)
    }

    // MARK: Mutations

    /// - Parameters:
    ///   - delayMs: the time that the mutation takes before its transaction, as with a custom resolver.
    ///   - acknowledged: called when the client gets its answer.
    func mutate(_ entity: String, commitsAfterMs delayMs: Int64 = 0, acknowledged: @escaping (String) -> Void) {
        guard acceptsSessions else { return }
        count += 1
        let event = Workload.event("\(name).\(incarnation).\(count)", entity: entity, nowMs: nowMs)
        let mutation = Workload.mutation(of: entity)
        let loadedDeployment = deployments.mutationBegan()
        let targets = RefreshTargets(
            of: mutation, rules: rules, overrides: overrideList.overrides, shardCount: Workload.shardCount,
            nowMs: Workload.noGraceMs)
        let lifecycle = MutationLifecycle(
            of: mutation, targets: targets, begunUnder: loadedDeployment, outbox: world.logsEvents ? .wal : .table)
        let row = OutboxRow(event, shards: targets.shards)
        // A transaction may begin long before it commits: rows do not appear in the order of their times.
        let begunMs = timeline.nowMs - (timeline.chance(15) ? timeline.pick(0...6_000) : 0)
        if delayMs == 0 { return commit(row, of: lifecycle, entity, begunMs: begunMs, acknowledged) }
        later(delayMs) { [self] in commit(row, of: lifecycle, entity, begunMs: begunMs, acknowledged) }
    }

    private func commit(
        _ row: OutboxRow, of lifecycle: MutationLifecycle, _ entity: String, begunMs: Int64,
        _ acknowledged: @escaping (String) -> Void
    ) {
        if world.logsEvents { return commitToLog(row, of: lifecycle, entity, acknowledged) }
        let isForgotten = world.sabotage == .laterDeploymentsForgotten
        if world.sabotage == .publishBeforeCommit {
            perform(publisher.committed(.init(row: row, mutation: lifecycle.mutation, targets: lifecycle.targets)))
        }
        if world.sabotage == .acknowledgeBeforeCommit { acknowledged(row.id) }
        statement { [world] postgres in
            postgres.commit(
                entity, SimulatedPostgres.OutboxRow(row: row, createdMs: begunMs),
                loadedDeployment: isForgotten ? .max : lifecycle.targets.loadedDeployment)
            world.committed(row.id, of: entity)
        } then: { [self] outcome in
            guard case .done = outcome else { return perform(lifecycle.ended(committed: nil)) }
            world.note("\(name) committed \(row.id) of \(entity) for \(row.shards)")
            perform(lifecycle.ended(committed: row))
            if world.sabotage != .acknowledgeBeforeCommit { acknowledged(row.id) }
        }
    }

    /// Both nodes commit each marker: neither reads the node list.
    private func commitMarker() {
        count += 1
        let marker = MarkerSchedule(node: NodeID(name), everyMs: MarkerChecks.everyMs).marker(
            dueAtMs: nowMs, id: "\(name).\(incarnation).\(count)", rules: rules, overrides: overrideList.overrides,
            shardCount: Workload.shardCount, nowMs: nowMs)
        guard let marker else { return }
        statement { [timeline, world] in
            if world.logsEvents {
                _ = $0.log.append(.event(marker.row))
            } else {
                $0.commitMarker(SimulatedPostgres.OutboxRow(row: marker.row, createdMs: timeline.nowMs))
            }
        } then: { [self] outcome in
            if case .done = outcome, !world.logsEvents { perform(publisher.committed(marker)) }
        }
    }

    func perform(_ steps: [MutationLifecycle.Step]) {
        for step in steps {
            switch step {
            case .publish(let event):
                if world.sabotage != .publishBeforeCommit { perform(publisher.committed(event)) }
            case .end(let loadedDeployment): deployments.mutationEnded(loadedDeployment)
            }
        }
    }

    // MARK: Effects

    private func perform(_ effects: [PublisherMachine.Effect]) {
        touch()
        for effect in effects {
            switch effect {
            case .append(let call, let publications):
                let isEarly = world.sabotage == .removeBeforePublish
                let lagMs = world.sabotage == .publishBeforeCommit ? 0 : timeline.pick(0...world.publishLagMaxMs)
                later(lagMs) { [self] in
                    append(streams.appends(of: publications)) { [self] answer in
                        if isEarly { return }
                        perform(publisher.appended(call, answer))
                        sometimesAgain { [self] in perform(publisher.appended(call, answer)) }
                    }
                }
                if isEarly { perform(publisher.appended(call, .success(()))) }
            case .wait(let ms): later(ms) { [self] in perform(publisher.removalDue()) }
            case .confirmOverrides(let call):
                confirmOverrides { [self] answer in
                    answered(call) { [self] in
                        publisher.overridesConfirmed(call, answer, rules: rules, nowMs: Workload.noGraceMs)
                    }
                }
            case .remove(let call, let ids, let loadedDeployment):
                let isGuarded = world.sabotage != .deploymentsIgnored
                statement {
                    $0.remove(ids, loadedDeployment: isGuarded ? loadedDeployment : .max)
                } then: { [self] outcome in
                    answered(call) { [self] in publisher.removed(call, outcome.answer.map { _ in }) }
                }
            case .report(let report): world.note("\(name) \(report)")
            }
        }
    }

    /// Reports an answer, from time to time twice.
    private func answered(
        _ call: PublisherMachine.CallID, _ answer: @escaping () -> [PublisherMachine.Effect]
    ) {
        perform(answer())
        sometimesAgain(call) { [self] in perform(answer()) }
    }

    private func answered(_ call: SweeperMachine.CallID, _ answer: @escaping () -> [SweeperMachine.Effect]) {
        perform(answer())
        sometimesAgain(call) { [self] in perform(answer()) }
    }

    private func perform(_ effects: [SweeperMachine.Effect]) { for effect in effects { perform(effect) } }

    private func perform(_ effect: SweeperMachine.Effect) {
        switch effect {
        case .wait(let ms):
            later(ms) { [self] in
                let changes = world.noticesServers ? serverChanges : 0
                perform(sweeper.roundDue(serverChanges: changes, hasPublished: publisher.hasPublished))
            }
        case .appendResyncMarkers(let call, let shards):
            let isOmitted = world.sabotage == .resyncMarkerOmitted
            append(isOmitted ? [] : streams.resyncMarkers(for: shards)) { [self] answer in
                if case .success = answer { owesResync = false }
                answered(call) { [self] in sweeper.resyncAppended(call, isCertain: (try? answer.get()) != nil) }
            }
        case .take(let call, let ageMs, let limit): take(call, olderThanMs: ageMs, limit: limit)
        case .confirmOverrides(let call):
            confirmOverrides { [self] answer in
                answered(call) { [self] in
                    sweeper.overridesConfirmed(call, answer, rules: rules, nowMs: Workload.noGraceMs)
                }
            }
        case .append(let call, let publications):
            append(streams.appends(of: publications)) { [self] answer in
                answered(call) { [self] in sweeper.appended(call, answer) }
            }
        case .remove(let call, let ids, let loadedDeployment):
            let sweep = sweep
            let isGuarded = world.sabotage != .deploymentsIgnored
            statement { postgres -> Int? in
                // The locks ended with the connection: another sweeper may have taken the rows.
                guard let sweep, !sweep.isOver else { return nil }
                sweep.isOver = true
                return postgres.remove(ids, loadedDeployment: isGuarded ? loadedDeployment : .max)
            } then: { [self] outcome in
                endSweep()
                guard case .done(let removed?) = outcome else {
                    return answered(call) { [self] in
                        sweeper.removed(call, .failure(StepFailure("the connection was lost")))
                    }
                }
                world.lastSweptMs = max(world.lastSweptMs, sweep?.newestMs ?? 0)
                answered(call) { [self] in sweeper.removed(call, .success(removed)) }
            }
        case .rollBack: endSweep()
        case .measure(let call, let countMax):
            statement { [timeline] in
                $0.measure(countMax: countMax, nowMs: timeline.nowMs)
            } then: { [self] outcome in
                answered(call) { [self] in sweeper.measured(call, try? outcome.answer.get()) }
            }
        case .fold(let call, let limit):
            count += 1
            let id = "\(name).\(incarnation).\(count)"
            let event = Array(SweeperMachine.foldedEvent.utf8)
            statement { [sabotage = world.sabotage] in
                let count = $0.fold(limit: limit, into: id, event: event)
                if sabotage == .foldedRowLost { _ = $0.remove([id], loadedDeployment: .max) }
                return count
            } then: { [self] outcome in
                answered(call) { [self] in sweeper.folded(call, try? outcome.answer.get()) }
            }
        case .report(let report): world.note("\(name) \(report)")
        }
    }

    private func take(_ call: SweeperMachine.CallID, olderThanMs ageMs: Int64, limit: Int) {
        let lastMs = world.sabotage == .sweeperGoesByOrder ? world.lastSweptMs : nil
        let incarnation = incarnation
        statement { [self] postgres in
            let (sweep, rows) = postgres.take(olderThanMs: timeline.nowMs - ageMs, limit: limit, after: lastMs)
            // The connection of a process that ended meanwhile is closed.
            if isUp, self.incarnation == incarnation { self.sweep = sweep } else { sweep.isOver = true }
            return rows.map { SweeperMachine.TakenRow($0.row) }
        } then: { [self] outcome in
            if case .done = outcome {} else { endSweep() }
            answered(call) { [self] in sweeper.taken(call, outcome.answer) }
        }
    }

    private func endSweep() {
        sweep?.isOver = true
        sweep = nil
    }

    private func confirmOverrides(_ then: @escaping (Result<ClusterOverrides, StepFailure>) -> Void) {
        overrideList.confirm { [self] answer in
            guard let answer else { return then(.failure(StepFailure("no answer"))) }
            // The mistake: pretend that nothing changed.
            then(.success(world.sabotage == .overridesUnconfirmed ? ClusterOverrides() : answer))
        }
    }
}

extension Process.Statement {
    var answer: Result<Answer, StepFailure> {
        if case .done(let answer) = self { .success(answer) } else { .failure(StepFailure("no answer")) }
    }
}
