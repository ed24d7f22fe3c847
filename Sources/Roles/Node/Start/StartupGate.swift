import LiveModel
import Logging
import Settings

/// Waits for the servers that a node needs to start. Meanwhile its ports answer that it is alive and not ready
/// (`StartupHandler`); the log has one line for each step.
///
/// Used by one task.
final class StartupGate {
    /// How one attempt ended.
    enum Attempt<Value: Sendable>: Sendable {
        case done(Value)
        /// The server is away: a later attempt can succeed.
        case away(String)
        /// No attempt can succeed before an operator changes something.
        case refused(String)
    }

    /// Between attempts that end at once.
    private static let retryMs = 100

    private let settings: Settings
    private let parts: ClosingStack
    private let logger: Logger
    /// For all servers together.
    private var steps: StartupBackoff
    private var handler: StartupHandler?

    init(settings: Settings, parts: ClosingStack, logger: Logger) {
        self.settings = settings
        self.parts = parts
        self.logger = logger
        steps = StartupBackoff(boundMs: settings.cluster.startWaitMs == 0 ? nil : settings.cluster.startWaitMs)
    }

    /// - Parameter attempt: called with the time that it may take, until it is done.
    /// - Throws: the reason of a refusal, or of the last attempt when the bound is reached.
    func until<Value: Sendable>(
        _ server: String, _ attempt: (_ withinMs: Int) async -> Attempt<Value>
    ) async throws(NodeError) -> Value {
        var reason = "no answer"
        while let stepMs = steps.next() {
            let deadline = ContinuousClock.now + .milliseconds(stepMs)
            repeat {
                switch await attempt(max(1, Int((deadline - .now) / .milliseconds(1)))) {
                case .done(let value):
                    steps.ended(earlyMs: max(0, Int((deadline - .now) / .milliseconds(1))))
                    return value
                case .refused(let reason): throw NodeError("\(server): \(reason)")
                case .away(let lastReason): reason = lastReason
                }
                try? await Task.sleep(for: .milliseconds(Self.retryMs))
            } while ContinuousClock.now < deadline && !Task.isCancelled
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

    /// Frees the ports.
    func end() async {
        await handler?.close()
        handler = nil
    }
}
