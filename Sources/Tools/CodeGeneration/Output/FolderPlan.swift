/// The changes that bring an output folder to what is generated. Pure: the caller reads and writes the files.
///
/// A folder's manifest says which files are generated. Files that it does not name belong to the user and stay. A file
/// that exists without being named, or that was edited after it was generated, is only replaced by force.
package struct FolderPlan: Sendable {
    package enum Change: Sendable, Equatable {
        case create(GeneratedFile)
        case replace(GeneratedFile)
        case remove(path: String)

        package var path: String {
            switch self {
            case .create(let file), .replace(let file): file.path
            case .remove(let path): path
            }
        }
    }

    package enum Refusal: Sendable, Equatable, CustomStringConvertible {
        /// The file exists, but was not generated.
        case foreign(path: String)
        /// The file was generated, then edited.
        case edited(path: String)

        package var description: String {
            switch self {
            case .foreign(let path): "\(path) exists, but was not generated"
            case .edited(let path): "\(path) was edited after it was generated"
            }
        }
    }

    /// The changes, in order of path.
    package private(set) var changes: [Change] = []
    /// The files in the way, in order of path; with any, nothing may be changed.
    package private(set) var refusals: [Refusal] = []
    /// Files that are no longer generated, but were edited: they stay, and are the user's from now on.
    package private(set) var kept: [String] = []
    /// The manifest afterwards.
    package let manifest: OutputManifest
    package private(set) var changesManifest: Bool

    package var isUpToDate: Bool { changes.isEmpty && refusals.isEmpty && !changesManifest }

    /// - Parameters:
    ///   - requested: the generated files by the name of their request. Outputs of other requests in the folder stay.
    ///   - retired: names of requests that the project no longer has; their files are removed.
    ///   - known: the folder's manifest, if there is one.
    ///   - isForced: whether to replace what is not known to be generated.
    ///   - content: returns the bytes of an existing file; nil if there is none.
    package init(
        _ requested: [String: [GeneratedFile]], retired: Set<String> = [], known: OutputManifest?, isForced: Bool,
        content: (String) -> [UInt8]?
    ) {
        let old = known ?? OutputManifest()
        var new = old
        for name in retired { new.outputs[name] = nil }
        for (name, files) in requested {
            new.outputs[name] = Dictionary(
                files.map { ($0.path, OutputManifest.digest($0.text.utf8)) }, uniquingKeysWith: { first, _ in first })
        }
        manifest = new
        changesManifest = known == nil || new != old
        let generated = old.outputs.values.reduce(into: [String: Set<String>]()) { result, files in
            for (path, digest) in files { result[path, default: []].insert(digest) }
        }
        for file in requested.values.flatMap({ $0 }).sorted(by: { $0.path < $1.path }) {
            guard let present = content(file.path) else {
                changes.append(.create(file))
                continue
            }
            if present.elementsEqual(file.text.utf8) { continue }
            if !isForced {
                guard let digests = generated[file.path] else {
                    refusals.append(.foreign(path: file.path))
                    continue
                }
                guard digests.contains(OutputManifest.digest(present)) else {
                    refusals.append(.edited(path: file.path))
                    continue
                }
            }
            changes.append(.replace(file))
        }
        let remaining = Set(new.outputs.values.flatMap(\.keys))
        for (path, digests) in generated.sorted(by: { $0.key < $1.key }) where !remaining.contains(path) {
            guard let present = content(path) else { continue }
            if isForced || digests.contains(OutputManifest.digest(present)) {
                changes.append(.remove(path: path))
            } else {
                kept.append(path)
            }
        }
    }
}
