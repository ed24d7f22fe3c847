import LiveModel
import Pacing

/// One live query of a gateway: its subscriptions here, the result that is held, and the last announcement to its
/// owner.
struct InterestEntry: Sendable {
    typealias Delivery = InterestMachine.Delivery

    enum Held: Sendable {
        case nothing
        /// A client came back with this; the body is with the client alone.
        case claim(KnownResult)
        case result(LiveResult)

        var known: KnownResult? {
            switch self {
            case .nothing: nil
            case .claim(let known): known
            case .result(let result): KnownResult(digest: result.digest, position: result.position)
            }
        }
    }

    /// What a new subscription leads to.
    enum Join {
        case immediate(Delivery)
        /// The answer to the announcement under way will do.
        case awaitsAnswer
        case announce
        /// Announce, too; but only what answers that announcement or a later one is for this subscription.
        case announceUnordered
    }

    /// What a message of the owner leads to.
    enum Arrival {
        /// It is older than what is held.
        case outdated
        case deliver(Delivery)
        /// The owner believes that something else is held here; an announcement corrects it.
        case announce
        /// It believes so, but an announcement is under way already.
        case awaitsAnswer
    }

    let query: LiveQuery
    private(set) var route: ShardRoute
    /// Subscriptions per hub; hubs without any are absent.
    private var hubs: [Int: Int] = [:]
    private(set) var held = Held.nothing
    /// When the last announcement is repeated; nil once the owner has answered it.
    private(set) var repeatAtMs: Int64?
    private var retries = 0
    /// When the live query ends if nobody subscribes until then.
    private(set) var lingerUntilMs: Int64?
    /// The first announcement on this route. Answers to earlier ones come from another registration.
    private var firstAnnouncement: UInt64
    /// The first announcement that only a later run can answer; nil once one has.
    private var freshAnnouncement: UInt64?
    /// A session here hears of every timer run. Stays while the live query lives: it costs little.
    private(set) var reportsTimerRuns: Bool

    /// A first subscription, on `hub`.
    init(
        _ query: LiveQuery, _ route: ShardRoute, hub: Int, known: KnownResult?, reportsTimerRuns: Bool,
        nextAnnouncement: UInt64
    ) {
        self.query = query
        self.route = route
        self.reportsTimerRuns = reportsTimerRuns
        hubs = [hub: 1]
        firstAnnouncement = nextAnnouncement
        guard let known else { return }
        held = .claim(known)
        if isUnordered(known) { freshAnnouncement = nextAnnouncement }
    }

    var isAwaiting: Bool { repeatAtMs != nil }
    var hasSubscriptions: Bool { !hubs.isEmpty }
    var subscriptionCount: Int { hubs.values.reduce(0, +) }
    var sortedHubs: [Int] { hubs.keys.sorted() }
    var resultBytes: Int { if case .result(let result) = held { result.answer.byteCount } else { 0 } }

    // MARK: Subscriptions

