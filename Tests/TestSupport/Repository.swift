import Foundation

/// The checkout that the tests were built from. Paths are relative to its root.
package enum Repository {
    /// This file stands in `Tests/TestSupport`.
    package static let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        .joined(separator: "/")

    package static func path(_ path: String) -> String { root + "/" + path }

    /// - Throws: Foundation's error when it cannot be read.
    package static func text(_ path: String) throws -> String {
        try String(contentsOfFile: self.path(path), encoding: .utf8)
    }

    package static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: self.path(path)) }

    /// Files below a folder whose names have this ending, sorted.
    package static func files(below folder: String, ending: String) -> [String] {
        let found = FileManager.default.enumerator(atPath: path(folder))
        return (found?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(ending) }.map { "\(folder)/\($0)" }
            .sorted()
    }

    /// Names of what stands in a folder, without hidden files, sorted.
    /// - Throws: Foundation's error when it cannot be read.
    package static func entries(of folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path(folder)).filter { !$0.hasPrefix(".") }.sorted()
    }

    /// The built `freshet`; it stands beside the test bundle.
    package static let freshet: String = {
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        for _ in 0..<4 {
            let candidate = folder.appendingPathComponent("freshet").path
            if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
            folder = folder.deletingLastPathComponent()
        }
        return path(".build/debug/freshet")
    }()
}
