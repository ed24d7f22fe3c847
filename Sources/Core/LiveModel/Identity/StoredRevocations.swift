/// The list of revocations in Redis, and how a node reconciles it with what it knew before.
///
/// Redis may lose its data, and a revoked user must not regain access by that. The list carries a mark that is created
/// once with it: a node that finds another mark, or none, knows that the list is a new one, and writes back what it
/// knows and the list lacks. A node that was only partitioned finds its mark and accepts the list, including
/// revocations that were lifted meanwhile. If Redis lost its data while a node was partitioned, that node may restore a
/// revocation that had been lifted meanwhile. That errs on the safe side.
package struct StoredRevocations: Sendable {
    package static let markField = "mark"

    /// Nil before the first revocation.
    package var mark: String?
    package var revocations: Revocations

    package init(mark: String? = nil, revocations: Revocations = Revocations()) {
        self.mark = mark
        self.revocations = revocations
    }

    /// - Parameter fields: the fields of the hash; what cannot be read is left out.
    package init(fields: [String: String]) {
        mark = fields[Self.markField]
        revocations = Revocations(
            fields.compactMap { field, value in
                RevocationSubject(field).flatMap { Revocation($0, text: value) }
            })
    }

    /// What to write into a list just read, so that nothing known is lost; empty if the list can be accepted as it is.
    /// - Parameters:
    ///   - known: what this node knew until now.
    ///   - newMark: the mark for a list that has none.
    package func missing(
        from known: StoredRevocations, newMark: String, nowMs: Int64
    ) -> [(field: String, value: String?)] {
        if let mark, mark == known.mark { return [] }
        var changes: [(field: String, value: String?)] = []
        for (subject, revocation) in known.revocations.entries where revocation.counts(nowMs: nowMs) {
            if revocations.entries[subject] == nil { changes.append((subject.description, revocation.text)) }
        }
        changes.sort { $0.field < $1.field }
        // A list without a mark stays so while there is nothing to write: there may never be a revocation.
        if mark == nil, !changes.isEmpty || !revocations.isEmpty {
            changes.append((Self.markField, known.mark ?? newMark))
        }
        return changes
    }

    /// Entries that have expired.
    package func expired(nowMs: Int64) -> [RevocationSubject] {
        revocations.entries.values.filter { !$0.counts(nowMs: nowMs) }.map(\.subject)
            .sorted { $0.description < $1.description }
    }
}
