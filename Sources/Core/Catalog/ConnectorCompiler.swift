import GraphQLLanguage
import JSON
import LiveModel
import Operations
import SchemaModel

/// A connector whose files are parsed.
struct ParsedConnector {
    let id: String
    let sources: ConnectorSources
    let files: [SourceFile]
    let includesEntityIDs: Bool
    /// Whether a file has errors outside its operations, or is not GraphQL.
    let hasErrors: Bool
}

/// A connector whose operations are compiled, apart from what they say of other operations.
struct CompiledConnector {
    let source: ParsedConnector
    fileprivate(set) var operations: [String: StoredOperation] = [:]
    fileprivate var known = TriggerTargets.Connector()
    /// The mutations that `@refresh` names, by the query.
    fileprivate var targets: [String: [TriggerTargets.Target]] = [:]
    fileprivate var usedFragments: Set<String> = []
    fileprivate var subjects: [LintSubject] = []
    fileprivate var unused: [(operation: ConnectorSources.Operation, variables: [Name])] = []
    fileprivate var invalid: Set<String> = []
    /// Whether an operation has errors.
    fileprivate var hasErrors = false

    fileprivate init(_ source: ParsedConnector) { self.source = source }
}

/// Compiles a connector: parses its files, then resolves, checks and renders each operation.
struct ConnectorCompiler {
    let api: GeneratedAPI
    let schemaText: [UInt8]
    let options: CatalogOptions
    let automaticRefresh: AutomaticRefresh
    /// The tables that native SQL and views read.
    var sqlReads = SQLReads.none
    /// The tables that native SQL of mutations writes.
    var sqlWrites = SQLWrites.none

    func parse(_ source: ConnectorSource, sink: inout DiagnosticSink) -> ParsedConnector {
        let errorsBefore = sink.count(of: .error)
        let sources = ConnectorSources(files: source.files, api: api, sink: &sink)
        return ParsedConnector(
            id: source.id, sources: sources, files: source.files, includesEntityIDs: source.includesEntityIDs,
            hasErrors: sink.count(of: .error) > errorsBefore)
    }

    func compile(_ source: ParsedConnector, sink: inout DiagnosticSink) -> CompiledConnector {
        let errorsBefore = sink.count(of: .error)
        let sources = source.sources
        var result = CompiledConnector(source)
        result.known.isComplete = !sources.isIncomplete
        let compiler = OperationCompiler(
            api: api, connector: source.id, sources: sources, options: options,
            includesEntityIDs: source.includesEntityIDs, sqlReads: sqlReads, sqlWrites: sqlWrites)
        for operation in sources.operations {
            let compilation = compiler.compile(operation, sink: &sink)
            let name = operation.name.value
            result.known.operations[name] = TriggerTargets.Known(
                kind: operation.definition.kind, variables: operation.definition.variables.map(\.name.value))
            result.unused.append((operation, compilation.unusedVariables))
            result.usedFragments.formUnion(compilation.usedFragments)
            result.targets[name] = compilation.triggerTargets
            guard let tree = compilation.tree else {
                result.invalid.insert(name)
                continue
            }
            let comment = RefreshComment.mode(
                above: operation.definition.range.start, in: operation.file, sink: &sink)
            let automatic = automatic(tree, comment)
            result.operations[name] = StoredOperation(
                tree, schema: api.schema, version: version(of: tree, automatic), automatic: automatic,
                source: automaticRefresh.source)
            result.subjects.append(
                LintSubject(
                    operation: tree, range: FileRange(range: operation.name.range, file: operation.file),
                    triggerRanges: compilation.triggerTargets.map(\.range),
                    hasAuth: operation.definition.directives.first(named: "auth") != nil,
                    isAutomatic: automatic == .refreshes))
        }
        result.hasErrors = sink.count(of: .error) > errorsBefore
        return result
    }

