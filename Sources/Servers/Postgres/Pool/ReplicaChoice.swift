import Pacing

/// Chooses among the connected replicas in turn. A pure value.
struct ReplicaChoice: Sendable {
    private var turn = 0

    /// - Parameter isConnected: one element per replica.
    /// - Returns: the index of the replica for the next statement; nil when none is connected.
    mutating func next(_ isConnected: [Bool]) -> Int? {
        let connected = isConnected.indices.filter { isConnected[$0] }
        guard !connected.isEmpty else { return nil }
        turn = (turn + 1) % connected.count
        return connected[turn]
    }
}

/// The position in the primary's WAL that a replica must have replayed.
struct ReplayTarget: Sendable, Hashable {
    let lsn: String
    let timeline: Int

    /// Returns nil unless both texts were read.
    /// - Parameter timeline: hexadecimal, as in the names of WAL files.
    init?(lsn: String?, timeline: String?) {
        guard let lsn, let timeline = timeline.flatMap({ Int($0, radix: 16) }) else { return nil }
        self.lsn = lsn
        self.timeline = timeline
    }
}

/// Decides when a statement runs on the replica that was chosen for it. A pure value.
struct ReplicaAttempt: Sendable {
    enum Step: Sendable, Hashable {
        /// Check the replica and run the statement in one transaction.
        case checkAndRun
        /// Check the replica after a pause.
        case check(afterMs: Int64)
        /// Return the statement's result, which contains everything committed before the call.
        case answer
        case leaveToPrimary
        case fail(PostgresError)
    }

    static let pauses = Backoff(minMs: 1, maxMs: 20)

    private var pauseCount = 0

    /// Handles the answer to a check.
    /// - Parameters:
    ///   - hasReplayed: whether the replica has caught up; nil if it returned no row.
    ///   - hasRun: whether the statement ran in the same transaction.
    ///   - isOver: whether the caller waits no longer.
    mutating func checked(hasReplayed: Bool?, hasRun: Bool, isOver: Bool) -> Step {
        guard let hasReplayed else { return .leaveToPrimary }
        if hasReplayed { return hasRun ? .answer : .checkAndRun }
        if isOver { return .leaveToPrimary }
        defer { pauseCount += 1 }
        return .check(afterMs: Self.pauses.delayMs(after: pauseCount))
    }

    /// Handles a failed check or statement. The primary would take as long for one that ran too long.
    func failed(_ error: PostgresError) -> Step { error.ranTooLong ? .fail(error) : .leaveToPrimary }
}
