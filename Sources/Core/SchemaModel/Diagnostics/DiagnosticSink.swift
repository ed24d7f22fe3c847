package import GraphQLLanguage

/// Collects the diagnostics of one compilation. Passed `inout` through every stage, so that one run reports as much as
/// possible.
///
/// Keeps the first `perSeverityMax` diagnostics of each severity and counts the rest.
package struct DiagnosticSink: Sendable {
    package static let perSeverityMax = 200

    private var kept: [Diagnostic] = []
    private var seen: Set<Diagnostic> = []
    private var counts: [Diagnostic.Severity: Int] = [:]
    /// Names of fields whose declaration was rejected.
    private var suppressedNames: Set<String> = []
    private var suppressedTypes: Set<String> = []
    /// Whether a file of declarations failed to parse, so that any name may be declared there.
    private var hasUnparsedFiles = false

    package init() {}

    package var hasErrors: Bool { count(of: .error) > 0 }

    /// Returns the number of reported diagnostics, including those not kept.
    package func count(of severity: Diagnostic.Severity) -> Int {
        counts[severity, default: 0]
    }

    package mutating func report(
        _ severity: Diagnostic.Severity, rule: Diagnostic.Rule, at range: SourceRange, in file: SourceFile,
        _ message: String,
        help: String? = nil
    ) {
        report(file.diagnostic(severity, rule: rule, at: range, message, help: help))
    }

    mutating func report(
        _ severity: Diagnostic.Severity, rule: Diagnostic.Rule, at fileRange: FileRange, _ message: String,
        help: String? = nil
    ) {
        report(severity, rule: rule, at: fileRange.range, in: fileRange.file, message, help: help)
    }

    /// Reports a problem with a file as a whole.
    package mutating func report(
        _ severity: Diagnostic.Severity, rule: Diagnostic.Rule, in file: SourceFile, _ message: String,
        help: String? = nil
    ) {
        report(file.diagnostic(severity, rule: rule, message, help: help))
    }

    /// Reports a diagnostic; a duplicate is ignored.
    package mutating func report(_ diagnostic: Diagnostic) {
        guard !seen.contains(diagnostic) else { return }
        counts[diagnostic.severity, default: 0] += 1
        guard count(of: diagnostic.severity) <= Self.perSeverityMax else { return }
        seen.insert(diagnostic)
        kept.append(diagnostic)
    }

    /// Suppresses errors about unknown uses of a field whose declaration was rejected.
    mutating func suppress(field: String) { suppressedNames.insert(field) }

    /// Suppresses errors about unknown uses of a rejected type and of the names generated from it.
    package mutating func suppress(type: String) {
        let singular = GeneratedNames.singular(ofType: type)
        suppressedTypes.formUnion([type, singular, EnglishPlural.of(singular)])
    }

    /// Suppresses all errors about unknown names, because a file of declarations failed to parse.
    package mutating func suppressUnknownNames() { hasUnparsedFiles = true }

    /// Returns whether a name may be unknown only because of a problem that was already reported.
    package func isSuppressed(_ name: String) -> Bool {
        if hasUnparsedFiles { return true }
        if suppressedNames.contains(name) || suppressedTypes.contains(name) { return true }
        return !suppressedTypes.isEmpty && name.split(separator: "_").contains { suppressedTypes.contains(String($0)) }
    }

    /// The kept diagnostics, sorted by file, line and column, followed by a note if errors were omitted.
    package var diagnostics: [Diagnostic] {
        var ordered = kept.sorted()
        let omitted = count(of: .error) - Self.perSeverityMax
        if omitted > 0, let last = ordered.last {
            ordered.append(
                Diagnostic(
                    severity: .note, rule: .tooManyErrors,
                    message: "\(omitted) more \(omitted == 1 ? "error" : "errors") not shown", file: last.file,
                    line: 0, column: 0))
        }
        return ordered
    }

    /// Throws all errors and warnings if there is at least one error.
    package func throwIfErrors() throws(CatalogError) {
        if hasErrors { throw CatalogError(diagnostics: diagnostics) }
    }
}

extension Diagnostic: Comparable {
    /// Orders by location, then severity, then text, so that the order does not depend on which rule ran first.
    package static func < (left: Diagnostic, right: Diagnostic) -> Bool {
        if left.file != right.file { return left.file < right.file }
        if left.line != right.line { return left.line < right.line }
        if left.column != right.column { return left.column < right.column }
        if left.severity != right.severity { return left.severity.rank < right.severity.rank }
        return (left.rule.rawValue, left.message) < (right.rule.rawValue, right.message)
    }
}

extension Diagnostic.Severity {
    fileprivate var rank: Int {
        switch self {
        case .error: 0
        case .warning: 1
        case .note: 2
        }
    }
}
