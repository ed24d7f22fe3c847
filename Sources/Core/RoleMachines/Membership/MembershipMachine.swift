package import LiveModel
package import Sharding
package import Streams

/// A node's place in the cluster: it announces itself with every heartbeat, reads operators' overrides and the node
/// list, and decides when to do so next.
///
/// A round is: overrides → announcement → node list. Its parts come one after the other, so that the announcement says
/// what the overrides want of this node, and the list contains the node itself. A round comes with every heartbeat;
/// early when another node's entry expires unless it is renewed (its shards are free then); and at once when the node
/// list or the overrides are known to have changed. Requests that come during a round are served by one more round.
///
/// One call at a time awaits an answer; an answer with any other id changes nothing.
package struct MembershipMachine: Sendable {
    package struct Settings: Sendable {
        package var heartbeatMs: Int64 = 1_000
        /// How long an announcement lasts.
        package var nodeTtlMs: Int64 = 5_000
        /// Entries that claim to live longer than so many times `nodeTtlMs` are shortened to that: other nodes may
        /// have a longer time to live while the setting is being changed.
        package var ttlFactorMax: Int64 = 4
        /// How long a hint waits for others: changes of nodes and leases come in groups.
        package var gatherMs: Int64 = 3
        /// Beyond the end of another node's entry, so that the next list is without it.
        package var expiryMarginMs: Int64 = 2
        /// Whether this node is a worker: it shares shards with the others.
        package var isWorker = true

        package init() {}
    }

    /// Names a call whose answer is awaited.
    package typealias CallID = UInt64

    package enum Effect: Sendable, Hashable {
        /// Say `waitEnded` after this time. Replaces the wait before it.
        case wait(CallID, ms: Int64)
        /// Read the overrides, then say `overridesRead`.
        case readOverrides(CallID)
        /// Write this node's entry, which says whether it drains, then say `announced`.
        case announce(CallID, isDraining: Bool, ttlMs: Int64)
        /// Read the node list, with entries shortened to `livingAtMostMs`, then say `nodesListed`.
        case listNodes(CallID, livingAtMostMs: Int64)
        /// Let all workers read the node list now: they do not know this node. Nothing is awaited.
        case wakeWorkers
        /// Remove this node's entry. Nothing is awaited.
        case withdraw
        /// For the worker of this node: `WorkerMachine.nodesListed`.
        case updateWorker(workers: [NodeID], gateways: Set<NodeID>, pins: [ShardID: NodeID])
        /// For the gateway of this node: the overrides changed where live queries belong.
        case updatePlaces
        /// An operator drains this node: its sessions are to move elsewhere. Its shards move by the announcement.
        case drainSessions
        /// Every request for a round up to this number is served, or its round failed.
        case endRound(UInt64)
        /// For the log.
        case report(Report)
    }

    package enum Report: Sendable, Hashable {
        case overridesChanged(generation: UInt64)
        case overridesNotRead(reason: String)
        /// An operator drains this node, or does not any more.
        case drainChanged(isDrained: Bool)
        case heartbeatFailed(reason: String)
    }

    private enum State: Sendable {
        case new
        case waiting(CallID)
        case readingOverrides(CallID)
        case announcing(CallID, isDraining: Bool)
        case listing(CallID)
    }

    /// What comes after the round under way.
    private enum Next: Sendable, Comparable { case heartbeat, afterGathering, atOnce }

    package let node: NodeID
    package let settings: Settings
    private var state = State.new
    private var next = Next.heartbeat
    private var lastCall: CallID = 0
    private var round: UInt64 = 0
    /// As last read.
    private var overrides = ClusterOverrides()
    private var isLeaving = false

    package init(node: NodeID, settings: Settings) {
        self.node = node
        self.settings = settings
    }

    /// Whether an operator drains this node.
    package var isDrainedByOperator: Bool { overrides.drained.contains(node) }
    /// What announcements say from now on.
    package var isDraining: Bool { isLeaving || isDrainedByOperator }

    // MARK: When

    /// The first round begins. Its end is the moment at which a gateway may announce interest: workers know it then.
    package mutating func started() -> [Effect] {
        guard case .new = state else { preconditionFailure("membership of \(node) started twice: \(state)") }
        return beginRound()
    }

    package mutating func waitEnded(_ call: CallID) -> [Effect] {
        guard case .waiting(call) = state else { return [] }
        return beginRound()
    }

    /// Nodes or leases changed: the node list is worth a look soon.
    package mutating func woken() -> [Effect] {
        switch state {
        case .new: return []
        case .waiting where next == .heartbeat:
            // Further hints do not prolong the time in which they are gathered.
            next = .afterGathering
            return wait(ms: settings.gatherMs)
        case .waiting: return []
        case .readingOverrides, .announcing, .listing:
            next = max(next, .afterGathering)
            return []
        }
    }

    /// A round is wanted at once, such as after a change of the overrides at this node.
    /// - Returns: the number of the round that serves the request: see `Effect.endRound`.
    package mutating func roundRequested() -> (round: UInt64, effects: [Effect]) {
        switch state {
        case .waiting:
            let effects = beginRound()
            return (round, effects)
        case .new: return (round + 1, [])
        case .readingOverrides, .announcing, .listing:
            next = .atOnce
            return (round + 1, [])
        }
    }

    /// The process ends: its shards are to move now. Announcements go on, for operators, and say that it drains.
    package mutating func leave() -> [Effect] {
        guard !isLeaving else { return [] }
        isLeaving = true
        // An announcement under way may undo the withdrawal.
        if case .announcing(_, isDraining: false) = state { next = .atOnce }
        return [.withdraw]
    }

    // MARK: A round

    private mutating func beginRound() -> [Effect] {
        next = .heartbeat
        round += 1
        let call = newCall()
        state = .readingOverrides(call)
        return [.readOverrides(call)]
    }

    /// Whether the node could read them or not, it announces itself: others must not take it for dead.
    package mutating func overridesRead(
        _ call: CallID, _ answer: Result<ClusterOverrides, StepFailure>
    ) -> [Effect] {
        guard case .readingOverrides(call) = state else { return [] }
        var effects: [Effect] = []
        switch answer {
        case .success(let read): effects = follow(read)
        case .failure(let failure): effects = [.report(.overridesNotRead(reason: failure.reason))]
        }
        let call = newCall()
        state = .announcing(call, isDraining: isDraining)
        return effects + [.announce(call, isDraining: isDraining, ttlMs: settings.nodeTtlMs)]
    }

    private mutating func follow(_ read: ClusterOverrides) -> [Effect] {
        guard read.generation != overrides.generation else { return [] }
        let wasDrained = isDrainedByOperator
        overrides = read
        var effects: [Effect] = [.report(.overridesChanged(generation: read.generation)), .updatePlaces]
        if isDrainedByOperator != wasDrained {
            effects.append(.report(.drainChanged(isDrained: isDrainedByOperator)))
            if isDrainedByOperator { effects.append(.drainSessions) }
        }
        return effects
    }

    /// - Parameter answer: whether the node had no entry before.
    package mutating func announced(_ call: CallID, _ answer: Result<Bool, StepFailure>) -> [Effect] {
        guard case .announcing(call, let wasDraining) = state else { return [] }
        switch answer {
        case .failure(let failure): return fail(failure)
        case .success(let isNew):
            let call = newCall()
            state = .listing(call)
            return (isNew && !wasDraining ? [.wakeWorkers] : [])
                + [.listNodes(call, livingAtMostMs: settings.ttlFactorMax * settings.nodeTtlMs)]
        }
    }

    /// - Parameter nowMs: milliseconds since 1970, for moves that end at a certain time.
    package mutating func nodesListed(
        _ call: CallID, _ answer: Result<[NodeRecord], StepFailure>, nowMs: Int64
    ) -> [Effect] {
        guard case .listing(call) = state else { return [] }
        switch answer {
        case .failure(let failure): return fail(failure)
        case .success(let records):
            guard settings.isWorker else { return endRound(nextMs: settings.heartbeatMs) }
            let nodes = records.compactMap { NodeRecordPayload(payload: $0.payload) }
            let update = Effect.updateWorker(
                workers: nodes.filter { $0.roles.contains("worker") && !$0.isDraining }.map(\.id),
                gateways: Set(nodes.filter { $0.roles.contains("gateway") }.map(\.id)),
                pins: overrides.pins(nowMs: nowMs))
            let expiryMs = records.filter { $0.id != node.name }.map { Int64($0.remainingMs) }.min()
            let earlyMs = expiryMs.map { $0 + settings.expiryMarginMs } ?? settings.heartbeatMs
            return [update] + endRound(nextMs: min(settings.heartbeatMs, earlyMs))
        }
    }

    private mutating func fail(_ failure: StepFailure) -> [Effect] {
        [.report(.heartbeatFailed(reason: failure.reason))] + endRound(nextMs: settings.heartbeatMs)
    }

    private mutating func endRound(nextMs: Int64) -> [Effect] {
        let ended = Effect.endRound(round)
        switch next {
        case .heartbeat: return [ended] + wait(ms: nextMs)
        case .afterGathering: return [ended] + wait(ms: settings.gatherMs)
        case .atOnce: return [ended] + beginRound()
        }
    }

    private mutating func wait(ms: Int64) -> [Effect] {
        let call = newCall()
        state = .waiting(call)
        return [.wait(call, ms: ms)]
    }

    private mutating func newCall() -> CallID {
        lastCall += 1
        return lastCall
    }
}
