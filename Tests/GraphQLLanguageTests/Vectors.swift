import FoundationEssentials
import JSON
import SeededRandom

/// Finds the folder of vectors: `CONFORMANCE_DIR`, else `../shared/conformance` beside the package.
enum Vectors {
    static let folder: String = {
        if let named = ProcessInfo.processInfo.environment["CONFORMANCE_DIR"] { return named }
        // Tests/<Module>/<file>: the package is three steps up.
        let package = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        return package.joined(separator: "/") + "/../shared/conformance"
    }()

    /// Nil, said loudly, if there is no such file.
    static func bytes(of path: String) -> [UInt8]? {
        guard let data = FileManager.default.contents(atPath: "\(folder)/\(path)") else {
            print("*** SKIPPED: no conformance vectors at \(folder)/\(path); set CONFORMANCE_DIR ***")
            return nil
        }
        return Array(data)
    }

    static func cases(of path: String) throws -> [JSONValue] {
        try (bytes(of: path) ?? []).split(separator: UInt8(ascii: "\n")).map { try JSONParser.parse($0) }
    }
}

extension SeededRandom {
    mutating func chance(_ percent: Int) -> Bool {
        below(100) < percent
    }

    /// The seed of this run: `FRESHET_SEED`, else a fixed one.
    static let seed: UInt64 = ProcessInfo.processInfo.environment["FRESHET_SEED"].flatMap { UInt64($0) } ?? 20_251_121
}
