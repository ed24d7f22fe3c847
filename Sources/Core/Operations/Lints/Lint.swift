package import SchemaModel

/// One operation of a connector with the places that lints point to.
package struct LintSubject {
    package let operation: OperationTree
    /// Its name.
    package let place: FileRange
    /// Where each trigger names its mutation, in the order of `operation.refresh.triggers`.
    package let triggerPlaces: [FileRange]
    /// Whether it has @auth.
    package let hasAuth: Bool

    package init(operation: OperationTree, place: FileRange, triggerPlaces: [FileRange], hasAuth: Bool) {
        self.operation = operation
        self.place = place
        self.triggerPlaces = triggerPlaces
        self.hasAuth = hasAuth
    }
}

/// What is no mistake, but will be slow or stale: warnings of `freshet check` and of nobody else, so that a deployment
/// says nothing of them. One lint a file.
package struct Lint {
    package static let missingIndex = "missing-index"

    let schema: Schema
    let subjects: [LintSubject]
    private(set) var sink = DiagnosticSink()

    init(_ schema: Schema, _ subjects: [LintSubject]) {
        self.schema = schema
        self.subjects = subjects
    }

    /// In order of place.
    package static func diagnostics(_ schema: Schema, _ subjects: [LintSubject]) -> [Diagnostic] {
        var lint = Lint(schema, subjects)
        for subject in subjects { lint.checkAuth(subject) }
        for subject in subjects where subject.operation.kind == .query {
            lint.checkOrder(subject)
            lint.checkTriggers(subject)
            lint.checkRules(subject)
            lint.checkTimer(subject)
            lint.checkIndexes(subject)
        }
        return lint.sink.diagnostics
    }

    mutating func warn(_ rule: String, at place: FileRange, _ message: String, help: String? = nil) {
        sink.report(.warning, rule: rule, at: place.range, in: place.file, message, help: help)
    }

    /// The mutations of the connector that write a table which the query reads, by name.
    func writers(of query: OperationTree) -> [OperationTree] {
        let tables = query.readWriteSet.tablesRead
        return subjects.map(\.operation).filter {
            $0.kind == .mutation && !$0.readWriteSet.tablesWritten.isDisjoint(with: tables)
        }.sorted { $0.reference < $1.reference }
    }
}
