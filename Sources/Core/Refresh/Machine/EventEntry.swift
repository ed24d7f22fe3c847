package import LiveModel

/// An entry of a shard's events stream.
package struct EventEntry: Sendable {
    package let id: StreamID
    /// Nil if it is unreadable, so that it may concern any live query.
    package let event: MutationEvent?
    /// Its size in the stream.
    package let byteCount: Int

    package init(id: StreamID, event: MutationEvent?, byteCount: Int = 0) {
        self.id = id
        self.event = event
        self.byteCount = byteCount
    }
}
