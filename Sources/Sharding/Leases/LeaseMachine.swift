package import LiveModel

/// Decides which shard leases a worker asks for, renews and gives up.
///
/// Safety does not rest on it: the epoch that the broker hands out fences whatever an old owner still sends. It keeps
/// each shard with one worker, and it stops serving a shard *before* the lease can be taken by somebody else.
package struct LeaseMachine: Sendable {
    package struct Settings: Sendable {
        /// Life of a lease without renewal, by the broker's clock.
        package var ttlMs: Int64 = 5_000
        /// Time between renewals.
        package var renewMs: Int64 = 1_000
        /// Serving stops this long before the lease could have run out: covers clock drift and a slow event loop.
        package var marginMs: Int64 = 500

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
        case asked(sinceMs: Int64)
        /// `renewedMs` is when the last successful renewal was *sent*.
        case held(epoch: UInt64, renewedMs: Int64, renewSentMs: Int64?)
    }

    private let settings: Settings
    private let me: NodeID
    private let shardCount: Int
    private var states: [ShardID: State] = [:]
    private var workers: [NodeID] = []
    private var pins: [ShardID: NodeID] = [:]
    private var isDraining = false

    package init(me: NodeID, shardCount: Int, settings: Settings) {
        self.me = me
        self.shardCount = shardCount
        self.settings = settings
    }

    package var held: [ShardID: UInt64] {
        states.compactMapValues { state in
            if case .held(let epoch, _, _) = state { epoch } else { nil }
        }
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

    /// Called every `renewMs` and whenever something changed.
    package mutating func tick(nowMs: Int64) -> [Action] {
        var actions: [Action] = []
        let wanted = isDraining ? [] : Placement.shards(of: me, among: workers, shardCount: shardCount, pins: pins)
        for shard in states.keys.sorted() {
            switch states[shard] {
            case .held(let epoch, let renewedMs, let renewSentMs):
                if nowMs >= renewedMs + settings.ttlMs - settings.marginMs {
                    states[shard] = nil
                    actions.append(.stop(shard, epoch: epoch))
                } else if !wanted.contains(shard) {
                    states[shard] = nil
                    actions.append(.release(shard, epoch: epoch))
                } else if nowMs >= (renewSentMs ?? renewedMs) + settings.renewMs {
                    states[shard] = .held(epoch: epoch, renewedMs: renewedMs, renewSentMs: nowMs)
                    actions.append(.renew(shard, epoch: epoch))
                }
            case .asked(let sinceMs):
                if !wanted.contains(shard) || nowMs >= sinceMs + settings.ttlMs { states[shard] = nil }
            case nil: break
            }
        }
        for shard in wanted.sorted() where states[shard] == nil {
            states[shard] = .asked(sinceMs: nowMs)
            actions.append(.acquire(shard))
        }
        return actions
    }

    /// - Parameters:
    ///   - epoch: nil when another worker holds the lease or the broker could not be asked.
    ///   - sentMs: when the request was sent, at or after the call that asked for it; the lease lives from then, not
    ///     from the answer.
    package mutating func leaseAnswered(_ shard: ShardID, epoch: UInt64?, sentMs: Int64, nowMs: Int64) -> [Action] {
        guard case .asked(let sinceMs) = states[shard], sinceMs <= sentMs else {
            // The wish is gone, or this answers an earlier one; so goes the lease, if it came.
            return epoch.map { [.release(shard, epoch: $0)] } ?? []
        }
        guard let epoch else {
            states[shard] = nil
            return []
        }
        states[shard] = .held(epoch: epoch, renewedMs: sentMs, renewSentMs: nil)
        return [.start(shard, epoch: epoch)]
    }

    /// A shard whose lease is held could not be served: it goes back, so that another worker may try.
    package mutating func startFailed(_ shard: ShardID, epoch: UInt64) -> [Action] {
        guard case .held(epoch, _, _) = states[shard] else { return [] }
        states[shard] = nil
        return [.release(shard, epoch: epoch)]
    }

    /// - Parameter isHeld: nil when the broker could not be asked.
    package mutating func renewalAnswered(
        _ shard: ShardID, epoch: UInt64, isHeld: Bool?, sentMs: Int64, nowMs: Int64
    ) -> [Action] {
        guard case .held(epoch, let renewedMs, _) = states[shard] else { return [] }
        switch isHeld {
        case true: states[shard] = .held(epoch: epoch, renewedMs: max(renewedMs, sentMs), renewSentMs: nil)
        case false:
            states[shard] = nil
            return [.stop(shard, epoch: epoch)]
        case nil: states[shard] = .held(epoch: epoch, renewedMs: renewedMs, renewSentMs: nil)
        }
        return []
    }
}
