import Clocks
import LiveModel
import Postgres
import QuerySQL
import Synchronization

/// Runs callers' own queries; many at a time of one statement run together in its multiplexed form (`CallQueue`).
///
/// Only calls of short statements with small parameters run together, and only for a short time: if the database
/// refuses such a statement or it takes long, each call runs alone, charged to its caller, and so do later ones for a
/// while. So what one caller sends affects no other one for long.
final class CallBatcher: Sendable {
    typealias Answer = Result<QueryExecutor.Result, RequestError>

    /// The calls of one statement.
    final class Calls: Sendable {
        let queue: Mutex<CallQueue<WaitingCall>>

        init(_ limits: CallQueue<WaitingCall>.Limits) { queue = Mutex(CallQueue(limits)) }
    }

    private let pool: PostgresPool
    private let limits: CallQueue<WaitingCall>.Limits
    private let batchCount = Atomic<Int>(0)
    private let callCount = Atomic<Int>(0)
    /// The statements whose calls wait, while a task looks after those that wait long.
    private let watched = Mutex<[ObjectIdentifier: StatementCache.Entry]>([:])

    /// The time that the calls of one batch are to take together, in microseconds, by what one takes alone: less than
    /// that of a statement that holds up others.
    private static let batchUs = 6_000
    /// The time after which a batch is given up.
    private static let limitMs = 30
    /// The size of a call's parameters up to which it runs with others.
    private static let parameterBytesMax = 4_096

    init(pool: PostgresPool, _ limits: CallQueue<WaitingCall>.Limits) {
        self.pool = pool
        self.limits = limits
    }

    /// The statements that ran several calls, and their calls, since the start.
    var counts: (batches: Int, calls: Int) {
        (batchCount.load(ordering: .relaxed), callCount.load(ordering: .relaxed))
    }

