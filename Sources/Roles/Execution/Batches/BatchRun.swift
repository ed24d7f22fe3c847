import LiveModel

/// The statements that one batch of live queries becomes: all members in one; where one member's variables may have
/// broken the statement, its halves, until the member that fails stands alone.
///
/// At most twice as many statements as members.
struct BatchRun {
    /// One row of a statement's answer.
    struct Row {
        /// Counts the statement's members from 1.
        let ordinal: Int
        let digest: Digest?
        /// Nil where the result has the known digest.
        let body: [UInt8]?
    }

    /// By member.
    private(set) var outcomes: [QueryExecutor.Outcome]
    /// Ranges of members, each for one statement; the next is the last.
    private var waiting: [Range<Int>]

    /// - Parameter count: members; not 0.
    init(count: Int) {
        precondition(count > 0, "a batch without members")
        outcomes = Array(
            repeating: .failed(RequestError(.internalError, "the statement gave no result")), count: count)
        waiting = [0..<count]
    }

    /// The members of the next statement; nil when every member has its outcome.
    mutating func next() -> Range<Int>? { waiting.popLast() }

    var isOver: Bool { waiting.isEmpty }

    /// A statement was answered. A member without a row keeps the error that it began with.
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

    /// A statement failed.
    /// - Parameter isRefused: the database refused it, by contrast with a lost connection or a time-out.
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
