import Broker
import Streams
import FanoutWorker
import LiveModel
import Refresh
import Sharding

/// Which shards it has: asked for, renewed, begun and given back as `LeaseMachine` says.
extension SimulatedWorker {
    private func armLeaseTimer() {
        guard let deadlineMs = leases.nextDeadlineMs, deadlineMs < leaseTimerMs ?? .max else { return }
        leaseTimerMs = deadlineMs
        later(max(0, deadlineMs - nowMs)) { [self] in
            guard leaseTimerMs == deadlineMs else { return }
            leaseTimerMs = nil
            guard !isDraining else { return }
            perform(leases.tick(nowMs: max(nowMs, deadlineMs)))
            armLeaseTimer()
        }
    }

    /// Serving ends in the same breath; the rest is performed at once but not in the same instant, as by concurrent tasks.
    func perform(_ actions: [LeaseMachine.Action]) {
        for action in actions {
            switch action {
            case .stop(let shard, let epoch): stop(shard, epoch)
            case .release(let shard, let epoch):
                released[shard] = machine.lastEventID(of: shard)
                stop(shard, epoch)
            case .acquire, .renew, .start: break
            }
            later(timeline.pick(0...3)) { [self] in perform(action) }
        }
    }

    private func perform(_ action: LeaseMachine.Action) {
        world.note("\(name) \(action)")
        let sentMs = nowMs
        let (me, ttlMs) = (me, Self.leaseSettings.ttlMs)
        switch action {
        case .acquire(let shard):
            ask(for: shard, sentMs) { [self] answer, atMs in
                let grant = answer?.grant
                if let grant { grants[shard] = grant }
                perform(
                    leases.leaseAnswered(
                        shard, epoch: grant?.epoch, heldForMs: answer?.heldForMs.map(Int64.init),
                        knownForMs: grant?.knownForMs ?? 0, askedMs: sentMs, sentMs: atMs, nowMs: nowMs))
                armLeaseTimer()
            }
        case .renew(let shard, let epoch):
            call {
                $0.renew(shard, owner: me, epoch: epoch, ttlMs: ttlMs)
            } then: { [self] isHeld in
                perform(
                    leases.renewalAnswered(shard, epoch: epoch, isHeld: isHeld, sentMs: sentMs, nowMs: nowMs))
            }
        case .start(let shard, let epoch): start(shard, epoch)
        case .stop: break
        case .release(let shard, let epoch):
            let id = released.removeValue(forKey: shard)
            call { redis in
                if let id { _ = redis.checkpoint(shard, epoch: epoch, id: id) }
                redis.release(shard, owner: me, epoch: epoch)
            } then: { _ in
            }
        }
    }

    private func ask(for shard: ShardID, _ askedMs: Int64, then: @escaping (LeaseAnswer?, _ sentMs: Int64) -> Void) {
        // By its clock alone, an epoch would be above all others; only what is recorded counts here.
        statement {
            $0.recordedEpoch(of: shard)
        } then: { [self] recorded in
            guard case .done(let recorded) = recorded else { return then(nil, askedMs) }
            ask(for: shard, askedMs, above: recorded, isLast: false, then)
        }
    }

    private func ask(
        for shard: ShardID, _ askedMs: Int64, above floor: UInt64, isLast: Bool,
        _ then: @escaping (LeaseAnswer?, Int64) -> Void
    ) {
        guard leases.isAsking(shard, askedMs: askedMs) else { return then(nil, askedMs) }
        let (me, ttlMs, sentMs) = (me, Self.leaseSettings.ttlMs, nowMs)
        func again(above floor: UInt64) {
            if isLast { return then(nil, sentMs) }
            ask(for: shard, askedMs, above: floor, isLast: true, then)
        }
        call {
            $0.acquire(shard, owner: me, ttlMs: ttlMs, epoch: floor + 1)
        } then: { [self] answer in
            switch answer {
            case .held, nil: then(answer, sentMs)
            case .outdated(let newest): again(above: max(floor, newest))
            case .granted(let grant):
                statement { [self] in
                    ($0.recordEpoch(grant.epoch, of: shard) || isUnchecked, $0.recordedEpoch(of: shard))
                } then: { recorded in
                    guard case .done(let (isRecorded, newest)) = recorded else { return then(nil, sentMs) }
                    if isRecorded { return then(answer, sentMs) }
                    again(above: max(grant.epoch, newest))
                }
            }
        }
    }

