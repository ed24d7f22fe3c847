import LiveModel

/// The waits of a gateway's sessions for what was committed before them, and the tickets that answer them.
///
/// A wait goes through three stages: its event must be in the shards' streams, the session's live queries must have
/// their first answers, and a ticket of each of their shards must come back. Waits of a shard share its tickets: one is
/// under way, and waits that begin meanwhile need the next one. A ticket that does not come back is appended again,
/// then also for those that began meanwhile.
///
/// A live query that awaits its owner's answer when the ticket comes back delays the wait until it has that: before, it
/// may show a result of a former owner.
struct WaitTable: Sendable {
    typealias WaitID = InterestMachine.WaitID

    private struct Wait: Sendable {
        enum Stage: Sendable { case event, answers, tickets }

        let hub: Int
        /// Bound: the subscriptions of a session.
        let keys: Set<LiveQueryKey>
        let beganAtMs: Int64
        let deadlineMs: Int64
        var stage = Stage.event
        /// The shards whose tickets it lacks.
        var shards: Set<ShardID> = []
        /// The live queries that owe an answer.
        var owing: Set<LiveQueryKey> = []

        var isOver: Bool { stage == .tickets && shards.isEmpty && owing.isEmpty }
    }

    /// The tickets of one shard.
    private struct Tickets: Sendable {
        /// The number of the last one appended.
        var last: UInt64
        var isUnderWay = false
        var repeatAtMs: Int64 = 0
        /// The number that answers each wait: that of the last ticket, or of the next one.
        var waits: [WaitID: UInt64] = [:]
    }

    /// A consequence, for the performer.
    enum Step: Sendable, Hashable {
        case appendTicket(ShardID, number: UInt64)
        case answer(hub: Int, WaitID, RequestError?, beganAtMs: Int64)
    }

    private let settings: InterestMachine.Settings
    /// Tickets of a former process of the same name have lower numbers, or higher ones than any that was appended.
    private let firstNumber: UInt64
    private var waits: [WaitID: Wait] = [:]
    private var lastID: WaitID = 0
    private var tickets: [ShardID: Tickets] = [:]
    /// The waits by the live queries that owe them an answer.
    private var byKey: [LiveQueryKey: Set<WaitID>] = [:]
    private var nextDeadlineMs = Int64.max

    init(_ settings: InterestMachine.Settings, firstNumber: UInt64) {
        self.settings = settings
        self.firstNumber = firstNumber
    }

    var count: Int { waits.count }
    /// Sizes of all that grows with waits, for tests.
    var heldCount: Int { waits.count + byKey.count + tickets.values.reduce(0) { $0 + $1.waits.count } }

    // MARK: Waits

    /// - Parameter keys: the live queries that the session follows.
    /// - Throws: `.limitExceeded`.
    mutating func began(hub: Int, keys: Set<LiveQueryKey>, nowMs: Int64) throws(RequestError) -> WaitID {
        guard waits.count < settings.waitsMax else {
            throw RequestError(.limitExceeded, "too many waits on this gateway")
        }
        lastID += 1
        let wait = Wait(hub: hub, keys: keys, beganAtMs: nowMs, deadlineMs: nowMs + settings.waitTimeoutMs)
        waits[lastID] = wait
        nextDeadlineMs = min(nextDeadlineMs, wait.deadlineMs)
        return lastID
    }

    /// The session ended, or no longer waits.
    mutating func ended(_ id: WaitID) {
        guard let wait = waits.removeValue(forKey: id) else { return }
        forget(id, wait)
    }

    /// Ends the wait with an error.
    mutating func failed(_ id: WaitID, _ error: RequestError) -> [Step] {
        guard let wait = waits[id] else { return [] }
        ended(id)
        return [.answer(hub: wait.hub, id, error, beganAtMs: wait.beganAtMs)]
    }

    /// The wait's event is in the streams of the shards that it concerns.
    /// - Parameters:
    ///   - shard: returns the shard of a live query; nil: it has ended.
    ///   - awaitsFirst: whether a live query has yet to get its first answer.
    mutating func appended(
        _ id: WaitID, shard: (LiveQueryKey) -> ShardID?, awaitsFirst: (LiveQueryKey) -> Bool, nowMs: Int64
    ) -> [Step] {
        guard let wait = waits[id], wait.stage == .event else { return [] }
        waits[id]?.stage = .answers
        // Before, the owner may not know that this gateway wants the ticket.
        owe(id, wait.keys.filter(awaitsFirst))
        return waits[id]?.owing.isEmpty == true ? requestTickets(id, shard: shard, nowMs: nowMs) : []
    }

    private mutating func requestTickets(
        _ id: WaitID, shard: (LiveQueryKey) -> ShardID?, nowMs: Int64
    ) -> [Step] {
        guard let wait = waits[id] else { return [] }
        let shards = Set(wait.keys.compactMap(shard))
        waits[id]?.stage = .tickets
        waits[id]?.shards = shards
        if shards.isEmpty { return answerIfOver(id) }
        return shards.sorted().flatMap { join($0, id, nowMs: nowMs) }
    }

