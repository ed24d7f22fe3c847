import LiveModel
import Pacing

/// A live query of a gateway: its subscriptions here, the held result, and the last announcement to its owner.
///
/// Long, because subscriptions, announcements and the owner's messages change the same few values, which nothing else
/// may see.
struct InterestEntry: Sendable {
    typealias Delivery = InterestMachine.Delivery

    enum Held: Sendable {
        case nothing
        /// The result that a returning client says it holds; only the client has the body.
        case reported(KnownResult)
        case result(LiveResult)

        var known: KnownResult? {
            switch self {
            case .nothing: nil
            case .reported(let known): known
            case .result(let result): KnownResult(digest: result.digest, position: result.position)
            }
        }
    }

    /// The consequence of a new subscription.
    enum Join {
        case immediate(Delivery)
        /// The answer to the pending announcement is sufficient. From the answer to announcement `fencedUntil`
        /// on, the reported result does not fence.
        case awaitsAnswer(fencedUntil: UInt64)
        case announce
        /// Announce, and deliver only answers to that announcement or a later one.
        case announceUnordered

        var isImmediate: Bool { if case .immediate = self { true } else { false } }
    }

    /// The consequence of a message from the owner.
    enum Arrival {
        /// The message is older than the held result.
        case outdated
        case deliver(Delivery)
        /// The owner assumes another result to be held here; an announcement corrects it.
        case announce
        /// The owner assumes another result, but an announcement is already pending.
        case awaitsAnswer
        /// All recent messages of the owner are older than the held result, which therefore came from another owner:
        /// begin again.
        case restart
    }

    let query: LiveQuery
    private(set) var route: ShardRoute
    /// Subscriptions by hub. Hubs are numbered from 0, one for each event loop.
    private var hubs: [Int32] = []
    private(set) var subscriptionCount = 0
    private(set) var held = Held.nothing
    /// The epoch of the owner that has confirmed or replaced the held result since the last announcement; 0: none has.
    private(set) var confirmedEpoch: UInt64 = 0
    /// When to repeat the last announcement; nil once the owner has answered it.
    private(set) var repeatAtMs: Int64?
    private var retries = 0
    /// When subscribers without an answer get an error; nil: none waits.
    private(set) var answerByMs: Int64?
    private var older = OlderMessages()
    /// When the live query ends unless it gets a subscription again.
    private(set) var lingerUntilMs: Int64?
    /// The first announcement on this route. Answers to earlier ones belong to another registration.
    private var firstAnnouncement: UInt64
    /// The announcement that carried the result reported by the first subscription.
    private let reportAnnouncement: UInt64
    /// The first announcement that only a later run can answer; nil once one has answered it.
    private var freshAnnouncement: UInt64?
    /// Whether a session here receives every timer run. Never reset while the live query lives: it costs little.
    private(set) var reportsTimerRuns: Bool
    /// The client that subscribes; nil if it is unknown, or there are several. Nil stays nil while the live query
    /// lives.
    private var client: ClientID?

    /// Creates the entry of a first subscription, on `hub`.
    init(
        _ query: LiveQuery, _ route: ShardRoute, hub: Int, known: KnownResult?, reportsTimerRuns: Bool,
        client: ClientID? = nil, nextAnnouncement: UInt64
    ) {
        self.query = query
        self.client = client
        self.route = route
        self.reportsTimerRuns = reportsTimerRuns
        firstAnnouncement = nextAnnouncement
        reportAnnouncement = nextAnnouncement
        count(hub)
        guard let known else { return }
        held = .reported(known)
        if isUnordered(known) { freshAnnouncement = nextAnnouncement }
    }

    var isAwaiting: Bool { repeatAtMs != nil }
    var hasSubscriptions: Bool { subscriptionCount > 0 }
    /// The hubs with subscriptions, in order.
    var sortedHubs: [Int] { hubs.indices.filter { hubs[$0] > 0 } }
    var resultBytes: Int { if case .result(let result) = held { result.answer.byteCount } else { 0 } }

    // MARK: Subscriptions

