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
        var bytes: [UInt8] = []
        bytes.reserveCapacity(32)
        var high: UInt8?
        for character in hex.utf8 {
            guard let nibble = Self.nibble(character) else { return nil }
            if let first = high {
                bytes.append(first << 4 | nibble)
                high = nil
            } else {
                high = nibble
            }
        }
        guard bytes.count == 32, high == nil else { return nil }
        self.init(bytes)
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
        var text: [UInt8] = []
        text.reserveCapacity(64)
        let digits = Array("0123456789abcdef".utf8)
        for word in [words.0, words.1, words.2, words.3] {
            for shift in stride(from: 60, through: 0, by: -4) { text.append(digits[Int(word >> UInt64(shift) & 15)]) }
        }
        return String(decoding: text, as: UTF8.self)
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
