package import Logging

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// How log lines are written.
package struct LogOptions: Sendable {
    package enum Format: String, Sendable, CaseIterable {
        /// For people: `2026-01-31T12:00:00.000Z info gateway: started port=9399 node=a`.
        case text
        /// One JSON object a line: `time`, `level`, `logger`, `message`, `error`, and all metadata beside them.
        case json
    }

    package var level: Logger.Level
    package var format: Format
    /// Stands in every line as `node`; nil leaves it out.
    package var node: String?
    /// Colours the level, in text only.
    package var colour: Bool

    package init(level: Logger.Level = .info, format: Format = .text, node: String? = nil, colour: Bool = false) {
        self.level = level
        self.format = format
        self.node = node
        self.colour = colour
    }

    /// Colour belongs on a terminal, unless `NO_COLOR` is set (no-color.org) or the terminal is dumb.
    package static func colourOnStandardError(environment: [String: String]) -> Bool {
        guard isatty(STDERR_FILENO) == 1 else { return false }
        return (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
    }
}

extension LogOptions {
    /// Makes all loggers write to standard error in this way. To be called once, before the first logger is made.
    ///
    /// Every line carries the node and, inside `TraceID.$current.withValue`, the trace as `trace`.
    package func bootstrap() {
        let sink = StandardErrorSink()
        let options = self
        LoggingSystem.bootstrap(
            { label, provider in
                LineLogHandler(label: label, options: options, sink: sink, metadataProvider: provider)
            },
            metadataProvider: Self.traceProvider)
    }

    package static let traceProvider = Logger.MetadataProvider {
        TraceID.current.map { ["trace": .string($0.hex)] } ?? [:]
    }
}