    func run(
        _ entry: StatementCache.Entry, _ parameters: [SQLParameter], _ caller: Caller
    ) async throws(RequestError) -> QueryExecutor.Result {
        guard let calls = entry.calls, let batchMax = batchMax(entry, parameters) else {
            return try await runAlone(entry, parameters, caller)
        }
        let nowMs = MonotonicClock.nowMs()
        let start: (isAlone: Bool, isCounted: Bool) = calls.queue.withLock { queue in
            queue.mayBatch(nowMs: nowMs) ? (queue.start(), true) : (true, false)
        }
        if start.isAlone {
            defer { if start.isCounted { ended(entry) } }
            return try await runAlone(entry, parameters, caller)
        }
        let call = WaitingCall(parameters, caller)
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                call.onAnswer { continuation.resume(returning: $0) }
                add(call, to: entry, batchMax)
            }
        } onCancel: {
            call.finish(.failure(RequestError(PostgresError(.cancelled, "the caller was cancelled"))))
        }
        return try answer.get()
    }

    /// Returns the most calls in a batch; nil if the call does not run with others.
    private func batchMax(_ entry: StatementCache.Entry, _ parameters: [SQLParameter]) -> Int? {
        guard limits.batchMax > 1, entry.single.isKnownShort, let us = entry.single.averageUs else { return nil }
        var bytes = 0
        for parameter in parameters { bytes += parameter?.utf8.count ?? 0 }
        return bytes > Self.parameterBytesMax ? nil : max(2, Self.batchUs / max(1, us))
    }

    private func runAlone(
        _ entry: StatementCache.Entry, _ parameters: [SQLParameter], _ caller: Caller
    ) async throws(RequestError) -> QueryExecutor.Result {
        let rows: ResultSet
        do {
            rows = try await pool.query(entry.single, parameters.map { Parameter($0) }, for: .caller(caller))
        } catch {
            throw RequestError(error)
        }
        return try Self.result(rows).get()
    }

    private static func result(_ rows: ResultSet) -> Answer {
        guard let row = rows.rows.first, let body = row[0], let digest = row.digest(1) else {
            return .failure(.noResult)
        }
        return .success(QueryExecutor.Result(body: body, digest: digest))
    }

    // MARK: batches

    private func add(_ call: WaitingCall, to entry: StatementCache.Entry, _ batchMax: Int) {
        guard let calls = entry.calls else { return }
        switch calls.queue.withLock({ $0.add(call, batchMax: batchMax, nowMs: MonotonicClock.nowMs()) }) {
        case .runs: send([call], entry)
        case .waits(let isFirst): if isFirst { watch(entry) }
        case .completes(let batch): send(batch, entry)
        }
    }

    private func ended(_ entry: StatementCache.Entry) { send(next(entry), entry) }

    /// Reports the end of an execution.
    /// - Returns: the calls that run now.
    private func next(_ entry: StatementCache.Entry) -> [WaitingCall] {
        entry.calls?.queue.withLock { $0.ended() } ?? []
    }

    /// Runs calls in one statement, without suspending.
    private func send(_ all: [WaitingCall], _ entry: StatementCache.Entry) {
        if all.isEmpty { return }
        let calls = all.filter { !$0.isOver }
        guard calls.count > 1 else {
            guard let call = calls.first else { return ended(entry) }
            return runAlone(call, entry) { [self] in ended(entry) }
        }
        batchCount.wrappingAdd(1, ordering: .relaxed)
        callCount.wrappingAdd(calls.count, ordering: .relaxed)
        pool.query(entry.multiplexed, BatchStatement.parameters(of: calls), for: .batch(limitMs: Self.limitMs)) {
            [self] answer in
            switch answer {
            case .success(let rows):
                let next = next(entry)
                var run = BatchRun(count: calls.count)
                run.answered(calls.indices, rows.rows.lazy.compactMap(\.ofBatch))
                for (call, outcome) in zip(calls, run.outcomes) { call.finish(outcome.answer) }
                send(next, entry)
            case .failure(let error):
                let nowMs = MonotonicClock.nowMs()
                entry.calls?.queue.withLock { $0.batchFailed(nowMs: nowMs) }
                failed(calls, entry, error)
                ended(entry)
            }
        }
    }

    /// Handles a batch's failure: what one of its calls may have caused is no other's.
    private func failed(_ calls: [WaitingCall], _ entry: StatementCache.Entry, _ error: PostgresError) {
        let shown = RequestError(error)
        let isRefused = error.isOfServer && !shown.code.isRetryable
        let isByCall = isRefused || error.ranTooLong || error.code == .invalidParameter
        for call in calls {
            if isByCall { runAlone(call, entry) {} } else { call.finish(.failure(shown)) }
        }
    }

    /// Runs a call without suspending.
    private func runAlone(
        _ call: WaitingCall, _ entry: StatementCache.Entry, then ended: @escaping @Sendable () -> Void
    ) {
        if call.isOver { return ended() }
        let parameters = call.parameters.map { Parameter($0) }
        pool.query(entry.single, parameters, for: .caller(call.caller)) { answer in
            call.finish(answer.mapError { RequestError($0) }.flatMap { rows in Self.result(rows) })
            ended()
        }
    }

    // MARK: calls that wait long

    private func watch(_ entry: StatementCache.Entry) {
        guard let calls = entry.calls else { return }
        let isFirst = watched.withLock { watched in
            defer { watched[ObjectIdentifier(calls)] = entry }
            return watched.isEmpty
        }
        guard isFirst else { return }
        Task {
            repeat {
                try? await Task.sleep(for: .milliseconds(max(1, limits.waitMs / 4)))
            } while sendOverdue()
        }
    }

    /// - Returns: whether calls still wait.
    private func sendOverdue() -> Bool {
        let nowMs = MonotonicClock.nowMs()
        for entry in watched.withLock({ $0 }).values {
            send(entry.calls?.queue.withLock { $0.overdue(nowMs: nowMs) } ?? [], entry)
        }
        return watched.withLock { watched in
            watched = watched.filter { $0.value.calls?.queue.withLock { !$0.isEmpty } ?? false }
            return !watched.isEmpty
        }
    }
}

/// A call that waits for its answer.
final class WaitingCall: Sendable {
    private struct State {
        var isOver = false
        var early: CallBatcher.Answer?
        var completion: (@Sendable (CallBatcher.Answer) -> Void)?
    }

    let parameters: [SQLParameter]
    let caller: Caller
    private let state = Mutex(State())

    init(_ parameters: [SQLParameter], _ caller: Caller) {
        (self.parameters, self.caller) = (parameters, caller)
    }

    var isOver: Bool { state.withLock { $0.isOver } }

    func onAnswer(_ completion: @escaping @Sendable (CallBatcher.Answer) -> Void) {
        let early: CallBatcher.Answer? = state.withLock { state in
            if state.early == nil { state.completion = completion }
            return state.early
        }
        if let early { completion(early) }
    }

    /// Only the first answer counts.
    func finish(_ answer: CallBatcher.Answer) {
        let completion: (@Sendable (CallBatcher.Answer) -> Void)? = state.withLock { state in
            guard !state.isOver else { return nil }
            state.isOver = true
            if state.completion == nil { state.early = answer }
            return state.completion
        }
        completion?(answer)
    }
}
