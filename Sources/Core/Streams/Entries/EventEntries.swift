import LiveModel

/// Entries of a shard's stream of events.
extension StreamAppend {
    /// - Parameter event: the encoding of a `MutationEvent`.
    package static func event(_ event: [UInt8], to stream: String, lengthMax: Int? = nil) -> StreamAppend {
        StreamAppend(stream: stream, fields: [(StreamField.event, event)], lengthMax: lengthMax)
    }

    /// A resync marker: an entry without an event. Events before it may be lost, so everything in the shard runs again.
    package static func resyncMarker(to stream: String, lengthMax: Int? = nil) -> StreamAppend {
        StreamAppend(stream: stream, fields: [(StreamField.resync, [])], lengthMax: lengthMax)
    }
}

extension StreamEntry {
    /// The encoded event; nil: it has none, and stands for doubt.
    package var event: [UInt8]? { self[StreamField.event] }
}
