/// Decodes the events of streams that were read together. An event that concerns several shards has the same bytes in
/// each of their streams and is decoded once.
///
/// Use a decoder for a single read: it remembers all events of that read.
package struct EventDecoder: Sendable {
    /// An encoded event, hashed by its first bytes, which hold the event's id; equality compares all bytes.
    private struct Encoded: Hashable {
        let bytes: [UInt8]

        func hash(into hasher: inout Hasher) {
            bytes.withUnsafeBytes { hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: $0.prefix(48))) }
        }
    }

    private var known: [Encoded: MutationEvent] = [:]

    package init() {}

    /// - Returns: nil if the bytes are not an event.
    package mutating func event(_ encoded: [UInt8]) -> MutationEvent? {
        let encoded = Encoded(bytes: encoded)
        if let event = known[encoded] { return event }
        guard let event = try? MutationEvent(encoded: encoded.bytes) else { return nil }
        known[encoded] = event
        return event
    }
}
