import Clocks
import LiveModel
import Logging
import Settings

/// Waits for the servers that a node needs to start. Meanwhile its ports report that it is alive and not ready
/// (`StartupHandler`), and each step is logged.
///
/// Confined to one task.
final class StartupGate {
    /// The result of one attempt.
    enum Attempt<Value: Sendable>: Sendable {
        case done(Value)
        /// The server is down; a later attempt can succeed.
        case away(String)
        /// No attempt can succeed until an operator changes something.
        case refused(String)
    }

    /// The pause between attempts that fail at once.
    private static let retryMs = 100

    private let settings: Settings
    private let parts: ClosingStack
    private let logger: Logger
    /// The steps for all servers together.
    private var steps: StartupBackoff
    private var handler: StartupHandler?

    init(settings: Settings, parts: ClosingStack, logger: Logger) {
        self.settings = settings
        self.parts = parts
        self.logger = logger
        steps = StartupBackoff(boundMs: settings.cluster.startWaitMs == 0 ? nil : settings.cluster.startWaitMs)
    }

    /// Repeats `attempt` until it is done.
    /// - Parameter attempt: takes its time limit.
    /// - Throws: the reason of a refusal, or of the last attempt when the bound is reached.
    func until<Value: Sendable>(
        _ server: String, _ attempt: (_ withinMs: Int) async -> Attempt<Value>
    ) async throws(NodeError) -> Value {
        var reason = "no answer"
        while let stepMs = steps.next() {
            let deadline = Deadline(afterMs: stepMs)
            repeat {
                switch await attempt(max(1, Int(deadline.leftMs))) {
                case .done(let value):
                    steps.ended(earlyMs: Int(deadline.leftMs))
                    return value
                case .refused(let reason): throw NodeError("\(server): \(reason)")
                case .away(let lastReason): reason = lastReason
                }
                try? await Task.sleep(for: .milliseconds(Self.retryMs))
            } while !deadline.isReached && !Task.isCancelled
            if Task.isCancelled { break }
            logger.warning(
                "waiting for a server before the node can start",
                metadata: ["server": "\(server)", "waitedMs": "\(steps.waitedMs)", "reason": "\(reason)"])
            if handler == nil {
                let opened = try await StartupHandler.open(settings, logger: logger)
                parts.push("startup ports") { _ in await opened.close() }
                handler = opened
            }
        }
        throw NodeError("\(server): \(reason) (waited \(steps.waitedMs) ms)")
    }

    /// Closes the ports.
    func end() async {
        await handler?.close()
        handler = nil
    }
}
