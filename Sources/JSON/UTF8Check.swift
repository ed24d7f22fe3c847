/// Where a byte sequence stops being UTF-8.
enum UTF8Check {
    /// Offset of the first byte of the first ill-formed sequence, nil if there is none.
    static func firstInvalid(in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        var at = 0
        while at < bytes.count {
            let lead = bytes[at]
            if lead < 0x80 {
                at += 1
                continue
            }
            // Overlong forms, surrogates and what lies past U+10FFFF show in the second byte (Unicode, table 3-7).
            let length: Int
            let second: ClosedRange<UInt8>
            switch lead {
            case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
            case 0xE0: (length, second) = (3, 0xA0...0xBF)
            case 0xED: (length, second) = (3, 0x80...0x9F)
            case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
            case 0xF0: (length, second) = (4, 0x90...0xBF)
            case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
            case 0xF4: (length, second) = (4, 0x80...0x8F)
            default: return at
            }
            guard at + length <= bytes.count, second.contains(bytes[at + 1]) else { return at }
            for index in (at + 2)..<(at + length) where bytes[index] & 0xC0 != 0x80 { return at }
            at += length
        }
        return nil
    }
}
