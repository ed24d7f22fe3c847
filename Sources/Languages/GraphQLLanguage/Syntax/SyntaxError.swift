/// The first thing in a source that the grammar does not allow.
package struct SyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// A character that starts no token.
        case unexpectedCharacter
        case unterminatedString
        case invalidEscape
        case invalidNumber
        case invalidUTF8
        /// A token that cannot stand here.
        case unexpectedToken
        /// A variable inside a constant value.
        case variableInConstant
        /// A name that has a meaning of its own here: an enum value `true`, a fragment `on`.
        case reservedName
        /// Nested deeper than `ParserLimits.depthMax`.
        case tooDeep
        /// More tokens than `ParserLimits.tokensMax`.
        case tooManyTokens
        /// Longer than `ParserLimits.bytesMax`.
        case tooLarge
    }

    package let code: Code
    /// One sentence without full stop. Names and punctuation of the source appear in it, contents of strings and
    /// numbers do not.
    package let message: String
    package let location: SourceLocation
    package let sourceName: String

    package init(code: Code, message: String, location: SourceLocation, sourceName: String) {
        self.code = code
        self.message = message
        self.location = location
        self.sourceName = sourceName
    }

    package var description: String { "\(sourceName):\(location): \(message)" }
}

/// What a source may cost.
package struct ParserLimits: Sendable, Hashable {
    /// Selection sets, lists, objects and list types inside each other, all counted together.
    package var depthMax: Int
    package var tokensMax: Int
    package var bytesMax: Int

    package init(depthMax: Int = 128, tokensMax: Int = 500_000, bytesMax: Int = 8 << 20) {
        self.depthMax = depthMax
        self.tokensMax = tokensMax
        self.bytesMax = bytesMax
    }

    /// For schemas and connectors, which come from the service's own files.
    package static let `default` = ParserLimits()
    /// For texts that a client sends.
    package static let request = ParserLimits(depthMax: 64, tokensMax: 20_000, bytesMax: 1 << 20)
}
