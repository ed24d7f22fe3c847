import FoundationEssentials
import JSON

/// Finds the folder of vectors: `CONFORMANCE_DIR`, else `../shared/conformance` beside the package.
enum Vectors {
    static let folder: String = {
        if let named = ProcessInfo.processInfo.environment["CONFORMANCE_DIR"] { return named }
        // Tests/<Module>/<file>: the package is three steps up.
        let package = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        return package.joined(separator: "/") + "/../shared/conformance"
    }()

    /// One JSON value per line; nil, said loudly, if there is no such file.
    static func lines(of path: String) throws -> [JSONValue]? {
        guard let data = FileManager.default.contents(atPath: "\(folder)/\(path)") else {
            print("*** SKIPPED: no conformance vectors at \(folder)/\(path); set CONFORMANCE_DIR ***")
            return nil
        }
        return try Array(data).split(separator: UInt8(ascii: "\n")).map { try JSONParser.parse($0) }
    }
}
