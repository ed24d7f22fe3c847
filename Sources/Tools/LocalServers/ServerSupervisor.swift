import Clocks
import Synchronization

/// A private server that can be restarted on its data.
package protocol SupervisedServer: Sendable {
    /// The server's name in messages.
    var serverName: String { get }
    /// The path of its log file.
    var logPath: String { get }
    /// Returns when the process has ended, for whatever reason.
    func waitForExit() async
    /// Starts the server again at the same addresses, with its data if they are durable.
    func restart() async throws(LocalServerError)
}

extension LocalPostgres: SupervisedServer {
    package var serverName: String { "Postgres" }
}

extension LocalRedis: SupervisedServer {
    package var serverName: String { "Redis" }
}

/// Restarts a private server that ends unexpectedly, at the same addresses and with the same data, according to
/// `RestartSchedule`.
package final class ServerSupervisor: Sendable {
    /// An event in the life of the server.
    package enum Event: Sendable {
        /// The server ended and will be restarted after this time.
        case ended(againInMs: Int)
        /// A restart failed; the next attempt follows after this time.
        case notStarted(LocalServerError, againInMs: Int)
        case restarted
        /// The server will not be restarted again.
        case givenUp
    }

    private let isEnding = Mutex(false)
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// - Parameter onEvent: called with each event, in order.
    package init(_ server: any SupervisedServer, onEvent: @escaping @Sendable (any SupervisedServer, Event) -> Void) {
        let supervision = Task { [self] in await supervise(server, onEvent) }
        task.withLock { $0 = supervision }
    }

    /// Ends the supervision. Call it before stopping the server; returns when no start is in progress.
    package func end() async {
        isEnding.withLock { $0 = true }
        // The task waits for the server's end, which comes later, so it is not awaited. A start in progress is not
        // cancelled half-way.
        if !isStarting.withLock({ $0 }) { task.withLock { $0 }?.cancel() }
        while isStarting.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(10)) }
    }

    private let isStarting = Mutex(false)

    private func supervise(_ server: any SupervisedServer, _ onEvent: @Sendable (any SupervisedServer, Event) -> Void)
        async
    {
        var schedule = RestartSchedule()
        schedule.started(nowMs: MonotonicClock.nowMs())
        while true {
            await server.waitForExit()
            if isEnding.withLock({ $0 }) { return }
            var failure: LocalServerError?
            repeat {
                guard let pauseMs = schedule.ended(nowMs: MonotonicClock.nowMs()) else {
                    return onEvent(server, .givenUp)
                }
                onEvent(server, failure.map { .notStarted($0, againInMs: pauseMs) } ?? .ended(againInMs: pauseMs))
                failure = nil
                try? await Task.sleep(for: .milliseconds(pauseMs))
                guard begin() else { return }
                do throws(LocalServerError) {
                    try await server.restart()
                } catch {
                    failure = error
                }
                isStarting.withLock { $0 = false }
                if isEnding.withLock({ $0 }) { return }
            } while failure != nil
            schedule.started(nowMs: MonotonicClock.nowMs())
            onEvent(server, .restarted)
        }
    }

    /// Begins a start; returns false if `end` was called.
    private func begin() -> Bool {
        isEnding.withLock { isEnding in
            if !isEnding { isStarting.withLock { $0 = true } }
            return !isEnding
        }
    }
}
