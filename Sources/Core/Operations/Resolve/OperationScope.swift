import GraphQLLanguage
import SchemaModel

/// The scope in which one operation is resolved: what its names denote at the current position.
///
/// A class confined to `resolve`, which returns all that it finds; no scope outlives that call.
final class OperationScope {
    let context: OperationContext
    /// Declared variables with a usable type.
    private(set) var variables: [String: VariableSpec] = [:]
    /// Response keys of a mutation's fields before the current one, which values may read from `response`.
    var keysBefore: [String] = []
    var sink: DiagnosticSink
    /// Findings of the resolvers that are not in the tree.
    var findings = OperationFindings()
    private var uuidCount = 0
    private var fieldCount = 0

    /// The most fields of an operation after expanding its fragments, which can multiply without bound.
    static let fieldsMax = 10_000

    var api: GeneratedAPI { context.api }
    var schema: Schema { context.api.schema }
    var operation: OperationDefinition { context.operation }
    var file: SourceFile { context.file }
    var fragments: [String: ConnectorSources.Fragment] { context.fragments }

    private init(_ context: OperationContext, sink: DiagnosticSink) {
        self.context = context
        self.sink = sink
    }

    /// Resolves an operation and reports its problems to `sink`.
    static func resolve(_ context: OperationContext, sink: inout DiagnosticSink) -> BoundOperation {
        let scope = OperationScope(context, sink: sink)
        defer { sink = scope.sink }
        return scope.resolve()
    }

    private func resolve() -> BoundOperation {
        let errorsBefore = sink.count(of: .error)
        let specs = resolveVariables()
        variables = Dictionary(uniqueKeysWithValues: specs.map { ($0.name, $0) })
        checkDirectives()
        let auth = resolveAuth()
        let policy = rootPolicy()
        let root = root(policy)
        let refresh = resolveRefresh(lookupTables: root.lookupTables)
        let hasErrors = sink.count(of: .error) > errorsBefore
        if !hasErrors { findings.unusedVariables = unusedVariables() }
        return BoundOperation(
            hasErrors: hasErrors, variables: specs, auth: auth, policy: policy, root: root, refresh: refresh.rules,
            triggerTargets: refresh.targets, findings: findings)
    }

    private func root(_ policy: FieldPolicy) -> OperationTree.Root {
        let selection = [SelectionSource(set: operation.selectionSet, inclusion: .always, file: file)]
        guard operation.kind == .query else { return .mutation(mutationFields(selection)) }
        let fields = queryFields(selection)
        // Redacted fields that no check reads need not be fetched.
        let isUnread = policy.checks.isEmpty && !findings.checks.contains(where: \.readsResponse)
        return .query(isUnread ? fields.withoutUnreadRedactions : fields)
    }

    // MARK: Diagnostics

    /// - Parameter unknown: the unknown name, if any; the error is suppressed if the schema's errors explain it.
    func error(
        _ rule: Diagnostic.Rule, at range: FileRange, _ message: String, help: String? = nil, unknown: String? = nil
    ) {
        if let unknown, sink.isSuppressed(unknown) {
            findings.hasFollowUps = true
            return
        }
        sink.report(.error, rule: rule, at: range.range, in: range.file, message, help: help)
    }

    func warning(_ rule: Diagnostic.Rule, at range: FileRange, _ message: String, help: String? = nil) {
        sink.report(.warning, rule: rule, at: range.range, in: range.file, message, help: help)
    }

    // MARK: Counters

    /// Returns a number that distinguishes calls of `uuidV4()`.
    func nextUUIDIndex() -> Int {
        uuidCount += 1
        return uuidCount
    }

    /// Counts a field. Returns false if the operation is too large, which is reported once.
    func countField(at range: FileRange) -> Bool {
        fieldCount += 1
        if fieldCount == Self.fieldsMax + 1 {
            error(.operationTooLarge, at: range, "the operation has more than \(Self.fieldsMax) fields")
        }
        return fieldCount <= Self.fieldsMax
    }
}

extension OperationTree.Root {
    /// SQL names of the tables that a query's root fields look up by primary key, sorted.
    fileprivate var lookupTables: [String] {
        guard case .query(let fields) = self else { return [] }
        return Set(
            fields.compactMap { field in
                guard case .lookup(let lookup) = field.kind, case .key = lookup.target else { return nil }
                return lookup.table.name
            }
        ).sorted()
    }
}
