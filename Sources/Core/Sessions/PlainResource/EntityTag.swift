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

    package init(_ result: LiveResult, of key: LiveQueryKey) {
        self.init(KnownResult(digest: result.digest, position: result.position), of: key)
    }

    /// `{"extensions":{"resume":"…","unchanged":true}}`: the client that resumes holds the present result.
    package var unchangedPayload: [UInt8] {
        Array(#"{"extensions":{"resume":"\#(bare)","unchanged":true}}"#.utf8)
    }

    /// The result of a live query that the holder of this tag has.
    package func known(of key: LiveQueryKey) -> KnownResult {
        KnownResult(digest: digest, position: keyPrefix == key.digest.prefix ? position : nil)
    }

    /// The header's form, with quotes.
    package var description: String {
        guard let position, let keyPrefix else { return "\"\(digest.hex)\"" }
        return "\"\(digest.hex)@\(position)@\(keyPrefix.allHexDigits)\""
    }

    /// The tag of a body that may have other bytes but means the same: a compressed one.
    package var weak: String { "W/" + description }

    /// Whether the first tag of an `If-None-Match` header is weak, and so are those in the response to it.
    package static func isWeak(ifNoneMatch header: String) -> Bool {
        header.drop { $0 == " " || $0 == "\t" }.hasPrefix("W/")
    }

    /// The first tag of an `If-None-Match` header that has our form; weak ones count. Others are no error: they match
    /// nothing.
    package init?(ifNoneMatch header: String) {
        var header = header
        guard let tag = header.withUTF8({ Self.first(in: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = tag
    }

    private static func first(in header: UnsafeRawBufferPointer) -> EntityTag? {
        for part in header.split(separator: UInt8(ascii: ",")) {
            func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
            var tag = part.drop(while: isBlank)
            if tag.starts(with: [UInt8(ascii: "W"), UInt8(ascii: "/")]) { tag = tag.dropFirst(2) }
            while let last = tag.last, isBlank(last) { tag = tag.dropLast() }
            guard tag.count >= 2, tag.first == UInt8(ascii: "\""), tag.last == UInt8(ascii: "\"") else { continue }
            if let parsed = Self(bareBytes: tag.dropFirst().dropLast()) { return parsed }
        }
        return nil
    }

    /// The form without quotes, which `Last-Event-ID` of an event stream has, too.
    package init?(bare text: some StringProtocol) {
        var text = String(text)
        guard let tag = text.withUTF8({ Self(bareBytes: UnsafeRawBufferPointer($0)[...]) }) else { return nil }
        self = tag
    }

    private init?(bareBytes bytes: Slice<UnsafeRawBufferPointer>) {
        let at = UInt8(ascii: "@")
        let end = bytes.firstIndex(of: at) ?? bytes.endIndex
        guard let digest = Digest(hexBytes: UnsafeRawBufferPointer(rebasing: bytes[..<end])) else { return nil }
        self.digest = digest
        guard end < bytes.endIndex else {
            (position, keyPrefix) = (nil, nil)
            return
        }
        let rest = bytes[(end + 1)...]
        guard let middle = rest.firstIndex(of: at), rest.endIndex - middle == 17,
            let position = Position(utf8: UnsafeRawBufferPointer(rebasing: rest[..<middle])),
            let keyPrefix = UInt64(String(decoding: rest[(middle + 1)...], as: UTF8.self), radix: 16)
        else { return nil }
        (self.position, self.keyPrefix) = (position, keyPrefix)
    }

    package var bare: String { String(description.dropFirst().dropLast()) }
}
