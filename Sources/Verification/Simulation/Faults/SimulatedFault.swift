import Sharding

/// What goes wrong, one thing at a time, drawn from the seed.
enum SimulatedFault: CaseIterable {
    case workerDies, workerStops, workerDrains
    case gatewayDies, gatewayStops, gatewayDrains
    case apiNodeDies, apiNodeStops, apiNodeDrains
    case cutFromRedis, cutFromPostgres
    case redisRestarts, redisLosesAll, redisIsFlushed, redisFailsOver, redisForgetsLast, redisSplits
    case postgresFailsOver, postgresForgetsLast, postgresIsSlow
    case connectionIsLost, clientStalls, clientLeaves
    case splitsChange, rollOut
}

extension World {
    func troubleAgain() {
        timeline.after(timeline.pick(100...1_500)) { [self] in
            guard isTrouble else { return }
            trouble()
            troubleAgain()
        }
    }

    private func trouble() {
        let worker = pick(workers)
        let gateway = pick(gateways)
        let node = pick(apiNodes)
        let anybody = pick(processes)
        let client = pick(clients)
        let trouble = nextTrouble()
        faults["\(trouble)", default: 0] += 1
        note("\(trouble) \(worker.name) \(gateway.name) \(node.name) \(anybody.name) client\(client.number)")
        switch trouble {
        case .workerDies: killAndRestart(worker)
        case .workerStops: worker.pause(ms: timeline.pick(100...9_000))
        case .workerDrains: drainAndRestart(worker)
        case .gatewayDies: killAndRestart(gateway)
        case .gatewayStops: gateway.pause(ms: timeline.pick(100...7_000))
        case .gatewayDrains: drainAndRestart(gateway)
        case .apiNodeDies: killAndRestart(node)
        case .apiNodeStops: node.pause(ms: timeline.pick(100...4_000))
        case .apiNodeDrains: drainAndRestart(node)
        case .cutFromRedis: anybody.cutFromRedis(ms: timeline.pick(100...9_000))
        case .cutFromPostgres: anybody.cutFromPostgres(ms: timeline.pick(100...5_000))
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
        }
    }

    private func nextTrouble() -> SimulatedFault {
        var left = Int(timeline.pick(0...Int64(max(1, weights.reduce(0, +)) - 1)))
        for (trouble, weight) in zip(SimulatedFault.allCases, weights) {
            if left < weight { return trouble }
            left -= weight
        }
        return .clientLeaves
    }

    private func pick<Thing>(_ things: [Thing]) -> Thing { things[Int(timeline.pick(0...Int64(things.count - 1)))] }

    private func killAndRestart(_ process: Process) {
        guard !process.mustLive else { return }
        process.kill()
        timeline.after(timeline.pick(50...6_000)) { process.start() }
    }

    private func drainAndRestart(_ process: Process) {
        guard process.isUp, !process.mustLive else { return }
        process.drain()
        let incarnation = process.incarnation
        timeline.after(timeline.pick(1_500...4_000)) {
            // A stopped process does not hear the signal: its supervisor kills it.
            if process.incarnation == incarnation { process.kill() }
            process.start()
        }
    }

    /// Of two outages at once the later one decides how it ends: else its own time would not have passed.
    private func redisAway(for ms: ClosedRange<Int64>, _ comeBack: @escaping (World) -> Void) {
        redis.goDown()
        let outage = redis.outages
        timeline.after(timeline.pick(ms)) { [self] in
            if !redis.isUp, redis.outages == outage { comeBack(self) }
        }
    }

    /// Events are published and their rows removed, then a replica takes over that never had them, before the worker, or
    /// any worker, read them: nothing but the doubt about the new server refreshes what they concern.
    private func forgetLast(unreadBy worker: SimulatedWorker) {
        guard redis.isUp else { return }
        redis.cutReplica()
        for worker in timeline.chance(50) ? workers : [worker] { worker.pause(ms: timeline.pick(3_000...9_000)) }
        for _ in 0..<timeline.pick(1...4) {
            let (entity, node) = (pick(SimulatedPostgres.entities), pick(apiNodes))
            node.later(timeline.pick(20...300)) { [self] in node.mutate(entity) { [self] in acknowledged($0) } }
        }
        timeline.after(timeline.pick(400...1_500)) { [self] in
            guard isTrouble, redis.isUp else { return redis.healReplica() }
            redisAway(for: 1_000...4_000) { $0.redis.failOver(skewMs: $0.clockError()) }
        }
    }

