import Foundation
import Glibc

/// A folder for one test that every account can enter; removed with its content when the last reference goes.
package final class TemporaryFolder: Sendable {
    package struct NotMade: Error {
        package let code: Int32
    }

    package let path: String

    /// - Parameter name: begins the folder's name. Short, since paths of Unix sockets have at most 107 bytes.
    /// - Throws: `NotMade`.
    package init(_ name: String = "fxt") throws(NotMade) {
        var template = Array("/tmp/\(name)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw NotMade(code: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        chmod(path, 0o755)
    }

    /// Writes files below the folder, and the folders that they need.
    /// - Parameter files: text by relative path.
    package func write(_ files: [String: String]) throws {
        for (name, text) in files {
            let file = URL(filePath: path + "/" + name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
    }

    deinit { remove() }

    /// Removes it now; for a scope that uses only the path, since the last reference may go before the scope ends.
    package func remove() { Self.remove(path) }

    /// Removes a file, or a folder with its content; does not follow symbolic links.
    package static func remove(_ path: String) {
        if !isLink(path), let folder = opendir(path) {
            while let entry = readdir(folder) {
                let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
                if name != ".", name != ".." { remove(path + "/" + name) }
            }
            closedir(folder)
            rmdir(path)
        } else {
            unlink(path)
        }
    }

    private static func isLink(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }
}
