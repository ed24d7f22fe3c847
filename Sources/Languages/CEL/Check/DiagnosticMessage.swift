/// The text of a diagnostic. All texts are here; a call site reads `report(.undeclaredReference(name, container: c),
/// at: node)`.
struct DiagnosticMessage: Equatable {
    let text: String

    private init(_ text: String) {
        self.text = text
    }

    // Limits
    static func sourceTooLong(max: Int) -> DiagnosticMessage {
        DiagnosticMessage("the expression is longer than \(max) bytes")
    }
    static func tooDeep(max: Int) -> DiagnosticMessage {
        DiagnosticMessage("the expression is nested deeper than \(max) levels")
    }
    static func tooManyNodes(max: Int) -> DiagnosticMessage {
        DiagnosticMessage("the expression has more than \(max) parts")
    }
    static let valueTooDeep = DiagnosticMessage("the expression makes values that are nested too deeply")

    // Lexer
    static func unexpectedCharacter(_ text: String) -> DiagnosticMessage {
        DiagnosticMessage("unexpected character '\(text)'")
    }
    static let unterminatedString = DiagnosticMessage("the string is not closed")
    static let unterminatedIdentifier = DiagnosticMessage("the quoted field name is not closed")
    static let malformedIdentifier = DiagnosticMessage(
        "a quoted field name may contain letters, digits, '_', '.', '-', '/' and ' '")
    static let malformedNumber = DiagnosticMessage("malformed number")
    static let intOutOfRange = DiagnosticMessage("the integer does not fit 64 bits")
    static let uintOutOfRange = DiagnosticMessage("the unsigned integer does not fit 64 bits")
    static let doubleOutOfRange = DiagnosticMessage("the number does not fit a double")
    static let unknownEscape = DiagnosticMessage("unknown escape sequence")
    static let malformedEscape = DiagnosticMessage("malformed escape sequence")
    static let escapeNotScalar = DiagnosticMessage("the escape sequence is not a Unicode code point")
    static let unicodeEscapeInBytes = DiagnosticMessage("\\u and \\U are not allowed in bytes")

    // Parser
    static func unexpected(_ found: String, expected: String) -> DiagnosticMessage {
        DiagnosticMessage("unexpected \(found), expected \(expected)")
    }
    static func reserved(_ word: String) -> DiagnosticMessage {
        DiagnosticMessage("'\(word)' is a reserved word")
    }
    static let hasNeedsSelection = DiagnosticMessage("has() takes one field selection, for example has(a.b)")
    static func macroNeedsVariable(_ macro: String) -> DiagnosticMessage {
        DiagnosticMessage("the first argument of \(macro)() must be a simple name")
    }

    // Checker
    static func undeclaredReference(_ name: String, container: String) -> DiagnosticMessage {
        DiagnosticMessage("undeclared reference to '\(name)' (in container '\(container)')")
    }
    static func noMatchingOverload(_ function: String, _ arguments: [CELType], isInstance: Bool) -> DiagnosticMessage {
        if isInstance, let receiver = arguments.first {
            let rest = arguments.dropFirst().map(\.description).joined(separator: ", ")
            return DiagnosticMessage("no overload of '\(function)' takes '\(receiver).(\(rest))'")
        }
        return DiagnosticMessage(
            "no overload of '\(function)' takes '(\(arguments.map(\.description).joined(separator: ", ")))'")
    }
    static func noFields(_ type: CELType) -> DiagnosticMessage {
        DiagnosticMessage("type '\(type)' has no fields")
    }
    static func expectedType(_ expected: CELType, found: CELType) -> DiagnosticMessage {
        DiagnosticMessage("expected type '\(expected)' but found '\(found)'")
    }
    static func notIterable(_ type: CELType) -> DiagnosticMessage {
        DiagnosticMessage("type '\(type)' cannot be the range of a macro")
    }
    static func unsupportedKey(_ type: CELType) -> DiagnosticMessage {
        DiagnosticMessage("type '\(type)' cannot be the key of a map")
    }
    static func malformedPattern(_ reason: String) -> DiagnosticMessage {
        DiagnosticMessage("malformed regular expression: \(reason)")
    }
}
