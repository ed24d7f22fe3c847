internal import Crypto

/// A SHA-256 digest. Clients can choose what is hashed, so a fast hash will not do.
package struct Digest: Hashable, Sendable, CustomStringConvertible {
    /// Exactly 32 bytes, as four words.
    private let words: (UInt64, UInt64, UInt64, UInt64)

    package init(of bytes: some Sequence<UInt8>) {
        var hash = SHA256()
        hash.update(data: Array(bytes))
        self.init(hash.finalize())
    }

    private init(_ bytes: some Sequence<UInt8>) {
        var words: [UInt64] = [0, 0, 0, 0]
        for (index, byte) in bytes.prefix(32).enumerated() {
            words[index / 8] = words[index / 8] << 8 | UInt64(byte)
        }
        self.words = (words[0], words[1], words[2], words[3])
    }

    /// From 64 hexadecimal digits of either case; nil for anything else.
    package init?(hex: some StringProtocol) {
        var text = String(hex)
        guard let digest = text.withUTF8({ Digest(hexBytes: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = digest
    }

    /// The same from ASCII bytes, for hot paths.
    package init?(hexBytes: UnsafeRawBufferPointer) {
        guard hexBytes.count == 64 else { return nil }
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        for index in 0..<64 {
            guard let nibble = Self.nibble(hexBytes[index]) else { return nil }
            words.3 = words.3 << 4 | UInt64(nibble)
            switch index {
            case 15: words.0 = words.3
            case 31: words.1 = words.3
            case 47: words.2 = words.3
            default: break
            }
        }
        self.words = words
    }

    private static func nibble(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// 64 lower-case hexadecimal digits.
    package var hex: String {
        String(unsafeUninitializedCapacity: 64) { text in
            for index in 0..<64 { text.initializeElement(at: index, to: hexDigit(index)) }
            return 64
        }
    }

    /// The same at the end of ASCII bytes, for hot paths.
    package func appendHex(to bytes: inout [UInt8]) {
        for index in 0..<64 { bytes.append(hexDigit(index)) }
    }

    private func hexDigit(_ index: Int) -> UInt8 {
        let word =
            switch index >> 4 {
            case 0: words.0
            case 1: words.1
            case 2: words.2
            default: words.3
            }
        let nibble = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (index & 15))) & 15
        return nibble < 10 ? 48 + nibble : 87 + nibble
    }

    /// The first eight bytes: a well-mixed number for placement and phases.
    package var prefix: UInt64 { words.0 }

    package var description: String { hex }

    package static func == (left: Self, right: Self) -> Bool {
        left.words.0 == right.words.0 && left.words.1 == right.words.1 && left.words.2 == right.words.2
            && left.words.3 == right.words.3
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
    }
}
