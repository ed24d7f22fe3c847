package import LiveModel

/// An entry of a shard's event stream.
package struct EventEntry: Sendable {
    package let id: StreamID
    /// Nil when it could not be read: nobody knows what it meant.
    package let event: MutationEvent?
    /// As the stream has it.
    package let byteCount: Int

    package init(id: StreamID, event: MutationEvent?, byteCount: Int = 0) {
        self.id = id
        self.event = event
        self.byteCount = byteCount
    }
}
