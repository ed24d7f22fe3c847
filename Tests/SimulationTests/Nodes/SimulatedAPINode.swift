import LiveModel
import Sharding

/// Commits, then publishes, confirms the orders, then removes the outbox row; sweeps what others left behind.
final class SimulatedAPINode: Process {
    private typealias Rows = [(key: String, value: SimulatedDatabase.OutboxRow)]

    private var count = 0
    private var orders = Orders()

    override func started() {
        orders = Orders()
        readOrders()
        every(1_000) { [self] in readOrders() }
        guard world.sabotage != .noSweeper else { return }
        every(1_000) { [self] in sweep() }
    }

    private func readOrders() {
        call {
            $0.orders
        } then: { [self] answer in
            if let answer { orders = answer }
        }
    }

    private func shards(by orders: Orders) -> [ShardID] {
        // Without the time of grace: what must hold may not rest on it.
        Workload.eventShards(by: orders, nowMs: .max)
    }

    func mutate(_ entity: String) {
        guard world.database.isUp else { return }
        count += 1
        let id = "\(name).\(incarnation).\(count)"
        let event = Workload.event(id, entity: entity, nowMs: nowMs)
        let row = SimulatedDatabase.OutboxRow(
            shards: shards(by: orders), event: event.encoded, createdMs: timeline.nowMs, generation: orders.generation)
        world.database.commit(entity, eventID: id, row: row)
        later(timeline.pick(0...5)) { [self] in
            publish([(id, row)], to: { $0.shards }) { [self] rows in confirm(rows) }
        }
    }

    private func sweep() {
        guard world.database.isUp else { return }
        let old = world.database.outbox.filter { $0.value.createdMs + 2_000 < timeline.nowMs }
            .sorted { $0.key < $1.key }
        if old.isEmpty { return }
        call {
            $0.orders
        } then: { [self] answer in
            guard let answer else { return }
            orders = answer
            let now = shards(by: answer)
            publish(old, to: { Set($0.shards).union(now).sorted() }) { [self] in remove($0) }
        }
    }

    private func publish(
        _ rows: Rows, to shards: @escaping (SimulatedDatabase.OutboxRow) -> [ShardID],
        then: @escaping (Rows) -> Void
    ) {
        let isCutShort = world.isChaos && timeline.chance(2)
        var appends = rows.flatMap { row in shards(row.value).map { ($0, row.value.event) } }
        if isCutShort { appends.removeLast() }
        call { broker in
            for (shard, event) in appends {
                broker.append("events:\(shard)", [("e", event)], lengthMax: World.eventsLengthMax)
            }
        } then: { answer in
            if answer != nil, !isCutShort { then(rows) }
        }
    }

    /// Whoever became responsible since the shards were chosen hears of it, too.
    private func confirm(_ rows: Rows) {
        later(timeline.pick(0...50)) { [self] in
            call {
                $0.orders
            } then: { [self] answer in
                guard let answer else { return }
                orders = answer
                let now = shards(by: answer)
                let late = rows.filter {
                    $0.value.generation != answer.generation && !Set(now).isSubset(of: $0.value.shards)
                }
                if late.isEmpty { return remove(rows) }
                publish(late, to: { Set(now).subtracting($0.shards).sorted() }) { [self] _ in remove(rows) }
            }
        }
    }

    private func remove(_ rows: Rows) {
        later(timeline.pick(0...60)) { [self] in
            guard world.database.isUp else { return }
            for (id, _) in rows { world.database.outbox[id] = nil }
        }
    }
}
