package import SchemaModel
import Synchronization

/// The reason for which the folder of `freshet dev` is not served as it is now, for the console.
package final class FolderState: Sendable {
    /// Why the last version of the folder was not loaded.
    package struct Problem: Sendable, Hashable {
        /// The errors in its files; empty if another reason is given.
        package let errors: [Diagnostic]
        /// Such as a migration that would lose data.
        package let reason: String?

        package init(errors: [Diagnostic], reason: String?) {
            self.errors = errors
            self.reason = reason
        }
    }

    private let state = Mutex<Problem?>(nil)

    package init() {}

    /// Nil while the folder is served as it is, but for operations with errors.
    package var problem: Problem? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
