import LiveModel
import SeededRandom
import Sharding

/// The kinds of fault, drawn from the seed one at a time.
enum SimulatedFault: CaseIterable {
    case workerDies, workerStops, workerStopsReading, workerDrains
    case gatewayDies, gatewayStops, gatewayDrains
    case apiNodeDies, apiNodeStops, apiNodeDrains
    case cutFromRedis, cutFromPostgres
    case redisRestarts, redisLosesAll, redisIsFlushed, redisFailsOver, redisForgetsLast, redisSplits
    case postgresFailsOver, postgresForgetsLast, postgresIsSlow
    case connectionIsLost, clientStalls, clientLeaves
    case splitsChange, rollOut, programIsReplaced, operatorMoves, operatorDrains
}

extension World {
    func faultAgain() {
        timeline.after(timeline.pick(100...1_500)) { [self] in
            guard hasFaults else { return }
            causeFault()
            faultAgain()
        }
    }

    private func causeFault() {
        let worker = pick(workers)
        let gateway = pick(gateways)
        let node = pick(apiNodes)
        let process = pick(processes)
        let client = pick(clients)
        let fault = nextFault()
        faults["\(fault)", default: 0] += 1
        note("\(fault) \(worker.name) \(gateway.name) \(node.name) \(process.name) client\(client.number)")
        switch fault {
        case .workerDies: killAndRestart(worker)
        case .workerStops: worker.pause(ms: timeline.pick(100...9_000))
        case .workerStopsReading: worker.stopsAtNextRun = true
        case .workerDrains: drainAndRestart(worker)
        case .gatewayDies: killAndRestart(gateway)
        case .gatewayStops: gateway.pause(ms: timeline.pick(100...7_000))
        case .gatewayDrains: drainAndRestart(gateway)
        case .apiNodeDies: killAndRestart(node)
        case .apiNodeStops: node.pause(ms: timeline.pick(100...4_000))
        case .apiNodeDrains: drainAndRestart(node)
        case .cutFromRedis: process.cutFromRedis(ms: timeline.pick(100...9_000))
        case .cutFromPostgres: process.cutFromPostgres(ms: timeline.pick(100...5_000))
        case .redisRestarts: redisAway(for: 20...4_000) { $0.redis.restart(losingData: false) }
        case .redisLosesAll:
            redisAway(for: 20...4_000) { $0.redis.restart(losingData: true, skewMs: $0.clockError()) }
        case .redisIsFlushed: redis.flush()
        case .redisFailsOver: redisAway(for: 1_000...4_000) { $0.redis.failOver(skewMs: $0.clockError()) }
        case .redisForgetsLast: forgetLast(unreadBy: worker)
        case .redisSplits: splitRedis(stayingWith: node)
        case .postgresFailsOver: failPostgresOver()
        case .postgresForgetsLast: forgetLastCommits(of: worker)
        case .postgresIsSlow:
            isDatabaseSlow = true
            timeline.after(timeline.pick(500...4_000)) { [self] in isDatabaseSlow = false }
        case .connectionIsLost: client.lose()
        case .clientStalls: client.stall(ms: timeline.pick(100...5_000))
        case .clientLeaves: client.disconnect()
        case .splitsChange: changeSplits()
        case .rollOut: rollOut()
        case .programIsReplaced: replaceProgram()
        case .operatorMoves: moveShard(to: worker)
        case .operatorDrains: drainByOverride(timeline.chance(60) ? worker.me : gateway.me)
        }
    }

    /// Writes entries with epochs that no owner has into the inboxes, under every tenth seed: plausible and impossible
    /// ones. Draws from a source of its own, so that the other seeds keep their course.
    func forgeOwners() {
        guard seed % 10 == 0 else { return }
        var random = SeededRandom(seed: seed)
        for _ in 0..<12 {
            let afterMs = Int64.random(in: 0...Self.faultsMs, using: &random)
            let shard = ShardID(Int.random(in: 0..<Workload.shardCount, using: &random))
            let gateway = gateways[Int.random(in: 0..<gateways.count, using: &random)]
            let aheadMs = UInt64.random(in: 600_000...3_000_000, using: &random)
            let epoch = Bool.random(using: &random) ? .max : UInt64(startMs) + aheadMs
            timeline.after(afterMs) { [self] in
                guard redis.isUp else { return }
                faults["ownerIsForged", default: 0] += 1
                note("forged owner of \(shard) with epoch \(epoch) at \(gateway.name)")
                gateway.forgeOwner(of: shard, epoch: epoch)
            }
        }
    }

    private func nextFault() -> SimulatedFault {
        var left = Int(timeline.pick(0...Int64(max(1, weights.reduce(0, +)) - 1)))
        for (fault, weight) in zip(SimulatedFault.allCases, weights) {
            if left < weight { return fault }
            left -= weight
        }
        return .clientLeaves
    }

    func pick<Thing>(_ things: [Thing]) -> Thing { things[Int(timeline.pick(0...Int64(things.count - 1)))] }

    func killAndRestart(_ process: Process) {
        guard !process.mustLive else { return }
        process.kill()
        // Some supervisors restart a process before others notice that it ended.
        timeline.after(timeline.chance(30) ? timeline.pick(0...300) : timeline.pick(50...6_000)) { process.start() }
    }

    func drainAndRestart(_ process: Process) {
        guard process.isUp, !process.mustLive else { return }
        process.drain()
        let incarnation = process.incarnation
        timeline.after(timeline.pick(1_500...4_000)) {
            // A suspended process does not receive the signal: its supervisor kills it.
            if process.incarnation == incarnation { process.kill() }
            process.start()
        }
    }

