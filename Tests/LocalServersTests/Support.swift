import Glibc

@testable import LocalServers

/// A folder for one test, reachable for every account, removed with all it holds when the test is over.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/fxt-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw LocalServerError(.dataFolderUnusable, Files.reason()) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        chmod(path, 0o755)
    }

    deinit { Self.remove(path) }

    static func remove(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        if status.st_mode & S_IFMT == S_IFDIR {
            for name in Files.entries(path) { remove(path + "/" + name) }
            rmdir(path)
        } else {
            unlink(path)
        }
    }
}

/// A process that is gone or a zombie counts as ended.
func hasEnded(_ processID: Int32) -> Bool {
    guard let status = Files.read("/proc/\(processID)/stat") else { return true }
    return status.split(separator: ")").last?.split(separator: " ").first == "Z"
}

/// Waits for what has no other sign than that it is so; false after 20 s.
func eventually(_ condition: () -> Bool) async -> Bool {
    for _ in 0..<2000 {
        if condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return condition()
}
