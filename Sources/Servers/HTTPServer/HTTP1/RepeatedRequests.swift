import Glibc
import NIOCore
import NIOHTTP1

/// A value that an application keeps with a request that clients repeat: with the same header, but for
/// `If-None-Match`.
///
/// `@unchecked Sendable`: to be read and written on the connection's event loop only.
package final class RequestMemo: @unchecked Sendable {
    package var value: AnyObject?

    init() {}
}

/// The `GET` requests without a body that the clients of one event loop have sent at least twice, by their bytes.
///
/// A client that polls sends the same header repeatedly; only `If-None-Match` changes. Such a request is recognized by
/// a comparison of bytes: no parser, no allocation for each field, and the application finds its `RequestMemo`.
/// Recognizing is exact, so a request means here what the parser has found in the same bytes before.
///
/// Bounded by `countMax` requests of at most `headBytesMax` each. When it is full, those that were not repeated lately
/// make room.
///
/// Owned by its event loop.
final class RepeatedRequests {
    /// A header cut at the value of `If-None-Match`; without that field, the value is empty and at the end.
    struct Head {
        let bytes: UnsafeRawBufferPointer
        let value: Range<Int>

        /// Returns nil unless the bytes may be exactly one `GET` without a body.
        init?(_ bytes: UnsafeRawBufferPointer) {
            guard (18...headBytesMax).contains(bytes.count), bytes.starts(with: Self.get),
                bytes.suffix(4).elementsEqual(Self.end)
            else { return nil }
            self.bytes = bytes
            var value = bytes.count..<bytes.count
            var hasTag = false
            var line = 0
            while let newline = bytes[line...].firstIndex(of: UInt8(ascii: "\n")) {
                line = newline + 1
                guard newline > 0, bytes[newline - 1] == UInt8(ascii: "\r") else { return nil }
                // An empty line ends a header: another request would follow.
                if line < bytes.count, bytes[line] == UInt8(ascii: "\r") {
                    guard line + 2 == bytes.count else { return nil }
                    break
                }
                guard line < bytes.count, bytes[line] | 0x20 == UInt8(ascii: "i"), Self.isTag(bytes, at: line) else {
                    continue
                }
                // A second line would be another first.
                guard !hasTag else { return nil }
                hasTag = true
                value = Self.value(bytes, at: line) ?? value
            }
            self.value = value
        }

        /// Whether the line is an `If-None-Match`.
        private static func isTag(_ bytes: UnsafeRawBufferPointer, at line: Int) -> Bool {
            let colon = line + name.count
            guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":") else { return false }
            for (index, byte) in name.enumerated() where bytes[line + index] | 0x20 != byte { return false }
            return true
        }

        /// The range of the line's value, if it can be cut out.
        private static func value(_ bytes: UnsafeRawBufferPointer, at line: Int) -> Range<Int>? {
            let colon = line + name.count
            var begin = colon + 1
            while begin < bytes.count, bytes[begin] == UInt8(ascii: " ") { begin += 1 }
            guard let end = bytes[begin...].firstIndex(of: UInt8(ascii: "\r")), end > begin else { return nil }
            // A blank or a control character within is left to the parser.
            return bytes[begin..<end].allSatisfy({ $0 > 0x20 && $0 < 0x7F }) ? begin..<end : nil
        }

        var before: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[..<value.lowerBound]) }
        var after: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[value.upperBound...]) }

        var hash: Int {
            var hasher = Hasher()
            hasher.combine(bytes: before)
            hasher.combine(bytes: after)
            hasher.combine(value.isEmpty)
            return hasher.finalize()
        }

        // `-` is 0x2D, which the letters' case bit leaves alone.
        private static let name = Array("if-none-match".utf8)
        private static let get = Array("GET ".utf8)
        private static let end = Array("\r\n\r\n".utf8)
    }

    /// A request that was sent before.
    final class Known {
        fileprivate let before: [UInt8]
        fileprivate let after: [UInt8]
        /// Whether it has an `If-None-Match`.
        private let hasTag: Bool
        let partial: PartialRequest
        let memo = RequestMemo()
        fileprivate var isRecent = true

        fileprivate init(_ head: Head, _ partial: PartialRequest) {
            (before, after) = (Array(head.before), Array(head.after))
            hasTag = !head.value.isEmpty
            self.partial = partial
        }

        /// Compares these bytes with this request and the tag, weak or not, as the value of its `If-None-Match`.
        /// - Returns: whether the tag is weak; nil if it is another request.
        func isWeak(_ bytes: ByteBuffer, tag: [UInt8]) -> Bool? {
            let weakBytes = bytes.readableBytes - before.count - tag.count - after.count
            guard hasTag, weakBytes == 0 || weakBytes == Self.weak.count else { return nil }
            let isSame = bytes.withUnsafeReadableBytes { raw in
                var at = raw.baseAddress!
                func begins(with part: [UInt8], _ count: Int) -> Bool {
                    defer { at += count }
                    return memcmp(at, part, count) == 0
                }
                return begins(with: before, before.count) && begins(with: Self.weak, weakBytes)
                    && begins(with: tag, tag.count) && begins(with: after, after.count)
            }
            guard isSame else { return nil }
            isRecent = true
            return weakBytes > 0
        }

        private static let weak = Array("W/".utf8)

        fileprivate func equals(_ head: Head) -> Bool {
            before.count == head.before.count && after.count == head.after.count
                && before.elementsEqual(head.before) && after.elementsEqual(head.after)
        }
    }

    /// The length up to which headers are kept.
    static let headBytesMax = 4_096
    private static let seenMax = 1_024

    private let countMax: Int
    private var known: [Int: Known] = [:]
    /// Hashes of headers that were seen once, by their last bits.
    private var seen: [Int]

    init(countMax: Int) {
        self.countMax = countMax
        seen = Array(repeating: 0, count: countMax > 0 ? Self.seenMax : 0)
    }

    /// Returns the request with this header, and the value of its `If-None-Match`.
    func find(_ bytes: ByteBuffer) -> (Known, ifNoneMatch: String?)? {
        guard countMax > 0, !known.isEmpty else { return nil }
        return bytes.withUnsafeReadableBytes { raw in
            guard let head = Head(raw), let found = known[head.hash], found.equals(head) else { return nil }
            found.isRecent = true
            let value = head.value.isEmpty ? nil : String(decoding: raw[head.value], as: UTF8.self)
            return (found, value)
        }
    }

    /// Keeps a request that the parser has found in the bytes, if its header was seen before.
    /// - Returns: the memo of a request that is kept.
    func learn(_ bytes: ByteBuffer, _ partial: PartialRequest) -> RequestMemo? {
        guard countMax > 0, !partial.announcesBody, !partial.wantsUpgrade, !partial.expectsContinue else {
            return nil
        }
        return bytes.withUnsafeReadableBytes { raw in
            guard let head = Head(raw) else { return nil }
            let hash = head.hash
            let slot = hash & (Self.seenMax - 1)
            guard seen[slot] == hash else {
                seen[slot] = hash
                return nil
            }
            if known.count >= countMax { makeRoom() }
            let new = Known(head, head.value.isEmpty ? partial : partial.withoutIfNoneMatch)
            known[hash] = new
            return new.memo
        }
    }

    /// Removes what was not repeated since the last time; everything if all was.
    private func makeRoom() {
        known = known.filter { $0.value.isRecent }
        if known.count >= countMax { known = [:] }
        for entry in known.values { entry.isRecent = false }
    }
}

@available(*, unavailable)
extension RepeatedRequests: Sendable {}
