/// The id of an entry in a broker stream: milliseconds and a sequence number within them, written `ms-seq`.
///
/// The ids of a stream only increase; `zero` precedes every entry. The text form is that of Redis streams
/// (https://redis.io/docs/latest/develop/data-types/streams/#entry-ids).
package struct StreamID: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970, by the broker's clock when the entry was added (never less than the previous entry's).
    package var ms: UInt64
    /// Distinguishes entries of the same millisecond.
    package var sequence: UInt64

    package init(ms: UInt64, sequence: UInt64) {
        self.ms = ms
        self.sequence = sequence
    }

    /// The id before every entry of every stream.
    package static let zero = StreamID(ms: 0, sequence: 0)
    /// The id after every entry of every stream.
    package static let max = StreamID(ms: .max, sequence: .max)

    /// The smallest id greater than this one; nil for `max`.
    package var successor: StreamID? {
        if sequence < .max { return StreamID(ms: ms, sequence: sequence + 1) }
        return ms < .max ? StreamID(ms: ms + 1, sequence: 0) : nil
    }

    package static func < (left: StreamID, right: StreamID) -> Bool {
        left.ms == right.ms ? left.sequence < right.sequence : left.ms < right.ms
    }
}

extension StreamID: CustomStringConvertible, LosslessStringConvertible {
    package var description: String { "\(ms)-\(sequence)" }

    /// Reads `ms-seq`; nil for anything else (no signs, spaces, missing parts or overflow).
    package init?(_ text: String) {
        var text = text
        guard let id = text.withUTF8({ StreamID(utf8: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = id
    }

    /// Reads `ms-seq` from UTF-8 bytes without creating a string. Not generic: readers call this for every entry.
    package init?(utf8 bytes: UnsafeRawBufferPointer) {
        guard let dash = bytes.firstIndex(of: UInt8(ascii: "-")), let ms = UInt64(digits: bytes[..<dash]),
            let sequence = UInt64(digits: bytes[(dash + 1)...])
        else { return nil }
        self.init(ms: ms, sequence: sequence)
    }
}

extension UInt64 {
    /// Reads decimal digits; nil for anything else, such as a sign, and for too great a number.
    init?(digits: Slice<UnsafeRawBufferPointer>) {
        guard !digits.isEmpty else { return nil }
        var number: UInt64 = 0
        for byte in digits {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            let (tens, isOver) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflows) = tens.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
            if isOver || overflows { return nil }
            number = sum
        }
        self = number
    }
}
