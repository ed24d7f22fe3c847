/// An error of a private server: a readable message and the last lines of the server's log.
package struct LocalServerError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// A program is not installed; the message names its Debian package.
        case programMissing
        /// The data folder cannot be created, entered or owned.
        case dataFolderUnusable
        /// Another process uses the data folder.
        case alreadyRunning
        /// `initdb` failed.
        case initialisationFailed
        /// The server ended or was not ready in time.
        case startFailed
        /// `stop()` was called.
        case stopped
    }

    package var code: Code
    package var message: String
    /// Oldest first, at most 20 lines.
    package var logTail: [String]

    package init(_ code: Code, _ message: String, logTail: [String] = []) {
        self.code = code
        self.message = message
        self.logTail = logTail
    }

    package var description: String {
        ([message] + logTail.map { "  | " + $0 }).joined(separator: "\n")
    }
}