    /// Adds a subscription.
    mutating func join(
        hub: Int, known: KnownResult?, client: ClientID? = nil, nextAnnouncement: UInt64
    ) -> Join {
        if client != self.client { self.client = nil }
        count(hub)
        lingerUntilMs = nil
        switch held {
        case .result(let result):
            guard let known else { return .immediate(.result(result)) }
            let unchanged = Delivery.unchanged(digest: result.digest, position: result.position)
            guard let seen = known.position, seen.isOrdered(with: result.position) else {
                return known.digest == result.digest ? .immediate(unchanged) : joinUnordered(known, nextAnnouncement)
            }
            guard seen > result.position else {
                return .immediate(known.digest == result.digest ? unchanged : .result(result))
            }
            // The client has seen a newer result than this gateway: request one from the owner rather than go
            // backwards. Only a run can provide it: an owner that has not yet read the newer result's cause would
            // confirm the held result. On a new route, messages are not comparable with the client's result and may be
            // older.
            if isUnordered(known) { return joinUnordered(known, nextAnnouncement) }
            if freshAnnouncement == nil { freshAnnouncement = nextAnnouncement }
            return .announce
        case .reported(let reported):
            // Nobody has confirmed the position of a client that reports a newer one.
            let isAhead = known?.position.map { $0.placement == route.version && isNewer($0, than: reported) } ?? false
            if !isAwaiting, !isAhead, reported.digest == known?.digest, let position = reported.position {
                return .immediate(.unchanged(digest: reported.digest, position: position))
            }
            if let known, isUnordered(known) { return joinUnordered(known, nextAnnouncement) }
            if reported.digest == known?.digest {
                return isAhead ? .announce : .awaitsAnswer(fencedUntil: reportAnnouncement)
            }
            // This subscription needs the body.
            held = .nothing
            return .announce
        case .nothing:
            if let known { return joinUnordered(known, nextAnnouncement) }
            return isAwaiting ? .awaitsAnswer(fencedUntil: .max) : .announce
        }
    }

    private func isNewer(_ position: Position, than reported: KnownResult) -> Bool {
        guard let known = reported.position, known.isOrdered(with: position) else { return true }
        return position > known
    }

    /// Adds a client whose result is not comparable with the held one. If it comes from this route, it is comparable
    /// with results in transit; otherwise only a run that starts from now on is certain to be newer.
    private mutating func joinUnordered(_ known: KnownResult, _ nextAnnouncement: UInt64) -> Join {
        guard isUnordered(known) else { return .announce }
        // The owner may confirm a reported result, and a confirmation has no body.
        if case .reported(let reported) = held, reported.digest != known.digest { held = .nothing }
        freshAnnouncement = nextAnnouncement
        return .announceUnordered
    }

    /// Whether positions of this route are not comparable with `known`.
    private func isUnordered(_ known: KnownResult) -> Bool { known.position?.placement != route.version }

    /// - Returns: whether none of the former subscriptions requested timer runs.
    mutating func requestTimerRuns() -> Bool {
        defer { reportsTimerRuns = true }
        return !reportsTimerRuns
    }

    /// Removes a subscription.
    /// - Returns: false if there was none on this hub.
    mutating func leave(hub: Int) -> Bool {
        guard hubs.indices.contains(hub), hubs[hub] > 0 else { return false }
        hubs[hub] -= 1
        subscriptionCount -= 1
        return true
    }

    private mutating func count(_ hub: Int) {
        while hubs.count <= hub { hubs.append(0) }
        hubs[hub] += 1
        subscriptionCount += 1
    }

    mutating func linger(untilMs: Int64) {
        lingerUntilMs = untilMs
        answerByMs = nil
    }

    /// Starts the time for an answer, unless an earlier subscriber waits already.
    mutating func expectAnswer(byMs: Int64) { answerByMs = answerByMs ?? byMs }
    /// Drops the reported result of a client that gets an error: the next answer must include the result.
    mutating func answerIsOverdue() {
        answerByMs = nil
        if case .reported = held { held = .nothing }
    }

    // MARK: Announcements

    /// Makes the next announcement require a run.
    mutating func requireRun(nextAnnouncement: UInt64) { freshAnnouncement = nextAnnouncement }

    /// Moves the live query to another route.
    mutating func move(to route: ShardRoute, nextAnnouncement: UInt64) {
        self.route = route
        firstAnnouncement = nextAnnouncement
        freshAnnouncement = nextAnnouncement
        retries = 0
    }

    /// Begins again after messages that are not comparable with those to come: nothing is held, and only a run answers
    /// the next announcement.
    mutating func restart(nextAnnouncement: UInt64) {
        held = .nothing
        firstAnnouncement = nextAnnouncement
        freshAnnouncement = nextAnnouncement
        retries = 0
        older = OlderMessages()
    }

    /// Handles that the owner of this epoch has said what the result is, or that there is none.
    mutating func confirmed(by epoch: UInt64) { if !isAwaiting { confirmedEpoch = epoch } }

    mutating func repeated() { retries += 1 }
    mutating func forgetRetries() { retries = 0 }

