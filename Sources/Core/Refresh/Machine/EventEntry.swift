package import LiveModel

/// An entry of a shard's event stream.
package struct EventEntry: Sendable {
    package let id: StreamID
    /// Nil if it could not be read, so that what it concerned is unknown.
    package let event: MutationEvent?
    /// Its size in the stream.
    package let byteCount: Int

    package init(id: StreamID, event: MutationEvent?, byteCount: Int = 0) {
        self.id = id
        self.event = event
        self.byteCount = byteCount
    }
}
