/// Reads events out of the streams that one read brought. An event that concerns several shards stands in each of their
/// streams with the same bytes, and is read once.
///
/// Keep it for one read only: it remembers all of it.
package struct EventDecoder: Sendable {
    /// By the first bytes, which hold the event's id; all are compared.
    private struct Encoded: Hashable {
        let bytes: [UInt8]

        func hash(into hasher: inout Hasher) {
            bytes.withUnsafeBytes { hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: $0.prefix(48))) }
        }
    }

    private var known: [Encoded: MutationEvent] = [:]

    package init() {}

    /// - Returns: nil when the bytes are not an event.
    package mutating func event(_ encoded: [UInt8]) -> MutationEvent? {
        let encoded = Encoded(bytes: encoded)
        if let event = known[encoded] { return event }
        guard let event = try? MutationEvent(encoded: encoded.bytes) else { return nil }
        known[encoded] = event
        return event
    }
}
