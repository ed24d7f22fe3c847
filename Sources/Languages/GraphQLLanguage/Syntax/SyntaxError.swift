/// The first violation of the grammar in a source.
package struct SyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// A character that cannot begin a token.
        case unexpectedCharacter
        case unterminatedString
        case invalidEscape
        case invalidNumber
        case invalidUTF8
        /// A token that is not allowed here.
        case unexpectedToken
        /// A variable in a constant value.
        case variableInConstant
        /// A name with a special meaning here: `true` as an enum value, `on` as a fragment.
        case reservedName
        /// Nested deeper than `ParserLimits.depthMax`.
        case tooDeep
        /// More tokens than `ParserLimits.tokensMax`.
        case tooManyTokens
        /// Longer than `ParserLimits.bytesMax`.
        case tooLarge
    }

    package let code: Code
    /// One sentence without a full stop. May quote names and punctuation of the source, never the content of strings or
    /// numbers.
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

/// Limits on the size of a source.
package struct ParserLimits: Sendable, Hashable {
    /// Nesting of selection sets, lists, objects and list types, counted together.
    package var depthMax: Int
    package var tokensMax: Int
    package var bytesMax: Int

    package init(depthMax: Int = 128, tokensMax: Int = 500_000, bytesMax: Int = 8 << 20) {
        self.depthMax = depthMax
        self.tokensMax = tokensMax
        self.bytesMax = bytesMax
    }

    /// The limits of schemas and connectors, which come from the service's own files.
    package static let `default` = ParserLimits()
    /// The limits of documents sent by clients.
    package static let request = ParserLimits(depthMax: 64, tokensMax: 20_000, bytesMax: 1 << 20)
}
