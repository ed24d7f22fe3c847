package import Logging

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Form and level of log lines.
package struct LogOptions: Sendable {
    package enum Format: String, Sendable, CaseIterable {
        /// Lines for people: `2026-01-31T12:00:00.000Z info gateway: started port=9399 node=a`.
        case text
        /// One JSON object per line: `time`, `level`, `logger`, `message`, `error`, and all metadata as further
        /// members.
        case json
    }

    package var level: Logger.Level
    package var format: Format
    /// The field `node` of every line; nil leaves it out.
    package var node: String?
    /// Whether the level is coloured, in text only.
    package var colour: Bool

    package init(level: Logger.Level = .info, format: Format = .text, node: String? = nil, colour: Bool = false) {
        self.level = level
        self.format = format
        self.node = node
        self.colour = colour
    }

    /// Whether standard error is a terminal, not a dumb one, and `NO_COLOR` (no-color.org) is not set.
    package static func colourOnStandardError(environment: [String: String]) -> Bool {
        guard isatty(STDERR_FILENO) == 1 else { return false }
        return (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
    }
}

extension LogOptions {
    /// Makes all loggers write to standard error in this form. Call it once, before the first logger is created.
    package func bootstrap() {
        let sink = StandardErrorSink()
        let options = self
        LoggingSystem.bootstrap { label in LineLogHandler(label: label, options: options, sink: sink) }
    }
}
