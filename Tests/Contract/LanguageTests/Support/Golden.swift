import Foundation
import Synchronization
import Testing

/// The SQL that each row of the language becomes, recorded beside the tests so that a change of it is seen and read.
/// `UPDATE_GOLDEN=1` writes the files again.
enum Golden {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Golden")
    private static let isUpdating = ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1"
    private static let updated = Mutex<[String: [String: String]]>([:])

    static func expect(_ sql: String, of name: String, in group: String) {
        let file = folder.appending(path: group + ".sql")
        if isUpdating {
            updated.withLock { all in
                all[group, default: [:]][name] = sql
                let text = (all[group] ?? [:]).sorted { $0.key < $1.key }.map { "-- \($0.key)\n\($0.value)\n" }
                try? text.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
            }
            return
        }
        let entries = (try? String(contentsOf: file, encoding: .utf8))?.components(separatedBy: "\n\n") ?? []
        let recorded = entries.first { $0.hasPrefix("-- \(name)\n") }?.dropFirst(name.count + 4)
        #expect(recorded.map { $0.trimmingCharacters(in: .newlines) } == sql, "UPDATE_GOLDEN=1 records it")
    }
}
