import LiveModel
import Observability

/// Generates random node names and UUIDs.
package enum RandomIdentity {
    /// Returns a version-4 UUID, 36 characters (RFC 9562 §5.4).
    package static func uuid() -> String {
        var generator = PooledRandom()
        return text(generator.next() & 0xffff_ffff_ffff_0fff | 0x4000, generator.next())
    }

    /// Returns a version-7 UUID (RFC 9562 §5.7). It contains the time, so consecutive rows are adjacent in an index.
    package static func orderedUUID(nowMs: Int64) -> String {
        var generator = PooledRandom()
        return text(UInt64(clamping: nowMs) << 16 | generator.next() & 0x0fff | 0x7000, generator.next())
    }

    /// - Parameter low: its first two bits are replaced by the variant.
    private static func text(_ high: UInt64, _ low: UInt64) -> String {
        let low = low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
        return String(unsafeUninitializedCapacity: 36) { text in
            var end = 0
            for digit in 0..<32 {
                if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                    text[end] = UInt8(ascii: "-")
                    end += 1
                }
                let word = digit < 16 ? high : low
                let nibble = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (digit & 15))) & 15
                text[end] = nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
                end += 1
            }
            return end
        }
    }

    /// Returns a unique node name: "n" and ten random hexadecimal digits.
    package static func nodeName() -> String {
        "n" + UInt64.random(in: .min ... .max).allHexDigits.prefix(10)
    }
}
