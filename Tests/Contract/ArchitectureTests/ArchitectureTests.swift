import Testing

/// What the folders below `Sources` promise.
@Suite struct ArchitectureTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree() }

    @Test func everyModuleStandsInAFolder() {
        #expect(tree.files.count > 500)
        for file in tree.files { #expect(SourceTree.folders.contains(file.folder), "\(file.path)") }
    }

    @Test func importsGoOneWay() throws {
        let folders = tree.folderOfModule
        for file in tree.files {
            let own = try #require(SourceTree.folders.firstIndex(of: file.folder))
            for line in file.code {
                guard let match = line.firstMatch(of: #/^(?:package |public |@testable )*import (\w+)/#),
                    let imported = folders[String(match.output.1)],
                    let rank = SourceTree.folders.firstIndex(of: imported)
                else { continue }
                #expect(rank <= own, "\(file.path) in \(file.folder) imports \(match.output.1) of \(imported)")
            }
        }
    }

    /// Files of pure modules that may use what others may not, each with its reason.
    private static let exceptions: [String: String] = [
        "Languages/CEL/Library/TimeZones.swift": "Foundation has the table of time zones",
        "Languages/CEL/Extensions/FormatFunction.swift": "the C library formats floating point numbers",
        "ShapeCache.swift": "a cache of statements that threads share, under a Mutex",
    ]

    @Test func pureModulesHaveNoSocketsClocksTasksOrLocks() {
        let imports =
            #/^(?:package |public )*import (NIO\w*|Foundation\w*|Synchronization|Dispatch|Glibc|Logging|Metrics)\b/#
        let words =
            #/\b(?:Task|await|async|Mutex|Atomic|DispatchQueue|Thread|ContinuousClock|SuspendingClock|SystemRandomNumberGenerator)\b|\bDate\(\)|\bDate\.now\b|clock_gettime|\.random\(in: (?:(?!using:).)*$|\brandomElement\(\)|\bshuffled\(\)/#
        for file in tree.files where ["Languages", "Core"].contains(file.folder) {
            if Self.exceptions.keys.contains(where: file.path.hasSuffix) { continue }
            for (index, line) in file.code.enumerated() {
                let isPure = line.firstMatch(of: imports) == nil && line.firstMatch(of: words) == nil
                #expect(isPure, "\(file.path):\(index + 1): \(line)")
            }
        }
    }

    @Test func everyExceptionIsNeeded() {
        for path in Self.exceptions.keys {
            #expect(tree.files.contains { $0.path.hasSuffix(path) }, "\(path) is gone")
        }
    }
}
