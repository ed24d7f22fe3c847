/// A version of a live query's result.
package struct LiveResult: Sendable, Hashable {
    /// The run that read the result, and the event up to which it is known to be fresh.
    package var position: Position
    /// The digest of the result as Postgres built it, entity ids included; if only a part is shown, the digest of that
    /// part.
    package var digest: Digest
    package var answer: OperationAnswer
    /// The trace of the event that caused the run; empty for a first run or a timer.
    package var traceID: String
    /// The commit time of that event; 0 if there was none.
    package var committedAtMs: Int64
    /// Whether nodes note each step of the event's way.
    package var isTraced: Bool

    package init(
        position: Position, digest: Digest, answer: OperationAnswer, traceID: String = "", committedAtMs: Int64 = 0,
        isTraced: Bool = false
    ) {
        self.position = position
        self.digest = digest
        self.answer = answer
        self.traceID = traceID
        self.committedAtMs = committedAtMs
        self.isTraced = isTraced
    }
}

/// The result that a gateway or a client already holds. It is part of a registration, so that resuming costs no query
/// if nothing relevant happened since.
package struct KnownResult: Sendable, Hashable {
    package var digest: Digest
    /// Nil if only the content is known, as after a one-shot read.
    package var position: Position?

    package init(digest: Digest, position: Position?) {
        self.digest = digest
        self.position = position
    }
}
