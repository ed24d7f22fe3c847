import Pacing
import Streams

/// The next step of a command thread: when it connects, which requests it groups, and which of them it sends again or
/// gives up.
struct BatchPlan {
    private let requestsMax: Int
    private let bytesMax: Int
    private var backoff: JitteredBackoff
    private var nextAttemptNs: UInt64 = 0
    /// Requests taken from the inbox. It bounds them, because it counts a request until it is answered.
    var waiting: [CommandRequest] = []

    init(_ configuration: RedisConfiguration) {
        requestsMax = configuration.batchRequestsMax
        bytesMax = configuration.batchBytesMax
        backoff = JitteredBackoff(minMs: configuration.reconnectMinMs, maxMs: configuration.reconnectMaxMs)
    }

    /// Whether the thread ends: waiting requests are still sent, but only over the connection that there is.
    func isOver(_ closing: CommandInbox.Closing, isConnected: Bool) -> Bool {
        waiting.isEmpty || !isConnected || closing.isAbrupt
    }

    enum Step<Connection> {
        /// Callers may use the connection, because nothing waits.
        case lend(Connection)
        case sendBatch(Connection)
        case reconnect
    }

    func step<Connection>(_ connection: Connection?) -> Step<Connection> {
        guard let connection else { return .reconnect }
        return waiting.isEmpty ? .lend(connection) : .sendBatch(connection)
    }

    // MARK: Connecting

    enum Attempt: Equatable {
        case connect
        /// Wait until the next attempt or the first deadline.
        case wait(untilNs: UInt64)
    }

    func attempt(nowNs: UInt64) -> Attempt {
        if nowNs >= nextAttemptNs { return .connect }
        let firstDeadlineNs = waiting.reduce(.max) { min($0, $1.deadlineNs) }
        return .wait(untilNs: min(nextAttemptNs, firstDeadlineNs))
    }

    /// The connection was lost, or an attempt to connect failed.
    /// - Parameter random: picks a number from a range.
    mutating func disconnected(nowNs: UInt64, _ random: (ClosedRange<Int>) -> Int) {
        nextAttemptNs = addMs(backoff.nextMs(random), to: nowNs)
    }

    /// The server changed, so the back-off that the former one caused has no reason any more.
    mutating func serverChanged(isConnected: Bool) {
        backoff.reset()
        if !isConnected { nextAttemptNs = 0 }
    }

    // MARK: Batches

    /// Takes the requests whose deadline has passed.
    mutating func takeExpired(nowNs: UInt64) -> [CommandRequest] {
        guard waiting.contains(where: { $0.deadlineNs <= nowNs }) else { return [] }
        defer { waiting.removeAll { $0.deadlineNs <= nowNs } }
        return waiting.filter { $0.deadlineNs <= nowNs }
    }

    /// Takes the oldest waiting requests, as many as fit one batch, but at least one, however large.
    mutating func takeBatch() -> [CommandRequest] {
        var count = 0
        var bytes = 0
        for request in waiting.prefix(requestsMax) {
            bytes += request.commands.bytes.count
            if count > 0, bytes > bytesMax { break }
            count += 1
        }
        if count == waiting.count {
            defer { waiting = [] }
            return waiting
        }
        defer { waiting.removeFirst(count) }
        return Array(waiting.prefix(count))
    }

    /// The server answered a whole batch.
    mutating func answered() { backoff.reset() }

    /// Puts requests back before all others.
    mutating func sendAgain(_ requests: [CommandRequest]) { waiting.insert(contentsOf: requests, at: 0) }
}

/// The requests that were written together, while their replies arrive in order.
struct SentBatch {
    private let requests: [CommandRequest]
    private var answered = 0
    /// The requests to send over the next connection, before all others.
    private(set) var again: [CommandRequest] = []

    init(_ requests: [CommandRequest]) { self.requests = requests }

    /// Whether the server is not the right one for some of the requests.
    var wantsReconnect: Bool { !again.isEmpty }

    /// The replies to the next request arrived.
    /// - Returns: whether they are the answer. Otherwise the server executed nothing because of its role or phase, and
    ///   the request is sent again.
    mutating func arrived(_ values: [RedisValue]) -> Bool {
        defer { answered += 1 }
        let isRefused = values.allSatisfy { value in
            if case .error(let failure) = value { return failure.wantsReconnect }
            return false
        }
        if isRefused { again.append(requests[answered]) }
        return !isRefused
    }

    /// The connection was lost. Requests without a reply are sent again if that is harmless.
    /// - Returns: the others, whose outcome is unknown.
    mutating func lost() -> [CommandRequest] {
        let unanswered = requests[answered...]
        again += unanswered.filter(\.isRepeatable)
        return unanswered.filter { !$0.isRepeatable }
    }
}