    /// - Returns: the message to the owner.
    mutating func announce(
        _ number: UInt64, by gateway: NodeID, _ settings: InterestMachine.Settings, nowMs: Int64
    ) -> ControlMessage {
        repeatAtMs = nowMs + max(1, settings.announceBackoff.delayMs(after: retries))
        confirmedEpoch = 0
        let announcement = AnnouncementID(
            number: number, requiresFreshRun: freshAnnouncement != nil, reportsTimerRuns: reportsTimerRuns,
            client: client)
        return .announce(gateway: gateway, query: query, known: knownToOwner, announcement: announcement)
    }

    /// The held result, without a position from another route, which would be meaningless to this owner.
    private var knownToOwner: KnownResult? {
        guard var known = held.known else { return nil }
        known.position = isUnordered(known) ? nil : known.position?.at(placement: 0)
        return known
    }

    // MARK: Messages of the owner

    /// Whether a message concerns this registration, rather than one on a former route or of a former entry.
    func isAddressed(by shard: ShardID, answering number: UInt64) -> Bool {
        route.shard == shard && number >= firstAnnouncement
    }

    mutating func arrived(_ result: LiveResult, answering number: UInt64, nowMs: Int64) -> Arrival {
        var result = result
        result.position.placement = route.version
        // A reported result does not fence, since a forged one would silence the live query for all; each session's own
        // position does.
        if case .result(let held) = held, held.position == result.position { return .outdated }
        if isOlder(result.position) { return refused(nowMs: nowMs) }
        answered(number, isRun: true)
        held = .result(result)
        return .deliver(.result(result))
    }

    /// Handles `unchanged`: the result that the owner assumes to be held here is still current.
    mutating func confirmed(
        _ digest: Digest, _ position: Position, answering number: UInt64, nowMs: Int64
    ) -> Arrival {
        guard let known = held.known, known.digest == digest else { return isAwaiting ? .awaitsAnswer : .announce }
        let position = position.at(placement: route.version)
        if isOlder(position) { return refused(nowMs: nowMs) }
        answered(number, isRun: true)
        switch held {
        case .result(var result):
            result.position = position
            held = .result(result)
            return .deliver(.result(result))
        case .reported, .nothing:
            held = .reported(KnownResult(digest: digest, position: position))
            return .deliver(.unchanged(digest: digest, position: position))
        }
    }

    /// Handles a timer run that found the held result.
    mutating func timerRunArrived(_ digest: Digest, _ position: Position, nowMs: Int64) -> Arrival {
        let position = position.at(placement: route.version)
        if isOlder(position) { return refused(nowMs: nowMs) }
        guard case .result(var result) = held, result.digest == digest else { return .outdated }
        older = OlderMessages()
        result.position = position
        held = .result(result)
        return .deliver(.unchangedTick(result))
    }

    mutating func failed(
        _ error: RequestError, _ position: Position, answering number: UInt64, nowMs: Int64
    ) -> Arrival {
        if isOlder(position.at(placement: route.version)) { return refused(nowMs: nowMs) }
        // A required run stays required: another owner must not answer with the result it holds.
        answered(number, isRun: false)
        // The owner forgot this gateway's result, so the next one includes its body. A reported result was not
        // confirmed, and a new subscriber must not get a result that may no longer be readable.
        switch held {
        case .reported: held = .nothing
        case .result where !error.code.isRetryable: held = .nothing
        case .result, .nothing: break
        }
        return .deliver(.failed(error))
    }

    /// Records that the held result is fresh at least up to `id`.
    mutating func settle(through id: StreamID) {
        switch held {
        case .nothing: break
        case .reported(var known):
            known.position = known.position?.through(id)
            held = .reported(known)
        case .result(var result):
            result.position = result.position.through(id)
            held = .result(result)
        }
    }

    private mutating func answered(_ number: UInt64, isRun: Bool) {
        older = OlderMessages()
        // A message sent before the announcement that requires a run does not answer it.
        if let freshAnnouncement, number < freshAnnouncement { return }
        repeatAtMs = nil
        answerByMs = nil
        retries = 0
        if isRun { freshAnnouncement = nil }
    }

    /// Refuses a message that is older than the held result.
    private mutating func refused(nowMs: Int64) -> Arrival { older.arrived(nowMs: nowMs) ? .restart : .outdated }

    /// Whether `position`, marked with this route, is older than the held result (fencing).
    private func isOlder(_ position: Position) -> Bool {
        guard case .result(let result) = held, result.position.isOrdered(with: position) else { return false }
        return position < result.position
    }
}
