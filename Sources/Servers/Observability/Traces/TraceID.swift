/// Identifies a request in its log lines, its response and the events that it caused. 16 bytes, never all zero. It is
/// passed on as an argument and logged as `trace`. Source: W3C Trace Context, §3.2 "traceparent header".
package struct TraceID: Hashable, Sendable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    /// A new random one.
    package init() {
        var generator = PooledRandom()
        self.init(using: &generator)
    }

    package init(using generator: inout some RandomNumberGenerator) {
        high = generator.next()
        // Zero in both halves would be invalid.
        low = max(1, generator.next())
    }

    /// 32 lower-case hexadecimal digits, not all zero; nil for anything else.
    package init?(hex: some StringProtocol) {
        guard let bytes = Self.bytes(hex.utf8), bytes.count == 16 else { return nil }
        high = bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes[8...].reduce(0) { $0 << 8 | UInt64($1) }
        guard high != 0 || low != 0 else { return nil }
    }

    /// Reads the header `traceparent`: `version-traceid-parentid-flags`, lower-case hexadecimal. Nil if it is invalid,
    /// in which case the standard requires a new trace. Fields that versions after 00 append are ignored.
    package init?(traceparent: some StringProtocol) {
        let fields = traceparent.utf8.prefix(Self.traceparentBytesMax + 1).split(
            separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard traceparent.utf8.count <= Self.traceparentBytesMax, fields.count >= 4,
            let version = Self.bytes(fields[0]), version.count == 1, version[0] != 0xFF,
            version[0] != 0 || fields.count == 4,
            let parent = Self.bytes(fields[2]), parent.count == 8, parent.contains(where: { $0 != 0 }),
            let flags = Self.bytes(fields[3]), flags.count == 1
        else { return nil }
        self.init(hex: String(decoding: Array(fields[1]), as: UTF8.self))
    }

    /// Continues the caller's trace if its header is valid, else starts a new one.
    package init(continuing traceparent: String?) {
        self = traceparent.flatMap { TraceID(traceparent: $0) } ?? TraceID()
    }

    /// Version 00 has 55 bytes; later versions may be longer, up to this.
    private static let traceparentBytesMax = 512

    package var hex: String {
        String(unsafeUninitializedCapacity: 32) { text in
            for digit in 0..<32 {
                let half = digit < 16 ? high : low
                let nibble = UInt8(truncatingIfNeeded: half >> UInt64(60 - 4 * (digit & 15))) & 0xF
                text[digit] = nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
            }
            return 32
        }
    }

    package var description: String { hex }

    /// Nil for an odd count or anything but `0-9a-f`.
    private static func bytes(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for character in text {
            let nibble: UInt8
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): nibble = character - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): nibble = character - UInt8(ascii: "a") + 10
            default: return nil
            }
            if let first = high {
                bytes.append(first << 4 | nibble)
                high = nil
            } else {
                high = nibble
            }
        }
        return high == nil ? bytes : nil
    }
}
