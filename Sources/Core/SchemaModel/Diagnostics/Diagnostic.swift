/// A located problem of a project folder. All diagnostics of a run are reported together.
package struct Diagnostic: Sendable, Hashable {
    package enum Severity: String, Sendable, Hashable {
        case error, warning, note
    }

    package var severity: Severity
    /// Stable name of the rule that found it, kebab-case: `unknown-field`.
    package var rule: String
    package var message: String
    /// Path relative to where the project was opened, as the user would type it.
    package var file: String
    /// From 1. Columns count Unicode scalars. 0 when the whole file is meant.
    package var line: Int
    package var column: Int
    /// Length of the marked text in Unicode scalars on that line; at least 1.
    package var length: Int
    /// The text of the line, without its line break.
    package var sourceLine: String
    /// A second sentence that helps: `did you mean "title"?`
    package var help: String?

    package init(
        severity: Severity = .error, rule: String, message: String, file: String, line: Int, column: Int,
        length: Int = 1, sourceLine: String = "", help: String? = nil
    ) {
        self.severity = severity
        self.rule = rule
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.length = length
        self.sourceLine = sourceLine
        self.help = help
    }
}

/// Thrown by the compilers when at least one diagnostic is an error.
package struct CatalogError: Error, Sendable {
    /// Errors and warnings, ordered by file, line, column.
    package var diagnostics: [Diagnostic]

    package init(diagnostics: [Diagnostic]) {
        self.diagnostics = diagnostics
    }
}
