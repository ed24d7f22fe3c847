import LiveModel

/// The operations of which runs were cut short recently. Live queries of them that have not run yet prove their speed
/// apart, and fewer run together: then a batch with a slow one delays few others.
struct SlowOperations: Sendable {
    struct Key: Hashable, Sendable {
        let operation: OperationReference
        let version: Digest
    }

    private struct Entry: Sendable {
        var untilMs: Int64
        var batchMax: Int
    }

    /// The number of live queries that first run together where one of them may be slow.
    static let trialMax = 8
    /// The number of live queries of such an operation that run together although all were fast so far.
    static let batchMax = 16
    /// How long an operation stays here after the last cut.
    static let keptMs: Int64 = 60_000
    /// Bounds the operations kept; the oldest entries go first.
    static let countMax = 4_096

    private var entries: [Key: Entry] = [:]

    func contains(_ key: Key, nowMs: Int64) -> Bool { entries[key].map { nowMs < $0.untilMs } ?? false }

    /// The number of live queries that may run together, all of which were fast so far; nil if the operation is not
    /// here.
    func batchMax(of key: Key, nowMs: Int64) -> Int? {
        entries[key].flatMap { nowMs < $0.untilMs ? $0.batchMax : nil }
    }

    /// Records that a run was cut short.
    /// - Parameters:
    ///   - count: the live queries that ran together.
    ///   - wereFast: whether all of them were fast before. Then perhaps none of them is slow and the batch was too
    ///     large, so fewer run together from now on.
    mutating func cutShort(_ key: Key, count: Int, wereFast: Bool, nowMs: Int64) {
        if entries.count >= Self.countMax, entries[key] == nil { dropOldest(nowMs) }
        var entry = entries[key].flatMap { nowMs < $0.untilMs ? $0 : nil } ?? Entry(untilMs: 0, batchMax: Self.batchMax)
        entry.untilMs = nowMs + Self.keptMs
        if wereFast, count <= entry.batchMax { entry.batchMax = max(1, count / 2) }
        entries[key] = entry
    }

    private mutating func dropOldest(_ nowMs: Int64) {
        entries = entries.filter { nowMs < $0.value.untilMs }
        if entries.count >= Self.countMax, let oldest = entries.min(by: { $0.value.untilMs < $1.value.untilMs }) {
            entries[oldest.key] = nil
        }
    }
}
