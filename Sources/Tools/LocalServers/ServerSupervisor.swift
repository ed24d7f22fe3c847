import Synchronization

/// A private server that can be started again on its data.
package protocol SupervisedServer: Sendable {
    /// For people.
    var serverName: String { get }
    /// Its log file.
    var logPath: String { get }
    /// Returns when the process has ended, for whatever reason.
    func waitForExit() async
    /// Starts it again at the same addresses, with its data if they are durable.
    func restart() async throws(LocalServerError)
}

extension LocalPostgres: SupervisedServer {
    package var serverName: String { "Postgres" }
}

extension LocalRedis: SupervisedServer {
    package var serverName: String { "Redis" }
}

/// Watches over a private server: when it ends by itself it is started again, at the same addresses and on the same data,
/// with growing pauses and not for ever (`RestartSchedule`).
package final class ServerSupervisor: Sendable {
    package enum News: Sendable {
        /// It ended and is started again after that time.
        case ended(againInMs: Int)
        /// It could not be started; tried again after that time.
        case notStarted(LocalServerError, againInMs: Int)
        case startedAgain
        /// Nobody starts it any more.
        case givenUp
    }

    private let isEnding = Mutex(false)
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// - Parameter onNews: told what happened, in order.
    package init(_ server: any SupervisedServer, onNews: @escaping @Sendable (any SupervisedServer, News) -> Void) {
        let keeping = Task { [self] in await keep(server, onNews) }
        task.withLock { $0 = keeping }
    }

    /// From now on an end is meant: to be called before the server is stopped. Returns when nothing is started any more.
    package func end() async {
        isEnding.withLock { $0 = true }
        // Not awaited while it waits for the end of the server, which comes after this; a start that goes on is not broken
        // off half-way.
        if !isStarting.withLock({ $0 }) { task.withLock { $0 }?.cancel() }
        while isStarting.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(10)) }
    }

    private let isStarting = Mutex(false)

    private func keep(_ server: any SupervisedServer, _ onNews: @Sendable (any SupervisedServer, News) -> Void) async {
        var schedule = RestartSchedule()
        let began = ContinuousClock.now
        func nowMs() -> Int64 { Int64((ContinuousClock.now - began) / .milliseconds(1)) }
        schedule.started(nowMs: nowMs())
        while true {
            await server.waitForExit()
            if isEnding.withLock({ $0 }) { return }
            var failure: LocalServerError?
            repeat {
                guard let pauseMs = schedule.ended(nowMs: nowMs()) else { return onNews(server, .givenUp) }
                onNews(server, failure.map { .notStarted($0, againInMs: pauseMs) } ?? .ended(againInMs: pauseMs))
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
            schedule.started(nowMs: nowMs())
            onNews(server, .startedAgain)
        }
    }

    /// Whether a start may begin: not when `end` was called.
    private func begin() -> Bool {
        isEnding.withLock { isEnding in
            if !isEnding { isStarting.withLock { $0 = true } }
            return !isEnding
        }
    }
}
