extension Lexer {
    /// Reads a quoted or block string, starting at its first quote.
    mutating func string() throws(SyntaxError) -> Token {
        if byte(at: at + 1) == UInt8(ascii: "\""), byte(at: at + 2) == UInt8(ascii: "\"") {
            return try blockString()
        }
        return try quotedString()
    }

    private mutating func quotedString() throws(SyntaxError) -> Token {
        let start = at
        at += 1
        var decoded: [UInt8] = []
        var runStart = at
        while let next = byte(at: at), next != 0x0A, next != 0x0D {
            switch next {
            case UInt8(ascii: "\""):
                decoded.append(contentsOf: bytes[runStart..<at])
                at += 1
                return Token(kind: .string, start: start, end: at, value: String(decoding: decoded, as: UTF8.self))
            case UInt8(ascii: "\\"):
                decoded.append(contentsOf: bytes[runStart..<at])
                try escape(to: &decoded)
                runStart = at
            default:
                at += 1
            }
        }
        throw error(.unterminatedString, "Unterminated string", at: at)
    }

    private mutating func escape(to decoded: inout [UInt8]) throws(SyntaxError) {
        switch byte(at: at + 1) {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): decoded.append(bytes[at + 1])
        case UInt8(ascii: "b"): decoded.append(0x08)
        case UInt8(ascii: "f"): decoded.append(0x0C)
        case UInt8(ascii: "n"): decoded.append(0x0A)
        case UInt8(ascii: "r"): decoded.append(0x0D)
        case UInt8(ascii: "t"): decoded.append(0x09)
        case UInt8(ascii: "u"): return try unicodeEscape(to: &decoded)
        default: throw error(.invalidEscape, "Invalid character escape sequence", at: at)
        }
        at += 2
    }

    /// Decodes `\uXXXX`, a surrogate pair `\uD8XX\uDCXX`, or `\u{X…}`.
    private mutating func unicodeEscape(to decoded: inout [UInt8]) throws(SyntaxError) {
        let scalar: Unicode.Scalar?
        let end: Int
        if byte(at: at + 2) == UInt8(ascii: "{") {
            (scalar, end) = bracedEscape()
        } else if let unit = codeUnit(at: at) {
            if unit & 0xFC00 == 0xD800, let trail = codeUnit(at: at + 6), trail & 0xFC00 == 0xDC00 {
                scalar = Unicode.Scalar(0x10000 + ((unit & 0x3FF) << 10) + (trail & 0x3FF))
                end = at + 12
            } else {
                scalar = Unicode.Scalar(unit)
                end = at + 6
            }
        } else {
            (scalar, end) = (nil, at)
        }
        guard let scalar else { throw error(.invalidEscape, "Invalid Unicode escape sequence", at: at) }
        decoded.append(contentsOf: String(scalar).utf8)
        at = end
    }

    private func bracedEscape() -> (Unicode.Scalar?, end: Int) {
        var value: UInt32 = 0
        var offset = at + 3
        while let digit = hexDigit(at: offset) {
            // Clamped past the last scalar, so that any number of digits fits.
            value = min(value << 4 | digit, 0x11_0000)
            offset += 1
        }
        guard offset > at + 3, byte(at: offset) == UInt8(ascii: "}") else { return (nil, at) }
        return (Unicode.Scalar(value), offset + 1)
    }

    /// Returns the value of `\uXXXX` at this offset; nil if there is no such escape.
    private func codeUnit(at offset: Int) -> UInt32? {
        guard byte(at: offset) == UInt8(ascii: "\\"), byte(at: offset + 1) == UInt8(ascii: "u") else { return nil }
        var unit: UInt32 = 0
        for index in (offset + 2)..<(offset + 6) {
            guard let digit = hexDigit(at: index) else { return nil }
            unit = unit << 4 | digit
        }
        return unit
    }

    private func hexDigit(at offset: Int) -> UInt32? {
        switch byte(at: offset) {
        case .some(let byte) where Self.isDigit(byte): UInt32(byte - UInt8(ascii: "0"))
        case .some(let byte) where (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "f"):
            UInt32((byte | 0x20) - UInt8(ascii: "a") + 10)
        default: nil
        }
    }

    private mutating func blockString() throws(SyntaxError) -> Token {
        let start = at
        at += 3
        var raw: [UInt8] = []
        while let next = byte(at: at) {
            if next == UInt8(ascii: "\""), isTripleQuote(at: at) {
                at += 3
                return Token(kind: .blockString, start: start, end: at, value: BlockString.value(ofRaw: raw))
            }
            if next == UInt8(ascii: "\\"), isTripleQuote(at: at + 1) {
                raw.append(contentsOf: bytes[(at + 1)..<(at + 4)])
                at += 4
            } else {
                raw.append(next)
                at += 1
            }
        }
        throw error(.unterminatedString, "Unterminated string", at: at)
    }

    private func isTripleQuote(at offset: Int) -> Bool {
        byte(at: offset) == UInt8(ascii: "\"") && byte(at: offset + 1) == UInt8(ascii: "\"")
            && byte(at: offset + 2) == UInt8(ascii: "\"")
    }
}
