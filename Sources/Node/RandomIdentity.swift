/// Random identities: node names and UUIDs.
package enum RandomIdentity {
    /// A version-4 UUID, 36 characters (RFC 9562 §5.4).
    package static func uuid() -> String {
        var generator = SystemRandomNumberGenerator()
        let high = generator.next() & 0xffff_ffff_ffff_0fff | 0x4000
        let low = generator.next() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
        let digits = hex(high) + hex(low)
        var text = ""
        text.reserveCapacity(36)
        for (index, digit) in digits.enumerated() {
            if index == 8 || index == 12 || index == 16 || index == 20 { text.append("-") }
            text.append(digit)
        }
        return text
    }

    /// A node name no other node has: ten random hexadecimal digits.
    package static func nodeName() -> String {
        "n" + hex(UInt64.random(in: .min ... .max)).prefix(10)
    }

    private static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
