import Execution
import LiveModel

/// The version of the project that resolves operations.
enum ServedVersion: Sendable {
    /// The current one at the time of each request.
    case current
    /// The one that was current when a session began.
    ///
    /// `onFormer` is called when an operation resolves in a previous version; nil if none was served when the session
    /// began.
    case pinned(OperationLookup, onFormer: (@Sendable (Digest) -> Void)?)

    func lookup(_ catalogs: ServedCatalogs) -> OperationLookup {
        switch self {
        case .current: catalogs.snapshot.lookup
        case .pinned(let lookup, _): lookup
        }
    }

    /// Whether operations may resolve in previous versions.
    var allowsFormers: Bool {
        switch self {
        case .current: true
        case .pinned(_, let onFormer): onFormer != nil
        }
    }

    /// Notes that an operation resolved in a previous version.
    func usedFormer(_ version: Digest) {
        switch self {
        case .current: break
        case .pinned(_, let onFormer): onFormer?(version)
        }
    }
}
