import Clocks
import JSON
import NIOCore
import Pacing
import SeededRandom

/// Sends mutations when they are due, regardless of earlier ones (an open loop).
///
/// Confined to the pool's event loop, hence `@unchecked Sendable`.
final class MutationDriver: @unchecked Sendable {
    /// The limit on mutations in flight; a further one is not sent and counts as `DRIVER_OVERLOAD`.
    static let inFlightMax = 16_384

    struct Counts: Sendable {
        var sent = 0
        var answered = 0
        var failed = 0
        /// Requests repeated with their idempotency key.
        var retried = 0
        var inFlight = 0
        /// Responses of the whole run including the warm-up.
        var answeredTotal = 0
        var lastAnswerNs: Int64 = 0
        var latency = LatencyRecorder()
        var errors = ErrorCounts()
    }

    private let kinds: [Scenario.Mutation]
    private let rows: [JSONValue]
    private let token: String?
    private let pool: HTTPPool
    private let times: MutationTimes
    private let marker: Marker
    private var schedule: MutationSchedule
    private var random: SeededRandom
    /// The part of idempotency keys that no other run has.
    private let keyPrefix =
        String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
    private var startNs: Int64 = 0
    private var warmUpNs: Int64 = 0
    private var due: MutationSchedule.Due?
    private var isMeasuring = false
    private var isStopped = false
    /// The next mutation, held while paused.
    private var held: MutationSchedule.Due?
    private var timer: Scheduled<Void>?
    private var counts = Counts()
    private var finished: [EventLoopPromise<Void>] = []

    init(
        scenario: Scenario, rows: [JSONValue], token: String?, pool: HTTPPool, schedule: MutationSchedule,
        times: MutationTimes, marker: Marker, seed: UInt64
    ) {
        kinds = scenario.mutations
        warmUpNs = scenario.warmUpMs * 1_000_000
        self.rows = rows
        self.token = token
        self.pool = pool
        self.schedule = schedule
        self.times = times
        self.marker = marker
        random = SeededRandom(seed: seed, stream: 2)
    }

    // MARK: On the event loop

    func start(atNs: Int64) {
        startNs = atNs
        due = schedule.next()
        tick()
    }

    /// Stops sending; mutations in flight still finish.
    func stop() {
        isStopped = true
        timer?.cancel()
        due = nil
        finishIfDone()
    }

    /// Stops sending until `resume()`; mutations in flight still finish.
    func pause() {
        guard let due else { return }
        held = due
        self.due = nil
        timer?.cancel()
        finishIfDone()
    }

    /// Continues the schedule where it was paused, without catching up.
    func resume() {
        guard let held, !isStopped else { return }
        self.held = nil
        due = held
        startNs = DeliveryClock.nowNs() - held.atNs
        tick()
    }

    /// The sequence number of the next mutation; nil if there is none.
    var nextSequence: Int? { (due ?? held)?.sequence }

    func snapshot() -> Counts { counts }

    /// Completes `promise` when all mutations are answered.
    func whenFinished(_ promise: EventLoopPromise<Void>) {
        finished.append(promise)
        finishIfDone()
    }

    private func tick() {
        let nowNs = DeliveryClock.nowNs()
        while let due, startNs + due.atNs <= nowNs {
            send(due)
            self.due = isStopped ? nil : schedule.next()
        }
        guard let due else { return finishIfDone() }
        timer = pool.eventLoop.scheduleTask(in: .nanoseconds(startNs + due.atNs - nowNs)) { self.tick() }
    }

    private func finishIfDone() {
        guard due == nil, counts.inFlight == 0 else { return }
        for promise in finished { promise.succeed(()) }
        finished = []
    }

    private func send(_ due: MutationSchedule.Due) {
        let isMeasured = due.atNs >= warmUpNs
        if isMeasured, !isMeasuring {
            isMeasuring = true
            times.measure(from: due.sequence)
        }
        let kind = kinds[due.kind]
        let context = TemplateContext(
            index: due.sequence, groupIndex: due.kindIndex, row: row(kind.row, due.kindIndex), nowMs: WallClock.nowMs(),
            marker: marker.text(due.sequence))
        let variables = kind.variables.expand(context, &random)
        let token = kind.token?.expandText(context, &random) ?? self.token
        let dueNs = startNs + due.atNs
        times.setDue(due.sequence, ns: dueNs)
        if isMeasured { counts.sent += 1 }
        guard counts.inFlight < Self.inFlightMax else {
            if isMeasured { counts.failed += 1 }
            return counts.errors.count("DRIVER_OVERLOAD", "too many mutations in flight")
        }
        counts.inFlight += 1
        let key = kind.retryMs > 0 ? "\(keyPrefix)-\(marker.text(due.sequence))" : nil
        let sending = Sending(
            request: PlainRequest.mutation(
                connector: kind.connector, operation: kind.operation, variables: variables, token: token,
                idempotencyKey: key),
            sequence: due.sequence, dueNs: dueNs, isMeasured: isMeasured,
            retryUntilNs: key == nil ? 0 : DeliveryClock.nowNs() + kind.retryMs * 1_000_000)
        send(sending, Self.backoff)
    }

    /// The pauses before a mutation is sent again.
    private static let backoff = JitteredBackoff(minMs: 50, maxMs: 1_000)

    /// A mutation on its way.
    private struct Sending {
        let request: PlainRequest
        let sequence: Int
        let dueNs: Int64
        let isMeasured: Bool
        /// 0: it is not sent again.
        let retryUntilNs: Int64
    }

    private func send(_ sending: Sending, _ backoff: JitteredBackoff) {
        pool.send(sending.request) { result in
            let failure: CodedFailure? =
                switch result {
                case .success(let response): CodedFailure(response)
                case .failure(let failure): failure
                }
            guard let failure, failure.invitesRetry, DeliveryClock.nowNs() < sending.retryUntilNs else {
                return self.answered(failure, sending)
            }
            var backoff = backoff
            let pauseMs = backoff.nextMs { Int.random(in: $0, using: &self.random) }
            self.counts.retried += 1
            let next = backoff
            self.pool.eventLoop.scheduleTask(in: .milliseconds(Int64(pauseMs))) { self.send(sending, next) }
        }
    }

    private func answered(_ failure: CodedFailure?, _ sending: Sending) {
        let (sequence, isMeasured) = (sending.sequence, sending.isMeasured)
        let nowNs = DeliveryClock.nowNs()
        counts.inFlight -= 1
        counts.lastAnswerNs = nowNs
        if let failure {
            times.setFailed(sequence)
            counts.errors.count(failure.code, failure.message)
            if isMeasured { counts.failed += 1 }
        } else {
            times.setAnswered(sequence, ns: nowNs)
            counts.answeredTotal += 1
            if isMeasured {
                counts.answered += 1
                counts.latency.record(ns: nowNs - sending.dueNs)
            }
        }
        finishIfDone()
    }

    private func row(_ choice: Scenario.RowChoice, _ index: Int) -> JSONValue? {
        choice.row(of: rows, index: index, &random)
    }
}

extension Scenario.RowChoice {
    /// Chooses a row; nil if there are none.
    func row(of rows: [JSONValue], index: Int, _ random: inout SeededRandom) -> JSONValue? {
        guard !rows.isEmpty else { return nil }
        switch self {
        case .first: return rows[0]
        case .each: return rows[index % rows.count]
        case .random: return rows[Int.random(in: 0..<rows.count, using: &random)]
        }
    }
}
