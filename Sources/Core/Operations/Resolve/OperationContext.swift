import GraphQLLanguage
import SchemaModel

/// The immutable input of resolving one operation.
struct OperationContext {
    let api: GeneratedAPI
    let connector: String
    let options: CatalogOptions
    let name: String
    let operation: OperationDefinition
    let file: SourceFile
    let fragments: [String: ConnectorSources.Fragment]
    /// Whether a file of the connector failed to parse; it may declare fragments that seem unknown.
    let mayLackFragments: Bool
    /// All declared variables, including those with an unusable type.
    let declaredNames: Set<String>
    /// The tables that native SQL of mutations writes.
    let sqlWrites: SQLWrites

    init(
        api: GeneratedAPI, connector: String, options: CatalogOptions, sources: ConnectorSources,
        operation: ConnectorSources.Operation, sqlWrites: SQLWrites
    ) {
        self.sqlWrites = sqlWrites
        self.api = api
        self.connector = connector
        self.options = options
        name = operation.name.value
        self.operation = operation.definition
        file = operation.file
        fragments = sources.fragments
        mayLackFragments = sources.isIncomplete
        declaredNames = Set(operation.definition.variables.map(\.name.value))
    }
}
