package import SchemaModel

/// An operation of a connector, with the locations that lints point to.
package struct LintSubject {
    package let operation: OperationTree
    /// The range of its name.
    package let range: FileRange
    /// The ranges in which triggers name their mutations, in the order of `operation.refresh.triggers`.
    package let triggerRanges: [FileRange]
    /// Whether the operation has @auth.
    package let hasAuth: Bool
    /// Whether changes of rows refresh the query by themselves.
    package let isAutomatic: Bool

    /// Whether subscribers may ever receive a second result.
    var isRefreshed: Bool { operation.isRefreshed || isAutomatic }

    package init(
        operation: OperationTree, range: FileRange, triggerRanges: [FileRange], hasAuth: Bool, isAutomatic: Bool
    ) {
        self.operation = operation
        self.range = range
        self.triggerRanges = triggerRanges
        self.hasAuth = hasAuth
        self.isAutomatic = isAutomatic
    }
}

/// Warnings about operations that are valid but slow or stale. Only `freshet check` reports them; deployments do not.
/// One lint per file.
package struct Lint {
    let schema: Schema
    let subjects: [LintSubject]
    /// The operations of other connectors.
    let others: [LintSubject]
    private(set) var sink = DiagnosticSink()

    init(_ schema: Schema, _ subjects: [LintSubject], _ others: [LintSubject]) {
        self.schema = schema
        self.subjects = subjects
        self.others = others
    }

    /// Returns all warnings about the operations of a connector, sorted by location.
    /// - Parameter others: the operations of the other connectors.
    package static func diagnostics(
        _ schema: Schema, _ subjects: [LintSubject], besides others: [LintSubject] = []
    ) -> [Diagnostic] {
        var lint = Lint(schema, subjects, others)
        for subject in subjects { lint.checkAuth(subject) }
        for subject in subjects where subject.operation.kind == .query {
            lint.checkOrder(subject)
            lint.checkTriggers(subject)
            lint.checkRules(subject)
            lint.checkTimer(subject)
            lint.checkTime(subject)
            lint.checkIndexes(subject)
        }
        return lint.sink.diagnostics
    }

    mutating func warn(_ rule: Diagnostic.Rule, at range: FileRange, _ message: String, help: String? = nil) {
        sink.report(.warning, rule: rule, at: range.range, in: range.file, message, help: help)
    }

    /// Returns the mutations that change what the query reads, sorted by name, those first that write rows of its root
    /// fields.
    func writers(of query: OperationTree) -> [OperationTree] {
        let reads = query.readWriteSet
        var ofRoots: [OperationTree] = []
        var ofOthers: [OperationTree] = []
        for mutation in (subjects + others).map(\.operation).sorted(by: { $0.reference < $1.reference })
        where mutation.kind == .mutation {
            let writes = mutation.readWriteSet.writes.filter { reads.isChanged(by: $0) }
            if writes.contains(where: { !$0.isCascade && reads.rootTables.contains($0.table) }) {
                ofRoots.append(mutation)
            } else if !writes.isEmpty {
                ofOthers.append(mutation)
            }
        }
        return ofRoots + ofOthers
    }
}
