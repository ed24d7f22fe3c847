import Foundation
package import Testing

/// The conformance vectors, read in place: in `CONFORMANCE_DIR`, else in `../shared/conformance` beside the package.
///
/// They are not part of the project. A test of them carries the trait `.vectors(…)`, so that a clone without them
/// reports it as skipped.
package enum ConformanceVectors {
    package struct NotReadable: Error, CustomStringConvertible {
        package let description: String
    }

    package static let folder: String = {
        if let named = ProcessInfo.processInfo.environment["CONFORMANCE_DIR"] { return named }
        return Repository.path("../shared/conformance")
    }()

    package static func exist(_ path: String) -> Bool { FileManager.default.fileExists(atPath: "\(folder)/\(path)") }

    /// - Throws: `NotReadable`.
    package static func bytes(of path: String) throws -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: "\(folder)/\(path)") else {
            throw NotReadable(description: "no conformance vectors at \(folder)/\(path)")
        }
        return Array(data)
    }

    /// The lines of a JSON Lines file; at least one.
    /// - Throws: `NotReadable`.
    package static func lines(of path: String) throws -> [ArraySlice<UInt8>] {
        let lines = try bytes(of: path).split(separator: UInt8(ascii: "\n"))
        guard !lines.isEmpty else { throw NotReadable(description: "\(folder)/\(path) is empty") }
        return lines
    }

    /// Paths of the files of a folder that have this ending, sorted.
    package static func files(in path: String, ending: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(path)")) ?? []
        return names.filter { $0.hasSuffix(ending) }.sorted().map { "\(path)/\($0)" }
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test where these vectors are missing.
    package static func vectors(_ path: String) -> Self {
        .enabled(
            if: ConformanceVectors.exist(path), "no vectors at \(path) below CONFORMANCE_DIR or ../shared/conformance")
    }
}
