import Foundation

/// The repository that this file is in.
enum Repository {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appending(path: path).path)
    }

    /// Paths below a folder, relative to the root, of files with this ending.
    static func files(below folder: String, ending: String) -> [String] {
        let found = FileManager.default.enumerator(atPath: root.appending(path: folder).path)
        return (found?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(ending) }.map { "\(folder)/\($0)" }
            .sorted()
    }

    static func folders(below folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
            .filter { !$0.hasPrefix(".") }.sorted()
    }
}

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

    /// What is written as code within the text.
    var codeSpans: [String] {
        lines.flatMap { $0.matches(of: /`([^`]+)`/).map { String($0.1) } }
    }

    /// The first cells of the tables below a heading.
    func firstCells(below heading: String) -> [String] {
        let start = lines.firstIndex { $0.hasPrefix("#") && $0.hasSuffix(" " + heading) }
        guard let start else { return [] }
        return lines[(start + 1)...].prefix { !$0.hasPrefix("#") }.filter { $0.hasPrefix("| `") }
            .compactMap { $0.firstMatch(of: /^\| `([^`]+)`/).map { String($0.1) } }
    }
}
