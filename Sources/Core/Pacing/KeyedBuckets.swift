/// Token buckets by key, such as the addresses of peers. Time is an argument.
///
/// A bucket may go into debt by up to one burst, for input that had arrived already. Waiters get different times, so
/// that they do not return together.
///
/// Not made of `TokenBucket`s, because each of many would carry the rate that all keys share.
///
/// Bounded by `countMax`. Buckets that are full again are dropped when there are twice as many as after the last time;
/// where that makes no room, those that are nearest to it go, so a key with many events keeps its bucket.
package struct KeyedBuckets<Key: Hashable & Sendable>: Sendable {
    private struct Bucket: Sendable {
        /// Thousandths of a token, of which each millisecond adds `perSecond`. Negative: the bucket owes.
        var credit: Int64
        var filledMs: Int64
        /// The time that was given to the last one who waits.
        var slotMs: Int64 = .min / 2
    }

    private static var unit: Int64 { 1_000 }
    private static var sweepMin: Int { 1_024 }

    private let perSecond: Int64
    private let creditMax: Int64
    private let spreadMs: Int64
    private let countMax: Int
    private var buckets: [Key: Bucket] = [:]
    private var sweepCount = Self.sweepMin

    /// - Parameters:
    ///   - perSecond: the tokens that a bucket gains per second; at least 1.
    ///   - burst: the tokens that it holds, and those that it may owe.
    ///   - spreadMs: the period over which those who wait are spread.
    package init(perSecond: Int, burst: Int, spreadMs: Int64 = 1_000, countMax: Int = 65_536) {
        self.perSecond = Int64(min(1_000_000, max(1, perSecond)))
        creditMax = Int64(min(1_000_000_000, max(1, burst))) * Self.unit
        self.spreadMs = max(1, spreadMs)
        self.countMax = max(1, countMax)
    }

    package var count: Int { buckets.count }

    /// Takes tokens.
    /// - Returns: how many, from 0 to `wanted`.
    package mutating func take(upTo wanted: Int, of key: Key, nowMs: Int64) -> Int {
        change(key, nowMs: nowMs) { bucket in
            let count = min(Int64(max(0, wanted)), max(0, bucket.credit / Self.unit))
            bucket.credit -= count * Self.unit
            return Int(count)
        }
    }

    /// Charges a token that is not there.
    /// - Returns: the time until the debt is paid.
    package mutating func owe(_ key: Key, nowMs: Int64) -> Int64 {
        let (perSecond, creditMin) = (perSecond, -creditMax)
        return change(key, nowMs: nowMs) { bucket in
            bucket.credit = max(creditMin, bucket.credit - Self.unit)
            return max(1, (-bucket.credit + perSecond - 1) / perSecond)
        }
    }

    /// Gives tokens back that were taken and not used.
    package mutating func putBack(_ count: Int, to key: Key) {
        guard let index = buckets.index(forKey: key) else { return }
        buckets.values[index].credit = min(creditMax, buckets.values[index].credit + Int64(count) * Self.unit)
    }

    /// Takes a token, for a peer that begins or goes on.
    /// - Returns: 0 if there was one, else the time after which to ask again.
    package mutating func begin(_ key: Key, nowMs: Int64) -> Int64 {
        let (perSecond, spreadMs) = (perSecond, spreadMs)
        return change(key, nowMs: nowMs) { bucket in
            guard bucket.credit < Self.unit else {
                bucket.credit -= Self.unit
                return 0
            }
            let paidMs = nowMs + max(1, (Self.unit - bucket.credit + perSecond - 1) / perSecond)
            let nextMs = max(paidMs, bucket.slotMs + max(1, Self.unit / perSecond))
            bucket.slotMs = nextMs < paidMs + spreadMs ? nextMs : paidMs
            return bucket.slotMs - nowMs
        }
    }

    private mutating func change<Result>(_ key: Key, nowMs: Int64, _ body: (inout Bucket) -> Result) -> Result {
        if let index = buckets.index(forKey: key) {
            Self.fill(&buckets.values[index], perSecond, creditMax, nowMs: nowMs)
            return body(&buckets.values[index])
        }
        if buckets.count >= min(sweepCount, countMax) { sweep(nowMs: nowMs) }
        var bucket = Bucket(credit: creditMax, filledMs: nowMs)
        defer { buckets[key] = bucket }
        return body(&bucket)
    }

    // Static: a copy of `self` would make the dictionary be copied, too.
    private static func fill(_ bucket: inout Bucket, _ perSecond: Int64, _ creditMax: Int64, nowMs: Int64) {
        guard nowMs > bucket.filledMs else { return }
        let elapsedMs = nowMs - bucket.filledMs
        bucket.filledMs = nowMs
        // Compares first, so that a long pause does not overflow.
        let isFull = elapsedMs > (creditMax - bucket.credit) / perSecond
        bucket.credit = isFull ? creditMax : bucket.credit + elapsedMs * perSecond
    }

    private mutating func sweep(nowMs: Int64) {
        for key in Array(buckets.keys) { Self.fill(&buckets[key]!, perSecond, creditMax, nowMs: nowMs) }
        buckets = buckets.filter { $0.value.credit < creditMax }
        let most = countMax - max(1, countMax / 4)
        if buckets.count > most {
            for (key, _) in buckets.sorted(by: { $0.value.credit > $1.value.credit }).prefix(buckets.count - most) {
                buckets[key] = nil
            }
        }
        sweepCount = max(Self.sweepMin, 2 * buckets.count)
    }
}
