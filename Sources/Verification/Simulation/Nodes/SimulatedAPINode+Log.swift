import LiveModel
import RoleMachines
import Streams

/// Mutations that leave their events in the log alone, and appends.
extension SimulatedAPINode {
    /// Commits a mutation whose event is in the log alone. Its client hears of it when others see it, too.
    func commitToLog(
        _ row: OutboxRow, of lifecycle: MutationLifecycle, _ entity: String, _ acknowledged: @escaping (String) -> Void
    ) {
        let invisibleMs = world.invisibleMs()
        statement { [world, timeline] postgres in
            guard
                let xid = postgres.commitToLog(entity, row, loadedDeployment: lifecycle.targets.loadedDeployment)
            else { return world.committed(row.id, of: entity) }
            timeline.after(invisibleMs) {
                postgres.becomeVisible(xid)
                world.committed(row.id, of: entity)
            }
        } then: { [self] outcome in
            later(invisibleMs + 1) { [self] in
                guard case .done = outcome else { return perform(lifecycle.ended(committed: nil)) }
                world.note("\(name) committed \(row.id) of \(entity) to the log")
                perform(lifecycle.ended(committed: row))
                acknowledged(row.id)
            }
        }
    }

    func announceEvents() {
        if world.sabotage == .eventsUnannounced { return }
        statement {
            $0.log.announceEvents()
        } then: { [self] (_: Process.Statement<Void>) in
            later(2_000) { [self] in announceEvents() }
        }
    }

    /// Appends entries; if the connection ends in between, the first ones remain appended.
    func append(_ appends: [StreamAppend], then: @escaping (Result<Void, StepFailure>) -> Void) {
        let isCutShort = world.hasFaults && timeline.chance(2)
        call { redis in
            for append in isCutShort ? appends.dropLast() : appends[...] {
                redis.append(append, lengthMax: World.eventsLengthMax)
            }
        } then: { (answer: Void?) in
            then(answer != nil && !isCutShort ? .success(()) : .failure(StepFailure("no answer")))
        }
    }
}
