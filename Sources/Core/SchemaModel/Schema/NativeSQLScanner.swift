/// Splits SQL into text and `$n` parameters, following Postgres' lexical rules for quotes and comments (manual, §4.1).
package enum NativeSQLScanner {
    package enum Piece: Equatable {
        case text(String)
        case parameter(Int)
    }

    package struct Result {
        package var pieces: [Piece] = []
        package var firstWord = ""
    }

    package struct Problem: Error {
        package let message: String
    }

    package static func scan(_ sql: String) throws(Problem) -> Result {
        guard !sql.utf8.contains(0) else { throw Problem(message: "the SQL must not contain the character U+0000") }
        var scanner = Scanner(bytes: Array(sql.utf8))
        return try scanner.scan()
    }

    private struct Scanner {
        let bytes: [UInt8]
        var index = 0
        var textStart = 0
        var depth = 0
        var result = Result()

        init(bytes: [UInt8]) {
            // A trailing semicolon is not a second statement.
            var end = bytes.count
            while end > 0, bytes[end - 1] <= 0x20 || bytes[end - 1] == UInt8(ascii: ";") { end -= 1 }
            self.bytes = Array(bytes[..<end])
        }

        func peek(_ offset: Int = 0) -> UInt8? {
            index + offset < bytes.count ? bytes[index + offset] : nil
        }

        mutating func scan() throws(Problem) -> Result {
            while let byte = peek() {
                switch byte {
                case UInt8(ascii: "'"):
                    try skipQuoted(byte, allowsBackslash: previousIsEscapePrefix)
                case UInt8(ascii: "\""): try skipQuoted(byte, allowsBackslash: false)
                case UInt8(ascii: "-") where peek(1) == byte:
                    throw Problem(message: "the SQL must not contain -- comments")
                case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"): try skipComment()
                case UInt8(ascii: "$"): try dollar()
                case UInt8(ascii: ";"): throw Problem(message: "the SQL must be a single statement")
                case UInt8(ascii: "("):
                    depth += 1
                    index += 1
                case UInt8(ascii: ")"):
                    depth -= 1
                    guard depth >= 0 else { throw Problem(message: "the SQL has an unmatched \")\"") }
                    index += 1
                default:
                    if Self.startsWord(byte) { word() } else { index += 1 }
                }
            }
            guard depth == 0 else { throw Problem(message: "the SQL has an unmatched \"(\"") }
            flush(to: bytes.count)
            return result
        }

        /// Whether the quote follows the prefix of `E'…'`, where the letter is a separate word.
        var previousIsEscapePrefix: Bool {
            guard index > 0, bytes[index - 1] | 0x20 == UInt8(ascii: "e") else { return false }
            return index < 2 || !Self.continuesWord(bytes[index - 2])
        }

        mutating func flush(to end: Int) {
            if end > textStart { result.pieces.append(.text(String(decoding: bytes[textStart..<end], as: UTF8.self))) }
            textStart = end
        }

        mutating func word() {
            let start = index
            while let byte = peek(), Self.continuesWord(byte) { index += 1 }
            if result.firstWord.isEmpty { result.firstWord = String(decoding: bytes[start..<index], as: UTF8.self) }
        }

        mutating func skipQuoted(_ quote: UInt8, allowsBackslash: Bool) throws(Problem) {
            index += 1
            while let byte = peek() {
                if allowsBackslash, byte == UInt8(ascii: "\\") {
                    index += 2
                } else if byte == quote {
                    index += 1
                    if peek() != quote { return }
                    index += 1
                } else {
                    index += 1
                }
            }
            throw Problem(message: "the SQL has an unterminated quote")
        }

        /// Skips a comment; comments nest in Postgres.
        mutating func skipComment() throws(Problem) {
            var open = 0
            repeat {
                guard let byte = peek() else { throw Problem(message: "the SQL has an unterminated comment") }
                if byte == UInt8(ascii: "/"), peek(1) == UInt8(ascii: "*") {
                    open += 1
                    index += 2
                } else if byte == UInt8(ascii: "*"), peek(1) == UInt8(ascii: "/") {
                    open -= 1
                    index += 2
                } else {
                    index += 1
                }
            } while open > 0
        }

        /// Reads `$1` or `$tag$ … $tag$`.
        mutating func dollar() throws(Problem) {
            let start = index
            index += 1
            if let digit = peek(), Self.isDigit(digit) {
                var number = 0
                while let digit = peek(), Self.isDigit(digit) {
                    number = min(number * 10 + Int(digit - UInt8(ascii: "0")), 100_000)
                    index += 1
                }
                flush(to: start)
                result.pieces.append(.parameter(number))
                textStart = index
                return
            }
            while let byte = peek(), Self.continuesWord(byte), byte != UInt8(ascii: "$") { index += 1 }
            guard peek() == UInt8(ascii: "$") else { return }
            index += 1
            let tag = bytes[start..<index]
            while index + tag.count <= bytes.count {
                if bytes[index..<index + tag.count].elementsEqual(tag) {
                    index += tag.count
                    return
                }
                index += 1
            }
            throw Problem(message: "the SQL has an unterminated quote")
        }

        static func isDigit(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }

        static func startsWord(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_") || byte >= 0x80
        }

        static func continuesWord(_ byte: UInt8) -> Bool {
            startsWord(byte) || isDigit(byte) || byte == UInt8(ascii: "$")
        }
    }
}
