package import LiveModel
import Pacing

/// Decides which shard leases a worker requests, renews and gives up.
///
/// Safety does not depend on it: the epoch that the broker hands out fences whatever a former owner still sends. It
/// keeps each shard with one worker, and stops serving a shard *before* another worker can take the lease.
///
/// If Redis forgot who owned a shard (it lost data, or a lagging replica took over), the former owner may serve until
/// its own clock ends its lease. The worker that is granted the lease next therefore lets the shard rest for that long,
/// unless it was the former owner itself: results of a later epoch are newer in any case.
package struct LeaseMachine: Sendable {
    package struct Settings: Sendable {
        /// Lifetime of a lease without renewal, by the broker's clock.
        package var ttlMs: Int64 = 5_000
        /// Time between renewals.
        package var renewMs: Int64 = 1_000
        /// Serving stops this long before the lease could have run out: covers clock drift and a slow event loop.
        package var marginMs: Int64 = 500
        /// How long a server process must have known a lease before a new owner serves; 0 if there is only one worker.
        package var holdOffMs: Int64 = 5_000
        /// Pause after a shard could not be served, doubling with each consecutive failure.
        package var restartMinMs: Int64 = 200
        package var restartMaxMs: Int64 = 30_000

        var restartBackoff: Backoff { Backoff(minMs: restartMinMs, maxMs: restartMaxMs) }

        package init() {}
    }

    package enum Action: Hashable, Sendable {
        /// Request the lease from the broker; answer with `leaseAnswered`.
        case acquire(ShardID)
        /// Renew it under this epoch; answer with `renewalAnswered`.
        case renew(ShardID, epoch: UInt64)
        /// Stop serving, record a checkpoint, then release the lease.
        case release(ShardID, epoch: UInt64)
        /// Serve the shard under this epoch.
        case start(ShardID, epoch: UInt64)
        /// Stop serving at once: the lease may be another worker's.
        case stop(ShardID, epoch: UInt64)
    }

    private enum State: Sendable {
        /// `mineUntilMs`: this worker held the shard until the server lost its lease. It would have been valid until
        /// then, so no other worker can be serving yet.
        case requested(sinceMs: Int64, mineUntilMs: Int64?)
        case held(Lease)
    }

    private struct Lease: Sendable {
        let epoch: UInt64
        /// When the last successful renewal was *sent*.
        var renewedMs: Int64
        var renewSentMs: Int64?
        /// When serving begins; nil once it has begun.
        var startsMs: Int64?
    }

    private let settings: Settings
    private let me: NodeID
    private let shardCount: Int
    private var states: [ShardID: State] = [:]
    /// When other workers' leases on wanted shards expire, as last heard.
    private var freeMs: [ShardID: Int64] = [:]
    /// Shards that could not be served: how often in a row, and until when they are left alone.
    private var failed: [ShardID: (times: Int, untilMs: Int64)] = [:]
    private var workers: [NodeID] = []
    private var movedShards: [ShardID: NodeID] = [:]
    private var isDraining = false
    private var lastTickMs: Int64 = .min

    package init(me: NodeID, shardCount: Int, settings: Settings) {
        self.me = me
        self.shardCount = shardCount
        self.settings = settings
    }

    package var held: [ShardID: UInt64] {
        states.compactMapValues { state in
            if case .held(let lease) = state { lease.epoch } else { nil }
        }
    }

    /// The epoch under which the shard's lease is held; nil when it is not held.
    package func epoch(of shard: ShardID) -> UInt64? {
        if case .held(let lease) = states[shard] { lease.epoch } else { nil }
    }

    /// - Parameters:
    ///   - workers: live workers that are not draining, this one included unless it drains.
    ///   - movedShards: shards that an operator moved, and to whom.
    package mutating func workersChanged(
        _ workers: [NodeID], movedShards: [ShardID: NodeID] = [:], nowMs: Int64
    ) -> [Action] {
        self.workers = workers.sorted()
        self.movedShards = movedShards
        return tick(nowMs: nowMs)
    }

    /// Takes no more shards and gives up those it holds.
    package mutating func drain(nowMs: Int64) -> [Action] {
        isDraining = true
        return tick(nowMs: nowMs)
    }

    /// Stops shards whose lease may be another worker's by now. Called before a result that was just read is used:
    /// whatever is read under a lease is then read before anybody could read under the next one, and results of a later
    /// epoch are newer.
    package mutating func expired(nowMs: Int64) -> [Action] {
        var over: [(shard: ShardID, epoch: UInt64)] = []
        for (shard, state) in states {
            if case .held(let lease) = state, isOver(lease, nowMs: nowMs) { over.append((shard, lease.epoch)) }
        }
        return over.sorted { $0.shard < $1.shard }.map { shard, epoch in
            states[shard] = nil
            return .stop(shard, epoch: epoch)
        }
    }

    /// Whether the shard may be served: no other worker can hold its lease.
    package func isServing(_ shard: ShardID, nowMs: Int64) -> Bool {
        guard case .held(let lease) = states[shard], lease.startsMs == nil else { return false }
        return !isOver(lease, nowMs: nowMs)
    }

    private func isOver(_ lease: Lease, nowMs: Int64) -> Bool { nowMs >= endMs(lease) }

    private func endMs(_ lease: Lease) -> Int64 { lease.renewedMs + settings.ttlMs - settings.marginMs }

    /// Whether a request for the shard, made at `requestedMs` or earlier, is still unanswered.
    package func isRequested(_ shard: ShardID, requestedMs: Int64) -> Bool {
        if case .requested(let sinceMs, _) = states[shard] { sinceMs <= requestedMs } else { false }
    }

    /// When `tick` is due before its regular time: another worker's lease may have expired, or a shard has rested long
    /// enough.
    package var nextDeadlineMs: Int64? {
        var deadlineMs = [freeMs.values.min(), failed.values.lazy.map(\.untilMs).filter { $0 > lastTickMs }.min()]
            .compactMap { $0 }.min()
        for case .held(let lease) in states.values {
            if let startsMs = lease.startsMs { deadlineMs = min(deadlineMs ?? startsMs, startsMs) }
        }
        return deadlineMs
    }

    /// Called at least every `renewMs`, at `nextDeadlineMs`, and whenever something changed.
    package mutating func tick(nowMs: Int64) -> [Action] {
        var actions: [Action] = []
        let wanted =
            isDraining
            ? []
            : ShardAssignment.shards(
                of: me, among: workers, shardCount: shardCount, movedShards: movedShards)
        freeMs = [:]
        lastTickMs = nowMs
        failed = failed.filter { wanted.contains($0.key) }
        for shard in states.keys.sorted() {
            switch states[shard] {
            case .held(var lease):
                if isOver(lease, nowMs: nowMs) {
                    states[shard] = nil
                    actions.append(.stop(shard, epoch: lease.epoch))
                    continue
                }
                if !wanted.contains(shard) {
                    states[shard] = nil
                    actions.append(.release(shard, epoch: lease.epoch))
                    continue
                }
                if nowMs >= (lease.renewSentMs ?? lease.renewedMs) + settings.renewMs {
                    lease.renewSentMs = nowMs
                    actions.append(.renew(shard, epoch: lease.epoch))
                }
                if let startsMs = lease.startsMs, nowMs >= startsMs {
                    lease.startsMs = nil
                    actions.append(.start(shard, epoch: lease.epoch))
                }
                states[shard] = .held(lease)
            case .requested(let sinceMs, _):
                if !wanted.contains(shard) || nowMs >= sinceMs + settings.ttlMs { states[shard] = nil }
            case nil: break
            }
        }
        for shard in wanted.sorted() where states[shard] == nil && nowMs >= failed[shard]?.untilMs ?? .min {
            states[shard] = .requested(sinceMs: nowMs, mineUntilMs: nil)
            actions.append(.acquire(shard))
        }
        return actions
    }

    /// - Parameters:
    ///   - epoch: nil if another worker holds the lease or the broker did not answer.
    ///   - heldForMs: the remaining life of another worker's lease, if that is the reason.
    ///   - knownForMs: how long the server process that granted the lease has known it.
    ///   - requestedMs: when the lease was first requested, or later; nil: `sentMs`.
    ///   - sentMs: when the request was sent to the broker; the lease lives from then, not from the answer.
    package mutating func leaseAnswered(
        _ shard: ShardID, epoch: UInt64?, heldForMs: Int64? = nil, knownForMs: Int64, requestedMs: Int64? = nil,
        sentMs: Int64, nowMs: Int64
    ) -> [Action] {
        guard case .requested(let sinceMs, let mineUntilMs) = states[shard], sinceMs <= requestedMs ?? sentMs else {
            guard let epoch else { return [] }
            if case .held(let lease) = states[shard] { return grantedLate(shard, epoch: epoch, lease, sentMs: sentMs) }
            // No longer wanted, or the answer to an earlier request: the lease is released.
            return [.release(shard, epoch: epoch)]
        }
        guard let epoch else {
            states[shard] = nil
            // Retry when the lease expires, one millisecond after the reported time, which may be rounded.
            if let heldForMs { freeMs[shard] = nowMs + heldForMs + 1 }
            return []
        }
        // The request may have taken long, or this worker may have been paused: meanwhile others could have served and
        // been forgotten.
        let isMine = mineUntilMs.map { nowMs < $0 } ?? false
        let restsMs = isMine ? 0 : max(0, settings.holdOffMs - knownForMs)
        let lease = Lease(epoch: epoch, renewedMs: sentMs, startsMs: restsMs == 0 ? nil : nowMs + restsMs)
        if isOver(lease, nowMs: nowMs) {
            // It took too long: the lease may be another worker's by now.
            states[shard] = nil
            return [.release(shard, epoch: epoch)]
        }
        states[shard] = .held(lease)
        return restsMs == 0 ? [.start(shard, epoch: epoch)] : []
    }

    /// A late request for a lease that is held by now was granted as well. The broker knows only the newest epoch, so
    /// releasing that one would release a shard that is served.
    private mutating func grantedLate(_ shard: ShardID, epoch: UInt64, _ lease: Lease, sentMs: Int64) -> [Action] {
        guard epoch > lease.epoch else { return [] }
        // All renewals under the former epoch were sent before this grant.
        states[shard] = .held(
            Lease(epoch: epoch, renewedMs: max(lease.renewedMs, sentMs), startsMs: lease.startsMs))
        return lease.startsMs == nil ? [.stop(shard, epoch: lease.epoch), .start(shard, epoch: epoch)] : []
    }

    /// Records that the shard is served.
    package mutating func started(_ shard: ShardID) { failed[shard] = nil }

    /// A shard whose lease is held could not be served: it is released and left alone for a while.
    package mutating func startFailed(_ shard: ShardID, epoch: UInt64, nowMs: Int64) -> [Action] {
        guard case .held(let lease) = states[shard], lease.epoch == epoch else { return [] }
        states[shard] = nil
        let times = failed[shard]?.times ?? 0
        failed[shard] = (times + 1, nowMs + settings.restartBackoff.delayMs(after: times))
        return [.release(shard, epoch: epoch)]
    }

    /// - Parameter isHeld: nil if the broker did not answer.
    package mutating func renewalAnswered(
        _ shard: ShardID, epoch: UInt64, isHeld: Bool?, sentMs: Int64, nowMs: Int64
    ) -> [Action] {
        guard case .held(var lease) = states[shard], lease.epoch == epoch else { return [] }
        lease.renewSentMs = nil
        switch isHeld {
        case true: lease.renewedMs = max(lease.renewedMs, sentMs)
        case false:
            // Another worker has it, or the server forgot it. In the latter case no other worker can have served
            // meanwhile.
            let isMine = lease.startsMs == nil && !isOver(lease, nowMs: nowMs)
            states[shard] = isMine ? .requested(sinceMs: nowMs, mineUntilMs: endMs(lease)) : nil
            return [.stop(shard, epoch: epoch)] + (isMine ? [.acquire(shard)] : [])
        case nil: break
        }
        states[shard] = .held(lease)
        return []
    }
}
