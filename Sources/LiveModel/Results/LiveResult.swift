/// One version of a live query's result.
package struct LiveResult: Sendable, Hashable {
    /// Fresh up to here.
    package var position: Position
    /// Of the result as Postgres built it, ids of entities included.
    package var digest: Digest
    /// The JSON text of `data`, as Postgres built it; never parsed or re-encoded.
    package var body: [UInt8]
    /// The JSON text of `extensions.dataConnect`, empty when there is nothing to say. Source: SQL Connect wire §4.
    package var entities: [UInt8]
    /// Of the event that caused the run; empty for a first run or a timer.
    package var traceID: String
    /// Commit time of that event; 0 when there was none.
    package var committedAtMs: Int64

    package init(
        position: Position, digest: Digest, body: [UInt8], entities: [UInt8] = [], traceID: String = "",
        committedAtMs: Int64 = 0
    ) {
        self.position = position
        self.digest = digest
        self.body = body
        self.entities = entities
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