    /// Checks what the operations of a connector say of others.
    /// - Parameter all: all connectors of the project.
    func finish(
        _ compiled: CompiledConnector, among all: [CompiledConnector], sink: inout DiagnosticSink
    ) -> Connector {
        var (operations, invalid) = (compiled.operations, compiled.invalid)
        let errorsBefore = sink.count(of: .error)
        let source = compiled.source
        let known = Dictionary(all.map { ($0.source.id, $0.known) }, uniquingKeysWith: { first, _ in first })
        for (name, targets) in compiled.targets.sorted(by: { $0.key < $1.key }) {
            let errors = sink.count(of: .error)
            TriggerTargets.check(targets, of: source.id, known, sink: &sink)
            guard sink.count(of: .error) > errors else { continue }
            operations[name] = nil
            invalid.insert(name)
        }
        let targets = all.flatMap(\.targets.values).flatMap { $0 }
        for (operation, variables) in compiled.unused {
            let reference = OperationReference(connector: source.id, operation: operation.name.value)
            for variable in variables
            where !targets.contains(where: { $0.reads(variable: variable.value, of: reference) }) {
                sink.report(
                    .warning, rule: .unusedVariable, at: variable.range, in: operation.file,
                    "\"$\(variable.value)\" is never used")
            }
        }
        // Operations with errors were not fully resolved, so their fragments may only seem unused.
        if !source.hasErrors, !compiled.hasErrors, sink.count(of: .error) == errorsBefore {
            warnAboutUnusedFragments(source.sources, compiled.usedFragments, &sink)
            if source.sources.operations.isEmpty, let file = source.files.first {
                sink.report(
                    .warning, rule: .noOperations, in: file, "connector \"\(source.id)\" has no operations")
            }
        }
        let others = all.filter { $0.source.id != source.id }.flatMap(\.subjects)
        let lints = sink.hasErrors ? [] : Lint.diagnostics(api.schema, compiled.subjects, besides: others)
        return Connector(
            id: source.id, operations: operations, invalidOperations: invalid, hasInvalidSources: source.hasErrors,
            lints: lints)
    }

    private func warnAboutUnusedFragments(
        _ sources: ConnectorSources, _ used: Set<String>, _ sink: inout DiagnosticSink
    ) {
        for (name, fragment) in sources.fragments.sorted(by: { $0.key < $1.key }) where !used.contains(name) {
            sink.report(
                .warning, rule: .unusedFragment, at: fragment.definition.name.range, in: fragment.file,
                "the fragment \"\(name)\" is never used")
        }
    }

    /// Returns what changes of rows mean for the query; nil for nothing.
    /// - Parameter comment: the mode that a comment sets, which takes precedence.
    private func automatic(_ operation: OperationTree, _ comment: AutomaticRefresh.Mode?) -> AutomaticSites.Use? {
        // A query that only custom resolvers answer reads no rows. Whether SQL reads any, only a database tells.
        let reads = operation.readWriteSet
        guard operation.kind == .query, !reads.sites.isEmpty || !reads.sqlTexts.isEmpty else { return nil }
        let name = operation.reference
        return switch comment ?? automaticRefresh.mode(connector: name.connector, operation: name.operation) {
        case .off: nil
        case .observe: .isObserved
        case .lists: operation.refresh.triggers.isEmpty ? .refreshes : nil
        case .all: .refreshes
        }
    }

    private func version(of operation: OperationTree, _ automatic: AutomaticSites.Use?) -> Digest {
        // Results with and without entity ids have incomparable digests, so the versions must differ; so must those of
        // live queries with different rules.
        let form: [UInt8] =
            (operation.results.hasEntityIDs ? [0, 1] : []) + (automatic?.versionForm ?? [])
            + (automatic == nil
                ? [] : automaticRefresh.source.versionForm + operation.readWriteSet.sqlReads.versionForm)
        return Digest(of: Array(operation.text.utf8) + [0] + schemaText + form)
    }
}

extension SQLReads {
    fileprivate var versionForm: [UInt8] { isEmpty ? [] : [0, 6] + json.canonicalBytes }
}

extension AutomaticRefresh.Source {
    fileprivate var versionForm: [UInt8] {
        switch self {
        case .mutations: []
        case .both: [0, 4]
        case .wal: [0, 5]
        }
    }
}

extension AutomaticSites.Use {
    fileprivate var versionForm: [UInt8] {
        switch self {
        case .refreshes: [0, 2]
        case .isObserved: [0, 3]
        }
    }
}
