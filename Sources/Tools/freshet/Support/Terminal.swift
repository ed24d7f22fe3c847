import Foundation
import Postgres
import SchemaModel

/// Prints lines for people. Writes them at once, because `print` to a pipe is fully buffered and lost on a kill.
enum Terminal {
    static func out(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    @Sendable static func error(_ line: String) {
        FileHandle.standardError.write(Data((line + "\n").utf8))
    }

    /// Whether a person sees standard output.
    static let isInteractive = isatty(1) == 1

    /// Clears the screen and puts the next line at its top.
    static func clear() {
        FileHandle.standardOutput.write(Data("\u{1b}[H\u{1b}[2J".utf8))
    }

    enum Color: Int, Sendable {
        case bold = 1, red = 31, green = 32, yellow = 33, cyan = 36
    }

    /// Source: no-color.org.
    private static let refusesColors = ProcessInfo.processInfo.environment["NO_COLOR"].map { !$0.isEmpty } ?? false
    /// Whether standard error is a terminal that shows colours.
    static let usesColor = isatty(2) == 1 && !refusesColors
    /// Whether standard output is a terminal that shows colours.
    static let colorsOutput = isInteractive && !refusesColors

    /// Colours text for standard output, if that is a terminal.
    static func colored(_ text: String, _ color: Color?) -> String {
        guard let color, colorsOutput else { return text }
        return "\u{1b}[\(color.rawValue)m\(text)\u{1b}[0m"
    }

    static func report(_ diagnostics: [Diagnostic]) {
        error(DiagnosticRenderer(usesColor: usesColor).render(diagnostics))
    }

    /// Describes an error for the user.
    static func reason(_ error: any Error) -> String {
        (error as? PostgresError)?.sentence ?? "\(error)"
    }

    /// Prints a last line to standard error and ends the process.
    static func fail(_ line: String, code: Int32 = 1) -> Never {
        error(usesColor ? "\u{1b}[31merror:\u{1b}[0m \(line)" : "error: \(line)")
        exit(code)
    }
}
