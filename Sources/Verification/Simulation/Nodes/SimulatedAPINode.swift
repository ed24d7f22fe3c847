import APINode
import Broker
import Streams
import LiveModel
import Sharding

/// The API node's shell: commits, acknowledges, publishes, removes the outbox row; sweeps what others left behind. What it
/// decides is `PublishQueue`.
final class SimulatedAPINode: Process {
    private static let sweepMs: Int64 = 1_000
    private static let sweepAgeMs: Int64 = 2_000
    private static let sweepBatchMax = 20
    static let inFlightMax = 8

    private(set) var publication = PublishQueue<SimulatedPostgres.OutboxRow>(inFlightMax: 0, deleteBatchMax: 0)
    private var orders = ClusterOverrides()
    private var count = 0
    private var serverChangesTold = 0

    override func started() {
        publication = PublishQueue(
            inFlightMax: world.sabotage == .unboundedPublishing ? 1_000 : Self.inFlightMax, deleteBatchMax: 4)
        orders = ClusterOverrides()
        serverChangesTold = 0
        readOrders()
        every(1_000) { [self] in readOrders() }
        if world.sabotage != .noSweeper { later(Self.sweepMs) { [self] in sweep() } }
        if world.noticesServers { every(Self.sweepMs) { [self] in tellServerChanges() } }
    }

    /// Every shard runs again: what the former server acknowledged may be lost. An entry without an event says so.
    private func tellServerChanges() {
        let changes = serverChanges
        guard changes != serverChangesTold else { return }
        call { redis in
            for shard in 0..<Workload.shardCount {
                redis.append(redis.keys.events(shard: shard), [("doubt", [])], lengthMax: World.eventsLengthMax)
            }
        } then: { [self] answer in
            if answer != nil { serverChangesTold = changes }
        }
    }

    private func readOrders() {
        call {
            $0.orders
        } then: { [self] answer in
            if let answer { orders = answer }
        }
    }

    override func drain() { later(1_000) { [self] in kill() } }

    // MARK: Mutations

    /// - Parameter acknowledged: told when the client is.
    func mutate(_ entity: String, acknowledged: @escaping (String) -> Void) {
        count += 1
        let id = "\(name).\(incarnation).\(count)"
        let event = Workload.event(id, entity: entity, nowMs: nowMs).encoded
        // A transaction that began earlier than it commits: rows do not appear in the order of their times.
        let begunMs = timeline.nowMs - (timeline.chance(15) ? timeline.pick(0...6_000) : 0)
        let row = SimulatedPostgres.OutboxRow(
            id: id, shards: Workload.eventShards(by: orders), event: event, createdMs: begunMs,
            generation: orders.generation)
        if world.sabotage == .publishBeforeCommit { publish(row) }
        if world.sabotage == .acknowledgeBeforeCommit { acknowledged(id) }
        statement {
            $0.commit(entity, row)
        } then: { [self] outcome in
            // Without an answer nobody knows; the sweepers do.
            guard case .done = outcome else { return }
            if world.sabotage == .removeBeforePublish { remove([id]) }
            if world.sabotage != .publishBeforeCommit { publish(row) }
            if world.sabotage != .acknowledgeBeforeCommit { acknowledged(id) }
        }
    }

    private func publish(_ row: SimulatedPostgres.OutboxRow) {
        guard publication.committed() else { return }
        let lagMs = timeline.pick(0...world.publishLagMaxMs)
        later(world.sabotage == .publishBeforeCommit ? 0 : lagMs) { [self] in
            append([row], to: { $0.shards }) { [self] isPublished in
                if publication.ended(published: isPublished ? row : nil) { later(50) { [self] in removeNext() } }
            }
        }
    }

    /// Whoever became responsible since the shards were chosen hears of it first.
    private func removeNext() {
        let batch = publication.nextRemoval()
        if batch.isEmpty { return }
        func again() { later(50) { [self] in removeNext() } }
        call {
            $0.orders
        } then: { [self] answer in
            guard let answer else { return again() }
            orders = answer
            let isConfirming = world.sabotage != .ordersUnconfirmed
            let now = isConfirming ? Set(Workload.eventShards(by: answer)) : []
            let late = batch.filter { $0.generation != answer.generation && !now.isSubset(of: $0.shards) }
            append(late, to: { now.subtracting($0.shards).sorted() }) { [self] isPublished in
                guard isPublished || late.isEmpty else { return again() }
                statement {
                    $0.remove(batch.map(\.id))
                } then: { _ in
                    again()
                }
            }
        }
    }

    private func remove(_ ids: [String]) {
        statement {
            $0.remove(ids)
        } then: { _ in
        }
    }

    /// One entry per shard. A connection that ends in between leaves the first ones appended.
    private func append(
        _ rows: [SimulatedPostgres.OutboxRow], to shards: @escaping (SimulatedPostgres.OutboxRow) -> [ShardID],
        then: @escaping (Bool) -> Void
    ) {
        let isCutShort = world.isTrouble && timeline.chance(2)
        call { redis in
            var appends = rows.flatMap { row in shards(row).map { ($0, row.event) } }
            if isCutShort, !appends.isEmpty { appends.removeLast() }
            for (shard, event) in appends {
                redis.append(
                    redis.keys.events(shard: shard.number), [("e", event)], lengthMax: World.eventsLengthMax)
            }
        } then: { (answer: Void?) in
            then(answer != nil && !isCutShort)
        }
    }

    // MARK: Sweeper

    /// One transaction: take rows, append their events, remove them, commit. Without an answer the locks go with the
    /// connection.
    private func sweep() {
        let oldMs = timeline.nowMs - Self.sweepAgeMs
        let lastMs = world.sabotage == .sweeperGoesByOrder ? world.lastSweptMs : nil
        func again() { later(Self.sweepMs) { [self] in sweep() } }
        let incarnation = incarnation
        statement { [self] postgres in
            let (sweep, rows) = postgres.take(olderThanMs: oldMs, limit: Self.sweepBatchMax, after: lastMs)
            taken.append(sweep)
            if !isUp || self.incarnation != incarnation { endSweeps() }
            return (sweep, rows)
        } then: { [self] outcome in
            guard case .done(let (sweep, rows)) = outcome, !rows.isEmpty else {
                endSweeps()
                return again()
            }
            confirmAndAppend(rows) { [self] isPublished in
                guard isPublished, !sweep.isOver else {
                    sweep.isOver = true
                    return again()
                }
                statement { postgres in
                    // The lock went with the connection: somebody else may have the rows.
                    if !sweep.isOver { postgres.remove(rows.map(\.id)) }
                    sweep.isOver = true
                } then: { [self] _ in
                    sweep.isOver = true
                    world.lastSweptMs = max(world.lastSweptMs, rows.last?.createdMs ?? 0)
                    again()
                }
            }
        }
    }

    private func confirmAndAppend(_ rows: [SimulatedPostgres.OutboxRow], then: @escaping (Bool) -> Void) {
        call {
            $0.orders
        } then: { [self] answer in
            guard let answer else { return then(false) }
            orders = answer
            let now = world.sabotage != .ordersUnconfirmed ? Workload.eventShards(by: answer) : []
            append(rows, to: { Set($0.shards).union(now).sorted() }, then: then)
        }
    }

    /// Locks of sweeps under way; they end with the process.
    private var taken: [SimulatedPostgres.Sweep] = []

    override func killed() { endSweeps() }

    private func endSweeps() {
        for sweep in taken { sweep.isOver = true }
        taken = []
    }
}