    /// One request after the other, as the shell awaits them.
    private func start(_ shard: ShardID, _ epoch: UInt64) {
        let events = keys.events(shard: shard.number)
        let settings = world.refreshSettings
        func failed() {
            stop(shard, epoch)
            perform(leases.startFailed(shard, epoch: epoch, nowMs: nowMs))
        }
        func load(_ history: EventHistory) {
            guard let before = history.before else { return ask(shard, epoch, history, failed) }
            call {
                $0.newest(events, before: before, limit: EventHistory.pageMax)
            } then: { page in
                guard let page else { return failed() }
                var history = history
                history.add(page)
                load(history)
            }
        }
        statement { [self] postgres in
            let recorded = postgres.recordedEpoch(of: shard)
            if recorded == epoch || isUnchecked { world.checks.granted(shard, epoch, me) }
            return recorded
        } then: { [self] recorded in
            guard case .done(let recorded) = recorded, recorded == epoch || isUnchecked else { return failed() }
            call {
                $0.info(events)?.lastID ?? .zero
            } then: { lastID in
                guard let lastID else { return failed() }
                load(
                    EventHistory(lastID: lastID, countMax: settings.historyMax, bytesMax: settings.historyBytesMax))
            }
        }
    }

    private func ask(
        _ shard: ShardID, _ epoch: UInt64, _ history: EventHistory, _ failed: @escaping () -> Void
    ) {
        let events = keys.events(shard: shard.number)
        let control = keys.control(shard: shard.number)
        call {
            $0.info(control)?.lastID ?? .zero
        } then: { [self] controlEnd in
            guard let controlEnd else { return failed() }
            call {
                $0.nodes()
            } then: { [self] nodes in
                guard let nodes else { return failed() }
                guard leases.held[shard] == epoch else { return }
                let isTrusting = world.sabotage == .historyTrustedAfterLoss
                let grant = grants[shard].flatMap { $0.epoch == epoch ? $0 : nil }
                let gateways = gateways.union(nodes.filter { $0.roles.contains("gateway") }.map(\.id))
                let actions = machine.shardOpened(
                    shard, epoch: epoch, history: history, trustedEpoch: isTrusting ? 0 : grant?.trustedEpoch ?? epoch,
                    gateways: gateways.sorted(), nowMs: nowMs)
                leases.started(shard)
                shardOfStream[events] = (shard, true)
                shardOfStream[control] = (shard, false)
                follower.follow(events, after: history.lastID, server: grant?.server)
                follower.follow(control, after: controlEnd, server: grant?.server)
                perform(actions)
            }
        }
    }

    func stop(_ shard: ShardID, _ epoch: UInt64) {
        if let current = machine.epoch(of: shard), current != epoch { return }
        for stream in [keys.events(shard: shard.number), keys.control(shard: shard.number)] {
            follower.unfollow(stream)
            shardOfStream[stream] = nil
        }
        machine.shardLost(shard)
    }

    func checkpoint() {
        let isTrimming = nowMs >= lastTrimMs + 5_000
        if isTrimming { lastTrimMs = nowMs }
        let oldest = StreamID(ms: UInt64(nowMs - Self.eventsAgeMaxMs), sequence: 0)
        for shard in machine.ownedShards {
            guard let id = machine.lastEventID(of: shard), let epoch = machine.epoch(of: shard), id != .zero else {
                continue
            }
            call { redis in
                _ = redis.checkpoint(shard, epoch: epoch, id: id)
                if isTrimming { redis.trim(shard, epoch: epoch, minimumID: oldest) }
            } then: { _ in
            }
        }
    }
}
