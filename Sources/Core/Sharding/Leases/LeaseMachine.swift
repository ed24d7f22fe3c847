package import LiveModel

/// Decides which shard leases a worker asks for, renews and gives up.
///
/// Safety does not rest on it: the epoch that the broker hands out fences whatever an old owner still sends. It keeps
/// each shard with one worker, and it stops serving a shard *before* the lease can be taken by somebody else.
///
/// When Redis forgot who owned a shard (data lost, or a replica that lagged behind took over), the former owner may serve
/// on until its own clock ends its lease. Whoever is granted the lease then lets the shard rest for so long, unless it
/// was that owner itself: results of a later epoch are newer in any case.
package struct LeaseMachine: Sendable {
    package struct Settings: Sendable {
        /// Life of a lease without renewal, by the broker's clock.
        package var ttlMs: Int64 = 5_000
        /// Time between renewals.
        package var renewMs: Int64 = 1_000
        /// Serving stops this long before the lease could have run out: covers clock drift and a slow event loop.
        package var marginMs: Int64 = 500
        /// How long a server process must know of a lease before a new owner serves; 0 where there is one worker only.
        package var holdOffMs: Int64 = 5_000
        /// Pause after a shard could not be served, doubling with each time in a row.
        package var restartMinMs: Int64 = 200
        package var restartMaxMs: Int64 = 30_000

        package init() {}
    }

    package enum Action: Hashable, Sendable {
        /// Ask the broker for the lease; answer with `leaseAnswered`.
        case acquire(ShardID)
        /// Renew it under this epoch; answer with `renewalAnswered`.
        case renew(ShardID, epoch: UInt64)
        /// Stop serving, checkpoint, then give it back.
        case release(ShardID, epoch: UInt64)
        /// Serve the shard under this epoch.
        case start(ShardID, epoch: UInt64)
        /// Stop serving at once: the lease may be somebody else's.
        case stop(ShardID, epoch: UInt64)
    }

    private enum State: Sendable {
        /// `mineUntilMs`: served until it was asked for again, because the server does not know the lease, which would have
        /// lived so long; nobody else can serve before.
        case asked(sinceMs: Int64, mineUntilMs: Int64?)
        case held(Lease)
    }

    private struct Lease: Sendable {
        let epoch: UInt64
        /// When the last successful renewal was *sent*.
        var renewedMs: Int64
        var renewSentMs: Int64?
        /// When serving begins; nil once it did.
        var startsMs: Int64?
    }

    private let settings: Settings
    private let me: NodeID
    private let shardCount: Int
    private var states: [ShardID: State] = [:]
    /// When the leases that others hold run out, of wanted shards, as last heard.
    private var freeMs: [ShardID: Int64] = [:]
    /// Shards that could not be served, how often in a row, and until when they are left alone.
    private var failed: [ShardID: (times: Int, untilMs: Int64)] = [:]
    private var workers: [NodeID] = []
    private var pins: [ShardID: NodeID] = [:]
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
    ///   - pins: shards that an operator moved, and to whom.
    package mutating func workersChanged(
        _ workers: [NodeID], pins: [ShardID: NodeID] = [:], nowMs: Int64
    ) -> [Action] {
        self.workers = workers.sorted()
        self.pins = pins
        return tick(nowMs: nowMs)
    }

    /// No more shards; those held are given up.
    package mutating func drain(nowMs: Int64) -> [Action] {
        isDraining = true
        return tick(nowMs: nowMs)
    }

    /// Shards whose lease may be somebody else's by now. To be asked before a result that was just read is used: what is
    /// read under a lease is then read before anybody else could read under the next one, and results of a later epoch
    /// are newer.
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

    /// Whether the shard may be served: its lease cannot be anybody else's.
    package func isServing(_ shard: ShardID, nowMs: Int64) -> Bool {
        guard case .held(let lease) = states[shard], lease.startsMs == nil else { return false }
        return !isOver(lease, nowMs: nowMs)
    }

    private func isOver(_ lease: Lease, nowMs: Int64) -> Bool { nowMs >= endMs(lease) }

    private func endMs(_ lease: Lease) -> Int64 { lease.renewedMs + settings.ttlMs - settings.marginMs }

    /// Whether the shard is still asked for since `askedMs` or earlier, and no answer has come.
    package func isAsking(_ shard: ShardID, askedMs: Int64) -> Bool {
        if case .asked(let sinceMs, _) = states[shard] { sinceMs <= askedMs } else { false }
    }

    /// When `tick` is wanted before its regular time: a lease that another worker held may have run out, or a shard has
    /// rested long enough.
    package var nextDeadlineMs: Int64? {
        var deadlineMs = [freeMs.values.min(), failed.values.lazy.map(\.untilMs).filter { $0 > lastTickMs }.min()]
            .compactMap { $0 }.min()
        for case .held(let lease) in states.values {
            if let startsMs = lease.startsMs { deadlineMs = min(deadlineMs ?? startsMs, startsMs) }
        }
        return deadlineMs
    }

    /// Called at least every `renewMs`, at `nextDeadlineMs` and whenever something changed.
    package mutating func tick(nowMs: Int64) -> [Action] {
        var actions: [Action] = []
        let wanted =
            isDraining ? [] : ShardAssignment.shards(of: me, among: workers, shardCount: shardCount, pins: pins)
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
            case .asked(let sinceMs, _):
                if !wanted.contains(shard) || nowMs >= sinceMs + settings.ttlMs { states[shard] = nil }
            case nil: break
            }
        }
        for shard in wanted.sorted() where states[shard] == nil && nowMs >= failed[shard]?.untilMs ?? .min {
            states[shard] = .asked(sinceMs: nowMs, mineUntilMs: nil)
            actions.append(.acquire(shard))
        }
        return actions
    }

    /// - Parameters:
    ///   - epoch: nil when another worker holds the lease or the broker could not be asked.
    ///   - heldForMs: how long another worker's lease lives on, when that is the reason.
    ///   - knownForMs: how long the server process that granted it knows of this lease.
    ///   - askedMs: at or after the call that asked for it; nil: `sentMs`.
    ///   - sentMs: when the request was sent to the broker; the lease lives from then, not from the answer.
    package mutating func leaseAnswered(
        _ shard: ShardID, epoch: UInt64?, heldForMs: Int64? = nil, knownForMs: Int64, askedMs: Int64? = nil,
        sentMs: Int64, nowMs: Int64
    ) -> [Action] {
        guard case .asked(let sinceMs, let mineUntilMs) = states[shard], sinceMs <= askedMs ?? sentMs else {
            guard let epoch else { return [] }
            if case .held(let lease) = states[shard] { return granted(shard, again: epoch, lease, sentMs: sentMs) }
            // The wish is gone, or this answers an earlier one; so goes the lease.
            return [.release(shard, epoch: epoch)]
        }
        guard let epoch else {
            states[shard] = nil
            // Not a moment later than it is free; a millisecond more than it says, which may be rounded.
            if let heldForMs { freeMs[shard] = nowMs + heldForMs + 1 }
            return []
        }
        // The request may have taken long, or this worker have stood still: meanwhile others could serve and be forgotten.
        let isMine = mineUntilMs.map { nowMs < $0 } ?? false
        let restsMs = isMine ? 0 : max(0, settings.holdOffMs - knownForMs)
        let lease = Lease(epoch: epoch, renewedMs: sentMs, startsMs: restsMs == 0 ? nil : nowMs + restsMs)
        if isOver(lease, nowMs: nowMs) {
            // It took too long: by now it may be another's.
            states[shard] = nil
            return [.release(shard, epoch: epoch)]
        }
        states[shard] = .held(lease)
        return restsMs == 0 ? [.start(shard, epoch: epoch)] : []
    }

    /// A late request for what is held by now was granted, too. The broker knows the newest epoch alone, and to give that
    /// back would give away a shard that is served.
    private mutating func granted(_ shard: ShardID, again epoch: UInt64, _ lease: Lease, sentMs: Int64) -> [Action] {
        guard epoch > lease.epoch else { return [] }
        // Whatever was renewed under the former epoch was renewed before this grant.
        states[shard] = .held(
            Lease(epoch: epoch, renewedMs: max(lease.renewedMs, sentMs), startsMs: lease.startsMs))
        return lease.startsMs == nil ? [.stop(shard, epoch: lease.epoch), .start(shard, epoch: epoch)] : []
    }

    /// The shard is served.
    package mutating func started(_ shard: ShardID) { failed[shard] = nil }

    /// A shard whose lease is held could not be served: it goes back, and is left alone for a while.
    package mutating func startFailed(_ shard: ShardID, epoch: UInt64, nowMs: Int64) -> [Action] {
        guard case .held(let lease) = states[shard], lease.epoch == epoch else { return [] }
        states[shard] = nil
        let times = failed[shard]?.times ?? 0
        let pauseMs = min(settings.restartMaxMs, settings.restartMinMs << Int64(min(times, 16)))
        failed[shard] = (times + 1, nowMs + pauseMs)
        return [.release(shard, epoch: epoch)]
    }

    /// - Parameter isHeld: nil when the broker could not be asked.
    package mutating func renewalAnswered(
        _ shard: ShardID, epoch: UInt64, isHeld: Bool?, sentMs: Int64, nowMs: Int64
    ) -> [Action] {
        guard case .held(var lease) = states[shard], lease.epoch == epoch else { return [] }
        lease.renewSentMs = nil
        switch isHeld {
        case true: lease.renewedMs = max(lease.renewedMs, sentMs)
        case false:
            // Another worker has it, or the server forgot. In the latter case nobody else can have served meanwhile.
            let isMine = lease.startsMs == nil && !isOver(lease, nowMs: nowMs)
            states[shard] = isMine ? .asked(sinceMs: nowMs, mineUntilMs: endMs(lease)) : nil
            return [.stop(shard, epoch: epoch)] + (isMine ? [.acquire(shard)] : [])
        case nil: break
        }
        states[shard] = .held(lease)
        return []
    }
}
