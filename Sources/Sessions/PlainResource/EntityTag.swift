package import LiveModel

/// The `ETag` of a query's result: the digest, and, where the result came from a shard, its position.
///
///     "5d41…"                     one-shot read
///     "5d41…@1732.17.1732000-4"   live result
///
/// A later poll on any gateway is judged by the digest for equality and by the position for freshness. RFC 9110 §8.8.3.
package struct EntityTag: Hashable, Sendable, CustomStringConvertible {
    package let known: KnownResult

    package init(_ known: KnownResult) {
        self.known = known
    }

    /// With the quotes, as it stands in the header.
    package var description: String {
        guard let position = known.position else { return "\"\(known.digest.hex)\"" }
        return "\"\(known.digest.hex)@\(position)\""
    }

    /// The first tag of an `If-None-Match` header that is one of ours; weak ones count. Others are no error: they just
    /// match nothing.
    package init?(ifNoneMatch header: String) {
        for part in header.split(separator: ",") {
            var tag = part.drop { $0 == " " || $0 == "\t" }
            if tag.hasPrefix("W/") { tag = tag.dropFirst(2) }
            while let last = tag.last, last == " " || last == "\t" { tag = tag.dropLast() }
            guard tag.count >= 2, tag.first == "\"", tag.last == "\"" else { continue }
            if let parsed = Self(bare: tag.dropFirst().dropLast()) {
                self = parsed
                return
            }
        }
        return nil
    }

    /// Without quotes: also what `Last-Event-ID` of an event stream carries.
    package init?(bare text: some StringProtocol) {
        let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let digest = Digest(hex: first) else { return nil }
        var position: Position?
        if parts.count == 2 {
            guard let parsed = Position(parts[1]) else { return nil }
            position = parsed
        }
        self.init(KnownResult(digest: digest, position: position))
    }

    package var bare: String { String(description.dropFirst().dropLast()) }
}
