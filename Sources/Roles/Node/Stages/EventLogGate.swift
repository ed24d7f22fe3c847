import ChangeTailer
import LiveModel
import Postgres
import Settings

/// Keeps a node from leaving events in a log that nobody can read.
struct EventLogGate {
    let slot: ChangeSlot

    /// Waits until the database has what a reader of its log needs, if the node's mutations leave their events there.
    func pass(_ node: NodeContext, _ gate: StartupGate) async throws(NodeError) {
        guard node.writesEventsToLog else { return }
        try await gate.until("the database's log") { _ -> StartupGate.Attempt<Void> in
            do throws(PostgresError) {
                guard let obstacle = try await slot.prepareForEvents() else { return .done(()) }
                return .refused("outbox.kind is wal, but \(obstacle)")
            } catch {
                return error.isTransient ? .away(error.sentence) : .refused("outbox.kind is wal: \(error.sentence)")
            }
        }
    }
}

extension NodeContext {
    var writesEventsToLog: Bool { settings.outbox.kind == .wal && settings.cluster.roles.contains(.api) }
}
