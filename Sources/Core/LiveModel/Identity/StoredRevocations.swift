/// The list as it stands in Redis, and what a node that knew it before makes of it.
///
/// Redis may lose its data, and a user who was shut out must not come back by that. The list carries a mark that is made
/// once with it: a node that finds another mark, or none, knows that the list is a new one and writes back what it knows
/// and the list lacks. A node that was merely cut off finds its mark and believes the list, which also tells what was
/// taken back meanwhile. What a node writes back that somebody took back while it was cut off, and Redis lost its data
/// besides, is revoked again: the safe side.
package struct StoredRevocations: Sendable {
    package static let markField = "mark"

    /// Nil before the first revocation.
    package var mark: String?
    package var revocations: Revocations

    package init(mark: String? = nil, revocations: Revocations = Revocations()) {
        self.mark = mark
        self.revocations = revocations
    }

    /// - Parameter fields: of the hash; what cannot be read is left out.
    package init(fields: [String: String]) {
        mark = fields[Self.markField]
        revocations = Revocations(
            fields.compactMap { field, value in
                RevocationSubject(field).flatMap { Revocation($0, text: value) }
            })
    }

    /// What to write into a list just read, so that nothing known is lost; empty when the list may be believed as it is.
    /// - Parameters:
    ///   - known: by this node until now.
    ///   - newMark: for a list that has none.
    package func missing(
        from known: StoredRevocations, newMark: String, nowMs: Int64
    ) -> [(field: String, value: String?)] {
        if let mark, mark == known.mark { return [] }
        var changes: [(field: String, value: String?)] = []
        for (subject, revocation) in known.revocations.entries where revocation.counts(nowMs: nowMs) {
            if revocations.entries[subject] == nil { changes.append((subject.description, revocation.text)) }
        }
        changes.sort { $0.field < $1.field }
        // A list without a mark and without anything to write stays as it is: there may never be a revocation.
        if mark == nil, !changes.isEmpty || !revocations.isEmpty {
            changes.append((Self.markField, known.mark ?? newMark))
        }
        return changes
    }

    /// Entries whose time is over.
    package func expired(nowMs: Int64) -> [RevocationSubject] {
        revocations.entries.values.filter { !$0.counts(nowMs: nowMs) }.map(\.subject)
            .sorted { $0.description < $1.description }
    }
}
