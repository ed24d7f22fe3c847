package import JSON

/// Writes diagnostics for people, and for tools as JSON.
///
///     dataconnect/schema/schema.gql:3:5: error: unknown type "Strin" [unknown-type]
///       title: Strin!
///              ^~~~~
///       help: did you mean "String"?
///
/// Tabs are widened to stops of four, so that the caret stands under what it marks; control characters are replaced,
/// so that a file cannot speak to the terminal.
package struct DiagnosticRenderer: Sendable {
    /// With ANSI colours.
    package var usesColor: Bool
    /// A longer source line is shown as a window round the marked place.
    package static let sourceColumnsMax = 160
    static let tabStop = 4

    package init(usesColor: Bool = false) {
        self.usesColor = usesColor
    }

    /// All of them and a closing line that counts; empty when there are none.
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

    /// One diagnostic, without a line break at its end.
    package func render(_ diagnostic: Diagnostic) -> String {
        var place = Self.printable(diagnostic.file)
        if diagnostic.line > 0 { place += ":\(diagnostic.line):\(diagnostic.column)" }
        let severity = paint(diagnostic.severity.rawValue, diagnostic.severity.color)
        var text = "\(paint(place, .bold)): \(severity): \(Self.printable(diagnostic.message)) [\(diagnostic.rule)]"
        if diagnostic.line > 0, !diagnostic.sourceLine.isEmpty {
            let excerpt = Excerpt(diagnostic)
            text += "\n  \(excerpt.line)\n  \(paint(excerpt.marks, .green))"
        }
        if let help = diagnostic.help { text += "\n  \(paint("help", .cyan)): \(Self.printable(help))" }
        return text
    }

    /// `[{severity, rule, message, file, line, column, length, sourceLine?, help?}]`, in the order given.
    package static func json(_ diagnostics: [Diagnostic]) -> JSONValue {
        .array(
            diagnostics.map { diagnostic in
                var object: JSONObject = [
                    "severity": .string(diagnostic.severity.rawValue), "rule": .string(diagnostic.rule),
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

/// The shown part of the source line and the line of marks under it.
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
        // One position past the end, where an unexpected end of line is marked.
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
    /// Columns a terminal gives the scalar: 0 for marks that combine, 2 for East Asian wide ones and emoji, else 1.
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
