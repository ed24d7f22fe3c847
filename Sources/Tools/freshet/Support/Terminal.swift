import Foundation
import Postgres

/// What is printed for people. `print` to a pipe is fully buffered and lost on a kill, so lines go straight out.
enum Terminal {
    static func out(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    static func error(_ line: String) {
        FileHandle.standardError.write(Data((line + "\n").utf8))
    }

    static let usesColor = isatty(2) == 1 && ProcessInfo.processInfo.environment["NO_COLOR"] == nil

    /// An error in words for whoever gave the command.
    static func reason(_ error: any Error) -> String {
        (error as? PostgresError)?.sentence ?? "\(error)"
    }

    /// A last line for standard error, then the end.
    static func fail(_ line: String, code: Int32 = 1) -> Never {
        error(usesColor ? "\u{1b}[31merror:\u{1b}[0m \(line)" : "error: \(line)")
        exit(code)
    }
}
