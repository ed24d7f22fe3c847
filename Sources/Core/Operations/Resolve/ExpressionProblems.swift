import CEL
import GraphQLLanguage
import SchemaModel

// Problems of CEL expressions in operations, at their place in the file.
extension OperationScope {
    /// Reports why an expression does not compile.
    /// - Parameters:
    ///   - variables: what the names of variables are preceded by.
    ///   - help: the hint for problems that suggest none.
    func report(
        _ failure: CompileFailure, of text: String, _ rule: SchemaModel.Diagnostic.Rule, at range: FileRange,
        variables: String = "vars", help: String? = nil
    ) {
        for problem in failure.diagnostics {
            let word = Self.word(in: text, at: problem.offset)
            var help = text.contains("uuidV4") ? "uuidV4() must be the whole expression" : help
            if context.declaredNames.contains(word) {
                help = "did you mean \(variables).\(word)?"
            } else if Self.isAssignment(text, at: problem.offset) {
                help = "did you mean ==?"
            }
            if let place = place(of: problem.offset, length: max(word.utf8.count, 1), of: text, in: range) {
                error(rule, at: place, problem.message, help: help)
            } else {
                let kind = rule == .refreshCondition ? "condition" : "expression"
                error(
                    rule, at: range, "\(problem.message) (at \(problem.line):\(problem.column) of the \(kind))",
                    help: help)
            }
        }
    }

    /// Returns the place of a part of an expression; nil if its literal has escape sequences or an indented block.
    private func place(of offset: Int, length: Int, of text: String, in literal: FileRange) -> FileRange? {
        let source = Array(literal.file.text(of: literal.range).utf8)
        let expression = Array(text.utf8)
        guard !expression.isEmpty, let found = source.firstRange(of: expression) else { return nil }
        let start = literal.range.start + found.lowerBound + offset
        return FileRange(range: SourceRange(start: start, end: start + length), file: literal.file)
    }

    /// Returns the name that begins at an offset of an expression; empty if there is none.
    private static func word(in text: String, at offset: Int) -> String {
        String(decoding: text.utf8.dropFirst(offset).prefix { isNameByte($0) }, as: UTF8.self)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func isAssignment(_ text: String, at offset: Int) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.indices.contains(offset) && bytes[offset] == UInt8(ascii: "=")
            && !(bytes.indices.contains(offset + 1) && bytes[offset + 1] == UInt8(ascii: "="))
    }

    /// Returns the GraphQL type of an expression that is only a path, such as `auth.uid` or `vars.id`; nil for other
    /// expressions, and where any type is possible.
    func type(ofPath text: String) -> String? {
        var parts = text.split(separator: ".", omittingEmptySubsequences: false).map {
            String($0.filter { !$0.isWhitespace })
        }
        if parts.first == "request", ["auth", "variables"].contains(parts.dropFirst().first) {
            parts.removeFirst()
            if parts[0] == "variables" { parts[0] = "vars" }
        }
        switch parts {
        case ["auth"], ["auth", "token"], ["vars"], ["request"]: return "object"
        case ["auth", "uid"], ["request", "operationName"]: return "String"
        case ["request", "time"]: return "Timestamp"
        case let path where path.count == 2 && path[0] == "vars": return variables[path[1]]?.type.nullable.text
        default: return nil
        }
    }
}
