import FoundationEssentials

/// Reads a file that a setting names.
package enum FileText {
    package static let bytesMax = 1 << 20

    /// - Throws: `SettingsFileError` if the file cannot be read, is larger than `bytesMax` or is not UTF-8.
    package static func read(_ path: String) throws(SettingsFileError) -> String {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SettingsFileError("the file does not exist or cannot be read")
        }
        guard data.count <= bytesMax else { throw SettingsFileError("it is larger than \(bytesMax) bytes") }
        guard let text = String(validating: data, as: UTF8.self) else { throw SettingsFileError("it is not UTF-8") }
        return text
    }
}
