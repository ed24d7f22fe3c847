import Pacing
/// Decides when and to which host to connect, tracks the attempt's progress, and paces retries. A pure value;
/// `PipelineMachine` takes over once the connection is set up.
struct ConnectMachine<Random: RandomNumberGenerator> {
    struct Limits {
        /// The time limit for one attempt, from resolving the host's name to the end of the set-up.
        var connectTimeoutMs: Int
        /// The pause after a failure: doubles with each attempt up to the maximum, each jittered between half and
        /// whole.
        var backoffMinMs: Int
        var backoffMaxMs: Int
        var hostCount = 1
    }

    enum State: Equatable {
        /// Disconnected; the next attempt begins at this time.
        case waiting(untilMs: Int)
        /// A separate thread begins the attempt, because resolving the host's name blocks.
        case opening(deadlineMs: Int)
        case handshaking(wantsWrite: Bool, deadlineMs: Int)
        /// The set-up script was sent.
        case settingUp(deadlineMs: Int)
        /// The server's state was requested, separately from the set-up because a server may refuse to report it.
        case askingServer(deadlineMs: Int)
        case connected
    }

    let limits: Limits
    private(set) var state: State = .waiting(untilMs: 0)
    private var random: Random
    private var isStopping = false
    /// The host to try next, or the one in use.
    private(set) var host = 0
    /// Consecutive attempts that failed with every host, and connections lost soon after they were made: the exponent
    /// of the back-off.
    private var failures = 0
    /// Numbers the threads that begin attempts. At most one runs at a time, including an overdue one.
    private var attempt = 0
    private var isOpenerOut = false
    private var connectedSinceMs = 0
    private var hasFailedSinceConnected = false
    private var setupError: PostgresError?
    private var server = Server(answer: nil)

    init(limits: Limits, random: Random) {
        self.limits = limits
        self.random = random
    }

    var isConnected: Bool { state == .connected }

    /// The time at which `timeReached` has something to do.
    var wakeAtMs: Int? {
        switch state {
        case .waiting(let untilMs): isOpenerOut ? nil : untilMs
        case .opening(let deadlineMs), .handshaking(_, let deadlineMs), .settingUp(let deadlineMs),
            .askingServer(let deadlineMs):
            deadlineMs
        case .connected: nil
        }
    }

    /// A server's report when a connection to it is set up.
    struct Server: Equatable {
        /// The timeline, which changes when a standby is promoted: commits that the former primary had not replicated
        /// are then lost. Nil on a standby, and when the server does not report it.
        let timeline: String?
        /// Whether commits wait for no standby. False when the server does not report it.
        let commitsAlone: Bool

        /// - Parameter answer: the timeline, and " alone" if commits wait for no standby.
        init(answer: String?) {
            let parts = (answer ?? "").split(separator: " ", omittingEmptySubsequences: false)
            timeline = parts.first.flatMap { $0.isEmpty ? nil : String($0) }
            commitsAlone = parts.dropFirst().first == "alone"
        }
    }

    enum Action: Equatable {
        /// Start a thread that opens a connection and reports it with this number.
        case open(attempt: Int, host: Int)
        /// Keep the connection that was opened.
        case adopt
        case sendSetup
        case askServer
        /// The connection is set up.
        case connected(Server)
        /// Drop the connection and report the failure. `isFirst`: the first one since the last success.
        indirect case fail(PostgresError, isFirst: Bool)
    }

    mutating func timeReached(_ nowMs: Int) -> Action? {
        switch state {
        case .waiting(let untilMs):
            guard nowMs >= untilMs, !isStopping, !isOpenerOut else { return nil }
            attempt += 1
            isOpenerOut = true
            state = .opening(deadlineMs: nowMs + limits.connectTimeoutMs)
            return .open(attempt: attempt, host: host)
        case .opening(let deadlineMs):
            guard nowMs >= deadlineMs else { return nil }
            return failed("the host's name was not resolved within \(limits.connectTimeoutMs) ms", nowMs)
        case .handshaking(_, let deadlineMs), .settingUp(let deadlineMs), .askingServer(let deadlineMs):
            guard nowMs >= deadlineMs else { return nil }
            return failed("no answer within \(limits.connectTimeoutMs) ms", nowMs)
        case .connected:
            return nil
        }
    }

