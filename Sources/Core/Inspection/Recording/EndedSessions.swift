/// The sessions that a node ended or suspended lately, and why, without users and queries. Operators ask about them
/// afterwards.
package struct EndedSessions: Sendable {
    private struct End {
        let session: String
        let reason: String
        let atMs: Int64
    }

    /// The oldest first.
    private var ends: [End] = []
    private static let countMax = 1_024

    package init() {}

    package mutating func ended(_ session: String, reason: String, atMs: Int64) {
        // A session ends all its subscriptions at once.
        if let last = ends.last, last.session == session, last.reason == reason { return }
        if ends.count >= Self.countMax { ends.removeFirst(Self.countMax / 4) }
        ends.append(End(session: session, reason: reason, atMs: atMs))
    }

    /// Forgets that a session was suspended.
    package mutating func resumed(_ session: String) { ends.removeAll { $0.session == session } }

    /// Returns the ends of a session's subscriptions, the newest first.
    /// - Parameter recorded: ends that were recorded with their live queries, which tell more.
    package func ends(of session: String, recorded: [EndRecord]) -> [EndRecord] {
        let recorded = recorded.filter { $0.session == session }
        let own = ends.filter { end in
            end.session == session && !recorded.contains { $0.reason == end.reason }
        }
        return (recorded + own.map { EndRecord(session: session, uid: "", reason: $0.reason, atMs: $0.atMs) })
            .sorted { $0.atMs > $1.atMs }
    }
}

extension Recorder {
    /// Returns the ends of a session's subscriptions, the newest first.
    package func ends(of session: String) -> [EndRecord] { endedSessions.ends(of: session, recorded: ends) }
}
