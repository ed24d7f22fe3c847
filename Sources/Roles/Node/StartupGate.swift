import LiveModel
import Logging
import Settings

/// A node that starts waits here for the servers it needs. Who looks at its ports meanwhile finds it alive and not ready
/// (`StartupHandler`); the log has one line for each step.
///
/// Used by one task.
final class StartupGate {
    /// How one attempt ended.
    enum Attempt<Value: Sendable>: Sendable {
        case done(Value)
        /// Later perhaps.
        case away(String)
        /// Not before somebody changes something.
        case refused(String)
    }

    /// Between attempts of which each ends at once.
    private static let againMs = 100

    private let settings: Settings
    private let logger: Logger
    /// What all servers together may take.
    private var steps: StartupBackoff
    private var room: StartupHandler?

    init(settings: Settings, logger: Logger) {
        self.settings = settings
        self.logger = logger
        steps = StartupBackoff(boundMs: settings.cluster.startWaitMs == 0 ? nil : settings.cluster.startWaitMs)
    }

    /// - Parameter attempt: is told how long it may take, and called until it is done.
    /// - Throws: what it was refused with, or what it said last when the bound is reached.
    func until<Value: Sendable>(
        _ server: String, _ attempt: (_ withinMs: Int) async -> Attempt<Value>
    ) async throws(NodeError) -> Value {
        var reason = "no answer"
        while let stepMs = steps.next() {
            let deadline = ContinuousClock.now + .milliseconds(stepMs)
            repeat {
                switch await attempt(max(1, Int((deadline - .now) / .milliseconds(1)))) {
                case .done(let value): return value
                case .refused(let reason): throw NodeError("\(server): \(reason)")
                case .away(let said): reason = said
                }
                try? await Task.sleep(for: .milliseconds(Self.againMs))
            } while ContinuousClock.now < deadline && !Task.isCancelled
            if Task.isCancelled { break }
            logger.warning(
                "waiting for a server before the node can start",
                metadata: ["server": "\(server)", "waitedMs": "\(steps.waitedMs)", "reason": "\(reason)"])
            if room == nil { room = try await StartupHandler.open(settings, logger: logger) }
        }
        throw NodeError("\(server): \(reason) (waited \(steps.waitedMs) ms)")
    }

    /// Frees the ports.
    func end() async {
        await room?.close()
        room = nil
    }
}