    /// One more subscription.
    mutating func join(hub: Int, known: KnownResult?, nextAnnouncement: UInt64) -> Join {
        hubs[hub, default: 0] += 1
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
            // The client has seen a newer result than this gateway: ask the owner rather than go backwards. Only a run
            // can tell: an owner that has not yet read the newer result's cause would confirm what is held here. On a
            // new route, what arrives has no order with what the client saw, and may be older.
            if isUnordered(known) { return joinUnordered(known, nextAnnouncement) }
            if freshAnnouncement == nil { freshAnnouncement = nextAnnouncement }
            return .announce
        case .claim(let claim):
            if !isAwaiting, claim.digest == known?.digest, let position = claim.position {
                return .immediate(.unchanged(digest: claim.digest, position: position))
            }
            if let known, isUnordered(known) { return joinUnordered(known, nextAnnouncement) }
            if claim.digest == known?.digest { return .awaitsAnswer }
            // This subscription needs the body.
            held = .nothing
            return .announce
        case .nothing:
            if let known { return joinUnordered(known, nextAnnouncement) }
            return isAwaiting ? .awaitsAnswer : .announce
        }
    }

    /// A client joins whose result has no order with what is held. If it comes from this route, it has an order with
    /// what is on its way; otherwise only a run that starts from now on is certain to be newer.
    private mutating func joinUnordered(_ known: KnownResult, _ nextAnnouncement: UInt64) -> Join {
        guard isUnordered(known) else { return isAwaiting ? .awaitsAnswer : .announce }
        // The owner may confirm a claim, which brings no body.
        if case .claim(let claim) = held, claim.digest != known.digest { held = .nothing }
        freshAnnouncement = nextAnnouncement
        return .announceUnordered
    }

    /// Whether positions of this route say nothing about `known`.
    private func isUnordered(_ known: KnownResult) -> Bool { known.position?.placement != route.version }

    /// - Returns: true if none of the former subscriptions wanted that.
    mutating func requestTimerRuns() -> Bool {
        defer { reportsTimerRuns = true }
        return !reportsTimerRuns
    }

    /// One subscription less.
    /// - Returns: false if there was none on this hub.
    mutating func leave(hub: Int) -> Bool {
        guard let count = hubs[hub] else { return false }
        hubs[hub] = count > 1 ? count - 1 : nil
        return true
    }

    mutating func linger(untilMs: Int64) { lingerUntilMs = untilMs }

    // MARK: Announcements

    /// Only a run answers the next announcement.
    mutating func requireRun(nextAnnouncement: UInt64) { freshAnnouncement = nextAnnouncement }

    /// Operators changed where the live query belongs.
    mutating func move(to route: ShardRoute, nextAnnouncement: UInt64) {
        self.route = route
        firstAnnouncement = nextAnnouncement
        freshAnnouncement = nextAnnouncement
        retries = 0
    }

    mutating func repeated() { retries += 1 }
    mutating func forgetRetries() { retries = 0 }

    /// - Returns: what to tell the owner.
    mutating func announce(
        _ number: UInt64, by gateway: NodeID, _ settings: InterestMachine.Settings, nowMs: Int64
    ) -> ControlMessage {
        repeatAtMs = nowMs + max(1, settings.announceBackoff.delayMs(after: retries))
        let announcement = AnnouncementID(
            number: number, requiresFreshRun: freshAnnouncement != nil, reportsTimerRuns: reportsTimerRuns)
        return .announce(gateway: gateway, query: query, known: knownToOwner, announcement: announcement)
    }

    /// What is held, without positions of another route: they mean nothing to this owner.
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

    mutating func arrived(_ result: LiveResult, answering number: UInt64) -> Arrival {
        var result = result
        result.position.placement = route.version
        // A client's claim does not fence, or a forged one would silence the live query for everybody; each session's
        // own position does.
        if case .result(let held) = held, held.position == result.position || isOlder(result.position) {
            return .outdated
        }
        answered(number, isRun: true)
        held = .result(result)
        return .deliver(.result(result))
    }

    /// What the owner believes to be held here is still the result.
    mutating func confirmed(_ digest: Digest, _ position: Position, answering number: UInt64) -> Arrival {
        guard let known = held.known, known.digest == digest else { return isAwaiting ? .awaitsAnswer : .announce }
        let position = position.at(placement: route.version)
        if isOlder(position) { return .outdated }
        answered(number, isRun: true)
        switch held {
        case .result(var result):
            result.position = position
            held = .result(result)
            return .deliver(.result(result))
        case .claim, .nothing:
            held = .claim(KnownResult(digest: digest, position: position))
            return .deliver(.unchanged(digest: digest, position: position))
        }
    }

    /// A timer run found the result that is held here.
    mutating func timerRunArrived(_ digest: Digest, _ position: Position) -> Arrival {
        let position = position.at(placement: route.version)
        guard case .result(var result) = held, result.digest == digest, !isOlder(position) else { return .outdated }
        result.position = position
        held = .result(result)
        return .deliver(.unchangedTick(result))
    }

    mutating func failed(_ error: RequestError, _ position: Position, answering number: UInt64) -> Arrival {
        if isOlder(position.at(placement: route.version)) { return .outdated }
        // A run that is still wanted stays wanted: another owner must not answer from what it finds.
        answered(number, isRun: false)
        // The owner forgot what this gateway holds, so the next result brings its body. What a client claimed was not
        // confirmed, and a new subscriber must not get what cannot be read any more.
        switch held {
        case .claim: held = .nothing
        case .result where !error.code.isRetryable: held = .nothing
        case .result, .nothing: break
        }
        return .deliver(.failed(error))
    }

    /// What is held is fresh up to `id` at least.
    mutating func settle(through id: StreamID) {
        switch held {
        case .nothing: break
        case .claim(var known):
            known.position = known.position?.through(id)
            held = .claim(known)
        case .result(var result):
            result.position = result.position.through(id)
            held = .result(result)
        }
    }

    private mutating func answered(_ number: UInt64, isRun: Bool) {
        // What was on its way before the announcement that requires a run does not answer it.
        if let freshAnnouncement, number < freshAnnouncement { return }
        repeatAtMs = nil
        retries = 0
        if isRun { freshAnnouncement = nil }
    }

    /// Whether `position`, stamped with this route, is older than the result that is held (fencing).
    private func isOlder(_ position: Position) -> Bool {
        guard case .result(let result) = held, result.position.isOrdered(with: position) else { return false }
        return position < result.position
    }
}
