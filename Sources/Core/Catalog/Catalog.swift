import GraphQLLanguage
package import LiveModel
package import Operations
import Refresh
package import SchemaModel
package import SchemaSDL

/// A compiled project: the schema and the connectors with their operations.
///
/// Immutable. Compilation is a pipeline of named representations: `SourceFile` → `Document` → `Schema` and operation
/// trees → SQL templates → `StoredOperation`.
package struct Catalog: Sendable {
    package let serviceID: String
    package let location: String
    package let schema: Schema
    /// The schema that editors and client generators see.
    package var graphQLSchema: GraphQLSchema { GraphQLSchema(schema, resolvers) }
    /// The connectors by id.
    package let connectors: [String: Connector]
    /// The ids of the connectors, one set for all sessions that keep it.
    package let connectorIDs: Set<String>
    /// All warnings: `Project.warnings`, then the others in order of place. With
    /// `CatalogOptions.omitsInvalidOperations`, also the errors of the operations that were left out.
    package let warnings: [Diagnostic]
    /// The errors of the operations that were left out.
    package var errors: [Diagnostic] { warnings.filter { $0.severity == .error } }
    /// The names of the operations that were left out, sorted.
    package var invalidOperations: [String] {
        connectors.values.flatMap { connector in
            connector.invalidOperations.map { OperationReference(connector: connector.id, operation: $0) }
        }.sorted().map { "\($0)" }
    }

    /// Suggestions for improvement, in order of place; only `freshet check` shows them.
    package var lints: [Diagnostic] { connectors.values.flatMap(\.lints).sorted() }

    /// The names of the fields and variables that comments hide from operators (`RedactComment`).
    package let redactedNames: Set<String>

    private let resolvers: [ResolverSchema]
    private let refreshed: [OperationReference: [OperationReference]]
    private let conditionReads: [OperationReference: AuthReads]

    /// - Throws: all errors of the project together, and its warnings; with
    ///   `CatalogOptions.omitsInvalidOperations`, only if there are errors outside operations.
    package static func compile(
        _ project: Project, options: CatalogOptions = CatalogOptions()
    ) throws(CatalogError) -> Catalog {
        var sink = DiagnosticSink()
        let schema = SchemaCompiler.compile(files: project.schemaFiles, sink: &sink)
        let redacted = (project.schemaFiles + project.connectors.flatMap(\.files))
            .reduce(into: Set()) { $0.formUnion(RedactComment.names(in: $1, sink: &sink)) }
        let tables = GeneratedAPI(schema: schema)
        let resolvers = resolvers(of: project, tables, &sink)
        if options.omitsInvalidOperations { try sink.throwIfErrors() }
        let compiler = ConnectorCompiler(
            api: tables.adding(resolvers),
            schemaText: project.schemaFiles.sorted { $0.path < $1.path }.flatMap { $0.source.bytes + [0] }
                + project.resolvers.flatMap(\.identity),
            options: options, automaticRefresh: project.automaticRefresh, sqlReads: project.sqlReads,
            sqlWrites: project.sqlWrites)
        let isEmpty = schema.tables.isEmpty && schema.views.isEmpty && !sink.hasErrors
        let parsed = project.connectors.map { compiler.parse($0, sink: &sink) }
        var connectors: [String: Connector] = [:]
        let compiled = parsed.map { compiler.compile($0, sink: &sink) }
        for connector in compiled {
            connectors[connector.source.id] = compiler.finish(connector, among: compiled, sink: &sink)
        }
        // Without tables, an operation that compiles is native SQL or calls a custom resolver.
        if isEmpty, let file = project.schemaFiles.first, connectors.values.allSatisfy(\.operations.isEmpty) {
            sink.report(.warning, rule: .emptySchema, in: file, "the schema has no tables")
        }
        if !options.omitsInvalidOperations || connectors.values.contains(where: \.hasInvalidSources) {
            try sink.throwIfErrors()
        }
        return Catalog(
            serviceID: project.serviceID, location: project.location, schema: schema,
            resolvers: resolvers, connectors: connectors,
            warnings: project.warnings + sink.diagnostics, sqlReads: project.sqlReads, sqlWrites: project.sqlWrites,
            redactedNames: redacted)
    }

    private init(
        serviceID: String, location: String, schema: Schema, resolvers: [ResolverSchema],
        connectors: [String: Connector], warnings: [Diagnostic], sqlReads: SQLReads, sqlWrites: SQLWrites,
        redactedNames: Set<String>
    ) {
        self.redactedNames = redactedNames
        self.sqlReads = sqlReads
        self.sqlWrites = sqlWrites
        self.serviceID = serviceID
        self.location = location
        self.schema = schema
        self.resolvers = resolvers
        self.connectors = connectors
        connectorIDs = Set(connectors.keys)
        self.warnings = warnings
        let operations = connectors.values.flatMap(\.operations.values)
        recordedFields = Self.recordedFields(operations)
        captured = CapturedReads([(schema, operations)])
        refreshed = Self.refreshed(operations)
        conditionReads = Self.conditionReads(operations)
    }

    /// Compiles the GraphQL schema alone; the connectors need not compile.
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

    /// The fields, by table, by which queries with automatic refreshes select rows; nil without such queries. Events
    /// tell the values of these.
    package let recordedFields: [String: RecordedFields]?

    /// The queries that refresh by the write-ahead log; nil if there are none.
    package let captured: CapturedReads?

    /// The project's knowledge of what native SQL and views read.
    package let sqlReads: SQLReads

    /// The project's knowledge of what native SQL of mutations writes.
    package let sqlWrites: SQLWrites

    /// The SQL texts that queries with automatic refreshes read, with these queries, sorted.
    package var sqlTexts: [(text: String, operations: [OperationReference])] {
        texts { $0.automaticSites == nil ? [] : $0.readWriteSet.sqlTexts }
    }

    /// The SQL texts that mutations run, with these, sorted; none without a query that refreshes automatically.
    package var sqlWriteTexts: [(text: String, operations: [OperationReference])] {
        let isNeeded = connectors.values.contains { $0.operations.values.contains { $0.automaticSites != nil } }
        return isNeeded ? texts(\.readWriteSet.sqlWriteTexts) : []
    }

    private func texts(
        _ texts: (StoredOperation) -> Set<String>
    ) -> [(text: String, operations: [OperationReference])] {
        var operations: [String: [OperationReference]] = [:]
        for operation in connectors.values.flatMap(\.operations.values) {
            for text in texts(operation) { operations[text, default: []].append(operation.reference) }
        }
        return operations.sorted { $0.key < $1.key }.map { ($0.key, $0.value.sorted()) }
    }

    /// Returns the queries that a mutation can refresh, sorted: those in its own connector whose rules name it, those
    /// in all connectors that look up rows by key in a table where the mutation writes by key, and those with automatic
    /// refreshes that read a table where it writes.
    package func queriesRefreshed(by mutation: OperationReference) -> [OperationReference] {
        refreshed[mutation] ?? []
    }

    /// Returns the parts of this mutation's auth that the conditions of any query read; its event must carry them.
    package func authReadsOfConditions(on mutation: OperationReference) -> AuthReads {
        conditionReads[mutation] ?? .nothing
    }

    /// Computes `queriesRefreshed(by:)` for the operations of one catalog or of several versions together.
    static func refreshed(_ operations: [StoredOperation]) -> [OperationReference: [OperationReference]] {
        var byTable: [String: Set<OperationReference>] = [:]
        var byTrigger: [OperationReference: Set<OperationReference>] = [:]
        var readersOfTable: [String: Set<OperationReference>] = [:]
        var readersOfAnything: Set<OperationReference> = []
        for query in operations where query.kind == .query {
            for table in query.refresh.lookupTables { byTable[table, default: []].insert(query.reference) }
            for trigger in query.refresh.triggers { byTrigger[trigger.mutation, default: []].insert(query.reference) }
            guard let automatic = query.automaticSites, automatic.source != .wal else { continue }
            if automatic.mayReadAnything { readersOfAnything.insert(query.reference) }
            for site in automatic.sites { readersOfTable[site.form.table, default: []].insert(query.reference) }
        }
        let automatic = readersOfTable.values.reduce(into: readersOfAnything) { $0.formUnion($1) }
        var refreshed: [OperationReference: Set<OperationReference>] = [:]
        for mutation in operations where mutation.kind == .mutation {
            refreshed[mutation.reference, default: []].formUnion(byTrigger[mutation.reference] ?? [])
            for table in mutation.tablesWrittenByKey {
                refreshed[mutation.reference, default: []].formUnion(byTable[table] ?? [])
            }
            switch mutation.tablesWritten {
            case nil: refreshed[mutation.reference, default: []].formUnion(automatic)
            case let tables? where !tables.isEmpty:
                refreshed[mutation.reference, default: []].formUnion(readersOfAnything)
                for table in tables {
                    refreshed[mutation.reference, default: []].formUnion(readersOfTable[table] ?? [])
                }
            default: continue
            }
        }
        return refreshed.mapValues { $0.sorted() }
    }

    static func recordedFields(_ operations: [StoredOperation]) -> [String: RecordedFields]? {
        let automatic = operations.compactMap(\.automaticSites).filter { $0.source != .wal }
        if automatic.isEmpty { return nil }
        return automatic.flatMap(\.sites).recordedFields
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
    /// The operations by name, case-sensitive.
    package let operations: [String: StoredOperation]
    /// The operations left out because they do not compile (`CatalogOptions.omitsInvalidOperations`).
    package let invalidOperations: Set<String>
    /// Whether a file has errors outside its operations, or is not GraphQL.
    let hasInvalidSources: Bool
    /// Suggestions for improvement, in order of place (`Lint`).
    package let lints: [Diagnostic]
}