    /// Live queries have moved to other shards, whose tickets waits need now.
    mutating func moved(shard: (LiveQueryKey) -> ShardID?, nowMs: Int64) -> [Step] {
        let concerned = waits.filter { $0.value.stage == .tickets }.keys.sorted()
        for id in concerned { leaveTickets(id) }
        return concerned.flatMap { requestTickets($0, shard: shard, nowMs: nowMs) }
    }

    // MARK: Tickets

    private mutating func join(_ shard: ShardID, _ id: WaitID, nowMs: Int64) -> [Step] {
        var shared = tickets[shard] ?? Tickets(last: firstNumber)
        shared.waits[id] = shared.last + 1
        tickets[shard] = shared
        return shared.isUnderWay ? [] : append(shard, nowMs: nowMs)
    }

    /// Appends the next ticket; it answers every wait so far.
    private mutating func append(_ shard: ShardID, nowMs: Int64) -> [Step] {
        guard var shared = tickets[shard], !shared.waits.isEmpty else {
            tickets[shard]?.isUnderWay = false
            return []
        }
        shared.last += 1
        (shared.isUnderWay, shared.repeatAtMs) = (true, nowMs + settings.ticketRepeatMs)
        tickets[shard] = shared
        return [.appendTicket(shard, number: shared.last)]
    }

    /// A ticket came back, after the results before it.
    /// - Parameter owes: whether what the gateway holds of a live query may be from before the ticket's owner.
    mutating func arrived(
        _ shard: ShardID, _ number: UInt64, owes: (LiveQueryKey) -> Bool, nowMs: Int64
    ) -> [Step] {
        guard let shared = tickets[shard], number > firstNumber, number <= shared.last else { return [] }
        var steps: [Step] = []
        for id in shared.waits.filter({ $0.value <= number }).keys.sorted() {
            tickets[shard]?.waits[id] = nil
            guard let wait = waits[id] else { continue }
            waits[id]?.shards.remove(shard)
            owe(id, wait.keys.filter(owes))
            steps += answerIfOver(id)
        }
        return number == shared.last ? steps + append(shard, nowMs: nowMs) : steps
    }

    private mutating func leaveTickets(_ id: WaitID) {
        for shard in waits[id]?.shards ?? [] { tickets[shard]?.waits[id] = nil }
    }

    // MARK: Live queries

    /// Whether a wait waits for an answer to the live query.
    func awaits(_ key: LiveQueryKey) -> Bool { byKey[key] != nil }

    /// A live query owes nothing any more.
    mutating func answered(
        _ key: LiveQueryKey, shard: (LiveQueryKey) -> ShardID?, nowMs: Int64
    ) -> [Step] {
        var steps: [Step] = []
        for id in (byKey.removeValue(forKey: key) ?? []).sorted() {
            waits[id]?.owing.remove(key)
            guard let wait = waits[id], wait.owing.isEmpty else { continue }
            steps += wait.stage == .answers ? requestTickets(id, shard: shard, nowMs: nowMs) : answerIfOver(id)
        }
        return steps
    }

    private mutating func owe(_ id: WaitID, _ keys: Set<LiveQueryKey>) {
        waits[id]?.owing.formUnion(keys)
        for key in keys { byKey[key, default: []].insert(id) }
    }

    private mutating func answerIfOver(_ id: WaitID) -> [Step] {
        guard let wait = waits[id], wait.isOver else { return [] }
        ended(id)
        return [.answer(hub: wait.hub, id, nil, beganAtMs: wait.beganAtMs)]
    }

    private mutating func forget(_ id: WaitID, _ wait: Wait) {
        for shard in wait.shards { tickets[shard]?.waits[id] = nil }
        for key in wait.owing {
            byKey[key]?.remove(id)
            if byKey[key]?.isEmpty == true { byKey[key] = nil }
        }
    }

    // MARK: Time

    mutating func timeReached(nowMs: Int64) -> [Step] {
        var steps: [Step] = []
        if nextDeadlineMs <= nowMs {
            for id in waits.filter({ $0.value.deadlineMs <= nowMs }).keys.sorted() {
                steps += failed(id, RequestError(.timeout, "what was committed has not arrived in time"))
            }
            nextDeadlineMs = waits.values.map(\.deadlineMs).min() ?? .max
        }
        for shard in tickets.filter({ $0.value.isUnderWay && $0.value.repeatAtMs <= nowMs }).keys.sorted() {
            steps += append(shard, nowMs: nowMs)
        }
        return steps
    }

    /// The gateway leaves: nothing is answered any more.
    mutating func removeAll() {
        (waits, byKey) = ([:], [:])
        for shard in tickets.keys { tickets[shard]?.waits = [:] }
    }
}
