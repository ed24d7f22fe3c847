import GraphQLLanguage
import SchemaModel

/// The state of compiling one operation: schema, fragments, problems found and variables used.
///
/// A class confined to one compilation; it never escapes the function that compiles the operation.
final class OperationScope {
    let api: GeneratedAPI
    let connector: String
    let fragments: [String: ConnectorSources.Fragment]
    let operation: OperationDefinition
    let file: SourceFile
    var sink: DiagnosticSink
    /// Declared variables with a usable type.
    var variables: [String: VariableSpec] = [:]
    /// All declared names, including those with an unusable type.
    var declaredNames: Set<String> = []
    var usedVariables: Set<String> = []
    var usedFragments: Set<String> = []
    /// Every expression whose value reaches the SQL.
    var expressions: [ExpressionProgram] = []
    /// Without duplicates.
    var embeddings: [EmbeddingSource] = []
    /// The programs of `@check`.
    var checkPrograms: [ExpressionProgram] = []
    /// The triggers of `@refresh`, with the ranges in which they name their mutations.
    var triggerTargets: [TriggerTargets.Target] = []
    /// Whether errors were suppressed as consequences of schema errors. What was skipped because of them may be in use.
    var hasFollowUps = false
    /// Response keys of a mutation's fields before the current one, which values may read from `response`.
    var keysBefore: [String] = []
    private var uuidCount = 0
    private(set) var fieldCount = 0
    /// The number of fields that custom resolvers provide.
    var remoteCount = 0

    /// The most fields of an operation after expanding its fragments, which can multiply without bound.
    static let fieldsMax = 10_000

    var schema: Schema { api.schema }

    /// Variables whose value determines the SQL text: filters, orders, and data with more than column values.
    var dynamicVariables: [DynamicVariable] {
        variables.values.filter { usedVariables.contains($0.name) }.compactMap { variable in
            if variable.type.isDynamic { return DynamicVariable(name: variable.name, rows: nil) }
            let isDynamic = variable.allowance?.isFlat == false || dynamicRowVariables.contains(variable.name)
            return isDynamic ? DynamicVariable(name: variable.name, rows: variable.plan) : nil
        }
        .sorted { $0.name < $1.name }
    }

    /// Whether a file of the connector failed to parse; it may declare fragments that seem unknown.
    var mayLackFragments = false
    /// Variables used as `limit` or `offset`.
    var countedVariables: Set<String> = []
    /// Variables that supply nested rows.
    var dynamicRowVariables: Set<String> = []

    init(
        api: GeneratedAPI, connector: String, fragments: [String: ConnectorSources.Fragment],
        operation: OperationDefinition, file: SourceFile, sink: DiagnosticSink
    ) {
        self.api = api
        self.connector = connector
        self.fragments = fragments
        self.operation = operation
        self.file = file
        self.sink = sink
    }

    /// - Parameter unknown: the unknown name, if any; the error is suppressed if the schema's errors explain it.
    func error(_ rule: String, at range: FileRange, _ message: String, help: String? = nil, unknown: String? = nil) {
        if let unknown, sink.isSuppressed(unknown) {
            hasFollowUps = true
            return
        }
        sink.report(.error, rule: rule, at: range.range, in: range.file, message, help: help)
    }

    func warning(_ rule: String, at range: FileRange, _ message: String, help: String? = nil) {
        sink.report(.warning, rule: rule, at: range.range, in: range.file, message, help: help)
    }

    /// Returns a number that distinguishes calls of `uuidV4()`.
    func nextUUIDIndex() -> Int {
        uuidCount += 1
        return uuidCount
    }

    /// Counts a field. Returns false if the operation is too large, which is reported once.
    func countField(at range: FileRange) -> Bool {
        fieldCount += 1
        if fieldCount == Self.fieldsMax + 1 {
            error("operation-too-large", at: range, "the operation has more than \(Self.fieldsMax) fields")
        }
        return fieldCount <= Self.fieldsMax
    }
}
