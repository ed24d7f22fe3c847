package import Broker
package import LiveModel
package import Logging
package import RoleMachines
package import Sharding
import Streams
import Synchronization

/// The parts of a node that membership reads and changes.
package struct MemberRoles: Sendable {
    /// Returns the node's entry for the node list.
    package var announcement: @Sendable (_ isDraining: Bool) async -> NodeRecordPayload
    /// Updates a worker: the workers that share the shards, the gateways, and the workers to which operators moved
    /// shards.
    package var updateWorker: @Sendable ([NodeID], Set<NodeID>, [ShardID: NodeID]) async -> Void = { _, _, _ in }
    /// Updates a gateway: the overrides changed the routes of live queries.
    package var updateRoutes: @Sendable () -> Void = {}
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
        /// Whether what ended processes held is being freed.
        var isClearing = false
        /// The tasks that wait for the return of `run`. Bound: the calls of `close`.
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    private let node: NodeID
    private let broker: any Broker
    private let directory: ClusterDirectory
    private let logger: Logger
    private let processHasEnded: @Sendable (ProcessIdentity) -> Bool
    private let state: Mutex<State>
    private let wakeUp = AsyncNotify()

    /// - Parameter processHasEnded: whether a node's process is known to have ended.
    package init(
        node: NodeID, broker: any Broker, directory: ClusterDirectory, settings: MembershipMachine.Settings,
        processHasEnded: @escaping @Sendable (ProcessIdentity) -> Bool = LocalProcess.hasEnded, logger: Logger
    ) {
        self.node = node
        self.broker = broker
        self.directory = directory
        self.logger = logger
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
        let isWithdrawn = state.withLock { state in
            let effects = state.machine.leave()
            state.effects += effects.filter { $0 != .withdraw }
            return effects.contains(.withdraw)
        }
        // Not left to `run`, which may be waiting for the broker.
        if isWithdrawn { try? await broker.withdrawNode(node.name) }
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
                try await directory.refresh()
                return directory.overrides
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
            let ended = ((try? answer.get()) ?? [])
                .compactMap { NodeRecordPayload(payload: $0.payload)?.process }.filter(processHasEnded)
            change { [directory] in
                $0.nodesListed(call, answer, ended: Set(ended), nowMs: directory.nowMs())
            }
        case .wakeWorkers: await broker.wakeWorkers(of: node.name)
        case .withdraw: try? await broker.withdrawNode(node.name)
        case .clear(let nodes):
            // Heartbeats do not wait for it.
            let begins = state.withLock { state in
                defer { state.isClearing = true }
                return !state.isClearing
            }
            if begins { Task { await clear(nodes) } }
        case .updateWorker(let workers, let gateways, let pins): await roles.updateWorker(workers, gateways, pins)
        case .updateRoutes: roles.updateRoutes()
        case .drainSessions: roles.drainSessions()
        case .endRound(let round): end(round: round)
        case .report(let report): log(report)
        }
    }

    /// Frees what nodes held whose processes have ended. The leases come before the entry, which keeps them to be
    /// released until that is done.
    ///
    /// Only leases under the epochs that the ended process announced are released, and only its own entry is removed: a
    /// process of the same name may have started since.
    private func clear(_ nodes: [NodeRecordPayload]) async {
        defer { state.withLock { $0.isClearing = false } }
        for gone in nodes {
            let answer = await attempt { () async throws(BrokerError) in
                for from in stride(from: 0, to: gone.shards.count, by: Self.releasesMax) {
                    try await release(gone.shards.dropFirst(from).prefix(Self.releasesMax), of: gone.id)
                }
                let current = try await broker.nodes().first { $0.id == gone.id.name }
                if let current, NodeRecordPayload(payload: current.payload)?.process == gone.process {
                    try await broker.withdrawNode(gone.id.name, payload: current.payload)
                }
            }
            switch answer {
            case .success:
                logger.info("the process of a node has ended; its shards are free", metadata: ["ended": "\(gone.id)"])
            case .failure(let failure):
                logger.warning(
                    "freeing what a node held whose process has ended failed; repeated with the next heartbeat",
                    metadata: ["ended": "\(gone.id)", "reason": "\(failure.reason)"])
            }
        }
        await broker.wakeWorkers(of: node.name)
    }

    /// The greatest number of leases released at a time.
    private static let releasesMax = 64

    private func release(_ shards: some Sequence<ShardStatus>, of owner: NodeID) async throws(BrokerError) {
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
        if let failure { throw failure }
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
        case .overridesNotRead(let reason): logger.warning("overrides not read", metadata: ["error": "\(reason)"])
        case .drainChanged(let isDrained):
            logger.info(isDrained ? "drained by an operator" : "no longer drained by an operator")
        case .heartbeatFailed(let reason): logger.warning("heartbeat failed", metadata: ["error": "\(reason)"])
        }
    }
}
