import GraphQLLanguage
package import LiveModel
package import Operations
package import SchemaModel
package import SchemaSDL

/// Everything that a service offers: the schema and the connectors with their operations, compiled.
///
/// Immutable. A pipeline of named representations leads here: `SourceFile` → `Document` → `Schema` and operation trees
/// → templates of SQL → `StoredOperation`.
package struct Catalog: Sendable {
    package let serviceID: String
    package let location: String
    package let schema: Schema
    /// What editors and client generators see.
    package var graphQLSchema: GraphQLSchema { GraphQLSchema(schema, resolvers) }
    /// By connector id.
    package let connectors: [String: Connector]
    /// Everything worth saying that is no error: `Project.warnings`, then the rest in order of place.
    package let warnings: [Diagnostic]

    /// What could be better, in order of place; for `freshet check` only.
    package var lints: [Diagnostic] { connectors.values.flatMap(\.lints).sorted() }

    private let resolvers: [ResolverSchema]
    private let refreshed: [OperationReference: [OperationReference]]
    private let conditionReads: [OperationReference: AuthReads]

    /// - Throws: all errors of the project together, warnings among them.
    package static func compile(
        _ project: Project, options: CatalogOptions = CatalogOptions()
    ) throws(CatalogError) -> Catalog {
        var sink = DiagnosticSink()
        let schema = SchemaCompiler.compile(files: project.schemaFiles, sink: &sink)
        let tables = GeneratedAPI(schema: schema)
        let resolvers = resolvers(of: project, tables, &sink)
        let compiler = ConnectorCompiler(
            api: tables.adding(resolvers),
            schemaText: project.schemaFiles.sorted { $0.path < $1.path }.flatMap { $0.source.bytes + [0] }
                + project.resolvers.flatMap(\.identity),
            options: options)
        var connectors: [String: Connector] = [:]
        for source in project.connectors {
            connectors[source.id] = compiler.compile(source, sink: &sink)
        }
        try sink.throwIfErrors()
        return Catalog(
            serviceID: project.serviceID, location: project.location, schema: schema,
            resolvers: resolvers, connectors: connectors,
            warnings: project.warnings + sink.diagnostics)
    }

    private init(
        serviceID: String, location: String, schema: Schema, resolvers: [ResolverSchema],
        connectors: [String: Connector], warnings: [Diagnostic]
    ) {
        self.serviceID = serviceID
        self.location = location
        self.schema = schema
        self.resolvers = resolvers
        self.connectors = connectors
        self.warnings = warnings
        let operations = connectors.values.flatMap(\.operations.values)
        refreshed = Self.refreshed(operations)
        conditionReads = Self.conditionReads(operations)
    }

    /// The GraphQL schema alone: connectors need not compile.
    /// - Throws: all errors of the schemas together.
    package static func graphQLSchema(of project: Project) throws(CatalogError) -> GraphQLSchema {
        var sink = DiagnosticSink()
        let schema = SchemaCompiler.compile(files: project.schemaFiles, sink: &sink)
        let resolvers = resolvers(of: project, GeneratedAPI(schema: schema), &sink)
        try sink.throwIfErrors()
        return GraphQLSchema(schema, resolvers)
    }

    private static func resolvers(
        of project: Project, _ tables: GeneratedAPI, _ sink: inout DiagnosticSink
    ) -> [ResolverSchema] {
        ResolverSchemaReader.read(
            project.resolvers, tables, typeNames: { GraphQLSchema(tables.schema).typeNames }, sink: &sink)
    }

    package func operation(_ reference: OperationReference) -> StoredOperation? {
        connectors[reference.connector]?.operations[reference.operation]
    }

    /// The queries that a mutation can refresh, sorted: those whose rules name it, in its own connector, and those of
    /// all connectors that look up rows by key in a table where it writes by key.
    package func queriesRefreshed(by mutation: OperationReference) -> [OperationReference] {
        refreshed[mutation] ?? []
    }

    /// What the conditions of all queries read of this mutation's auth: the part that its event has to carry.
    package func authReadsOfConditions(on mutation: OperationReference) -> AuthReads {
        conditionReads[mutation] ?? .nothing
    }

    /// Of the operations of one catalog or of several versions together.
    static func refreshed(_ operations: [StoredOperation]) -> [OperationReference: [OperationReference]] {
        var byTable: [String: Set<OperationReference>] = [:]
        var byTrigger: [OperationReference: Set<OperationReference>] = [:]
        for query in operations where query.kind == .query {
            for table in query.refresh.lookupTables { byTable[table, default: []].insert(query.reference) }
            for trigger in query.refresh.triggers { byTrigger[trigger.mutation, default: []].insert(query.reference) }
        }
        var refreshed: [OperationReference: Set<OperationReference>] = [:]
        for mutation in operations where mutation.kind == .mutation {
            refreshed[mutation.reference, default: []].formUnion(byTrigger[mutation.reference] ?? [])
            for table in mutation.tablesWrittenByKey {
                refreshed[mutation.reference, default: []].formUnion(byTable[table] ?? [])
            }
        }
        return refreshed.mapValues { $0.sorted() }
    }

    static func conditionReads(_ operations: [StoredOperation]) -> [OperationReference: AuthReads] {
        var reads: [OperationReference: AuthReads] = [:]
        for query in operations {
            for mutation in Set(query.refresh.triggers.map(\.mutation)) {
                reads[mutation, default: .nothing].formUnion(
                    query.refresh.authReads(of: "mutation") { $0.mutation == mutation })
            }
        }
        return reads
    }
}

/// A named set of stored operations.
package struct Connector: Sendable {
    package let id: String
    /// By name, letter case included.
    package let operations: [String: StoredOperation]
    /// What could be better, in order of place: see `Lint`.
    package let lints: [Diagnostic]
}
