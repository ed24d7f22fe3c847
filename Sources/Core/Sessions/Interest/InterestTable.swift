import HeapModule
import LiveModel

/// The live queries of a gateway, with derived data: totals, the interest in each shard, and deadlines.
///
/// The derived data is updated with every change, so that neither a tick nor reading the totals iterates over all
/// entries while event loops wait for the same lock. Key parameters must be in the table unless a method says
/// otherwise.
struct InterestTable: Sendable {
    struct Totals: Sendable {
        var subscriptions = 0
        /// Live queries whose last announcement is unanswered.
        var awaiting = 0
        /// The bytes of the held results.
        var resultBytes = 0
    }

    private struct Deadline: Comparable, Sendable {
        let atMs: Int64
        let key: LiveQueryKey

        /// Orders equal times by key, so that the same facts lead to the same actions in every process.
        static func < (left: Self, right: Self) -> Bool {
            (left.atMs, left.key.digest.prefix) < (right.atMs, right.key.digest.prefix)
        }
    }

    /// The number of outdated deadlines to tolerate beyond three for each live query.
    private static let leftoversMax = 1_024

    private(set) var entries: [LiveQueryKey: InterestEntry] = [:]
    private(set) var shards: [ShardID: ShardInterest] = [:]
    private var deadlines = Heap<Deadline>()
    /// The ends of live queries without subscriptions, some of them outdated; bounded like `deadlines`.
    private var lingering = Heap<Deadline>()
    private(set) var totals = Totals()
    /// The shards with a marker that waits for answers. Bound: the shards.
    private var pendingMarkers: Set<ShardID> = []
    /// The markers that need not wait any longer, until they are taken out. Bound: one for each shard.
    private var countingMarkers: [InterestMachine.ArrivedMarker] = []
    var waits: WaitTable
    /// The live queries that waits need not wait for any longer, until they are taken out.
    var answeredKeys: [LiveQueryKey] = []

    init(waits: WaitTable) { self.waits = waits }

    var count: Int { entries.count }

    /// Returns nil if there is no such live query.
    subscript(key: LiveQueryKey) -> InterestEntry? { entries[key] }

    // MARK: Live queries

    mutating func insert(_ entry: InterestEntry) {
        let key = entry.query.key
        guard entries.updateValue(entry, forKey: key) == nil else {
            preconditionFailure("live query \(key) is held already: \(count) live queries")
        }
        shards[entry.route.shard, default: ShardInterest()].insert(key)
        let derived = Derived(entry)
        count(derived, 1)
        shards[derived.shard]?.confirmed(key, by: derived.confirmation)
        setDeadlines(of: key, derived.deadlines, before: (nil, nil, nil))
    }

    /// - Returns: the removed entry.
    mutating func remove(_ key: LiveQueryKey) -> InterestEntry {
        guard let entry = entries.removeValue(forKey: key) else { missing(key) }
        shards[entry.route.shard, default: ShardInterest()].remove(key)
        let derived = Derived(entry)
        count(derived, -1)
        awaitsNoMore(key, of: derived.shard)
        noteWaited(key)
        return entry
    }

    /// Changes a live query in place.
    mutating func update<Result>(_ key: LiveQueryKey, _ change: (inout InterestEntry) -> Result) -> Result {
        guard let place = entries.index(forKey: key) else { missing(key) }
        // One access to the stored entry: reading it outside would copy it.
        let (before, result, after) = Self.changing(&entries.values[place], change)
        count(before, -1)
        count(after, 1)
        if after.confirmedEpoch > before.confirmedEpoch || after.shard != before.shard {
            awaitsNoMore(key, of: before.shard)
        }
        if after.shard != before.shard {
            shards[before.shard, default: ShardInterest()].remove(key)
            shards[after.shard, default: ShardInterest()].insert(key)
        }
        if after.confirmation != before.confirmation || after.shard != before.shard {
            shards[after.shard]?.confirmed(key, by: after.confirmation)
        }
        setDeadlines(of: key, after.deadlines, before: before.deadlines)
        noteWaited(key)
        return result
    }

    private static func changing<Result>(
        _ entry: inout InterestEntry, _ change: (inout InterestEntry) -> Result
    ) -> (before: Derived, result: Result, after: Derived) {
        let before = Derived(entry)
        let result = change(&entry)
        return (before, result, Derived(entry))
    }

