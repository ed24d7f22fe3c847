import GraphQLLanguage
import SchemaModel

/// A comment that hides the values of fields and variables from operators, and which other tools ignore:
///
///     type User @table {
///       # freshet: redact
///       taxNumber: String!
///       phone: String    # freshet: redact
///     }
///     query ByTaxNumber(
///       $number: String! # freshet: redact
///     ) { … }
///
/// It concerns the fields and variables that its line defines; alone on a line, those of the next line of code.
enum RedactComment {
    static let word = "redact"

    /// Returns the names that a file marks. A comment that marks nothing is a warning.
    static func names(in file: SourceFile, sink: inout DiagnosticSink) -> Set<String> {
        var names: Set<String> = []
        // The comment above that waits for its line.
        var waiting: SourceRange?
        let bytes = file.source.bytes
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            let range = SourceRange(start: start, end: end)
            let line = String(decoding: bytes[start..<end], as: UTF8.self)
            start = end + 1
            let (code, isMarked) = split(line)
            guard code.contains(where: { !$0.isWhitespace }) else {
                if isMarked { waiting = range }
                continue
            }
            guard isMarked || waiting != nil else { continue }
            let found = defined(in: code)
            if found.isEmpty {
                sink.report(
                    .warning, rule: .configurationValue, at: waiting ?? range, in: file,
                    "\"# freshet: redact\" marks no field and no variable: it belongs above, or behind, a line that "
                        + "defines one")
            }
            names.formUnion(found)
            waiting = nil
        }
        return names
    }

    /// Splits a line at its comment.
    private static func split(_ line: String) -> (code: Substring, isMarked: Bool) {
        var (isQuoted, isEscaped) = (false, false)
        for place in line.indices {
            if isEscaped {
                isEscaped = false
                continue
            }
            switch line[place] {
            case "\\" where isQuoted: isEscaped = true
            case "\"": isQuoted.toggle()
            case "#" where !isQuoted:
                let words = line[place...].drop { $0 == "#" }.split(whereSeparator: \.isWhitespace)
                return (line[..<place], words.starts(with: ["freshet:", Substring(word)]))
            default: break
            }
        }
        return (line[...], false)
    }

    /// The variables that a line defines, or else its field.
    private static func defined(in code: Substring) -> Set<String> {
        let variables = code.matches(of: #/\$([_A-Za-z][_0-9A-Za-z]*)\s*:/#).map { String($0.1) }
        if !variables.isEmpty { return Set(variables) }
        guard let field = code.prefixMatch(of: #/\s*([_A-Za-z][_0-9A-Za-z]*)\s*(?:\([^)]*\)\s*)?:/#) else { return [] }
        return [String(field.1)]
    }
}
