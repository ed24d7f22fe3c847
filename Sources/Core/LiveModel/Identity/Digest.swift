import Crypto

/// A SHA-256 digest. Clients can choose what is hashed, so a non-cryptographic hash would not be safe.
package struct Digest: Hashable, Sendable, CustomStringConvertible {
    /// The 32 bytes as four words.
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

    /// Reads 64 hexadecimal digits of either case; nil for anything else.
    package init?(hex: some StringProtocol) {
        var text = String(hex)
        guard let digest = text.withUTF8({ Digest(hexBytes: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = digest
    }

    /// Reads 64 hexadecimal digits from ASCII bytes, for hot paths.
    package init?(hexBytes: UnsafeRawBufferPointer) {
        guard hexBytes.count == 64 else { return nil }
        var isHex = true
        words = (
            Self.word(hexBytes, 0, &isHex), Self.word(hexBytes, 16, &isHex), Self.word(hexBytes, 32, &isHex),
            Self.word(hexBytes, 48, &isHex)
        )
        if !isHex { return nil }
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ isHex: inout Bool) -> UInt64 {
        eightDigits(bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self), &isHex) << 32
            | eightDigits(bytes.loadUnaligned(fromByteOffset: start + 8, as: UInt64.self), &isHex)
    }

    /// Decodes eight digits at once, one per byte: results of a batch have many digests.
    private static func eightDigits(_ characters: UInt64, _ isHex: inout Bool) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let text = UInt64(bigEndian: characters)
        let lower = text | 0x20 * ones
        let letters = lower >> 6 & ones
        let nibbles = (lower & (0x0f * ones)) + 9 * letters
        // The high half of each byte must be 3 or 6. A digit's value is below 10 and a letter's from 10 to 15, and no
        // digit has its 0x20 bit from the lower-casing.
        let isFit =
            lower & (0xf0 * ones) == 0x30 * ones + 0x30 * letters
            && (nibbles + 6 * ones) >> 4 & ones == letters && nibbles & (0xf0 * ones) == 0
            && (text >> 5 | letters) & ones == ones
        isHex = isHex && isFit
        var packed = (nibbles | nibbles >> 4) & 0x00ff_00ff_00ff_00ff
        packed = (packed | packed >> 8) & 0x0000_ffff_0000_ffff
        return (packed | packed >> 16) & 0xffff_ffff
    }

    /// The 64 lower-case hexadecimal digits.
    package var hex: String {
        String(unsafeUninitializedCapacity: 64) { text in
            for index in 0..<64 { text.initializeElement(at: index, to: hexDigit(index)) }
            return 64
        }
    }

    /// Appends the hexadecimal digits, or the first of them, as ASCII bytes, for hot paths.
    package func appendHex(to bytes: inout [UInt8], digits: Int = 64) {
        for index in 0..<digits { bytes.append(hexDigit(index)) }
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

    /// The 32 bytes.
    package var bytes: [UInt8] {
        [words.0, words.1, words.2, words.3].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) }
        }
    }

    /// The first eight bytes: a well-mixed number for placement and interval phases.
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
