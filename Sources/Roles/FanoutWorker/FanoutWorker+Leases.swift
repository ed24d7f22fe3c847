import Broker
import Streams
import Execution
package import LiveModel
import Logging
import Postgres
import Refresh
import Sharding

/// Nodes and leases: which shards this worker serves, from the grant of a lease to its end.
extension FanoutWorker {
    /// The node list as of now; called by the node's heartbeat.
    /// - Parameter pins: shards that an operator moved, and to whom.
    package func nodesChanged(workers: [NodeID], gateways: Set<NodeID>, pins: [ShardID: NodeID] = [:]) {
        let (gone, asks) = machine.gatewaysRead(gateways)
        for gateway in gone { logger.info("gateway gone", metadata: ["gateway": "\(gateway)"]) }
        perform(asks)
        self.gateways = gateways
        guard !isDraining else { return }
        let actions = leases.workersChanged(workers, pins: pins, nowMs: clock.nowMs())
        begin(actions)
    }

    func keepLeases() async {
        while !Task.isCancelled {
            // Nothing here waits for a shard to start or for a checkpoint: renewals must not be late.
            noticeServerChange()
            let actions = isDraining ? [] : leases.tick(nowMs: clock.nowMs())
            begin(actions)
            if !isCheckpointing {
                isCheckpointing = true
                Task {
                    await self.checkpoint()
                    self.isCheckpointing = false
                }
            }
            metrics.record(machine, replicas: queries.replicaCounts)
            try? await Task.sleep(for: .milliseconds(min(settings.lease.renewMs, settings.checkpointMs) / 2))
        }
    }

    private func noticeServerChange() {
        let changes = broker.state.serverChanges + queries.databaseChanges
        guard changes != serverChanges else { return }
        logger.warning("another redis or postgres server answers, all shards run again")
        serverChanges = changes
        perform(machine.serverChanged(gateways: gateways, nowMs: clock.nowMs()))
    }

    /// A lease that another worker held may be free before the next regular tick.
    private func armLeaseTimer() {
        leaseAlarm.set(at: leases.nextDeadlineMs, nowMs: clock.nowMs()) { await self.leaseTimeReached($0) }
    }

    private func leaseTimeReached(_ deadlineMs: Int64) {
        guard leaseAlarm.isDue(deadlineMs), !isDraining else { return }
        begin(leases.tick(nowMs: max(clock.nowMs(), deadlineMs)))
        armLeaseTimer()
    }

    private func begin(_ actions: [LeaseMachine.Action]) {
        endServing(actions)
        if actions.isEmpty { return }
        lastLeaseCall += 1
        let number = lastLeaseCall
        leaseCalls[number] = Task {
            await self.tellBroker(actions)
            self.leaseCalls[number] = nil
        }
    }

    /// A lease that was asked for before a drain, and comes, goes back before the broker is left.
    func endLeaseCalls() async {
        for call in leaseCalls.values { await call.value }
    }

    func perform(_ actions: [LeaseMachine.Action]) async {
        endServing(actions)
        await tellBroker(actions)
    }

    /// In the same breath as the machine decided it: from then on it does not watch over the lease, and a result that
    /// comes in between would be used whenever it was read.
    private func endServing(_ actions: [LeaseMachine.Action]) {
        for action in actions {
            switch action {
            case .stop(let shard, let epoch): lost(shard, epoch)
            case .release(let shard, let epoch):
                released[shard] = unrecorded(of: shard)
                stop(shard, epoch)
            case .acquire, .renew, .start: break
            }
        }
    }

    private func tellBroker(_ actions: [LeaseMachine.Action]) async {
        // Renewals of many shards go out together: the broker puts concurrent calls into one flight.
        await withTaskGroup(of: Void.self) { group in
            for action in actions { group.addTask { await self.perform(action) } }
        }
    }

    private func perform(_ action: LeaseMachine.Action) async {
        let sentMs = clock.nowMs()
        let ttlMs = Int(settings.lease.ttlMs)
        switch action {
        case .acquire(let shard):
            let asked = await ask(for: shard, sentMs)
            let grant = asked?.answer.grant
            if let grant { grants[shard] = grant }
            let nowMs = clock.nowMs()
            let actions = leases.leaseAnswered(
                shard, epoch: grant?.epoch, heldForMs: asked?.answer.heldForMs.map(Int64.init),
                knownForMs: grant?.knownForMs ?? 0, askedMs: sentMs, sentMs: asked?.sentMs ?? sentMs, nowMs: nowMs)
            armLeaseTimer()
            await perform(actions)
        case .renew(let shard, let epoch):
            let isHeld = try? await broker.renewLease(
                broker.keys.lease(shard: shard.number), owner: node.name, epoch: epoch, ttlMs: ttlMs)
            let nowMs = clock.nowMs()
            await perform(
                leases.renewalAnswered(shard, epoch: epoch, isHeld: isHeld, sentMs: sentMs, nowMs: nowMs))
        case .start(let shard, let epoch): await start(shard, epoch)
        case .stop: break
        case .release(let shard, let epoch):
            releasesUnderWay += 1
            if let unrecorded = released.removeValue(forKey: shard) { await checkpoint(shard, epoch, unrecorded) }
            _ = try? await broker.releaseLease(
                broker.keys.lease(shard: shard.number), owner: node.name, epoch: epoch)
            logger.info("shard released", metadata: ["shard": "\(shard)", "epoch": "\(epoch)"])
            releasesUnderWay -= 1
            // Its next owner need not wait for a heartbeat.
            if releasesUnderWay == 0 { await broker.tellNews(of: node.name) }
        }
    }

