import LiveModel
import Refresh
import Sharding
import Streams

/// The serving of shards, from the request for a lease to its end.
extension WorkerMachine {
    /// Performs the decisions of `leases`; called after everything that changes them.
    ///
    /// A shard is not served from the moment `leases` gives it up: it no longer tracks that lease, so a result that
    /// arrived in between would be accepted even if it was read too late.
    mutating func performLeases(_ actions: [LeaseMachine.Action], nowMs: Int64) {
        for action in actions {
            switch action {
            case .acquire(let shard):
                let negotiation = EpochNegotiation(shard: shard, requestedMs: nowMs)
                go(on: negotiation, negotiation.begin(), nowMs: nowMs)
            case .renew(let shard, let epoch):
                request(
                    .renewLease(
                        key: keys.lease(shard: shard.number), owner: node, epoch: epoch, ttlMs: settings.lease.ttlMs),
                    for: .renewal(shard, epoch: epoch, sentMs: nowMs))
            case .start(let shard, let epoch):
                let start = ShardStart(
                    shard, epoch: epoch, keys: keys, historyMax: settings.refresh.historyMax,
                    historyBytesMax: settings.refresh.historyBytesMax)
                go(on: start, start.begin(), nowMs: nowMs)
            case .stop(let shard, let epoch):
                stopServing(shard, epoch)
                log(.warning, "shard lost", ["shard": "\(shard)", "epoch": "\(epoch)"])
            case .release(let shard, let epoch): handOver(shard, epoch)
            }
        }
        updateLeaseDeadline()
    }

    mutating func renewalAnswered(_ shard: ShardID, _ epoch: UInt64, isHeld: Bool?, sentMs: Int64, nowMs: Int64) {
        performLeases(
            leases.renewalAnswered(shard, epoch: epoch, isHeld: isHeld, sentMs: sentMs, nowMs: nowMs), nowMs: nowMs)
    }

    // MARK: Epochs

    mutating func go(on negotiation: EpochNegotiation, _ action: EpochNegotiation.Action, nowMs: Int64) {
        let shard = negotiation.shard
        let answer: LeaseAnswer?
        switch action {
        case .database(let call): return request(call, for: .negotiation(negotiation))
        case .requestLease(let basis, let epoch):
            return request(
                .requestLease(
                    key: keys.lease(shard: shard.number), owner: node, ttlMs: settings.lease.ttlMs, basis: basis,
                    epoch: epoch),
                for: .negotiation(negotiation))
        case .end(let ended):
            answer = ended
            if let grant = ended.grant { negotiations.granted(grant, shard) }
        case .giveUp(let problem):
            if let problem, negotiations.failed(problem) {
                log(
                    .warning, "shard not taken: its epoch could not be recorded in Postgres",
                    ["shard": "\(shard)", "error": problem])
            }
            answer = nil
        }
        let grant = answer?.grant
        performLeases(
            leases.leaseAnswered(
                shard, epoch: grant?.epoch, heldForMs: answer?.heldForMs.map(Int64.init),
                knownForMs: grant?.knownForMs ?? 0, requestedMs: negotiation.requestedMs, sentMs: negotiation.sentMs,
                nowMs: nowMs),
            nowMs: nowMs)
    }

    // MARK: Start

    /// Whether the lease for which this start began is still held; otherwise the start ends.
    func isCurrent(_ start: ShardStart) -> Bool { leases.epoch(of: start.shard) == start.epoch }

    mutating func go(on start: ShardStart, _ action: ShardStart.Action, nowMs: Int64) {
        switch action {
        case .loadCatalogs: emit(.loadCatalogs(newCall(for: .start(start))))
        case .database(let call): request(call, for: .start(start))
        case .broker(let call): request(call, for: .start(start))
        case .open(let history, let controlEnd, let isUnfollowed, let nodes):
            following.opened(start.shard, epoch: start.epoch, isMarked: isUnfollowed, nowMs: nowMs)
            open(start.shard, start.epoch, history, controlEnd, nodes, nowMs: nowMs)
        case .fail(let problem):
            log(.warning, "shard could not be started", ["shard": "\(start.shard)", "error": problem])
            stopServing(start.shard, start.epoch)
            performLeases(leases.startFailed(start.shard, epoch: start.epoch, nowMs: nowMs), nowMs: nowMs)
        }
    }

    private mutating func open(
        _ shard: ShardID, _ epoch: UInt64, _ history: EventHistory, _ controlEnd: StreamID, _ nodes: [NodeRecord],
        nowMs: Int64
    ) {
        let listed = nodes.compactMap { NodeRecordPayload(payload: $0.payload) }
            .filter { $0.roles.contains(.gateway) }.map(\.id)
        // A gateway that appeared after that list was read was announced as new while this shard was not served yet.
        let gateways = gateways.union(listed)
        let grant = negotiations.grant(of: shard, epoch)
        let requests = refresh.shardOpened(
            shard, epoch: epoch, history: history, trustedEpoch: grant?.trustedEpoch ?? epoch,
            gateways: gateways.sorted(), nowMs: nowMs)
        let (events, control) = streams.add(shard)
        leases.started(shard)
        emit(.follow(stream: events, after: history.lastID, server: grant?.server))
        emit(.follow(stream: control, after: controlEnd, server: grant?.server))
        performRefresh(requests, nowMs: nowMs)
        log(.info, "shard taken", ["shard": "\(shard)", "epoch": "\(epoch)"])
    }

    // MARK: End

    /// Stops serving the shard. The late end of a former epoch must not stop a shard that was taken again since.
    private mutating func stopServing(_ shard: ShardID, _ epoch: UInt64) {
        if let current = refresh.epoch(of: shard), current != epoch { return }
        for stream in streams.remove(shard) { emit(.unfollow(stream: stream)) }
        negotiations.ended(shard, epoch)
        upkeep.shardLost(shard)
        following.lost(shard)
        refresh.shardLost(shard)
    }

    /// Hands the shard over: stops serving at once, records the applied position for the next owner, releases the
    /// lease.
    private mutating func handOver(_ shard: ShardID, _ epoch: UInt64) {
        let id = refresh.epoch(of: shard) == epoch ? upkeep.unrecorded(of: shard, refresh) : nil
        stopServing(shard, epoch)
        guard let id else { return release(shard, epoch) }
        request(upkeep.checkpointCall(shard, epoch, id), for: .finalCheckpoint(shard, epoch: epoch))
    }

    mutating func release(_ shard: ShardID, _ epoch: UInt64) {
        request(
            .releaseLease(key: keys.lease(shard: shard.number), owner: node, epoch: epoch),
            for: .release(shard, epoch: epoch))
    }

    mutating func released(_ shard: ShardID, _ epoch: UInt64) {
        log(.info, "shard released", ["shard": "\(shard)", "epoch": "\(epoch)"])
        // The next owner need not wait for a heartbeat.
        if !hasReleases { request(.wakeWorkers(of: node), for: .wakeWorkers) }
    }
}