    /// Reports that the thread of an attempt could not be started.
    mutating func openFailed(_ nowMs: Int) -> Action {
        isOpenerOut = false
        return failed("no thread to connect", nowMs)
    }

    /// Reports that the thread of an attempt has opened a connection. The connection of an overdue attempt is dropped.
    mutating func opened(attempt: Int, error: PostgresError?, _ nowMs: Int) -> Action? {
        guard attempt == self.attempt else { return nil }
        isOpenerOut = false
        guard case .opening(let deadlineMs) = state, !isStopping else { return nil }
        if let error { return failed(error, nowMs) }
        // libpq: behave as if polling had said "writing" before the first call.
        state = .handshaking(wantsWrite: true, deadlineMs: deadlineMs)
        return .adopt
    }

    enum Progress {
        case wantsRead, wantsWrite
        case done
        indirect case failed(PostgresError)
    }

    mutating func handshaked(_ progress: Progress, _ nowMs: Int) -> Action? {
        guard case .handshaking(_, let deadlineMs) = state else {
            preconditionFailure("\(progress) of a handshake in \(state)")
        }
        switch progress {
        case .wantsRead: state = .handshaking(wantsWrite: false, deadlineMs: deadlineMs)
        case .wantsWrite: state = .handshaking(wantsWrite: true, deadlineMs: deadlineMs)
        case .done:
            setupError = nil
            state = .settingUp(deadlineMs: deadlineMs)
            return .sendSetup
        case .failed(let error): return failed(error, nowMs)
        }
        return nil
    }

    enum SetupAnswer {
        /// The first value, if there are rows.
        case value(String?)
        case copy
        indirect case failed(PostgresError)
    }

    mutating func setupAnswered(_ answer: SetupAnswer, _ nowMs: Int) -> Action? {
        switch answer {
        case .value(let value):
            if let value { server = Server(answer: value) }
        case .copy:
            return failed(.copyRefused, nowMs)
        case .failed(let error):
            if setupError == nil { setupError = error }
            if error.sqlState == nil || error.isFatal { return failed(error.message, nowMs) }
        }
        return nil
    }

    /// Reports that the whole set-up was answered.
    mutating func setupEnded(_ nowMs: Int) -> Action {
        switch state {
        case .settingUp(let deadlineMs):
            if let setupError { return failed(setupError.message, nowMs) }
            server = Server(answer: nil)
            state = .askingServer(deadlineMs: deadlineMs)
            return .askServer
        case .askingServer:
            state = .connected
            connectedSinceMs = nowMs
            hasFailedSinceConnected = false
            return .connected(server)
        case .waiting, .opening, .handshaking, .connected:
            preconditionFailure("the set-up ended in \(state)")
        }
    }

    mutating func failed(_ message: String, _ nowMs: Int) -> Action {
        failed(PostgresError(.connectionFailed, message), nowMs)
    }

    private mutating func failed(_ error: PostgresError, _ nowMs: Int) -> Action {
        let isFirst = !hasFailedSinceConnected
        hasFailedSinceConnected = true
        // Try the next host at once; pause when all have been tried.
        host = (host + 1) % limits.hostCount
        if host == 0 { failures += 1 }
        state = .waiting(untilMs: nowMs + (host == 0 ? backoffMs() : 0))
        return .fail(error, isFirst: isFirst)
    }

    /// Reports that a connection in use was lost or given up. If it had lasted, the next attempt is immediate; repeated
    /// early losses lengthen the pauses.
    mutating func lost(_ nowMs: Int) {
        failures = nowMs - connectedSinceMs > limits.backoffMaxMs ? 0 : failures + 1
        state = .waiting(untilMs: nowMs + backoffMs())
    }

    mutating func stop() { isStopping = true }

    private mutating func backoffMs() -> Int {
        guard failures > 0 else { return 0 }
        let backoff = Backoff(minMs: Int64(max(1, limits.backoffMinMs)), maxMs: Int64(max(1, limits.backoffMaxMs)))
        return Int(backoff.delayMs(after: failures - 1) { Int64.random(in: $0, using: &random) })
    }
}
