import HeapModule
import LiveModel

/// The live queries of a gateway, what they add up to, and which of them waits for a time.
///
/// Sums and deadlines are kept with every change, so that neither a tick nor a look at the numbers walks them all:
/// the event loops wait for the same lock.
struct InterestTable: Sendable {
    struct Totals: Sendable {
        var subscriptions = 0
        /// Live queries whose last announcement has no answer yet.
        var awaiting = 0
        /// Bytes of the results kept.
        var resultBytes = 0
    }

    private struct Deadline: Comparable, Sendable {
        let atMs: Int64
        let key: LiveQueryKey

        /// In an order of their own: the same facts lead to the same actions in every process.
        static func < (left: Self, right: Self) -> Bool {
            (left.atMs, left.key.digest.prefix) < (right.atMs, right.key.digest.prefix)
        }
    }

    /// Deadlines that lost their meaning, above two for each live query.
    private static let leftoversMax = 1_024

    private var entries: [LiveQueryKey: InterestEntry] = [:]
    private var keysOfShards: [ShardID: Set<LiveQueryKey>] = [:]
    private var deadlines = Heap<Deadline>()
    private(set) var totals = Totals()

    var count: Int { entries.count }

    subscript(key: LiveQueryKey) -> InterestEntry? {
        get { entries[key] }
        _modify {
            // No copy of the entry is kept: it would be the second owner of its dictionary while that changes.
            let (lingerUntilMs, repeatAtMs) = (entries[key]?.lingerUntilMs, entries[key]?.repeatAtMs)
            let shard = entries[key]?.place.shard
            count(entries[key], -1)
            defer {
                count(entries[key], 1)
                if entries[key]?.place.shard != shard { moved(key, from: shard, to: entries[key]?.place.shard) }
                if let atMs = entries[key]?.lingerUntilMs, atMs != lingerUntilMs { wait(until: atMs, key) }
                if let atMs = entries[key]?.repeatAtMs, atMs != repeatAtMs { wait(until: atMs, key) }
            }
            yield &entries[key]
        }
    }

    /// Those that `isWanted`, in an order of their own. Linear.
    func keys(where isWanted: (InterestEntry) -> Bool = { _ in true }) -> [LiveQueryKey] {
        entries.filter { isWanted($0.value) }.keys.sorted { $0.digest.prefix < $1.digest.prefix }
    }

    /// Those that belong to a shard, in the same order.
    func keys(of shard: ShardID) -> [LiveQueryKey] {
        (keysOfShards[shard] ?? []).sorted { $0.digest.prefix < $1.digest.prefix }
    }

    private mutating func moved(_ key: LiveQueryKey, from former: ShardID?, to shard: ShardID?) {
        if let former, keysOfShards[former]?.remove(key) != nil, keysOfShards[former]?.isEmpty == true {
            keysOfShards[former] = nil
        }
        if let shard { keysOfShards[shard, default: []].insert(key) }
    }

    /// `InboxMessage.settled`: positions move on if what is held here is what `held` stands for. What still waits for an
    /// answer is not known to be registered as it is here, and counts on neither side.
    /// - Returns: whether they did.
    mutating func settle(
        _ shard: ShardID, through: StreamID, except: Set<LiveQueryKey>, held: HeldFingerprint
    ) -> Bool {
        var found = HeldFingerprint()
        var settled: [LiveQueryKey] = []
        for key in keysOfShards[shard] ?? [] where !except.contains(key) {
            guard let entry = entries[key], !entry.isAwaiting, let known = entry.held.known else { continue }
            found.insert(key, known.digest)
            settled.append(key)
        }
        guard found == held else { return false }
        for key in settled { entries[key]?.held.settle(through: through) }
        return true
    }

    /// The next live query of which a deadline is over; nil when there is none. A deadline that was moved since is
    /// none.
    mutating func takeDue(nowMs: Int64) -> LiveQueryKey? {
        while let first = deadlines.min, first.atMs <= nowMs {
            deadlines.removeMin()
            if holds(first) { return first.key }
        }
        return nil
    }

    private func holds(_ deadline: Deadline) -> Bool {
        guard let entry = entries[deadline.key] else { return false }
        return entry.lingerUntilMs == deadline.atMs || entry.repeatAtMs == deadline.atMs
    }

    private mutating func wait(until atMs: Int64, _ key: LiveQueryKey) {
        if deadlines.count > 2 * entries.count + Self.leftoversMax {
            deadlines = Heap(deadlines.unordered.filter { holds($0) })
        }
        deadlines.insert(Deadline(atMs: atMs, key: key))
    }

    private mutating func count(_ entry: InterestEntry?, _ sign: Int) {
        guard let entry else { return }
        totals.subscriptions += sign * entry.hubs.values.reduce(0, +)
        if entry.repeatAtMs != nil { totals.awaiting += sign }
        if case .result(let result) = entry.held {
            totals.resultBytes += sign * result.answer.byteCount
        }
    }
}
