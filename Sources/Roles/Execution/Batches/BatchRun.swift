import LiveModel

/// The statements that run one batch of live queries: first one for all members; if a member's variables may have made
/// it fail, then one for each half, until the failing member is alone.
///
/// Runs at most twice as many statements as members.
struct BatchRun {
    /// One row of a statement's answer.
    struct Row {
        /// The member's number within the statement, from 1.
        let ordinal: Int
        let digest: Digest?
        /// Nil if the result has the known digest.
        let body: [UInt8]?
    }

    /// One outcome for each member.
    private(set) var outcomes: [QueryExecutor.Outcome]
    /// Ranges of members, each for one statement; the last one is next.
    private var waiting: [Range<Int>]

    /// - Parameter count: the number of members, at least 1.
    init(count: Int) {
        precondition(count > 0, "a batch without members")
        outcomes = Array(repeating: .failed(.noResult), count: count)
        waiting = [0..<count]
    }

    /// Returns the members of the next statement; nil when every member has its outcome.
    mutating func next() -> Range<Int>? { waiting.popLast() }

    var isOver: Bool { waiting.isEmpty }

    /// Records a statement's rows. A member without a row keeps its initial error.
    mutating func answered(_ members: Range<Int>, _ rows: some Sequence<Row>) {
        for row in rows {
            guard row.ordinal > 0, row.ordinal <= members.count else { continue }
            let member = members.lowerBound + row.ordinal - 1
            if let body = row.body {
                guard let digest = row.digest else { continue }
                outcomes[member] = .result(QueryExecutor.Result(body: body, digest: digest))
            } else {
                outcomes[member] = .unchanged
            }
        }
    }

    /// Records that a statement took longer than permitted, so that others get their turn before these members.
    mutating func cutShort(_ members: Range<Int>) {
        for member in members { outcomes[member] = .cutShort }
    }

    /// Records a statement's failure.
    /// - Parameter isRefused: whether the database refused it, in contrast to a lost connection or a timeout.
    mutating func failed(_ members: Range<Int>, _ error: RequestError, isRefused: Bool) {
        guard isRefused, !error.code.isRetryable, members.count > 1 else {
            for member in members { outcomes[member] = .failed(error) }
            return
        }
        let middle = members.lowerBound + members.count / 2
        waiting.append(middle..<members.upperBound)
        waiting.append(members.lowerBound..<middle)
    }
}
