/// A text of lines with indentation.
struct CodeWriter {
    private(set) var lines: [String] = []
    private var depth = 0
    private let step: String

    init(indentation: Int) {
        step = String(repeating: " ", count: indentation)
    }

    /// The text, with a newline at its end.
    var text: String { lines.joined(separator: "\n") + "\n" }

    /// Adds lines at the current depth; empty lines stay empty.
    mutating func line(_ text: String = "") {
        let indentation = String(repeating: step, count: depth)
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            lines.append(line.isEmpty ? "" : indentation + line)
        }
    }

    /// Adds an opening line, what `body` writes one level deeper, and a closing line.
    mutating func block(_ opening: String, _ closing: String = "}", _ body: (inout CodeWriter) -> Void) {
        line(opening)
        depth += 1
        body(&self)
        depth -= 1
        line(closing)
    }

    /// Adds what `body` writes, one level deeper.
    mutating func indented(_ body: (inout CodeWriter) -> Void) {
        depth += 1
        body(&self)
        depth -= 1
    }

    /// The most columns of a line with a list that can be broken.
    static let columnsMax = 100

    /// Whether a text fits on one line at the current depth.
    func fits(_ text: String) -> Bool { depth * step.utf8.count + text.count <= Self.columnsMax }

    /// Returns a text with a list: on one line if that is short enough at the current depth, else with one element a
    /// line.
    /// - Parameter mayTrail: whether a comma may follow the last element.
    func wrapping(_ start: String, _ elements: [String], _ end: String, mayTrail: Bool = false) -> String {
        let single = start + elements.joined(separator: ", ") + end
        if depth * step.utf8.count + single.count <= Self.columnsMax || elements.isEmpty { return single }
        let lines = elements.joined(separator: ",\n\(step)")
        return "\(start)\n\(step)\(lines)\(mayTrail ? "," : "")\n\(end)"
    }

    /// Adds documentation as comment lines that begin with `prefix`, such as `/// `. Lines that are too long are broken
    /// between words.
    mutating func documentation(_ text: String?, prefix: String) {
        guard let text else { return }
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            var rest = prefix + line.trimmingSpaces
            let columns = Self.documentationColumnsMax - depth * step.utf8.count
            while rest.count > columns,
                let blank = rest.prefix(columns + 1).dropFirst(prefix.count).lastIndex(of: " ")
            {
                self.line(rest[..<blank].trimmingEnd)
                rest = prefix + rest[blank...].trimmingSpaces
            }
            self.line(rest.trimmingEnd)
        }
    }

    private static let documentationColumnsMax = 120
}

extension StringProtocol {
    var trimmingEnd: String {
        var rest = self[...]
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return String(rest)
    }

    var trimmingSpaces: String { String(drop(while: \.isWhitespace)).trimmingEnd }
}
