/// Splits a source into tokens on demand (langdef "Syntax").
struct Lexer {
    private let bytes: [UInt8]
    private var position = 0

    init(source: String) {
        bytes = Array(source.utf8)
    }

    mutating func next() throws(SyntaxProblem) -> Token {
        skipSpace()
        let start = position
        let kind = try readKind()
        return Token(kind: kind, range: start..<position)
    }

    private func byte(at offset: Int = 0) -> UInt8? {
        position + offset < bytes.count ? bytes[position + offset] : nil
    }

    private mutating func skipSpace() {
        while let byte = byte() {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0C, 0x0D:
                position += 1
            case UInt8(ascii: "/") where self.byte(at: 1) == UInt8(ascii: "/"):
                while let byte = self.byte(), byte != 0x0A { position += 1 }
            default:
                return
            }
        }
    }

    private mutating func readKind() throws(SyntaxProblem) -> Token.Kind {
        guard let first = byte() else { return .end }
        if let prefixLength = stringPrefixLength() { return try readString(prefixLength: prefixLength) }
        if Self.isLetter(first) { return .identifier(takeText(while: Self.isWord)) }
        if Self.isDigit(first) || first == UInt8(ascii: ".") && byte(at: 1).map(Self.isDigit) == true {
            return try readNumber()
        }
        if first == UInt8(ascii: "`") { return try readQuotedIdentifier() }
        return try readSymbol()
    }

    private mutating func takeText(while condition: (UInt8) -> Bool) -> String {
        let start = position
        while let byte = byte(), condition(byte) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func readQuotedIdentifier() throws(SyntaxProblem) -> Token.Kind {
        let start = position
        position += 1
        let allowed = Array("._-/ ".utf8)
        let name = takeText { Self.isWord($0) || allowed.contains($0) }
        guard let closing = byte() else { throw SyntaxProblem(message: .unterminatedIdentifier, offset: start) }
        guard closing == UInt8(ascii: "`"), !name.isEmpty else {
            throw SyntaxProblem(message: .malformedIdentifier, offset: position)
        }
        position += 1
        return .quotedIdentifier(name)
    }

    private mutating func readSymbol() throws(SyntaxProblem) -> Token.Kind {
        for length in [2, 1] where position + length <= bytes.count {
            let text = String(decoding: bytes[position..<position + length], as: UTF8.self)
            if let symbol = Token.Symbol(rawValue: text) {
                position += length
                return .symbol(symbol)
            }
        }
        let rest = String(decoding: bytes[position...].prefix(4), as: UTF8.self)
        let character = rest.unicodeScalars.first.map { String($0) } ?? ""
        throw SyntaxProblem(message: .unexpectedCharacter(character), offset: position)
    }
}

// MARK: Numbers
extension Lexer {
    private mutating func readNumber() throws(SyntaxProblem) -> Token.Kind {
        let start = position
        if byte() == UInt8(ascii: "0"), byte(at: 1) == UInt8(ascii: "x") {
            position += 2
            return try integer(digits: takeText(while: Self.isHexDigit), radix: 16, start: start)
        }
        var text = takeText(while: Self.isDigit)
        var isReal = false
        if byte() == UInt8(ascii: "."), byte(at: 1).map(Self.isDigit) == true {
            isReal = true
            position += 1
            text += "." + takeText(while: Self.isDigit)
        }
        if let byte = byte(), byte | 0x20 == UInt8(ascii: "e") {
            let signLength = self.byte(at: 1) == UInt8(ascii: "+") || self.byte(at: 1) == UInt8(ascii: "-") ? 1 : 0
            guard self.byte(at: 1 + signLength).map(Self.isDigit) == true else {
                throw SyntaxProblem(message: .malformedNumber, offset: start)
            }
            isReal = true
            let sign = signLength == 1 && self.byte(at: 1) == UInt8(ascii: "-") ? "-" : ""
            position += 1 + signLength
            text += "e" + sign + takeText(while: Self.isDigit)
        }
        guard isReal else { return try integer(digits: text, radix: 10, start: start) }
        guard let value = Double(text.first == "." ? "0" + text : text) else {
            throw SyntaxProblem(message: .malformedNumber, offset: start)
        }
        guard value.isFinite else {
            throw SyntaxProblem(message: .doubleOutOfRange, offset: start)
        }
        try rejectWord(start: start)
        return .double(value)
    }

    private mutating func integer(digits: String, radix: Int, start: Int) throws(SyntaxProblem) -> Token.Kind {
        guard !digits.isEmpty else {
            throw SyntaxProblem(message: .malformedNumber, offset: start)
        }
        let isUnsigned = byte().map { $0 | 0x20 == UInt8(ascii: "u") } ?? false
        if isUnsigned { position += 1 }
        try rejectWord(start: start)
        guard let value = UInt64(digits, radix: radix) else {
            let message = isUnsigned ? DiagnosticMessage.uintOutOfRange : DiagnosticMessage.intOutOfRange
            throw SyntaxProblem(message: message, offset: start)
        }
        return isUnsigned ? .uint(value) : .int(value)
    }

    /// Throws if a word follows a number directly, as in `1x`.
    private func rejectWord(start: Int) throws(SyntaxProblem) {
        if let byte = byte(), Self.isWord(byte) {
            throw SyntaxProblem(message: .malformedNumber, offset: start)
        }
    }
}

// MARK: Strings
extension Lexer {
    /// Returns the length of a prefix `r`, `b` or `br` before a quote (0 if there is none); nil if no string begins
    /// here.
    private func stringPrefixLength() -> Int? {
        var length = 0
        if let byte = byte(), byte | 0x20 == UInt8(ascii: "b") { length += 1 }
        if let byte = byte(at: length), byte | 0x20 == UInt8(ascii: "r") { length += 1 }
        return byte(at: length).map(Self.isQuote) == true ? length : nil
    }

    private mutating func readString(prefixLength: Int) throws(SyntaxProblem) -> Token.Kind {
        let start = position
        let prefix = bytes[position..<position + prefixLength].map { $0 | 0x20 }
        let isBytes = prefix.contains(UInt8(ascii: "b"))
        let isRaw = prefix.contains(UInt8(ascii: "r"))
        position += prefixLength
        let quote = bytes[position]
        let isTriple = byte(at: 1) == quote && byte(at: 2) == quote
        position += isTriple ? 3 : 1
        let bodyStart = position
        while true {
            guard let byte = byte() else {
                throw SyntaxProblem(message: .unterminatedString, offset: start)
            }
            if byte == quote, !isTriple || self.byte(at: 1) == quote && self.byte(at: 2) == quote { break }
            if !isTriple, byte == 0x0A || byte == 0x0D {
                throw SyntaxProblem(message: .unterminatedString, offset: start)
            }
            // A raw string has no escapes.
            position += !isRaw && byte == UInt8(ascii: "\\") ? 2 : 1
        }
        let body = bodyStart..<position
        position += isTriple ? 3 : 1
        if isRaw {
            return isBytes ? .bytes(Array(bytes[body])) : .string(String(decoding: bytes[body], as: UTF8.self))
        }
        var decoder = EscapeDecoder(bytes: bytes, body: body, isBytes: isBytes)
        let decoded = try decoder.decode()
        return isBytes ? .bytes(decoded) : .string(String(decoding: decoded, as: UTF8.self))
    }
}

extension Lexer {
    static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
    static func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }
    static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
    }
    static func isWord(_ byte: UInt8) -> Bool { isLetter(byte) || isDigit(byte) }
    static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }
}
