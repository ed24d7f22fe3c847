import GraphQLLanguage
import SchemaModel

/// What the compilation of one operation shares: the schema, the fragments, the problems found, the variables used.
///
/// A class confined to the one compilation that made it; it never leaves the function that compiles the operation.
final class OperationScope {
    let api: GeneratedAPI
    let connector: String
    let fragments: [String: ConnectorSources.Fragment]
    let operation: OperationDefinition
    let file: SourceFile
    var sink: DiagnosticSink
    /// Declared variables that have a usable type.
    var variables: [String: VariableSpec] = [:]
    /// All declared names, those with an unusable type included.
    var declaredNames: Set<String> = []
    var usedVariables: Set<String> = []
    var usedFragments: Set<String> = []
    /// Every expression whose value reaches the SQL.
    var expressions: [ExpressionProgram] = []
    /// Each once.
    var embeddings: [EmbeddingSource] = []
    /// Those of `@check`.
    var checkPrograms: [ExpressionProgram] = []
    /// The triggers of `@refresh` with the places where they name their mutation.
    var triggerTargets: [TriggerTargets.Target] = []
    /// Problems not reported, because the schema's explain them; what was not looked at for that may be in use.
    var hasFollowUps = false
    /// Keys of a mutation's fields that come before the one that is looked at: what its values may read of `response`.
    var keysBefore: [String] = []
    private var placeCount = 0
    private(set) var fieldCount = 0
    /// Fields that custom resolvers answer.
    var remoteCount = 0

    /// Fields of one operation after its fragments were put in place; fragments can multiply without bound.
    static let fieldsMax = 10_000

    var schema: Schema { api.schema }

    /// Variables whose value decides the text of the SQL: filters, orders, data with more than values of columns.
    var dynamicVariables: [DynamicVariable] {
        variables.values.filter { usedVariables.contains($0.name) }.compactMap { variable in
            if variable.type.isDynamic { return DynamicVariable(name: variable.name, rows: nil) }
            let isDynamic = variable.allowance?.isFlat == false || dynamicRowVariables.contains(variable.name)
            return isDynamic ? DynamicVariable(name: variable.name, rows: variable.plan) : nil
        }
        .sorted { $0.name < $1.name }
    }

    /// A file of the connector did not parse: an unknown fragment may stand there.
    var mayLackFragments = false
    /// Variables that say how many rows to give or to leave out.
    var countedVariables: Set<String> = []
    /// Variables that bring nested rows.
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

    /// - Parameter unknown: the name that nobody knows; nothing is said where the schema's own errors explain that.
    func error(_ rule: String, at place: FileRange, _ message: String, help: String? = nil, unknown: String? = nil) {
        if let unknown, sink.isLost(unknown) {
            hasFollowUps = true
            return
        }
        sink.report(.error, rule: rule, at: place.range, in: place.file, message, help: help)
    }

    func warning(_ rule: String, at place: FileRange, _ message: String, help: String? = nil) {
        sink.report(.warning, rule: rule, at: place.range, in: place.file, message, help: help)
    }

    /// A number that tells one `uuidV4()` from another.
    func nextPlace() -> Int {
        placeCount += 1
        return placeCount
    }

    /// False, after one diagnostic, when the operation is too large.
    func countField(at place: FileRange) -> Bool {
        fieldCount += 1
        if fieldCount == Self.fieldsMax + 1 {
            error("operation-too-large", at: place, "the operation has more than \(Self.fieldsMax) fields")
        }
        return fieldCount <= Self.fieldsMax
    }
}
