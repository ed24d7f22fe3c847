import LiveModel
import Sharding

/// A fault during the final mutation of every entity, after all other faults: no later mutation repairs what is missed
/// then. Seeds draw from the cases in this order.
enum FinalFault: CaseIterable {
    /// Operations are split and joined.
    case splits
    /// A worker dies or is suspended, so that its shards change owners.
    case handOver
    /// Mutations commit while shards are being started.
    case duringStarts
    /// Workers are suspended between the decision to run live queries and the statement.
    case workersSuspendedBeforeReading
    /// A version is deployed while an API node is suspended.
    case rollOutPastAPINode
    /// A version is deployed while a worker is suspended.
    case rollOutPastWorker
    /// A version is deployed while a worker cannot load it, clients reconnect and mutations take long.
    case rollOutAmongClients
    /// A standby of Postgres without the mutations takes over.
    case commitsLost
    /// A replica of Redis without the events takes over.
    case eventsLost
    /// Redis loses its data repeatedly.
    case leasesLost
    /// An API node continues to publish to a former primary of Redis.
    case formerPrimary
    /// No API node reaches Redis, and the outbox grows beyond its bound.
    case backlog
    /// API nodes die between the commit and the streams.
    case publishersDie
    /// Clients read nothing for a while.
    case slowClients
}

extension World {
    func beginFinalFault() {
        guard let kind = FinalFault.allCases.randomElement(using: &timeline.random) else { return }
        faults["finalFault.\(kind)", default: 0] += 1
        note("final fault: \(kind)")
        switch kind {
        case .splits: timeline.chance(50) ? mutateBetweenSplits() : splitPastSuspended()
        case .handOver: handOver()
        case .duringStarts: mutateDuringStarts()
        case .workersSuspendedBeforeReading:
            for worker in workers where timeline.chance(60) { worker.stopsAtNextRun = true }
            mutateAll(withinMs: 400)
            timeline.after(3_000) { [self] in for worker in workers { worker.stopsAtNextRun = false } }
        case .rollOutPastAPINode: rollOut(past: pick(apiNodes))
        case .rollOutPastWorker: rollOut(past: pick(workers))
        case .rollOutAmongClients: rollOutAmongClients()
        case .commitsLost: losesCommits ? loseCommits() : handOver()
        case .eventsLost: loseEvents()
        case .leasesLost: loseLeases()
        case .formerPrimary: noticesServers ? publishToFormerPrimary() : handOver()
        case .backlog: fillOutbox()
        case .publishersDie:
            mutateAll(withinMs: 1_000)
            for node in apiNodes { timeline.after(timeline.pick(100...1_500)) { [self] in killAndRestart(node) } }
        case .slowClients:
            for client in clients where timeline.chance(70) { client.stall(ms: timeline.pick(1_500...4_000)) }
            for _ in 0..<3 { mutateAll(withinMs: 1_400) }
        }
    }

    func mutateAll(withinMs: Int64) {
        for entity in SimulatedPostgres.entities + [Workload.rareEntity] {
            timeline.after(timeline.pick(0...withinMs)) { [self] in mutate(entity, at: pick(apiNodes)) }
        }
    }

    private func mutateBetweenSplits() {
        for (number, entity) in SimulatedPostgres.entities.enumerated() {
            let atMs = Int64(number) * 800 + timeline.pick(0...300)
            for _ in 0..<4 { timeline.after(atMs) { [self] in changeSplits() } }
            timeline.after(atMs + timeline.pick(0...1_200)) { [self] in mutate(entity, at: pick(apiNodes)) }
        }
    }

    /// Changes splits while an API node is suspended: when it resumes, it publishes by the former splits, but gateways
    /// have moved their live queries.
    private func splitPastSuspended() {
        let node = pick(apiNodes)
        node.pause(ms: timeline.pick(3_500...5_000))
        for _ in 0..<6 { timeline.after(timeline.pick(0...300)) { [self] in changeSplits() } }
        for entity in SimulatedPostgres.entities { mutate(entity, at: node) }
    }

    private func handOver() {
        let worker = pick(workers)
        timeline.after(timeline.pick(0...300)) { [self] in
            timeline.chance(60) ? killAndRestart(worker) : worker.pause(ms: timeline.pick(5_000...9_000))
        }
        mutateAll(withinMs: 500)
    }

    private func mutateDuringStarts() {
        mutationsAtStart = SimulatedPostgres.entities.shuffled(using: &timeline.random)
        for worker in workers.shuffled(using: &timeline.random).prefix(2) {
            timeline.after(timeline.pick(0...4_000)) { [self] in
                timeline.chance(50) ? killAndRestart(worker) : drainAndRestart(worker)
            }
        }
    }

    private func loseCommits() {
        postgres.cutStandby()
        mutateAll(withinMs: 600)
        let worker = pick(workers)
        timeline.after(timeline.pick(700...1_500)) { [self] in
            if timeline.chance(60) { killAndRestart(worker) }
            failPostgresOver()
        }
    }

    private func loseEvents() {
        redis.cutReplica()
        for worker in workers where timeline.chance(60) { worker.pause(ms: timeline.pick(3_000...8_000)) }
        mutateAll(withinMs: 500)
        timeline.after(timeline.pick(600...1_500)) { [self] in
            redisAway(for: 1_000...3_000) { $0.redis.failOver(skewMs: $0.clockError()) }
        }
    }

    /// Flushes Redis two or three times within the pause that shards take before they are served, while workers are
    /// slow.
    private func loseLeases() {
        for _ in 0..<timeline.pick(2...3) {
            timeline.after(timeline.pick(0...5_500)) { [self] in if redis.isUp { redis.flush() } }
        }
        for worker in workers {
            timeline.after(timeline.pick(0...6_000)) { [self] in
                if timeline.chance(50) { worker.pause(ms: timeline.pick(300...3_000)) }
            }
        }
        isDatabaseSlow = true
        timeline.after(6_000) { [self] in isDatabaseSlow = false }
        mutateAll(withinMs: 6_000)
    }

    private func publishToFormerPrimary() {
        let node = pick(apiNodes)
        let ms = timeline.pick(1_000...3_000)
        guard node.isUp, !node.isDraining else { return }
        node.stay(with: redis.split(skewMs: clockError()), ms: ms)
        for entity in SimulatedPostgres.entities {
            timeline.after(timeline.pick(0...ms)) { [self] in mutate(entity, at: node) }
        }
    }

    private func fillOutbox() {
        let ms = timeline.pick(3_000...5_000)
        for node in apiNodes { node.cutFromRedis(ms: ms) }
        for _ in 0..<3 { mutateAll(withinMs: ms - 1_000) }
    }
}
