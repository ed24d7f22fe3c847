import Foundation

/// Notices changes of a project's files, by their sizes and modification times.
///
/// Polls every `lookMs` rather than asking the kernel: a few hundred `stat` calls cost less than a millisecond, and it
/// works on every file system, including those of containers, and with editors that replace files.
package struct FolderWatch: Sendable {
    static let lookMs = 300

    package struct State: Equatable, Sendable {
        fileprivate struct File: Equatable, Sendable {
            let modified: Date
            let bytes: Int
        }

        fileprivate var files: [String: File] = [:]
    }

    private let folder: String

    package init(_ folder: String) {
        self.folder = folder
    }

    package func look() -> State {
        var state = State()
        let files = FileManager.default
        guard let names = files.enumerator(atPath: folder) else { return state }
        while let name = names.nextObject() as? String {
            let last = (name as NSString).lastPathComponent
            if last.hasPrefix(".") || last == "node_modules" {
                names.skipDescendants()
                continue
            }
            guard ["gql", "graphql", "yaml", "yml", "sql"].contains((name as NSString).pathExtension),
                let attributes = try? files.attributesOfItem(atPath: folder + "/" + name)
            else { continue }
            state.files[name] = State.File(
                modified: attributes[.modificationDate] as? Date ?? .distantPast,
                bytes: (attributes[.size] as? NSNumber)?.intValue ?? 0)
            if state.files.count >= ProjectFolder.filesMax { break }
        }
        return state
    }

    /// Returns when the files are no longer as in `state` and have stayed the same for one look: an editor saves
    /// several files one after the other. Nil when the task was cancelled.
    package func change(from state: State) async -> State? {
        var last = state
        while true {
            guard (try? await Task.sleep(for: .milliseconds(Self.lookMs))) != nil else { return nil }
            let now = look()
            if now == last, now != state { return now }
            last = now
        }
    }
}
