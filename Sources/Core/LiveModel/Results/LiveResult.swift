/// One version of a live query's result.
package struct LiveResult: Sendable, Hashable {
    /// Fresh up to here.
    package var position: Position
    /// Of the result as Postgres built it, ids of entities included; of what is shown of it where that is less.
    package var digest: Digest
    package var answer: OperationAnswer
    /// Of the event that caused the run; empty for a first run or a timer.
    package var traceID: String
    /// Commit time of that event; 0 when there was none.
    package var committedAtMs: Int64

    package init(
        position: Position, digest: Digest, answer: OperationAnswer, traceID: String = "", committedAtMs: Int64 = 0
    ) {
        self.position = position
        self.digest = digest
        self.answer = answer
        self.traceID = traceID
        self.committedAtMs = committedAtMs
    }
}

/// What a gateway or a client already holds: travels with a registration so that resuming costs no query when
/// nothing relevant happened since.
package struct KnownResult: Sendable, Hashable {
    package var digest: Digest
    /// Nil when only the content is known (a result of a one-shot read).
    package var position: Position?

    package init(digest: Digest, position: Position?) {
        self.digest = digest
        self.position = position
    }
}