    mutating func removeAll() {
        entries = [:]
        (deadlines, lingering, totals) = (Heap(), Heap(), Totals())
        (pendingMarkers, countingMarkers, answeredKeys) = ([], [], [])
        waits.removeAll()
        for shard in shards.keys { shards[shard]?.leave() }
    }

    /// Returns the keys of the entries that satisfy `isWanted`, in a fixed order. Linear.
    func keys(where isWanted: (InterestEntry) -> Bool = { _ in true }) -> [LiveQueryKey] {
        entries.filter { isWanted($0.value) }.keys.sorted { $0.digest.prefix < $1.digest.prefix }
    }

    private mutating func count(_ derived: Derived, _ sign: Int) {
        totals.subscriptions += sign * derived.subscriptionCount
        if derived.isAwaiting { totals.awaiting += sign }
        totals.resultBytes += sign * derived.resultBytes
    }

    private func missing(_ key: LiveQueryKey) -> Never {
        preconditionFailure("no live query \(key): \(count) are held")
    }

    // MARK: Shards

    /// The shards that get summaries, in order.
    var summarizedShards: [(shard: ShardID, interest: ShardInterest)] {
        shards.filter { $0.value.getsSummaries }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Marks the shard as getting summaries, even if nothing of it is held.
    mutating func sendSummaries(to shard: ShardID) { shards[shard, default: ShardInterest()].sendSummaries() }

    /// Changes what is known of a shard's owner.
    mutating func updateOwner<Result>(of shard: ShardID, _ change: (inout OwnerEpoch) -> Result) -> Result {
        change(&shards[shard, default: ShardInterest()].owner)
    }

    /// The shards about whose owners the database must be asked now, in order.
    func shardsInDoubt(nowMs: Int64) -> [ShardID] {
        shards.filter { $0.value.owner.mustAsk(nowMs: nowMs) }.keys.sorted()
    }

    /// Returns the live queries of a shard, in a fixed order.
    func keys(of shard: ShardID) -> [LiveQueryKey] {
        (shards[shard]?.keys ?? []).sorted { $0.digest.prefix < $1.digest.prefix }
    }

    /// Applies `InboxMessage.settled`: advances positions if the results held here match `held`. A live query that
    /// awaits an answer may be registered differently at the owner, so neither side counts it.
    mutating func settle(
        _ shard: ShardID, through: StreamID, except: Set<LiveQueryKey>, held: HeldFingerprint
    ) {
        var found = HeldFingerprint()
        var settled: [LiveQueryKey] = []
        for key in shards[shard]?.keys ?? [] where !except.contains(key) {
            guard let entry = entries[key] else { missing(key) }
            guard !entry.isAwaiting, let known = entry.held.known else { continue }
            found.insert(key, known.digest)
            settled.append(key)
        }
        guard found == held else { return }
        for key in settled {
            guard let place = entries.index(forKey: key) else { missing(key) }
            entries.values[place].settle(through: through)
        }
        shards[shard, default: ShardInterest()].settled(through: through)
    }

    // MARK: Markers

    /// Handles a marker of a shard's owner. If it counts at once, it is among those that `takeMarkers` returns next.
    mutating func markerArrived(_ marker: LagMarker, of shard: ShardID, epoch: UInt64, nowMs: Int64) {
        guard let place = shards.index(forKey: shard), !shards.values[place].keys.isEmpty else { return }
        ownerPassed(shard, epoch: epoch)
        let awaiting = shards.values[place].unconfirmed
        if shards.values[place].lag.arrived(marker, awaiting: awaiting, nowMs: nowMs) {
            countingMarkers.append(.init(shard: shard, marker: marker, arrivedAtMs: nowMs))
        } else {
            pendingMarkers.insert(shard)
        }
    }

    /// Handles that an owner passed on a marker or a ticket.
    mutating func ownerPassed(_ shard: ShardID, epoch: UInt64) {
        guard let place = shards.index(forKey: shard) else { return }
        shards.values[place].markerArrived(from: epoch) { [entries] keys in
            keys.filter { key in entries[key].flatMap { Derived($0).confirmation }.map { $0 < epoch } ?? false }
        }
    }

    private mutating func awaitsNoMore(_ key: LiveQueryKey, of shard: ShardID) {
        guard pendingMarkers.contains(shard) else { return }
        if let (marker, arrivedAtMs) = shards[shard, default: ShardInterest()].lag.answered(key) {
            countingMarkers.append(.init(shard: shard, marker: marker, arrivedAtMs: arrivedAtMs))
        }
        if shards[shard]?.lag.isPending != true { pendingMarkers.remove(shard) }
    }

    /// Removes and returns the markers that count now.
    mutating func takeMarkers() -> [InterestMachine.ArrivedMarker] {
        if countingMarkers.isEmpty { return [] }
        defer { countingMarkers = [] }
        return countingMarkers
    }

    /// Drops the markers that wait, because messages before them may have been lost.
    mutating func dropMarkers() {
        for shard in pendingMarkers { shards[shard]?.lag.dropPending() }
        (pendingMarkers, countingMarkers) = ([], [])
    }

    /// Records that a marker was taken by every event loop, after what arrived before it.
    mutating func took(_ arrived: InterestMachine.ArrivedMarker, nowMs: Int64) {
        shards[arrived.shard]?.lag.took(arrived.marker, arrivedAtMs: arrived.arrivedAtMs, nowMs: nowMs)
    }

    mutating func follow(_ shard: ShardID, nowMs: Int64) {
        shards[shard, default: ShardInterest()].lag.followed(nowMs: nowMs)
    }

    // MARK: Deadlines

    /// Removes and returns the next live query with a deadline that has passed; nil if there is none.
    mutating func takeDue(nowMs: Int64) -> LiveQueryKey? {
        while let first = deadlines.min, first.atMs <= nowMs {
            deadlines.removeMin()
            if holds(first) { return first.key }
        }
        return nil
    }

    /// Returns the live query without subscriptions that would end first; nil if all have subscriptions.
    mutating func takeLingering() -> LiveQueryKey? {
        while let first = lingering.popMin() {
            if entries[first.key]?.lingerUntilMs == first.atMs { return first.key }
        }
        return nil
    }

    /// Whether a deadline is still current and its live query still exists.
    private func holds(_ deadline: Deadline) -> Bool {
        guard let entry = entries[deadline.key] else { return false }
        return entry.lingerUntilMs == deadline.atMs || entry.repeatAtMs == deadline.atMs
            || entry.answerByMs == deadline.atMs
    }

    private typealias Deadlines = (lingerUntilMs: Int64?, repeatAtMs: Int64?, answerByMs: Int64?)

    /// The part of an entry from which the other tables are derived.
    private struct Derived {
        let shard: ShardID
        let subscriptionCount: Int
        let isAwaiting: Bool
        let confirmedEpoch: UInt64
        /// The owner that confirmed or replaced the held result; nil: none is held, so that nobody sees an old one.
        let confirmation: UInt64?
        let resultBytes: Int
        let deadlines: Deadlines

        init(_ entry: borrowing InterestEntry) {
            shard = entry.route.shard
            subscriptionCount = entry.subscriptionCount
            isAwaiting = entry.isAwaiting
            confirmedEpoch = entry.confirmedEpoch
            confirmation = entry.held.known == nil ? nil : entry.confirmedEpoch
            resultBytes = entry.resultBytes
            deadlines = (entry.lingerUntilMs, entry.repeatAtMs, entry.answerByMs)
        }
    }

    private mutating func setDeadlines(of key: LiveQueryKey, _ after: Deadlines, before: Deadlines) {
        if let atMs = after.lingerUntilMs, atMs != before.lingerUntilMs {
            wait(until: atMs, key)
            if lingering.count > entries.count + Self.leftoversMax {
                lingering = Heap(lingering.unordered.filter { entries[$0.key]?.lingerUntilMs == $0.atMs })
            }
            lingering.insert(Deadline(atMs: atMs, key: key))
        }
        if let atMs = after.repeatAtMs, atMs != before.repeatAtMs { wait(until: atMs, key) }
        if let atMs = after.answerByMs, atMs != before.answerByMs { wait(until: atMs, key) }
    }

    private mutating func wait(until atMs: Int64, _ key: LiveQueryKey) {
        if deadlines.count > 3 * entries.count + Self.leftoversMax {
            deadlines = Heap(deadlines.unordered.filter { holds($0) })
        }
        deadlines.insert(Deadline(atMs: atMs, key: key))
    }
}
