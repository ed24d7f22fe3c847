import TestSupport

/// The targets of `Package.swift` that its functions `module`, `program` and `tests` declare, read as text.
struct PackageManifest {
    struct Target {
        let name: String
        let isTest: Bool
        /// The folder of its sources.
        let folder: String
        /// Modules, by the names of their products or targets.
        let dependencies: Set<String>
    }

    let targets: [Target]
    /// The targets of each library product.
    let libraries: [String: [String]]
    /// Dependencies that are built on Linux alone.
    let linuxOnly: Set<String>

    init() throws {
        let text = try Repository.text("Package.swift")
        let products = Dictionary(
            text.matches(of: #/let (\w+): Target\.Dependency = \.(?:product|target)\(\s*name: "(\w+)"/#).map {
                (String($0.output.1), String($0.output.2))
            }, uniquingKeysWith: { first, _ in first })
        let onLinux =
            #/Target\.Dependency = \.\w+\(\s*name: "(\w+)",[^\n]*condition: \.when\(platforms: \[\.linux\]\)\)/#
        linuxOnly = Set(text.matches(of: onLinux).map { String($0.output.1) })
        libraries = Dictionary(
            text.matches(of: #/\.library\(name: "(\w+)", targets: \[(.*?)\]\)/#).map { match in
                (String(match.output.1), match.output.2.matches(of: #/\w+/#).map { String($0.output) })
            }, uniquingKeysWith: { first, _ in first })
        let declaration = #/(?s)\b(module|program|tests)\(\s*\.(\w+), "([\w-]+)"(?:,\s*\[(.*?)\])?/#
        targets = text.matches(of: declaration).map { match in
            let (kind, folder, name) = (match.output.1, match.output.2, String(match.output.3))
            let isTest = kind == "tests"
            return Target(
                name: name, isTest: isTest,
                folder: (isTest ? "Tests" : "Sources") + "/"
                    + (folder == "sdk" ? "SDK" : folder.prefix(1).uppercased() + folder.dropFirst()) + "/" + name,
                dependencies: Self.dependencies(match.output.4 ?? "", products))
        }
    }

    private static func dependencies(_ list: Substring, _ products: [String: String]) -> Set<String> {
        var found: Set<String> = []
        let others = list.replacing(#/\.product\(name: "(\w+)"[^)]*\)/#) { match in
            found.insert(String(match.output.1))
            return ""
        }
        for item in others.split(separator: ",") {
            let word = item.filter { !$0.isWhitespace && $0 != "\"" }
            if !word.isEmpty { found.insert(products[word] ?? word) }
        }
        return found
    }
}
