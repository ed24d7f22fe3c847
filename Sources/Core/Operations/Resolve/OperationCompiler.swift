package import GraphQLLanguage
import LiveModel
package import SchemaModel

/// The result of compiling one operation, whether or not it has errors.
package struct OperationCompilation {
    /// Nil after an error.
    package let tree: OperationTree?
    /// The triggers of `@refresh`, with the ranges in which they name their mutations.
    package let triggerTargets: [TriggerTargets.Target]
    package let usedFragments: Set<String>
    /// The variables that nothing in the operation uses; conditions of queries may read those of a mutation.
    package let unusedVariables: [Name]
}

/// Compiles operations of a connector in its context.
package struct OperationCompiler {
    package let api: GeneratedAPI
    package let connector: String
    package let sources: ConnectorSources
    package let options: CatalogOptions
    /// Whether results include the ids of their rows.
    package let includesEntityIDs: Bool
    /// The tables that native SQL and views read.
    package let sqlReads: SQLReads
    /// The tables that native SQL of mutations writes.
    package let sqlWrites: SQLWrites

    package init(
        api: GeneratedAPI, connector: String, sources: ConnectorSources, options: CatalogOptions,
        includesEntityIDs: Bool, sqlReads: SQLReads, sqlWrites: SQLWrites
    ) {
        self.sqlReads = sqlReads
        self.sqlWrites = sqlWrites
        self.api = api
        self.connector = connector
        self.sources = sources
        self.options = options
        self.includesEntityIDs = includesEntityIDs
    }

    /// Compiles one operation and reports its problems to `sink`.
    package func compile(_ operation: ConnectorSources.Operation, sink: inout DiagnosticSink) -> OperationCompilation {
        let context = OperationContext(
            api: api, connector: connector, options: options, sources: sources, operation: operation,
            sqlWrites: sqlWrites)
        let resolved = OperationScope.resolve(context, sink: &sink)
        return OperationCompilation(
            tree: tree(of: resolved, context), triggerTargets: resolved.triggerTargets,
            usedFragments: resolved.findings.usedFragments, unusedVariables: resolved.findings.unusedVariables)
    }

    private func tree(of resolved: BoundOperation, _ context: OperationContext) -> OperationTree? {
        guard !resolved.hasErrors, let auth = resolved.auth else { return nil }
        var readWrites = ReadWriteSetBuilder(
            schema: api.schema, requiredVariables: Set(resolved.variables.filter(\.type.isNonNull).map(\.name)),
            sqlReads: sqlReads)
        let (root, results) = root(of: resolved, &readWrites)
        return OperationTree(
            reference: OperationReference(connector: connector, operation: context.name),
            text: text(context, resolved.findings.usedFragments),
            variables: resolved.limitedVariables, dynamicVariables: resolved.dynamicVariables, auth: auth,
            authReads: resolved.authReads, refresh: resolved.refresh,
            isTransaction: context.operation.directives.first(named: "transaction") != nil,
            root: root, results: results, readWriteSet: readWrites.result, embeddings: resolved.findings.embeddings,
            isStepwise: context.operation.kind == .mutation && (results.hasPolicy || resolved.needsSteps))
    }

    private func root(
        of resolved: BoundOperation, _ readWrites: inout ReadWriteSetBuilder
    ) -> (OperationTree.Root, ResultForm) {
        switch resolved.root {
        case .mutation(let fields):
            readWrites.add(fields)
            let policy = ResponsePolicy(root: resolved.policy, children: ResponsePolicy.children(of: fields))
            return (.mutation(fields), ResultForm(policy: policy))
        case .query(var fields):
            readWrites.add(fields)
            let policy = ResponsePolicy(root: resolved.policy, children: ResponsePolicy.children(of: fields))
            let order = RootFieldOrder(fields)
            if includesEntityIDs { fields = fields.withEntityIDs }
            return (.query(fields), ResultForm(policy: policy, order: order, entities: EntityTree(fields)))
        }
    }

    /// Returns the text of the operation and of the fragments that it uses.
    private func text(_ context: OperationContext, _ usedFragments: Set<String>) -> String {
        var parts = [context.file.text(of: context.operation.range)]
        for name in usedFragments.sorted() {
            guard let fragment = context.fragments[name] else { continue }
            parts.append(fragment.file.text(of: fragment.definition.range))
        }
        return parts.joined(separator: "\n")
    }
}
