import LiveModel
import RoleMachines

/// Mutations that leave their events in the log alone.
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
}
