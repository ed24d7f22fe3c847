/// The state of a live query between two runs.
enum LiveQueryPhase: Sendable {
    case idle
    /// Triggered, but waiting for the end of the minimum gap or a back-off.
    case waiting(untilMs: Int64)
    /// Waits in the due queue.
    case queued
    /// Waits in the queue of paced runs, which no event caused.
    case paced
    /// Waiting for a replay of older events to decide whether its subscribers' result is still fresh.
    case awaitingReplay
    /// `isDirty`: triggered since the run began, so another run follows.
    case running(batch: UInt64, isDirty: Bool)

    var isAwaitingReplay: Bool { if case .awaitingReplay = self { true } else { false } }
    var isPaced: Bool { if case .paced = self { true } else { false } }
    func isRunning(_ batch: UInt64) -> Bool { if case .running(batch, _) = self { true } else { false } }

    var name: PhaseCounts.Name {
        switch self {
        case .idle: .idle
        case .waiting, .awaitingReplay: .waiting
        case .queued: .queued
        case .paced: .paced
        case .running: .running
        }
    }
}

/// The number of a shard's live queries in each phase.
struct PhaseCounts: Sendable {
    enum Name: Int, CaseIterable { case idle, waiting, queued, paced, running }

    private var counts = Array(repeating: 0, count: Name.allCases.count)

    subscript(name: Name) -> Int { counts[name.rawValue] }

    mutating func entered(_ name: Name) { counts[name.rawValue] += 1 }

    mutating func left(_ name: Name) {
        precondition(counts[name.rawValue] > 0, "no live query is \(name): \(counts)")
        counts[name.rawValue] -= 1
    }
}
