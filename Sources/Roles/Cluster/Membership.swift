package import Broker
package import LiveModel
package import Logging
package import RoleMachines
package import Sharding
package import Streams
import Synchronization

/// The parts of a node that membership reads and changes.
package struct MemberRoles: Sendable {
    /// Returns the node's entry for the node list.
    package var announcement: @Sendable (_ isDraining: Bool) async -> NodeRecordPayload
    /// Updates a worker: the workers that share the shards, the gateways, the workers to which operators moved shards,
    /// and the shards that nobody follows.
    package var updateWorker: @Sendable ([NodeID], Set<NodeID>, [ShardID: NodeID], UnfollowedShards) async -> Void =
        { _, _, _, _ in }
    /// Updates a gateway: the overrides that determine the routes of live queries.
    package var updateGateway: @Sendable (ClusterOverrides) -> Void = { _ in }
    /// Begins to move the sessions to other nodes.
    package var drainSessions: @Sendable () -> Void = {}

    package init(announcement: @escaping @Sendable (_ isDraining: Bool) async -> NodeRecordPayload) {
        self.announcement = announcement
    }
}

/// A node's membership of the cluster: performs what `MembershipMachine` decides.
///
/// One task, `run`, performs the effects in order; other tasks only report facts and wake it.
package final class Membership: Sendable {
    private struct State {
        var machine: MembershipMachine
        /// The effects that `run` performs next. Bound: those of one round, and of the calls during it.
        var effects: [MembershipMachine.Effect] = []
        /// The tasks that wait for the end of a round. Bound: the admin requests in flight, and the node's start.
        var waiters: [(round: UInt64, continuation: CheckedContinuation<Void, Never>)] = []
        var lastRound: UInt64 = 0
        var hasBegun = false
        /// Whether `run` has not returned yet. An announcement may be under way until then.
        var isRunning = false
        var hasEnded = false
        /// The tasks that wait for the return of `run`. Bound: the calls of `close`.
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    private let node: NodeID
    private let broker: any Broker
    private let overrideList: OverrideList
    private let livingAtMostMs: Int
    private let logger: Logger
    private let processHasEnded: @Sendable (ProcessIdentity) -> Bool
    private let state: Mutex<State>
    private let wakeUp = AsyncNotify()
    private let overridesLog: StoredDefectLog
    private let nodesLog: StoredDefectLog

    /// - Parameter processHasEnded: whether a node's process is known to have ended.
    package init(
        node: NodeID, broker: any Broker, overrideList: OverrideList, settings: MembershipMachine.Settings,
        processHasEnded: @escaping @Sendable (ProcessIdentity) -> Bool = LocalProcess.hasEnded, logger: Logger
    ) {
        self.node = node
        self.broker = broker
        self.overrideList = overrideList
        self.logger = logger
        livingAtMostMs = Int(settings.livingAtMostMs)
        overridesLog = StoredDefectLog(of: "overrides", logger)
        nodesLog = StoredDefectLog(of: "nodes", logger)
        self.processHasEnded = processHasEnded
        state = Mutex(State(machine: MembershipMachine(node: node, settings: settings)))
    }

    /// Whether an operator has drained this node.
    package var isDrainedByOperator: Bool { state.withLock { $0.machine.isDrainedByOperator } }

    // MARK: Facts

    /// Announces the node with every heartbeat until the task is cancelled or membership is closed. Call it once.
    package func run(_ roles: MemberRoles) async {
        state.withLock { state in
            state.hasBegun = true
            state.isRunning = true
            state.effects += state.machine.started()
        }
        var wait: (call: MembershipMachine.CallID, end: ContinuousClock.Instant)?
        while !Task.isCancelled, !state.withLock({ $0.hasEnded }) {
            if let effect = state.withLock({ $0.effects.isEmpty ? nil : $0.effects.removeFirst() }) {
                if case .wait(let call, let ms) = effect {
                    wait = (call, .now + .milliseconds(ms))
                } else {
                    await perform(effect, roles)
                }
            } else if let (call, end) = wait {
                if await !wakeUp.wait(ms: Int(max(.zero, end - .now) / .milliseconds(1))), !Task.isCancelled {
                    wait = nil
                    change { $0.waitEnded(call) }
                }
            } else {
                preconditionFailure("membership of \(node) waits for nothing")
            }
        }
        end()
        let closers = state.withLock { state in
            state.isRunning = false
            defer { state.closers = [] }
            return state.closers
        }
        for closer in closers { closer.resume() }
    }

    /// Reports that nodes or leases changed. Short; from any thread.
    package func wake() {
        change { $0.woken() }
        wakeUp.notify()
    }

    /// Returns when the node has been announced for the first time, or the attempt has failed.
    package func firstRoundEnded() async { await wait { _ in 1 } }

    /// Reads overrides and nodes now. Returns when a round begun after the call has ended, or membership has.
    package func refresh() async {
        await wait { state in
            let (round, effects) = state.machine.roundRequested()
            state.effects += effects
            return round
        }
    }

    /// Reads the nodes that live now, by the rules of the machine.
    package func liveNodes() async throws(BrokerError) -> LiveNodes {
        let nodes = try await broker.nodes(livingAtMost: livingAtMostMs)
            .compactMap { NodeRecordPayload(payload: $0.payload) }
        let ended = Set(nodes.filter { $0.id != node }.compactMap(\.process).filter(processHasEnded))
        return LiveNodes(nodes, ended: ended, askedBy: node)
    }

    private func wait(_ round: (inout State) -> UInt64) async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                let round = round(&state)
                if state.hasEnded || round <= state.lastRound { return true }
                state.waiters.append((round, continuation))
                return false
            }
            if isOver { return continuation.resume() }
            wakeUp.notify()
        }
    }

    /// Begins the end of the process: other workers take its shards, and its announcements report that it drains.
    package func leave() async {
        if state.withLock({ $0.machine.leave() }) { try? await broker.withdrawNode(node.name) }
    }

    /// Ends `run` and removes the entry for good. An announcement under way ends first; it would list the node again.
    package func close() async {
        end()
        wakeUp.notify()
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.isRunning { state.closers.append(continuation) }
                return !state.isRunning
            }
            if isOver { continuation.resume() }
        }
        if state.withLock({ $0.hasBegun }) { try? await broker.withdrawNode(node.name) }
    }

    private func end() {
        let waiters = state.withLock { state in
            state.hasEnded = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.continuation.resume() }
    }

    // MARK: Effects

    private func change(_ body: (inout MembershipMachine) -> [MembershipMachine.Effect]) {
        state.withLock { $0.effects += body(&$0.machine) }
    }

    private func perform(_ effect: MembershipMachine.Effect, _ roles: MemberRoles) async {
        switch effect {
        case .wait: preconditionFailure("membership of \(node): \(effect) is for its loop")
        case .readOverrides(let call):
            let answer = await attempt { () async throws(BrokerError) in
                try await overrideList.refresh()
                return overrideList.overrides
            }
            change { $0.overridesRead(call, answer) }
        case .announce(let call, let isDraining, let ttlMs):
            let payload = await roles.announcement(isDraining).payload
            let answer = await attempt { () async throws(BrokerError) in
                try await broker.announceNode(node.name, payload: payload, ttlMs: Int(ttlMs))
            }
            change { $0.announced(call, answer) }
        case .listNodes(let call, let livingAtMostMs):
            let answer = await attempt { () async throws(BrokerError) in
                try await broker.nodes(livingAtMost: Int(livingAtMostMs))
            }
            change { [overrideList] in $0.nodesListed(call, answer, nowMs: overrideList.nowMs()) }
        case .checkProcesses(let call, let processes):
            let ended = Set(processes.filter(processHasEnded))
            change { [overrideList] in $0.processesChecked(call, ended: ended, nowMs: overrideList.nowMs()) }
        case .releaseLeases(let call, let owner, let shards):
            aside { await self.release(call, shards, of: owner) }
        case .removeEntry(let call, let gone, let payload):
            aside {
                let answer = await self.attempt { () async throws(BrokerError) in
                    try await self.broker.withdrawNode(gone.name, payload: payload)
                }
                self.change { $0.entryRemoved(call, answer) }
            }
        case .wakeWorkers: await broker.wakeWorkers(of: node.name)
        case .updateWorker(let workers, let gateways, let movedShards, let unfollowed):
            await roles.updateWorker(workers, gateways, movedShards, unfollowed)
        case .updateGateway(let overrides): roles.updateGateway(overrides)
        case .drainSessions: roles.drainSessions()
        case .endRound(let round): end(round: round)
        case .report(let report): log(report)
        }
    }

    /// Makes a call beside those of the rounds, which do not wait for it. Bound: the machine makes one at a time.
    private func aside(_ call: @escaping @Sendable () async -> Void) {
        Task { [wakeUp] in
            await call()
            wakeUp.notify()
        }
    }

    private func release(_ call: MembershipMachine.CallID, _ shards: [ShardStatus], of owner: NodeID) async {
        let failure = await withTaskGroup(of: BrokerError?.self) { group in
            for status in shards {
                group.addTask { [broker] in
                    do throws(BrokerError) {
                        try await broker.releaseLease(
                            broker.keys.lease(shard: status.shard.number), owner: owner.name, epoch: status.epoch)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return await group.reduce(nil) { $0 ?? $1 }
        }
        change { $0.leasesReleased(call, failure.map { .failure(StepFailure("\($0)")) } ?? .success(())) }
    }

    private func attempt<Value: Sendable>(
        _ call: () async throws(BrokerError) -> Value
    ) async -> Result<Value, StepFailure> {
        do throws(BrokerError) {
            return .success(try await call())
        } catch {
            return .failure(StepFailure("\(error)"))
        }
    }

    private func end(round: UInt64) {
        let served = state.withLock { state in
            state.lastRound = round
            let served = state.waiters.filter { $0.round <= round }
            state.waiters.removeAll { $0.round <= round }
            return served
        }
        for waiter in served { waiter.continuation.resume() }
    }

    private func log(_ report: MembershipMachine.Report) {
        switch report {
        case .overridesChanged(let generation):
            logger.info("overrides changed", metadata: ["generation": "\(generation)"])
        case .overridesDefective(let defects): overridesLog.report(defects)
        case .nodesDefective(let defects): nodesLog.report(defects)
        case .overridesNotRead(let reason): logger.warning("overrides not read", metadata: ["error": "\(reason)"])
        case .drainChanged(let isDrained):
            logger.info(isDrained ? "drained by an operator" : "no longer drained by an operator")
        case .heartbeatFailed(let reason): logger.warning("heartbeat failed", metadata: ["error": "\(reason)"])
        case .freed(let gone):
            logger.info("the process of a node has ended; its shards are free", metadata: ["ended": "\(gone)"])
        case .notFreed(let gone, let reason):
            logger.warning(
                "releasing what an ended node held failed; retried with the next heartbeat",
                metadata: ["ended": "\(gone)", "reason": "\(reason)"])
        }
    }
}