    /// - Parameter askedMs: when the shard was asked for.
    /// - Returns: a grant only when its epoch is recorded, and when that was asked for; nil when the database or the broker
    ///   could not be asked, or the shard is not asked for any more.
    private func ask(for shard: ShardID, _ askedMs: Int64) async -> (answer: LeaseAnswer, sentMs: Int64)? {
        let key = broker.keys.lease(shard: shard.number)
        var problem = "others asked at the same time"
        do throws(PostgresError) {
            var floor = try await epochs.newest(of: shard).floor
            // A second time when the broker knows a newer one, or another worker recorded one meanwhile. For a third time
            // there is the next tick.
            for _ in 0..<2 {
                // The database may have taken long: several requests for one shard would fence each other off.
                guard leases.isAsking(shard, askedMs: askedMs) else { return nil }
                // A former owner may have died without knowing of a failover of the database: what it found on the former
                // timeline is not trusted.
                let timeline = queries.databaseTimeline ?? ""
                let sentMs = clock.nowMs()
                let answer = try? await broker.askLease(
                    key, owner: node.name, ttlMs: Int(settings.lease.ttlMs), basis: timeline, epoch: floor + 1)
                switch answer {
                case nil: return nil
                case .held(let forMs): return (.held(forMs: forMs), sentMs)
                case .outdated(let newest): floor = max(floor, newest)
                case .granted(let grant):
                    let isRecorded = try await epochs.record(grant.epoch, of: shard)
                    if isRecorded, timeline == queries.databaseTimeline ?? "" {
                        epochProblem = ""
                        return (.granted(grant), sentMs)
                    }
                    floor = max(grant.epoch, try await epochs.newest(of: shard).floor)
                }
            }
        } catch {
            problem = error.sentence
        }
        if problem != epochProblem {
            logger.warning("no epoch for a shard's lease", metadata: ["shard": "\(shard)", "error": "\(problem)"])
            epochProblem = problem
        }
        // What was granted and not recorded is not given back: this worker may hold the shard by another request.
        return nil
    }

    private func start(_ shard: ShardID, _ epoch: UInt64) async {
        let events = broker.keys.events(shard: shard.number)
        let control = broker.keys.control(shard: shard.number)
        // No deployment waits for a worker that was suspended or cut off; it would refuse the new version's queries.
        await loadCatalogs()
        // Given up meanwhile: a drain waits for this.
        guard leases.held[shard] == epoch else { return }
        do {
            // Another owner, of a server that is gone, may have recorded its own while this one rested. Two things that
            // `LeaseMachine` does rest on this: who is forgotten by the server and asks again in time serves on without
            // a rest (`mineUntilMs`), and a second grant does not begin the rest anew (`granted(_:again:)`). Whoever was
            // granted the shard in between finds here that it came too late.
            guard try await epochs.newest(of: shard).recorded == epoch else {
                throw RequestError(.unavailable, "a newer epoch was recorded")
            }
            let history = try await EventHistory.load(
                from: broker, stream: events, countMax: settings.refresh.historyMax,
                bytesMax: settings.refresh.historyBytesMax)
            // What gateways announced before this point they announce again when asked below.
            let controlEnd = try await broker.lastID(of: control)
            let listed = try await broker.nodes().compactMap { NodeRecordPayload(payload: $0.payload) }
                .filter { $0.roles.contains("gateway") }.map(\.id)
            guard leases.held[shard] == epoch else { return }
            // Who came between that list and now was told as new while this shard was not served yet.
            let gateways = Set(listed).union(gateways)
            let grant = grants[shard].flatMap { $0.epoch == epoch ? $0 : nil }
            let asks = machine.shardOpened(
                shard, epoch: epoch, history: history, trustedEpoch: grant?.trustedEpoch ?? epoch, gateways: gateways,
                nowMs: clock.nowMs())
            shardOfStream[events] = (shard, .events)
            shardOfStream[control] = (shard, .control)
            leases.started(shard)
            reader.follow(events, after: history.lastID, server: grant?.server)
            reader.follow(control, after: controlEnd, server: grant?.server)
            perform(asks)
            logger.info("shard taken", metadata: ["shard": "\(shard)", "epoch": "\(epoch)"])
        } catch {
            logger.warning("shard could not be started", metadata: ["shard": "\(shard)", "error": "\(error)"])
            stop(shard, epoch)
            await perform(leases.startFailed(shard, epoch: epoch, nowMs: clock.nowMs()))
            armLeaseTimer()
        }
    }

    func lost(_ shard: ShardID, _ epoch: UInt64) {
        stop(shard, epoch)
        logger.warning("shard lost", metadata: ["shard": "\(shard)", "epoch": "\(epoch)"])
    }

    private func stop(_ shard: ShardID, _ epoch: UInt64) {
        // Late news of a former epoch must not stop what was taken since.
        if let current = machine.epoch(of: shard), current != epoch { return }
        for stream in [broker.keys.events(shard: shard.number), broker.keys.control(shard: shard.number)] {
            reader.unfollow(stream)
            shardOfStream[stream] = nil
        }
        checkpointed[shard] = nil
        machine.shardLost(shard)
    }
}
