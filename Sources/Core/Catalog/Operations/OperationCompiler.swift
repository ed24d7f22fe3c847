import GraphQLLanguage
import JSON
import LiveModel

/// One connector: its files parsed, each operation resolved, checked and rendered.
struct ConnectorCompiler {
    let api: GeneratedAPI
    let schemaText: [UInt8]
    let options: CatalogOptions

    func compile(_ source: ConnectorSource, sink: inout DiagnosticSink) -> Connector {
        let errorsBefore = sink.count(of: .error)
        let sources = ConnectorSources(files: source.files, api: api, sink: &sink)
        var operations: [String: StoredOperation] = [:]
        var known: [String: TriggerTargets.Known] = [:]
        var targets: [TriggerTargets.Target] = []
        var usedFragments: Set<String> = []
        var subjects: [LintSubject] = []
        for operation in sources.operations {
            let scope = OperationScope(
                api: api, connector: source.id, fragments: sources.fragments, operation: operation.definition,
                file: operation.file, sink: sink)
            scope.mayLackFragments = sources.isIncomplete
            let name = operation.name.value
            operations[name] = compile(scope, name, includesEntityIDs: source.includesEntityIDs)
            sink = scope.sink
            known[name] = TriggerTargets.Known(
                kind: operation.definition.kind, variables: operation.definition.variables.map(\.name.value))
            targets += scope.triggerTargets
            usedFragments.formUnion(scope.usedFragments)
            if let compiled = operations[name] {
                subjects.append(
                    LintSubject(
                        operation: compiled, place: FileRange(range: operation.name.range, file: operation.file),
                        triggerPlaces: scope.triggerTargets.map(\.place),
                        hasAuth: operation.definition.directives.first(named: "auth") != nil))
            }
        }
        TriggerTargets.check(targets, known, isComplete: !sources.isIncomplete, sink: &sink)
        // What stands beside a mistake was not looked at: its fragments only seem unused.
        if sink.count(of: .error) == errorsBefore {
            warnAboutUnusedFragments(sources, usedFragments, &sink)
            if sources.operations.isEmpty, let file = source.files.first {
                sink.report(
                    .warning, rule: "no-operations", in: file, "connector \"\(source.id)\" has no operations")
            }
        }
        let lints = sink.hasErrors ? [] : Lint.diagnostics(api.schema, subjects)
        return Connector(id: source.id, operations: operations, lints: lints)
    }

    private func warnAboutUnusedFragments(
        _ sources: ConnectorSources, _ used: Set<String>, _ sink: inout DiagnosticSink
    ) {
        for (name, fragment) in sources.fragments.sorted(by: { $0.key < $1.key }) where !used.contains(name) {
            sink.report(
                .warning, rule: "unused-fragment", at: fragment.definition.name.range, in: fragment.file,
                "the fragment \"\(name)\" is never used")
        }
    }

    private func compile(
        _ scope: OperationScope, _ name: String, includesEntityIDs: Bool
    ) -> StoredOperation? {
        let errorsBefore = scope.sink.count(of: .error)
        let definition = scope.operation
        let variables = scope.resolveVariables()
        scope.checkDirectives()
        let auth = scope.resolveAuth()
        let selection = [SelectionSource(set: definition.selectionSet, inclusion: .always, file: scope.file)]
        var query: QueryPlan?
        var mutation: [MutationPlan] = []
        var remoteFields: [(inclusion: Inclusion, field: RemoteField)] = []
        var policy: ResponsePolicy?
        var rootSequence = RootFieldOrder([])
        var entities = EntityTree()
        let rootPolicy = scope.rootPolicy()
        var footprint = ReadWriteSetBuilder(
            schema: api.schema, requiredVariables: Set(variables.filter(\.type.isNonNull).map(\.name)))
        if definition.kind == .query {
            var fields = scope.queryFields(selection)
            // What nobody sees and nothing checks need not be read.
            if rootPolicy.checks.isEmpty, !scope.checkPrograms.contains(where: \.readsResponse) {
                fields = fields.withoutUnreadRedactions
            }
            footprint.add(fields)
            policy = ResponsePolicy(root: rootPolicy, children: ResponsePolicy.children(of: fields))
            rootSequence = RootFieldOrder(fields)
            if includesEntityIDs { fields = fields.withEntityIDs }
            remoteFields = fields.compactMap { field in
                if case .remote(let remote) = field.kind { (field.inclusion, remote) } else { nil }
            }
            entities = EntityTree(fields)
            query = QueryPlan(fields, schema: api.schema, dynamicVariables: scope.dynamicVariables)
        } else {
            let fields = scope.mutationFields(selection)
            footprint.add(fields)
            policy = ResponsePolicy(root: rootPolicy, children: ResponsePolicy.children(of: fields))
            let dynamic = scope.dynamicVariables
            mutation = fields.map { MutationPlan($0, schema: api.schema, dynamicVariables: dynamic) }
        }
        let lookupTables = Set(query?.lookups.map(\.table) ?? []).sorted()
        let refresh = scope.resolveRefresh(lookupTables: lookupTables, options: options)
        guard let auth, scope.sink.count(of: .error) == errorsBefore else { return nil }
        scope.warnAboutUnusedVariables()
        var reads = refresh.authReads(of: "request")
        for expression in scope.expressions + scope.checkPrograms { reads.formUnion(expression.authReads) }
        let text = text(scope)
        // Digests of results with and without ids have no order.
        let form: [UInt8] = entities.isEmpty ? [] : [0, 1]
        return StoredOperation(
            StoredOperation.Parts(
                reference: OperationReference(connector: scope.connector, operation: name),
                kind: definition.kind == .query ? .query : .mutation,
                version: Digest(of: Array(text.utf8) + [0] + schemaText + form),
                variables: variables.map(scope.inUse), text: text,
                auth: auth,
                authReads: reads, refresh: refresh,
                isTransaction: definition.directives.first(named: "transaction") != nil,
                schema: api.schema, query: query, mutation: mutation, policy: policy, rootSequence: rootSequence,
                entities: entities, footprint: footprint.footprint, embeddings: scope.embeddings,
                remoteFields: remoteFields,
                hasRemoteSteps: definition.kind == .mutation && scope.remoteCount > 0,
                readsResponse: scope.expressions.contains(where: \.readsResponse)))
    }

    /// The operation and the fragments it uses, as written.
    private func text(_ scope: OperationScope) -> String {
        var parts = [scope.file.text(of: scope.operation.range)]
        for name in scope.usedFragments.sorted() {
            guard let fragment = scope.fragments[name] else { continue }
            parts.append(fragment.file.text(of: fragment.definition.range))
        }
        return parts.joined(separator: "\n")
    }
}
