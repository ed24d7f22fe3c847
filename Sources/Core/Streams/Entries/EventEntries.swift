import LiveModel

/// The entries of a shard's events stream.
extension StreamAppend {
    /// - Parameter event: the encoding of a `MutationEvent`.
    package static func event(_ event: [UInt8], to stream: String, lengthMax: Int? = nil) -> StreamAppend {
        StreamAppend(stream: stream, fields: [(StreamField.event, event)], lengthMax: lengthMax)
    }

    /// A resync marker: an entry without an event. Events before it may be lost, so the shard re-runs everything.
    package static func resyncMarker(to stream: String, lengthMax: Int? = nil) -> StreamAppend {
        StreamAppend(stream: stream, fields: [(StreamField.resync, [])], lengthMax: lengthMax)
    }
}

extension StreamEntry {
    /// The encoded event; nil for a resync marker.
    package var event: [UInt8]? { self[StreamField.event] }
}
