import Foundation

/// A program that a tutorial builds from blocks of declarations, with empty lines between them. A declaration takes the
/// place of the one with its name, or goes to the end of its type, or of the file.
struct TutorialProgram {
    /// The declarations of the file, the beginning and the end of its type, and those of the type in between.
    private var parts: [String]

    /// - Parameter text: a whole file with one type.
    init(_ text: String) {
        let lines = text.components(separatedBy: "\n").map { line in
            line.hasPrefix("@main") ? line + "\n" : line == "}" ? "\n" + line : line
        }
        parts = Self.parts(of: lines.joined(separator: "\n"))
    }

    mutating func apply(_ block: String) {
        for part in Self.parts(of: block) {
            let name = Self.name(of: part)
            if let index = parts.firstIndex(where: { Self.name(of: $0) == name }) {
                parts[index] = part
            } else if part.hasPrefix(" "), let end = parts.firstIndex(of: "}") {
                parts.insert(part, at: end)
            } else {
                parts.append(part)
            }
        }
    }

    /// The text of the file.
    var text: String {
        var text = ""
        for part in parts {
            let continues = text.isEmpty || part == "}" || text.hasSuffix("AsyncParsableCommand {\n")
            text += (continues ? "" : "\n") + part + "\n"
        }
        return text
    }

    private static func parts(of text: String) -> [String] {
        text.components(separatedBy: "\n\n").map { $0.trimmingCharacters(in: .newlines) }.filter { !$0.isEmpty }
    }

    /// The first name that it declares; nil for the end of the type.
    private static func name(of part: String) -> Substring? {
        let code = part.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
        return code.joined(separator: "\n").firstMatch(of: #/\b(?:func|var|let|struct|import) (\w+)/#)?.output.1
    }
}
