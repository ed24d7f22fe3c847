package import LiveModel
package import Sharding

/// The refresh of a node's copy of the revocations: read the list, write back what it lost, read it again. A pure
/// value.
package struct RevocationRefresh: Sendable {
    package enum Step: Sendable {
        /// Write these changes into the list, then read it again.
        case write([(field: String, value: String?)])
        /// Call `end` with the list.
        case accept
    }

    /// This node's knowledge when the refresh began.
    private let known: StoredRevocations
    private let ticket: LatestRead<StoredRevocations>.Ticket
    private var hasWritten = false

    /// Handles the generation that the broker reported. Nil if the copy is up to date; otherwise read the list.
    package init?(_ latest: inout LatestRead<StoredRevocations>, generation: UInt64) {
        known = latest.value
        guard case .read(let ticket) = latest.generationRead(generation) else { return nil }
        self.ticket = ticket
    }

    /// - Parameter newMark: the mark for a list that has none; evaluated at most once.
    package mutating func listRead(
        _ stored: StoredRevocations, newMark: @autoclosure () -> String, nowMs: Int64
    ) -> Step {
        // Writes once, so that a refresh ends even if the list is lost again.
        if hasWritten { return .accept }
        let missing = stored.missing(from: known, newMark: newMark(), nowMs: nowMs)
        if missing.isEmpty { return .accept }
        hasWritten = true
        return .write(missing)
    }

    /// Takes over the accepted list, unless a refresh begun later already has.
    /// - Returns: whether the revocations changed.
    package func end(
        _ latest: inout LatestRead<StoredRevocations>, _ stored: StoredRevocations, generation: UInt64
    ) -> Bool {
        let former = latest.end(ticket, stored, generation: generation)
        return former.map { $0.revocations != stored.revocations } ?? false
    }
}
