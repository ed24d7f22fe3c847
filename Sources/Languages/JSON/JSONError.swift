/// Why a text is not JSON, and where. Carries nothing of the text.
package struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// The text ended inside a value.
        case unexpectedEnd
        /// A byte that cannot stand here.
        case unexpectedByte
        /// Something follows the value.
        case trailingBytes
        /// The text starts with a byte order mark (RFC 8259, section 8.1 lets a parser choose; this one refuses).
        case byteOrderMark
        case invalidNumber
        /// A number too large for a double.
        case numberOutOfRange
        case invalidEscape
        /// `\uD800`…`\uDFFF` that is not part of a pair.
        case loneSurrogate
        /// A control character below U+0020 that is not escaped.
        case controlCharacter
        case invalidUTF8
        /// Nested deeper than `JSONLimits.depthMax`.
        case tooDeep
        /// Longer than `JSONLimits.bytesMax`.
        case tooLarge

        /// In words for whoever sent the text.
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

/// What a text may cost.
package struct JSONLimits: Sendable, Hashable {
    /// Arrays and objects inside each other.
    package var depthMax: Int
    package var bytesMax: Int

    package init(depthMax: Int = 128, bytesMax: Int = 16 << 20) {
        self.depthMax = depthMax
        self.bytesMax = bytesMax
    }

    package static let `default` = JSONLimits()
}
