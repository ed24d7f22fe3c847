/// The reason why a text is not valid JSON, and its position. Contains nothing of the text.
package struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// The text ends inside a value.
        case unexpectedEnd
        /// A byte that is not allowed here.
        case unexpectedByte
        /// Non-whitespace after the value.
        case trailingBytes
        /// The text starts with a byte order mark, which RFC 8259, section 8.1 lets a parser ignore or reject; this one
        /// rejects it.
        case byteOrderMark
        case invalidNumber
        /// A number too large for a double.
        case numberOutOfRange
        case invalidEscape
        /// `\uD800`…`\uDFFF` that is not part of a surrogate pair.
        case loneSurrogate
        /// An unescaped control character below U+0020.
        case controlCharacter
        case invalidUTF8
        /// Nested deeper than `JSONLimits.depthMax`.
        case tooDeep
        /// Longer than `JSONLimits.bytesMax`.
        case tooLarge

        /// A description for the sender of the text.
        package var text: String {
            switch self {
            case .unexpectedEnd: "the text ends inside a value"
            case .unexpectedByte: "a character that cannot stand here"
            case .trailingBytes: "something follows the value"
            case .byteOrderMark: "a byte order mark"
            case .invalidNumber: "not a number"
            case .numberOutOfRange: "a number that is too large"
            case .invalidEscape: "an unknown escape"
            case .loneSurrogate: "half of a surrogate pair"
            case .controlCharacter: "a control character that is not escaped"
            case .invalidUTF8: "not UTF-8"
            case .tooDeep: "nested too deeply"
            case .tooLarge: "too long"
            }
        }
    }

    package let code: Code
    /// Byte offset from the start of the text.
    package let offset: Int

    package init(code: Code, offset: Int) {
        self.code = code
        self.offset = offset
    }

    package var description: String { "\(code.text) at byte \(offset)" }
}

/// Limits on the size of a text.
package struct JSONLimits: Sendable, Hashable {
    /// Nesting of arrays and objects.
    package var depthMax: Int
    package var bytesMax: Int

    package init(depthMax: Int = 128, bytesMax: Int = 16 << 20) {
        self.depthMax = depthMax
        self.bytesMax = bytesMax
    }

    package static let `default` = JSONLimits()
}
