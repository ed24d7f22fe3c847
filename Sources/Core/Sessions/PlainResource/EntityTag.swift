package import LiveModel

/// The `ETag` of a query's result: its digest and, if the result came from a shard, its position and live query.
///
///     "5d41…"                                       one-shot read
///     "5d41…@1732.17.1732000-4@0f3a66b1c94e7d28"    live result
///
/// A later poll, on any gateway, is compared by digest for equality and by position for freshness. The position counts
/// for its own live query only: the same URL requested by another user, or with other variables, is another one, and
/// "nothing happened since" would leave the former user's result on the screen. RFC 9110 §8.8.3.
package struct EntityTag: Hashable, Sendable, CustomStringConvertible {
    private let digest: Digest
    private let position: Position?
    /// The first eight bytes of the live query's key; nil if and only if there is no position.
    private let keyPrefix: UInt64?

    package init(_ known: KnownResult, of key: LiveQueryKey) {
        digest = known.digest
        position = known.position
        keyPrefix = known.position == nil ? nil : key.digest.prefix
    }

    /// The result of a live query that the holder of this tag has.
    package func known(of key: LiveQueryKey) -> KnownResult {
        KnownResult(digest: digest, position: keyPrefix == key.digest.prefix ? position : nil)
    }

    /// The header's form, with quotes.
    package var description: String {
        guard let position, let keyPrefix else { return "\"\(digest.hex)\"" }
        let hex = String(keyPrefix, radix: 16)
        return "\"\(digest.hex)@\(position)@\(String(repeating: "0", count: 16 - hex.utf8.count))\(hex)\""
    }

    /// The first tag of an `If-None-Match` header that has our form; weak ones count. Others are no error: they match
    /// nothing.
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

    /// The form without quotes, which `Last-Event-ID` of an event stream has, too.
    package init?(bare text: some StringProtocol) {
        let parts = text.split(separator: "@", maxSplits: 2, omittingEmptySubsequences: false)
        guard let first = parts.first, let digest = Digest(hex: first) else { return nil }
        self.digest = digest
        switch parts.count {
        case 1: (position, keyPrefix) = (nil, nil)
        case 3:
            guard let position = Position(parts[1]), parts[2].utf8.count == 16,
                let keyPrefix = UInt64(parts[2], radix: 16)
            else { return nil }
            (self.position, self.keyPrefix) = (position, keyPrefix)
        default: return nil
        }
    }

    package var bare: String { String(description.dropFirst().dropLast()) }
}
