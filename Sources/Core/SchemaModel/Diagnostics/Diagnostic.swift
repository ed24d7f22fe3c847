/// A problem in a project folder, with its location. One run reports all of them.
package struct Diagnostic: Sendable, Hashable {
    package enum Severity: String, Sendable, Hashable {
        case error, warning, note
    }

    package var severity: Severity
    /// The rule that was violated.
    package var rule: Diagnostic.Rule
    package var message: String
    /// Path relative to the folder that the project was opened from, as the user would type it.
    package var file: String
    /// 1-based; columns count Unicode scalars. 0 if the diagnostic is about the whole file.
    package var line: Int
    package var column: Int
    /// Length of the marked text in Unicode scalars on that line; at least 1.
    package var length: Int
    /// The text of the line, without its line terminator.
    package var sourceLine: String
    /// An additional hint: `did you mean "title"?`
    package var help: String?

    package init(
        severity: Severity = .error, rule: Diagnostic.Rule, message: String, file: String, line: Int, column: Int,
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

/// The error that compilers throw if at least one diagnostic is an error.
package struct CatalogError: Error, Sendable {
    /// Errors and warnings, sorted by file, line and column.
    package var diagnostics: [Diagnostic]

    package init(diagnostics: [Diagnostic]) {
        self.diagnostics = diagnostics
    }
}
