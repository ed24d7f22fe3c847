import TestSupport

/// The Swift sources below `Sources`, as text.
struct SourceTree {
    /// The folders in the order in which they may import each other: a module imports only modules of its own folder
    /// and of those before it. The same order stands in `docs/architecture.md`.
    static let folders = ["Languages", "SDK", "Core", "Servers", "Roles", "Tools", "Verification"]

    struct File {
        /// The path below `Sources`.
        let path: String
        let folder: String
        let module: String
        /// The lines without comments and string literals; as many as the file has.
        let code: [Substring]

        /// The modules that it imports.
        var imports: [Substring] {
            let starts = ["import ", "package import ", "public import ", "@testable import "]
            return code.compactMap { line in
                let line = line.drop { $0 == " " }.trimmingPrefix(#/@\w+ /#)
                guard starts.contains(where: line.hasPrefix) else { return nil }
                return line.firstMatch(of: #/import (\w+)/#)?.output.1
            }
        }
    }

    let files: [File]

    init() throws {
        files = try Repository.files(below: "Sources", ending: ".swift").compactMap { file in
            let parts = file.split(separator: "/").dropFirst()
            guard parts.count > 2 else { return nil }
            return File(
                path: parts.joined(separator: "/"), folder: String(parts[1]), module: String(parts[2]),
                code: Self.code(of: try Repository.text(file)))
        }
    }

    /// Which folder each module stands in.
    var folderOfModule: [String: String] {
        Dictionary(files.map { ($0.module, $0.folder) }, uniquingKeysWith: { first, _ in first })
    }

    /// Cuts line comments and the content of string literals. Texts of several lines and comments in `/* */` are rare
    /// enough to be left to the reader of a failure.
    private static func code(of text: String) -> [Substring] {
        var isInText = false
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            if line.contains("\"\"\"") {
                // A text that begins and ends in one line does not occur.
                isInText.toggle()
                return ""
            }
            if isInText { return "" }
            var code = line.replacing(#/"(?:[^"\\]|\\.)*"/#, with: "\"\"")
            if let comment = code.firstRange(of: "//") { code = code[..<comment.lowerBound] }
            return code
        }
    }
}