    /// Stops Redis for a while. If two outages overlap, the later one decides the end; otherwise it would be cut short.
    func redisAway(for ms: ClosedRange<Int64>, _ comeBack: @escaping (World) -> Void) {
        redis.goDown()
        let outage = redis.outages
        timeline.after(timeline.pick(ms)) { [self] in
            if !redis.isUp, redis.outages == outage { comeBack(self) }
        }
    }

    /// Fails Redis over to a replica that lacks events whose rows are already removed and that the worker, or any
    /// worker, has not read: only the change of server refreshes the live queries concerned.
    private func forgetLast(unreadBy worker: SimulatedWorker) {
        guard redis.isUp else { return }
        redis.cutReplica()
        for worker in timeline.chance(50) ? workers : [worker] { worker.pause(ms: timeline.pick(3_000...9_000)) }
        mutateSome(withinMs: 300)
        timeline.after(timeline.pick(400...1_500)) { [self] in
            guard hasFaults, redis.isUp else { return redis.healReplica() }
            redisAway(for: 1_000...4_000) { $0.redis.failOver(skewMs: $0.clockError()) }
        }
    }

    private func mutateSome(withinMs: Int64) {
        for _ in 0..<timeline.pick(1...4) {
            let (entity, node) = (pick(SimulatedPostgres.entities), pick(apiNodes))
            timeline.after(timeline.pick(20...withinMs)) { [self] in mutate(entity, at: node) }
        }
    }

    func mutate(_ entity: String, at node: SimulatedAPINode) {
        node.later(0) { [self] in node.mutate(entity) { [self] in acknowledged($0) } }
    }

    func failPostgresOver() {
        guard postgres.isUp else { return }
        postgres.goDown()
        timeline.after(timeline.pick(50...3_000)) { [self] in
            guard !postgres.isUp else { return }
            postgres.comeUp(losesCommits ? .stalePromotion : timeline.chance(50) ? .promotion : .restart)
        }
    }

    /// Fails Postgres over to a standby that lacks committed mutations whose results have reached clients. The owner of
    /// some shards may be gone before it notices: then only the timeline shows the next owner that gateways hold
    /// results of another life.
    private func forgetLastCommits(of worker: SimulatedWorker) {
        guard postgres.isUp, losesCommits else { return failPostgresOver() }
        postgres.cutStandby()
        mutateSome(withinMs: 300)
        timeline.after(timeline.pick(400...1_500)) { [self] in
            guard hasFaults else { return postgres.healStandby() }
            if timeline.chance(60) { killAndRestart(worker) }
            failPostgresOver()
        }
    }

    /// Fails Redis over while an API node continues to publish to the former primary: only its resync markers refresh
    /// the shards, once it reaches the new one.
    private func splitRedis(stayingWith node: SimulatedAPINode) {
        guard redis.isUp, noticesServers, node.isUp, !node.isDraining else { return }
        node.stay(with: redis.split(skewMs: clockError()), ms: timeline.pick(500...3_000))
        for _ in 0..<timeline.pick(1...4) {
            let entity = pick(SimulatedPostgres.entities)
            node.later(timeline.pick(20...600)) { [self] in node.mutate(entity) { [self] in acknowledged($0) } }
        }
    }

    /// Returns the error of a server's clock, usually small.
    func clockError() -> Int64 {
        timeline.chance(20) ? timeline.pick(-30_000...30_000) : timeline.pick(-300...300)
    }

    func changeSplits() {
        guard redis.isUp, let operation = Workload.refreshed.randomElement(using: &timeline.random) else { return }
        let splits = Int(timeline.pick(1...4))
        redis.change(redis.overrides.settingSplits(of: operation, to: splits, nowMs: timeline.nowMs))
    }

    /// Moves a shard to a worker permanently, as an operator does.
    private func moveShard(to worker: SimulatedWorker) {
        guard redis.isUp else { return }
        let shard = ShardID(Int(timeline.pick(0...Int64(Workload.shardCount - 1))))
        redis.change(ClusterOverrides.move(shard, to: .init(node: worker.me, untilMs: nil)))
    }

    /// Drains a node for a while, as an operator does.
    private func drainByOverride(_ node: NodeID) {
        guard redis.isUp else { return }
        redis.change(ClusterOverrides.drain(node, true))
        timeline.after(timeline.pick(500...5_000)) { [self] in
            if redis.isUp { redis.change(ClusterOverrides.drain(node, false)) }
        }
    }

    func replicatePostgresAgain() {
        timeline.after(timeline.pick(50...2_000)) { [self] in
            postgres.replicate()
            replicatePostgresAgain()
        }
    }

    func replicateAgain() {
        timeline.after(timeline.pick(50...replicaLagMaxMs)) { [self] in
            if redis.isUp { redis.replicate() }
            replicateAgain()
        }
    }

    /// Ends all faults and brings all processes to the last release of the program.
    func endAllFaults() {
        note("peace")
        hasFaults = false
        isDatabaseSlow = false
        if !postgres.isUp { postgres.comeUp(losesCommits ? .stalePromotion : .restart) }
        if !redis.isUp { redis.restart(losingData: false) }
        redis.healReplica()
        for node in redis.overrides.drained.sorted() { redis.change(ClusterOverrides.drain(node, false)) }
        for process in processes { process.heal() }
        for app in apps { app.socket?.heal() }
        rollouts.heal()
        // A worker without shards has not run anything since.
        for worker in workers { worker.stopsAtNextRun = false }
        for process in processes where process.release != release { drainAndRestart(process) }
    }
}
