/// Reads tokens on demand, so that the first error in the text is the one reported.
///
/// Implements section 2.1 of the October 2021 specification, with the source characters and escapes of September 2025:
/// any Unicode scalar in comments and strings, `\u{…}` escapes, and surrogate pairs read as one character.
struct Lexer: Sendable {
    let source: Source
    let limits: ParserLimits
    var bytes: [UInt8] { source.bytes }
    var at = 0
    private var tokens = 0

    /// Checks that the source is small enough and valid UTF-8, so that later steps can rely on it.
    init(_ source: Source, limits: ParserLimits) throws(SyntaxError) {
        self.source = source
        self.limits = limits
        guard source.bytes.count <= limits.bytesMax else {
            throw error(.tooLarge, "Source is longer than \(limits.bytesMax) bytes", at: limits.bytesMax)
        }
        do {
            _ = try UTF8Span(validating: source.bytes.span)
        } catch {
            throw self.error(.invalidUTF8, "Source is not valid UTF-8", at: error.byteOffsets.lowerBound)
        }
    }

    /// Returns the next token; `endOfFile` at the end and afterwards.
    mutating func next() throws(SyntaxError) -> Token {
        skipIgnored()
        guard at < bytes.count else {
            return Token(kind: .endOfFile, start: bytes.count, end: bytes.count)
        }
        tokens += 1
        guard tokens <= limits.tokensMax else {
            throw error(.tooManyTokens, "Source has more than \(limits.tokensMax) tokens", at: at)
        }
        switch bytes[at] {
        case UInt8(ascii: "!"): return punctuator(.bang)
        case UInt8(ascii: "$"): return punctuator(.dollar)
        case UInt8(ascii: "&"): return punctuator(.ampersand)
        case UInt8(ascii: "("): return punctuator(.leftParenthesis)
        case UInt8(ascii: ")"): return punctuator(.rightParenthesis)
        case UInt8(ascii: ":"): return punctuator(.colon)
        case UInt8(ascii: "="): return punctuator(.equals)
        case UInt8(ascii: "@"): return punctuator(.at)
        case UInt8(ascii: "["): return punctuator(.leftBracket)
        case UInt8(ascii: "]"): return punctuator(.rightBracket)
        case UInt8(ascii: "{"): return punctuator(.leftBrace)
        case UInt8(ascii: "|"): return punctuator(.pipe)
        case UInt8(ascii: "}"): return punctuator(.rightBrace)
        case UInt8(ascii: "."):
            if byte(at: at + 1) == UInt8(ascii: "."), byte(at: at + 2) == UInt8(ascii: ".") {
                return punctuator(.spread, length: 3)
            }
            throw unexpectedCharacter(at: at)
        case UInt8(ascii: "\""):
            return try string()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return try number()
        case let first where Self.isNameStart(first):
            return name()
        default:
            throw unexpectedCharacter(at: at)
        }
    }

    /// Skips white space, line terminators, commas, byte order marks and comments.
    private mutating func skipIgnored() {
        while at < bytes.count {
            switch bytes[at] {
            case 0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: ","):
                at += 1
            case 0xEF where byte(at: at + 1) == 0xBB && byte(at: at + 2) == 0xBF:
                at += 3
            case UInt8(ascii: "#"):
                while at < bytes.count, bytes[at] != 0x0A, bytes[at] != 0x0D { at += 1 }
            default:
                return
            }
        }
    }

    private mutating func punctuator(_ kind: Token.Kind, length: Int = 1) -> Token {
        let start = at
        at += length
        return Token(kind: kind, start: start, end: at)
    }

    private mutating func name() -> Token {
        let start = at
        while let next = byte(at: at), Self.isNameStart(next) || Self.isDigit(next) { at += 1 }
        return Token(kind: .name, start: start, end: at, value: text(start..<at))
    }

    /// Reads a number: optional `-`, digits without leading zero, optional fraction and exponent. A name or a dot must
    /// not follow directly.
    private mutating func number() throws(SyntaxError) -> Token {
        let start = at
        var isFloat = false
        if byte(at: at) == UInt8(ascii: "-") { at += 1 }
        if byte(at: at) == UInt8(ascii: "0") {
            at += 1
            if let next = byte(at: at), Self.isDigit(next) {
                throw error(.invalidNumber, "Invalid number, unexpected digit after 0", at: at)
            }
        } else {
            try digits()
        }
        if byte(at: at) == UInt8(ascii: ".") {
            isFloat = true
            at += 1
            try digits()
        }
        if let next = byte(at: at), next | 0x20 == UInt8(ascii: "e") {
            isFloat = true
            at += 1
            if let sign = byte(at: at), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { at += 1 }
            try digits()
        }
        if let next = byte(at: at), next == UInt8(ascii: ".") || Self.isNameStart(next) {
            throw error(.invalidNumber, "Invalid number, expected a digit", at: at)
        }
        return Token(kind: isFloat ? .float : .int, start: start, end: at, value: text(start..<at))
    }

    private mutating func digits() throws(SyntaxError) {
        let start = at
        while let next = byte(at: at), Self.isDigit(next) { at += 1 }
        if at == start { throw error(.invalidNumber, "Invalid number, expected a digit", at: at) }
    }

    @inline(__always)
    func byte(at offset: Int) -> UInt8? {
        offset < source.bytes.count ? source.bytes[offset] : nil
    }

    func text(_ range: Range<Int>) -> String {
        String(decoding: source.bytes[range], as: UTF8.self)
    }

    static func isNameStart(_ byte: UInt8) -> Bool {
        let letter = byte | 0x20
        return letter >= UInt8(ascii: "a") && letter <= UInt8(ascii: "z") || byte == UInt8(ascii: "_")
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    private func unexpectedCharacter(at offset: Int) -> SyntaxError {
        let byte = bytes[offset]
        let isPrintable = byte > 0x20 && byte < 0x7F
        let shown = isPrintable ? " '\(Character(Unicode.Scalar(byte)))'" : ""
        return error(.unexpectedCharacter, "Unexpected character\(shown)", at: offset)
    }

    func error(_ code: SyntaxError.Code, _ message: String, at offset: Int) -> SyntaxError {
        SyntaxError(code: code, message: message, location: source.location(at: offset), sourceName: source.name)
    }
}
