import LiveModel

/// Commits, then publishes, then removes the outbox row; sweeps what others left behind.
final class SimulatedAPINode: Process {
    private var count = 0

    override func started() {
        guard world.sabotage != .noSweeper else { return }
        every(1_000) { [self] in sweep() }
    }

    func mutate(_ entity: String) {
        guard world.database.isUp else { return }
        count += 1
        let id = "\(name).\(incarnation).\(count)"
        let event = Workload.event(id, entity: entity, nowMs: nowMs)
        let row = SimulatedDatabase.OutboxRow(
            shards: world.workload.eventShards, event: event.encoded, createdMs: timeline.nowMs)
        world.database.commit(entity, eventID: id, row: row)
        later(timeline.pick(0...5)) { [self] in publish([id: row]) }
    }

    private func sweep() {
        guard world.database.isUp else { return }
        let old = world.database.outbox.filter { $0.value.createdMs + 2_000 < timeline.nowMs }
        if !old.isEmpty { publish(old) }
    }

    private func publish(_ rows: [String: SimulatedDatabase.OutboxRow]) {
        let rows = rows.sorted { $0.key < $1.key }
        let isCutShort = world.isChaos && timeline.chance(2)
        call { broker in
            var appends = rows.flatMap { row in row.value.shards.map { ($0, row.value.event) } }
            if isCutShort { appends.removeLast() }
            for (shard, event) in appends {
                broker.append("events:\(shard)", [("e", event)], lengthMax: World.eventsLengthMax)
            }
        } then: { [self] answer in
            guard answer != nil, !isCutShort else { return }
            later(timeline.pick(0...60)) { [self] in
                guard world.database.isUp else { return }
                for (id, _) in rows { world.database.outbox[id] = nil }
            }
        }
    }
}
