package import LiveModel
package import Sharding
package import Streams

/// The state machine of a node's membership in the cluster: it announces the node with every heartbeat, reads
/// operators' overrides and the node list, and schedules the next round.
///
/// A round is overrides → announcement → node list → which of the listed processes have ended, in sequence, so that
/// the announcement reflects the overrides for this node, and the list contains the node itself. A round begins with
/// every heartbeat; early when another node's entry expires unless renewed (its shards become free then); and at once
/// when the node list or the overrides are known to have changed. Requests that arrive during a round are served by one
/// further round.
///
/// Leases and entries of ended processes are freed beside the rounds, which do not wait for that (`EndedNodes`).
///
/// At most one call of the round and one of the freeing await answers; an answer with any other id is ignored.
package struct MembershipMachine: Sendable {
    package struct Settings: Sendable {
        package var heartbeatMs: Int64 = 1_000
        /// The lifetime of a node entry after an announcement.
        package var nodeTtlMs: Int64 = 5_000
        /// Entries that claim to live longer than `ttlFactorMax * nodeTtlMs` are shortened to that. The factor allows
        /// for nodes with a longer lifetime while the setting is being changed.
        package var ttlFactorMax: Int64 = 4
        /// Time for which hints are collected before a round: changes of nodes and leases come in groups.
        package var gatherMs: Int64 = 3
        /// Delay after the expiry of another node's entry, so that the next list no longer contains it.
        package var expiryMarginMs: Int64 = 2
        /// Whether this node is a worker and takes part in the shard assignment.
        package var isWorker = true
        /// The longest lifetime of a node entry.
        package var livingAtMostMs: Int64 { ttlFactorMax * nodeTtlMs }

        package init() {}
    }

    /// Identifies a call that awaits an answer.
    package typealias CallID = UInt64

    package enum Effect: Sendable, Hashable {
        /// Call `waitEnded` after this time. Replaces the previous wait.
        case wait(CallID, ms: Int64)
        /// Read the overrides, then call `overridesRead`.
        case readOverrides(CallID)
        /// Write this node's entry, including whether it drains, then call `announced`.
        case announce(CallID, isDraining: Bool, ttlMs: Int64)
        /// Read the node list, with entries shortened to `livingAtMostMs`, then call `nodesListed`.
        case listNodes(CallID, livingAtMostMs: Int64)
        /// Make all workers read the node list now: they do not know this node. No answer is awaited.
        case wakeWorkers
        /// Find out which of these processes have certainly ended, then call `processesChecked`.
        case checkProcesses(CallID, [ProcessIdentity])
        /// Release the leases of these shards that the node holds, each under the epoch of its status, then call
        /// `leasesReleased`. Rounds continue meanwhile.
        case releaseLeases(CallID, owner: NodeID, [ShardStatus])
        /// Remove the node's entry if this is still what the node announced last, then call `entryRemoved`. Rounds
        /// continue meanwhile.
        case removeEntry(CallID, NodeID, payload: [UInt8])
        /// Call `WorkerMachine.nodesListed` of this node's worker, with the moved shards.
        case updateWorker(workers: [NodeID], gateways: Set<NodeID>, [ShardID: NodeID], UnfollowedShards)
        /// Call `GatewayMachine.overridesChanged` of this node's gateway.
        case updateGateway(ClusterOverrides)
        /// An operator drains this node: ask its sessions to reconnect elsewhere. The announcement makes its shards
        /// move.
        case drainSessions
        /// Every request for a round up to this number is served, or its round failed.
        case endRound(UInt64)
        /// Log.
        case report(Report)
    }

    package enum Report: Sendable, Hashable {
        case overridesChanged(generation: UInt64)
        case overridesNotRead(reason: String)
        /// Overrides, or entries of the node list, have values that no node writes; those are clamped or left out.
        case overridesDefective(StoredDefects), nodesDefective(StoredDefects)
        /// An operator began or ended the drain of this node.
        case drainChanged(isDrained: Bool)
        case heartbeatFailed(reason: String)
        /// The process of a node has ended; what it held is free.
        case freed(NodeID)
        /// Some leases of an ended process, or its entry, could not be released; the next round begins again.
        case notFreed(NodeID, reason: String)
    }

    private enum State: Sendable {
        case new
        case waiting(CallID)
        case readingOverrides(CallID)
        case announcing(CallID, isDraining: Bool)
        case listing(CallID)
        case checking(CallID, [NodeRecord])
    }

    /// The step after the current round.
    private enum Next: Sendable, Comparable { case heartbeat, afterGathering, atOnce }

    package let node: NodeID
    package let settings: Settings
    private var state = State.new
    private var next = Next.heartbeat
    private var lastCall: CallID = 0
    private var round: UInt64 = 0
    /// The overrides as last read.
    private var overrides = ClusterOverrides()
    private var ended = EndedNodes()
    private var isLeaving = false

    package init(node: NodeID, settings: Settings) {
        self.node = node
        self.settings = settings
    }

    /// Whether an operator drains this node.
    package var isDrainedByOperator: Bool { overrides.drained.contains(node) }
    /// Whether announcements mark this node as draining from now on.
    package var isDraining: Bool { isLeaving || isDrainedByOperator }

    // MARK: When

    /// Begins the first round. After its end a gateway may announce interest, because workers then know the node.
    package mutating func started() -> [Effect] {
        guard case .new = state else { preconditionFailure("membership of \(node) started twice: \(state)") }
        return beginRound()
    }

    package mutating func waitEnded(_ call: CallID) -> [Effect] {
        guard case .waiting(call) = state else { return [] }
        return beginRound()
    }

    /// Schedules a round soon, after a hint that nodes or leases changed.
    package mutating func woken() -> [Effect] {
        switch state {
        case .new: return []
        case .waiting where next == .heartbeat:
            // Further hints do not extend the collection time.
            next = .afterGathering
            return wait(ms: settings.gatherMs)
        case .waiting: return []
        case .readingOverrides, .announcing, .listing, .checking:
            next = max(next, .afterGathering)
            return []
        }
    }

    /// Requests a round at once, such as after a change of the overrides at this node.
    /// - Returns: the number of the round that serves the request (`Effect.endRound`).
    package mutating func roundRequested() -> (round: UInt64, effects: [Effect]) {
        switch state {
        case .waiting:
            let effects = beginRound()
            return (round, effects)
        case .new: return (round + 1, [])
        case .readingOverrides, .announcing, .listing, .checking:
            next = .atOnce
            return (round + 1, [])
        }
    }

    /// Begins the end of the process: its shards move now. Announcements continue, for operators, marked as draining.
    /// - Returns: whether the caller removes this node's entry now, without waiting for the effects under way; false if
    ///   the node is leaving already.
    package mutating func leave() -> Bool {
        guard !isLeaving else { return false }
        isLeaving = true
        // The announcement in flight may undo the removal.
        if case .announcing(_, isDraining: false) = state { next = .atOnce }
        return true
    }

    // MARK: A round

    private mutating func beginRound() -> [Effect] {
        next = .heartbeat
        round += 1
        let call = newCall()
        state = .readingOverrides(call)
        return [.readOverrides(call)]
    }

    /// Announces the node even if the overrides could not be read: otherwise other nodes would consider it dead.
    package mutating func overridesRead(
        _ call: CallID, _ answer: Result<ClusterOverrides, StepFailure>
    ) -> [Effect] {
        guard case .readingOverrides(call) = state else { return [] }
        var effects: [Effect] = []
        switch answer {
        case .success(let read):
            effects = (read.defects.isEmpty ? [] : [.report(.overridesDefective(read.defects))]) + follow(read)
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
        var effects: [Effect] = [.report(.overridesChanged(generation: read.generation)), .updateGateway(read)]
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
                + [.listNodes(call, livingAtMostMs: settings.livingAtMostMs)]
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
            var defects = StoredDefects()
            let listed = records.compactMap { NodeRecordPayload(payload: $0.payload, defects: &defects) }
            let reports: [Effect] = defects.isEmpty ? [] : [.report(.nodesDefective(defects))]
            let processes = listed.filter { $0.id != node }.compactMap(\.process)
            if processes.isEmpty { return reports + follow(records, ended: [], nowMs: nowMs) }
            let call = newCall()
            state = .checking(call, records)
            return reports + [.checkProcesses(call, processes)]
        }
    }

    /// - Parameters:
    ///   - ended: those of the processes that have certainly ended. Their nodes count as gone at once.
    ///   - nowMs: milliseconds since 1970, for moves that end at a certain time.
    package mutating func processesChecked(
        _ call: CallID, ended: Set<ProcessIdentity>, nowMs: Int64
    ) -> [Effect] {
        guard case .checking(call, let records) = state else { return [] }
        return follow(records, ended: ended, nowMs: nowMs)
    }

    private mutating func follow(
        _ records: [NodeRecord], ended processes: Set<ProcessIdentity>, nowMs: Int64
    ) -> [Effect] {
        let listed = records.compactMap(EndedNodes.Entry.init)
        let freeing = ended.free(listed.filter { LiveNodes.hasEnded($0.node, processes, askedBy: node) })
        guard settings.isWorker else { return freeing + endRound(nextMs: settings.heartbeatMs) }
        let live = LiveNodes(listed.map(\.node), ended: processes, askedBy: node)
        let update = Effect.updateWorker(
            workers: live.workers, gateways: live.gateways, overrides.movedShards(nowMs: nowMs),
            UnfollowedShards(marked: overrides.unfollowed, areKnownToAll: live.knowUnfollowedShards))
        let expiryMs = records.filter { $0.id != node.name }.map { Int64($0.remainingMs) }.min()
        let earlyMs = expiryMs.map { $0 + settings.expiryMarginMs } ?? settings.heartbeatMs
        return freeing + [update] + endRound(nextMs: min(settings.heartbeatMs, earlyMs))
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

    // MARK: Ended processes

    package mutating func leasesReleased(_ call: CallID, _ answer: Result<Void, StepFailure>) -> [Effect] {
        ended.leasesReleased(call, answer)
    }

    package mutating func entryRemoved(_ call: CallID, _ answer: Result<Void, StepFailure>) -> [Effect] {
        ended.entryRemoved(call, answer)
    }

    private mutating func newCall() -> CallID {
        lastCall += 1
        return lastCall
    }
}
