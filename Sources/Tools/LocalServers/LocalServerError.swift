/// Why a private server could not be started, in one line for a person, and the last lines of its log.
package struct LocalServerError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// A program is not installed; the message names the Debian package.
        case programMissing
        /// The data folder cannot be made, entered or owned.
        case dataFolderUnusable
        /// Another process uses the data folder.
        case alreadyRunning
        /// `initdb` failed.
        case initialisationFailed
        /// The server ended, or was never ready in time.
        case startFailed
        /// `stop()` was called before or meanwhile.
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
