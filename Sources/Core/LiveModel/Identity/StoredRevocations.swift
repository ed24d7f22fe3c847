/// The list of revocations in Redis, with its reconciliation with a node's previous knowledge.
///
/// Redis may lose its data, which must not give a revoked user access again. The list carries a mark that is created
/// once with it. A node that finds another mark, or none, knows that the list is new and writes back the revocations
/// that it knows and the list lacks. A node that was only partitioned finds its mark and accepts the list, including
/// revocations that were lifted meanwhile. If Redis lost its data while a node was partitioned, that node may restore a
/// revocation that had been lifted meanwhile. That errs on the safe side.
package struct StoredRevocations: Sendable {
    package static let markField = "mark"

    /// Nil before the first revocation.
    package var mark: String?
    package var revocations: Revocations
    /// The values that were clamped or left out when the list was decoded.
    package private(set) var defects = StoredDefects()

    package init(mark: String? = nil, revocations: Revocations = Revocations()) {
        self.mark = mark
        self.revocations = revocations
    }

    /// - Parameter fields: the fields of the hash; unreadable ones are ignored.
    package init(fields: [String: String]) {
        mark = fields[Self.markField]
        var read: [Revocation] = []
        for (field, value) in fields.sorted(by: { $0.key < $1.key }) where field != Self.markField {
            guard let subject = RevocationSubject(field) else {
                defects.add("a revocation of something else: \(field)")
                continue
            }
            if let revocation = Revocation(subject, text: value, defects: &defects) { read.append(revocation) }
        }
        revocations = Revocations(read)
    }

    /// Returns the changes to write into a list just read, so that no known revocation is lost; empty if the list can
    /// be accepted as it is.
    /// - Parameters:
    ///   - known: this node's knowledge before the read.
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
        // A list without a mark and without revocations needs none: there may never be a revocation.
        if mark == nil, !changes.isEmpty || !revocations.isEmpty {
            changes.append((Self.markField, known.mark ?? newMark))
        }
        return changes
    }

    // MARK: Changes by operators

    /// Returns the changes that add a revocation and remove those that have expired.
    /// - Parameter countMax: the most revocations in the list.
    /// - Throws: `.limitExceeded` if the list is full.
    package func adding(
        _ revocation: Revocation, countMax: Int, nowMs: Int64
    ) throws(RequestError) -> [(field: String, value: String?)] {
        let entries = revocations.entries
        let expired = entries.values.filter { !$0.counts(nowMs: nowMs) }.map(\.subject)
        let count = entries.count - expired.count
        guard count < countMax || entries[revocation.subject] != nil else {
            throw RequestError(.limitExceeded, "there are \(count) revocations already (auth.revocationsMax)")
        }
        var changes: [(field: String, value: String?)] = expired.filter { $0 != revocation.subject }
            .map { ($0.description, nil) }.sorted { $0.field < $1.field }
        changes.append((revocation.subject.description, revocation.text))
        return changes
    }

    /// Returns the changes that lift a revocation.
    /// - Throws: `.notFound`.
    package func lifting(_ subject: RevocationSubject) throws(RequestError) -> [(field: String, value: String?)] {
        guard revocations.entries[subject] != nil else {
            throw RequestError(.notFound, "\(subject) is not revoked")
        }
        return [(subject.description, nil)]
    }
}
