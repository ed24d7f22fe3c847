import GraphQLLanguage
import LiveModel
package import SchemaModel

/// The result of compiling one operation, whether or not it has errors.
package struct OperationResolution {
    /// Nil after an error.
    package let tree: OperationTree?
    /// The triggers of `@refresh`, with the ranges in which they name their mutations.
    package let triggerTargets: [TriggerTargets.Target]
    package let usedFragments: Set<String>
}

/// Compiles operations of a connector in its context.
package struct OperationResolver {
    package let api: GeneratedAPI
    package let connector: String
    package let sources: ConnectorSources
    package let options: CatalogOptions
    /// Whether results include the ids of their rows.
    package let includesEntityIDs: Bool

    package init(
        api: GeneratedAPI, connector: String, sources: ConnectorSources, options: CatalogOptions,
        includesEntityIDs: Bool
    ) {
        self.api = api
        self.connector = connector
        self.sources = sources
        self.options = options
        self.includesEntityIDs = includesEntityIDs
    }

    /// Resolves one operation and reports its problems to `sink`.
    package func resolve(_ operation: ConnectorSources.Operation, sink: inout DiagnosticSink) -> OperationResolution {
        let scope = OperationScope(
            api: api, connector: connector, fragments: sources.fragments, operation: operation.definition,
            file: operation.file, sink: sink)
        scope.mayLackFragments = sources.isIncomplete
        let tree = tree(operation.name.value, scope)
        sink = scope.sink
        return OperationResolution(
            tree: tree, triggerTargets: scope.triggerTargets, usedFragments: scope.usedFragments)
    }

    private func tree(_ name: String, _ scope: OperationScope) -> OperationTree? {
        let errorsBefore = scope.sink.count(of: .error)
        let definition = scope.operation
        let variables = scope.resolveVariables()
        scope.checkDirectives()
        let auth = scope.resolveAuth()
        let rootPolicy = scope.rootPolicy()
        var readWrites = ReadWriteSetBuilder(
            schema: api.schema, requiredVariables: Set(variables.filter(\.type.isNonNull).map(\.name)))
        let (root, results) = root(scope, rootPolicy, &readWrites)
        let refresh = scope.resolveRefresh(lookupTables: root.lookupTables, options: options)
        guard let auth, scope.sink.count(of: .error) == errorsBefore else { return nil }
        scope.warnAboutUnusedVariables()
        var authReads = refresh.authReads(of: "request")
        for expression in scope.expressions + scope.checkPrograms { authReads.formUnion(expression.authReads) }
        return OperationTree(
            reference: OperationReference(connector: connector, operation: name), text: text(scope),
            variables: variables.map(scope.inUse), dynamicVariables: scope.dynamicVariables, auth: auth,
            authReads: authReads, refresh: refresh,
            isTransaction: definition.directives.first(named: "transaction") != nil,
            root: root, results: results, readWriteSet: readWrites.result, embeddings: scope.embeddings,
            isStepwise: definition.kind == .mutation
                && (results.hasPolicy || scope.remoteCount > 0
                    || scope.expressions.contains(where: \.readsResponse))
        )
    }

    private func root(
        _ scope: OperationScope, _ policy: FieldPolicy, _ readWrites: inout ReadWriteSetBuilder
    ) -> (OperationTree.Root, ResultForm) {
        let selection = [
            SelectionSource(set: scope.operation.selectionSet, inclusion: .always, file: scope.file)
        ]
        guard scope.operation.kind == .query else {
            let fields = scope.mutationFields(selection)
            readWrites.add(fields)
            let results = ResultForm(
                policy: ResponsePolicy(root: policy, children: ResponsePolicy.children(of: fields)))
            return (.mutation(fields), results)
        }
        var fields = scope.queryFields(selection)
        // Redacted fields that no check reads need not be fetched.
        if policy.checks.isEmpty, !scope.checkPrograms.contains(where: \.readsResponse) {
            fields = fields.withoutUnreadRedactions
        }
        readWrites.add(fields)
        let responsePolicy = ResponsePolicy(root: policy, children: ResponsePolicy.children(of: fields))
        let order = RootFieldOrder(fields)
        if includesEntityIDs { fields = fields.withEntityIDs }
        return (.query(fields), ResultForm(policy: responsePolicy, order: order, entities: EntityTree(fields)))
    }

    /// Returns the text of the operation and of the fragments that it uses.
    private func text(_ scope: OperationScope) -> String {
        var parts = [scope.file.text(of: scope.operation.range)]
        for name in scope.usedFragments.sorted() {
            guard let fragment = scope.fragments[name] else { continue }
            parts.append(fragment.file.text(of: fragment.definition.range))
        }
        return parts.joined(separator: "\n")
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
