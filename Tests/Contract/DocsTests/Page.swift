import Foundation
import TestSupport

/// A Markdown page, without its blocks of code.
struct Page {
    /// Relative to the repository's root.
    let path: String
    let lines: [String]

    init(_ path: String) throws {
        self.path = path
        var isCode = false
        lines = try Repository.text(path).components(separatedBy: "\n").filter { line in
            if line.hasPrefix("```") {
                isCode.toggle()
                return false
            }
            return !isCode
        }
    }

    static func all() throws -> [Page] {
        try (["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] + Repository.files(below: "docs", ending: ".md"))
            .map { try Page($0) }
    }

    var headings: [String] {
        lines.filter { $0.hasPrefix("#") }.map { $0.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces) }
    }

    /// The anchors that GitHub gives the headings.
    var anchors: Set<String> {
        var seen: [String: Int] = [:]
        return Set(
            headings.map { heading in
                let kept = heading.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
                let slug = kept.replacing(" ", with: "-")
                defer { seen[slug, default: 0] += 1 }
                return seen[slug].map { "\(slug)-\($0)" } ?? slug
            })
    }

    /// Targets of the links that lead to files of the repository or to places on this page.
    var links: [String] {
        lines.flatMap { line in
            line.replacing(/`[^`]*`/, with: "").matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
        }
        .filter { !$0.contains("://") }
    }

    /// The texts written as code within prose.
    var codeSpans: [String] {
        lines.flatMap { $0.matches(of: /`([^`]+)`/).map { String($0.1) } }
    }

    /// The first words in code of the first cells of the tables below a heading.
    func firstCells(below heading: String) -> [String] {
        rows(below: heading).compactMap { $0.firstMatch(of: /^`([^`]+)`/).map { String($0.1) } }
    }

    /// The first cells of the tables below a heading that begin with code.
    func rows(below heading: String) -> [String] {
        let start = lines.firstIndex { $0.hasPrefix("#") && $0.hasSuffix(" " + heading) }
        guard let start else { return [] }
        return lines[(start + 1)...].prefix { !$0.hasPrefix("#") }.filter { $0.hasPrefix("| `") }
            .map { $0.split(separator: "|")[0].trimmingCharacters(in: .whitespaces) }
    }
}
