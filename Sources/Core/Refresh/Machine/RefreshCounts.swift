package import LiveModel

/// The effect of an operation's rules since the worker's start, and of changes that no rule noticed.
package struct RefreshCounts: Sendable, Hashable {
    /// Runs after which the result was another one, and the same.
    package struct Effect: Sendable, Hashable {
        package internal(set) var changed: UInt64 = 0
        package internal(set) var unchanged: UInt64 = 0

        mutating func add(isChanged: Bool) {
            if isChanged { changed += 1 } else { unchanged += 1 }
        }
    }

    /// Runs that only a write to a looked-up row caused.
    package internal(set) var byKey = Effect()
    /// Runs that only rules on mutations caused.
    package internal(set) var byRule = Effect()
    /// Runs that only changes of rows caused.
    package internal(set) var byRow = Effect()
    /// Times that a mutation changed rows which an observed live query reads while no rule noticed.
    package internal(set) var unnoticed: [OperationReference: UInt64] = [:]
    /// Sampled runs after such changes: whether the result was stale.
    package internal(set) var checked = Effect()
    /// The effect of each rule, by the operation's version, those of the latest run last. Bound: `versionsMax`.
    package private(set) var versions: [RuleCounts] = []

    private static let versionsMax = 4

    mutating func ran(_ causes: RuleIndex.Causes, isChanged: Bool, micros: UInt64, version: Digest) {
        if !causes.isEmpty {
            if versions.last?.version != version {
                let former = versions.firstIndex { $0.version == version }.map { versions.remove(at: $0) }
                if versions.count == Self.versionsMax { versions.removeFirst() }
                versions.append(former ?? RuleCounts(version: version))
            }
            versions[versions.count - 1].ran(causes, isChanged: isChanged, micros: micros)
        }
        switch causes.kinds {
        case .implicit: byKey.add(isChanged: isChanged)
        case .trigger: byRule.add(isChanged: isChanged)
        case .automatic: byRow.add(isChanged: isChanged)
        // Several, or none that an event brought.
        default: break
        }
    }
}

/// The counts of all operations. Bound: the operations of the project, and for each the mutations.
struct RefreshCountTable: Sendable {
    private(set) var operations: [OperationReference: RefreshCounts] = [:]

    /// - Parameter micros: the run's share of its statement's time.
    mutating func ran(_ query: LiveQuery, _ causes: RuleIndex.Causes, isChanged: Bool, micros: UInt64) {
        operations[query.operation, default: RefreshCounts()].ran(
            causes, isChanged: isChanged, micros: micros, version: query.version)
    }

    mutating func unnoticed(_ mutation: OperationReference, by operation: OperationReference) {
        operations[operation, default: RefreshCounts()].unnoticed[mutation, default: 0] += 1
    }

    mutating func checked(_ operation: OperationReference, isStale: Bool) {
        operations[operation, default: RefreshCounts()].checked.add(isChanged: isStale)
    }
}

/// The counts that handling events adds to.
struct EventReport: Sendable {
    var conditionErrors: [Trigger.ID: UInt64] = [:]
    var counts = RefreshCountTable()
    var verification: Verification
    var observed = Observed()

    init(verification: Verification) { self.verification = verification }
}

/// A live query whose result was another one than its subscribers had, although no event said so.
package struct VerificationMismatch: Sendable, Hashable {
    package let query: LiveQueryKey
    package let operation: OperationReference
    package let shard: ShardID
    /// The position of the result that the subscribers had.
    package let position: Position
}

/// The online verification: now and then an idle live query runs without a cause. Where the result is another one, an
/// event must still be under way; if none comes, a change was missed.
struct Verification: Sendable {
    /// The runs begun, and those that found a result which no event explained.
    private(set) var runs: UInt64 = 0
    private(set) var mismatches: UInt64 = 0
    private let intervalMs: Int64?
    private(set) var nextMs: Int64 = 0
    /// When the next sampled run after an unnoticed change may begin.
    private var nextSampleMs: Int64 = 0
    /// The slot looked at last.
    private var cursor: Int32 = 0

    /// The slots looked at for each verification.
    private static let looksMax = 64

    init(_ settings: RefreshSettings) {
        intervalMs = settings.verifyPerSecond > 0 ? Int64(max(1, 1_000 / settings.verifyPerSecond)) : nil
    }

    var isOn: Bool { intervalMs != nil }

    /// Returns the slots to look at, in order; nil if it is not yet time.
    /// - Parameter slotMax: the greatest slot in use.
    mutating func slotsDue(slotMax: Int32, nowMs: Int64) -> [Int32]? {
        guard let intervalMs, nowMs >= nextMs else { return nil }
        nextMs = nowMs + intervalMs
        var slots: [Int32] = []
        for _ in 0..<min(Self.looksMax, Int(slotMax) + 1) {
            slots.append(cursor < slotMax ? cursor + 1 : 0)
            cursor = slots[slots.count - 1]
        }
        return slots
    }

    /// Continues after this slot.
    mutating func began(_ slot: Int32) {
        cursor = slot
        runs += 1
    }

    mutating func missed() { mismatches += 1 }

    /// Whether a sampled run may begin now.
    mutating func takeSample(nowMs: Int64) -> Bool {
        guard let intervalMs, nowMs >= nextSampleMs else { return false }
        nextSampleMs = nowMs + intervalMs
        return true
    }
}