    private func failPostgresOver() {
        guard postgres.isUp else { return }
        postgres.goDown()
        timeline.after(timeline.pick(50...3_000)) { [self] in
            guard !postgres.isUp else { return }
            postgres.comeUp(losesCommits ? .stalePromotion : timeline.chance(50) ? .promotion : .restart)
        }
    }

    /// Mutations commit and their results reach clients, then a standby takes over that never had them. Perhaps the owner of
    /// some shards is gone before it could notice: nothing but the timeline tells the next one that what gateways hold
    /// is of another life.
    private func forgetLastCommits(of worker: SimulatedWorker) {
        guard postgres.isUp, losesCommits else { return failPostgresOver() }
        postgres.cutStandby()
        for _ in 0..<timeline.pick(1...4) {
            let (entity, node) = (pick(SimulatedPostgres.entities), pick(apiNodes))
            node.later(timeline.pick(20...300)) { [self] in node.mutate(entity) { [self] in acknowledged($0) } }
        }
        timeline.after(timeline.pick(400...1_500)) { [self] in
            guard isTrouble else { return postgres.healStandby() }
            if timeline.chance(60) { killAndRestart(worker) }
            failPostgresOver()
        }
    }

    /// A replica takes over, and an API node goes on publishing to the former primary: only its resync markers tell the
    /// shards, when it meets the new one.
    private func splitRedis(stayingWith node: SimulatedAPINode) {
        guard redis.isUp, noticesServers, node.isUp, !node.isDraining else { return }
        node.stay(with: redis.split(skewMs: clockError()), ms: timeline.pick(500...3_000))
        for _ in 0..<timeline.pick(1...4) {
            let entity = pick(SimulatedPostgres.entities)
            node.later(timeline.pick(20...600)) { [self] in node.mutate(entity) { [self] in acknowledged($0) } }
        }
    }

    /// Of a server's clock: mostly small.
    private func clockError() -> Int64 {
        timeline.chance(20) ? timeline.pick(-30_000...30_000) : timeline.pick(-300...300)
    }

    private func changeSplits() {
        guard redis.isUp, let operation = Workload.refreshed.randomElement(using: &timeline.random) else { return }
        let splits = Int(timeline.pick(1...4))
        redis.change(redis.orders.settingSplits(of: operation, to: splits, nowMs: timeline.nowMs))
    }

    /// Every entity is written once more while splits change: nothing comes after it to cover what it misses.
    func sayLastWords() {
        for (number, entity) in SimulatedPostgres.entities.enumerated() {
            let atMs = Int64(number) * 800 + timeline.pick(0...300)
            for _ in 0..<4 { timeline.after(atMs) { [self] in changeSplits() } }
            timeline.after(atMs + timeline.pick(0...1_200)) { [self] in
                pick(apiNodes).mutate(entity) { [self] in acknowledged($0) }
            }
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

    /// A release is deployed: workers and gateways are drained and come back with it, one after the other. API nodes
    /// load it while they run; one that is suspended meanwhile publishes by the former rules when it goes on.
    private func rollOut() {
        guard postgres.isUp else { return }
        release += 1
        postgres.deploy(Int64(release))
        for process in workers as [Process] + gateways {
            timeline.after(timeline.pick(0...6_000)) { [self] in
                if process.release != release { drainAndRestart(process) }
            }
        }
        guard timeline.chance(60) else { return }
        let node = pick(apiNodes)
        node.pause(ms: timeline.pick(3_000...9_000))
        for _ in 0..<timeline.pick(1...3) {
            node.later(timeline.pick(0...300)) { [self] in
                node.mutate(Workload.lateEntity) { [self] in acknowledged($0) }
            }
        }
    }

    /// All faults end, and everybody runs the release that was rolled out.
    func makePeace() {
        note("peace")
        isTrouble = false
        isDatabaseSlow = false
        if !postgres.isUp { postgres.comeUp(losesCommits ? .stalePromotion : .restart) }
        if !redis.isUp { redis.restart(losingData: false) }
        for process in processes {
            process.heal()
        }
        for process in workers as [Process] + gateways where process.release != release { drainAndRestart(process) }
    }
}
