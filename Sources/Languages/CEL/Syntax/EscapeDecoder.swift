/// Decodes the escape sequences of a string or bytes literal (langdef "String and Bytes Values"). `\x` and octal
/// escapes denote code points in strings, octets in bytes.
struct EscapeDecoder {
    private let bytes: [UInt8]
    private let end: Int
    private let isBytes: Bool
    private var position: Int
    private var output: [UInt8] = []

    init(bytes: [UInt8], body: Range<Int>, isBytes: Bool) {
        self.bytes = bytes
        self.isBytes = isBytes
        position = body.lowerBound
        end = body.upperBound
    }

    mutating func decode() throws(SyntaxProblem) -> [UInt8] {
        output.reserveCapacity(end - position)
        while position < end {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\\") {
                try decodeEscape(start: position - 1)
            } else {
                output.append(byte)
            }
        }
        return output
    }

    private mutating func decodeEscape(start: Int) throws(SyntaxProblem) {
        guard position < end else {
            throw SyntaxProblem(message: .malformedEscape, offset: start)
        }
        let letter = bytes[position]
        position += 1
        switch letter {
        case UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"):
            output.append(letter)
        case UInt8(ascii: "a"): output.append(0x07)
        case UInt8(ascii: "b"): output.append(0x08)
        case UInt8(ascii: "f"): output.append(0x0C)
        case UInt8(ascii: "n"): output.append(0x0A)
        case UInt8(ascii: "r"): output.append(0x0D)
        case UInt8(ascii: "t"): output.append(0x09)
        case UInt8(ascii: "v"): output.append(0x0B)
        case UInt8(ascii: "x"), UInt8(ascii: "X"):
            try append(code: number(digits: 2, radix: 16, start: start), start: start)
        case UInt8(ascii: "0")...UInt8(ascii: "3"):
            position -= 1
            try append(code: number(digits: 3, radix: 8, start: start), start: start)
        case UInt8(ascii: "u"), UInt8(ascii: "U"):
            if isBytes { throw SyntaxProblem(message: .unicodeEscapeInBytes, offset: start) }
            let code = try number(digits: letter == UInt8(ascii: "u") ? 4 : 8, radix: 16, start: start)
            let isHighSurrogate = letter == UInt8(ascii: "u") && (0xD800..<0xDC00).contains(code)
            try append(code: isHighSurrogate ? completePair(high: code, start: start) : code, start: start)
        default:
            throw SyntaxProblem(message: .unknownEscape, offset: start)
        }
    }

    /// Reads the low surrogate of a pair, itself an escape.
    private mutating func completePair(high: UInt32, start: Int) throws(SyntaxProblem) -> UInt32 {
        guard position + 1 < end, bytes[position] == UInt8(ascii: "\\"), bytes[position + 1] == UInt8(ascii: "u") else {
            throw SyntaxProblem(message: .escapeNotScalar, offset: start)
        }
        position += 2
        let low = try number(digits: 4, radix: 16, start: start)
        guard (0xDC00..<0xE000).contains(low) else {
            throw SyntaxProblem(message: .escapeNotScalar, offset: start)
        }
        return 0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)
    }

    private mutating func number(digits: Int, radix: Int, start: Int) throws(SyntaxProblem) -> UInt32 {
        guard position + digits <= end,
            bytes[position..<position + digits].allSatisfy(Lexer.isHexDigit),
            let value = UInt32(String(decoding: bytes[position..<position + digits], as: UTF8.self), radix: radix)
        else { throw SyntaxProblem(message: .malformedEscape, offset: start) }
        position += digits
        return value
    }

    private mutating func append(code: UInt32, start: Int) throws(SyntaxProblem) {
        if isBytes {
            output.append(UInt8(truncatingIfNeeded: code))
            return
        }
        guard let scalar = Unicode.Scalar(code) else {
            throw SyntaxProblem(message: .escapeNotScalar, offset: start)
        }
        output.append(contentsOf: UTF8.encode(scalar).map { Array($0) } ?? [])
    }
}
