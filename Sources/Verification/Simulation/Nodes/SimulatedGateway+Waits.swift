import LiveModel
import RoleMachines
import Sessions
import Sharding
import Streams

/// Clients that wait for a mutation.
extension SimulatedGateway {
    func wait(_ connection: Connection, for event: String) {
        guard connections[ObjectIdentifier(connection)] != nil, connection.handle != nil,
            let (id, effects) = try? machine.waitBegan(
                hub: connection.hub, for: event, keys: [connection.query.key], nowMs: nowMs)
        else { return }
        waits[id] = (connection, event)
        perform(effects)
    }

    /// Looks until the event has left the outbox.
    func ensureAppended(_ event: String, for id: InterestMachine.WaitID, untilMs: Int64) {
        statement { [world] postgres in
            if world.sabotage == .waitWithoutLooking { return true }
            let folded = Array(SweeperMachine.foldedEvent.utf8)
            return postgres.outbox[event] == nil && !postgres.outbox.values.contains { $0.row.event == folded }
        } then: { [self] outcome in
            if case .done(true) = outcome {
                if world.logsEvents, world.sabotage != .waitWithoutLooking {
                    return lookAtLog(eventWaits.began(withinMs: untilMs - nowMs, nowMs: nowMs), for: id)
                }
                return perform(machine.waitAppended(id, problem: nil, nowMs: nowMs))
            }
            guard nowMs < untilMs else {
                let problem = RequestError(.timeout, "the event is not published yet")
                return perform(machine.waitAppended(id, problem: problem, nowMs: nowMs))
            }
            later(50) { [self] in ensureAppended(event, for: id, untilMs: untilMs) }
        }
    }

    /// Looks until the log is published up to a mark behind the event.
    private func lookAtLog(_ wait: EventWaits.Wait, for id: InterestMachine.WaitID) {
        statement { postgres in
            postgres.log.record.map { record in
                EventWaits.LogPosition(incarnation: record.incarnation, position: postgres.log.reached)
            }
        } then: { [self] outcome in
            var wait = wait
            guard case .done(let published) = outcome else {
                eventWaits.ended(wait)
                let problem = RequestError(.unavailable, "the database does not answer")
                return perform(machine.waitAppended(id, problem: problem, nowMs: nowMs))
            }
            follow(eventWaits.looked(&wait, published: published, nowMs: nowMs), wait, for: id)
        }
    }

    private func follow(_ action: EventWaits.Action, _ wait: EventWaits.Wait, for id: InterestMachine.WaitID) {
        switch action {
        case .appended:
            eventWaits.ended(wait)
            perform(machine.waitAppended(id, problem: nil, nowMs: nowMs))
        case .fail(let problem):
            eventWaits.ended(wait)
            perform(machine.waitAppended(id, problem: problem, nowMs: nowMs))
        case .lookAtLog(let ms): later(ms) { [self] in lookAtLog(wait, for: id) }
        case .mark:
            statement {
                $0.log.append(.mark).end
            } then: { [self] outcome in
                var wait = wait
                // Without an answer, no position counts: the wait ends in time.
                let position = if case .done(let end) = outcome { end } else { UInt64.max }
                follow(eventWaits.marked(&wait, at: position), wait, for: id)
            }
        case .look: preconditionFailure("the event has left the outbox")
        }
    }

    func append(_ ticket: WaitTicket, to shard: ShardID) {
        let event = StreamAppend.event(MutationEvent(ticket, appendedAtMs: nowMs).encoded, to: "")
        call { redis in
            redis.append(
                redis.keys.events(shard: shard.number), event.fields, lengthMax: World.eventsLengthMax)
        } then: { (_: Void?) in
        }
    }
}
