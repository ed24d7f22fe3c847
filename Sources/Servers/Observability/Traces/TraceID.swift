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

    /// Reads the trace of the header `traceparent`; nil if it is invalid.
    package init?(traceparent: some StringProtocol) {
        guard let parent = TraceParent(traceparent) else { return nil }
        self = parent.traceID
    }

    /// Continues the caller's trace if its header is valid, else starts a new one.
    package init(continuing traceparent: String?) {
        self = traceparent.flatMap { TraceID(traceparent: $0) } ?? TraceID()
    }

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
    static func bytes(_ text: some Sequence<UInt8>) -> [UInt8]? {
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
