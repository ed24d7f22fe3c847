package import GraphQLLanguage

/// Collects the diagnostics of one compilation. Passed `inout` through every stage, so that one run reports all it can.
///
/// Bounded: of each severity the first `perSeverityMax` are kept, the others counted.
package struct DiagnosticSink: Sendable {
    package static let perSeverityMax = 200

    private var kept: [Diagnostic] = []
    private var seen: Set<Diagnostic> = []
    private var counts: [Diagnostic.Severity: Int] = [:]
    /// Declared in the schema, but refused there.
    private var lost: Set<String> = []
    private var lostTypes: Set<String> = []
    /// A file that declares types did not parse: nobody can tell which names it has.
    private var hasLostFiles = false

    package init() {}

    package var hasErrors: Bool { count(of: .error) > 0 }

    /// All that were reported, those not kept included.
    package func count(of severity: Diagnostic.Severity) -> Int {
        counts[severity, default: 0]
    }

    package mutating func report(
        _ severity: Diagnostic.Severity, rule: String, at range: SourceRange, in file: SourceFile, _ message: String,
        help: String? = nil
    ) {
        report(file.diagnostic(severity, rule: rule, at: range, message, help: help))
    }

    mutating func report(
        _ severity: Diagnostic.Severity, rule: String, at place: FileRange, _ message: String, help: String? = nil
    ) {
        report(severity, rule: rule, at: place.range, in: place.file, message, help: help)
    }

    /// About a file as a whole.
    package mutating func report(
        _ severity: Diagnostic.Severity, rule: String, in file: SourceFile, _ message: String, help: String? = nil
    ) {
        report(file.diagnostic(severity, rule: rule, message, help: help))
    }

    /// The same diagnostic twice counts once.
    package mutating func report(_ diagnostic: Diagnostic) {
        guard !seen.contains(diagnostic) else { return }
        counts[diagnostic.severity, default: 0] += 1
        guard count(of: diagnostic.severity) <= Self.perSeverityMax else { return }
        seen.insert(diagnostic)
        kept.append(diagnostic)
    }

    /// The schema refused the declaration of this field: that nobody knows it is no further problem.
    mutating func lose(field: String) { lost.insert(field) }

    /// The schema refused this type, and with it every field and input type made of it.
    package mutating func lose(type: String) {
        let singular = GeneratedNames.camelCase(type)
        lostTypes.formUnion([type, singular, EnglishPlural.of(singular)])
    }

    /// A file of declarations did not parse.
    package mutating func loseFile() { hasLostFiles = true }

    /// Whether a name is unknown only because of a problem that was reported already.
    package func isLost(_ name: String) -> Bool {
        if hasLostFiles { return true }
        if lost.contains(name) || lostTypes.contains(name) { return true }
        return !lostTypes.isEmpty && name.split(separator: "_").contains { lostTypes.contains(String($0)) }
    }

    /// What was kept, ordered by file, line and column; a note at the end says how many errors were left out.
    package var diagnostics: [Diagnostic] {
        var ordered = kept.sorted()
        let omitted = count(of: .error) - Self.perSeverityMax
        if omitted > 0, let last = ordered.last {
            ordered.append(
                Diagnostic(
                    severity: .note, rule: "too-many-errors",
                    message: "\(omitted) more \(omitted == 1 ? "error" : "errors") not shown", file: last.file,
                    line: 0, column: 0))
        }
        return ordered
    }

    /// Errors and warnings together, if there is an error.
    package func throwIfErrors() throws(CatalogError) {
        if hasErrors { throw CatalogError(diagnostics: diagnostics) }
    }
}

extension Diagnostic: Comparable {
    /// By place, then errors first, then by text, so that the order never depends on which rule ran first.
    package static func < (left: Diagnostic, right: Diagnostic) -> Bool {
        if left.file != right.file { return left.file < right.file }
        if left.line != right.line { return left.line < right.line }
        if left.column != right.column { return left.column < right.column }
        if left.severity != right.severity { return left.severity.rank < right.severity.rank }
        return (left.rule, left.message) < (right.rule, right.message)
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
