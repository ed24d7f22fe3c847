package import JSON

/// Formats diagnostics for terminals, and as JSON for tools.
///
///
///     dataconnect/schema/schema.gql:3:5: error: unknown type "Strin" [unknown-type]
///       title: Strin!
///              ^~~~~
///       help: did you mean "String"?
///
/// Tabs are expanded to stops of four columns, so that the caret lines up. Control characters are replaced, so that a
/// file cannot send escape sequences to the terminal.
package struct DiagnosticRenderer: Sendable {
    /// Whether to emit ANSI colours.
    package var usesColor: Bool
    /// Longer source lines are shortened to a window around the marked text.
    package static let sourceColumnsMax = 160
    static let tabStop = 4

    package init(usesColor: Bool = false) {
        self.usesColor = usesColor
    }

    /// Renders all diagnostics and a summary line; returns an empty string if there are none.
    package func render(_ diagnostics: [Diagnostic]) -> String {
        guard !diagnostics.isEmpty else { return "" }
        let errors = diagnostics.count { $0.severity == .error }
        let warnings = diagnostics.count { $0.severity == .warning }
        var counts: [String] = []
        if errors > 0 { counts.append("\(errors) \(errors == 1 ? "error" : "errors")") }
        if warnings > 0 { counts.append("\(warnings) \(warnings == 1 ? "warning" : "warnings")") }
        let blocks = diagnostics.map(render).joined(separator: "\n")
        return counts.isEmpty ? blocks + "\n" : blocks + "\n" + counts.joined(separator: ", ") + "\n"
    }

    /// Renders one diagnostic, without a trailing line break.
    package func render(_ diagnostic: Diagnostic) -> String {
        var location = Self.printable(diagnostic.file)
        if diagnostic.line > 0 { location += ":\(diagnostic.line):\(diagnostic.column)" }
        let severity = paint(diagnostic.severity.rawValue, diagnostic.severity.color)
        var text = "\(paint(location, .bold)): \(severity): \(Self.printable(diagnostic.message)) [\(diagnostic.rule)]"
        if diagnostic.line > 0, !diagnostic.sourceLine.isEmpty {
            let excerpt = Excerpt(diagnostic)
            text += "\n  \(excerpt.line)\n  \(paint(excerpt.marks, .green))"
        }
        if let help = diagnostic.help { text += "\n  \(paint("help", .cyan)): \(Self.printable(help))" }
        return text
    }

    /// Encodes diagnostics as `[{severity, rule, message, file, line, column, length, sourceLine?, help?}]`, in the
    /// given order.
    package static func json(_ diagnostics: [Diagnostic]) -> JSONValue {
        .array(
            diagnostics.map { diagnostic in
                var object: JSONObject = [
                    "severity": .string(diagnostic.severity.rawValue), "rule": .string(diagnostic.rule.rawValue),
                    "message": .string(diagnostic.message), "file": .string(diagnostic.file),
                    "line": .int(Int64(diagnostic.line)), "column": .int(Int64(diagnostic.column)),
                    "length": .int(Int64(diagnostic.length)),
                ]
                if !diagnostic.sourceLine.isEmpty { object["sourceLine"] = .string(diagnostic.sourceLine) }
                if let help = diagnostic.help { object["help"] = .string(help) }
                return .object(object)
            })
    }

    static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map(printable)))
    }

    fileprivate static func printable(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .format, .surrogate: "\u{FFFD}"
        default: scalar
        }
    }
}

/// The visible part of a source line, and the line of marks below it.
private struct Excerpt {
    var line = ""
    var marks = ""

    init(_ diagnostic: Diagnostic) {
        let scalars = Array(diagnostic.sourceLine.unicodeScalars)
        let start = max(diagnostic.column - 1, 0)
        let end = start + max(diagnostic.length, 1)
        let window = Self.window(start: start, count: scalars.count)
        var columns = 0
        if window.lowerBound > 0 { append("…", width: 1, mark: " ", &columns) }
        // Includes one position past the end, where an unexpected end of line is marked.
        for index in window.lowerBound...max(window.upperBound, window.lowerBound) {
            let mark: Character = index == start ? "^" : (start..<end).contains(index) ? "~" : " "
            guard index < window.upperBound else {
                if mark != " " { marks.append(mark) }
                break
            }
            let scalar = scalars[index]
            if scalar == "\t" {
                let width = DiagnosticRenderer.tabStop - columns % DiagnosticRenderer.tabStop
                append(String(repeating: " ", count: width), width: width, mark: mark, &columns)
            } else {
                let shown = DiagnosticRenderer.printable(scalar)
                append(String(Character(shown)), width: shown.columnWidth, mark: mark, &columns)
            }
        }
        if window.upperBound < scalars.count { line.append("…") }
        while marks.last == " " { marks.removeLast() }
    }

    private mutating func append(_ text: String, width: Int, mark: Character, _ columns: inout Int) {
        line.append(text)
        columns += width
        guard width > 0 else { return }
        marks.append(mark)
        marks.append(contentsOf: repeatElement(mark == "^" ? "~" : mark, count: width - 1))
    }

    private static func window(start: Int, count: Int) -> Range<Int> {
        let most = DiagnosticRenderer.sourceColumnsMax
        guard count > most else { return 0..<count }
        let lower = min(max(0, start - most / 3), count - most)
        return lower..<lower + most
    }
}

extension Unicode.Scalar {
    /// The number of terminal columns: 0 for combining marks, 2 for East Asian wide characters and emoji, otherwise 1.
    fileprivate var columnWidth: Int {
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: break
        }
        switch value {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}

private enum Color: Int {
    case bold = 1
    case red = 31
    case green = 32
    case magenta = 35
    case cyan = 36
}

extension DiagnosticRenderer {
    private func paint(_ text: String, _ color: Color) -> String {
        usesColor ? "\u{1B}[\(color == .bold ? "1" : "1;\(color.rawValue)")m\(text)\u{1B}[0m" : text
    }
}

extension Diagnostic.Severity {
    fileprivate var color: Color {
        switch self {
        case .error: .red
        case .warning: .magenta
        case .note: .cyan
        }
    }
}
