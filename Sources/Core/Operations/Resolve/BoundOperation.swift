import GraphQLLanguage
import LiveModel
import SchemaModel

/// An operation in which every name is bound: the result of `OperationScope.resolve`.
struct BoundOperation {
    /// Whether errors were reported; the other values are then incomplete.
    let hasErrors: Bool
    /// The declared variables with a usable type, in order.
    let variables: [VariableSpec]
    /// Nil after an error.
    let auth: AuthRule?
    /// The policy of the result as a whole.
    let policy: FieldPolicy
    let root: OperationTree.Root
    let refresh: RefreshRules
    /// The triggers of `@refresh`, with the ranges in which they name their mutations.
    let triggerTargets: [TriggerTargets.Target]
    let findings: OperationFindings

    /// The variables with the limits that their uses imply.
    var limitedVariables: [VariableSpec] {
        variables.map { variable in
            var variable = variable
            if findings.countedVariables.contains(variable.name) { variable.isCount = true }
            if findings.dynamicRowVariables.contains(variable.name) {
                variable.rowsMax = InputAllowlist.dynamicRowsMax
            }
            return variable
        }
    }

    /// Variables whose value determines the SQL text: filters, orders, and data with more than column values.
    var dynamicVariables: [DynamicVariable] {
        variables.filter { findings.usedVariables.contains($0.name) }.compactMap { variable in
            if variable.type.isDynamic { return DynamicVariable(name: variable.name, rows: nil) }
            let isDynamic =
                variable.allowlist?.isFlat == false || findings.dynamicRowVariables.contains(variable.name)
            return isDynamic ? DynamicVariable(name: variable.name, rows: variable.plan) : nil
        }
        .sorted { $0.name < $1.name }
    }

    /// The parts of the caller's token that the operation reads, besides its `@auth`.
    var authReads: AuthReads {
        var reads = refresh.authReads(of: "request")
        for program in findings.values + findings.checks { reads.formUnion(program.authReads) }
        return reads
    }

    /// Whether a step of a mutation needs the results of earlier ones, so that it cannot be one statement.
    var needsSteps: Bool {
        findings.remoteFieldCount > 0 || findings.values.contains(where: \.readsResponse)
    }
}

/// Facts about an operation that its tree does not say, gathered while its names are bound.
struct OperationFindings {
    var usedVariables: Set<String> = []
    /// The declared variables that nothing in the operation uses.
    var unusedVariables: [Name] = []
    var usedFragments: Set<String> = []
    /// Variables used as `limit` or `offset`.
    var countedVariables: Set<String> = []
    /// Variables that supply nested rows.
    var dynamicRowVariables: Set<String> = []
    /// The expressions whose values reach the SQL.
    var values: [ExpressionProgram] = []
    /// The expressions of `@check`.
    var checks: [ExpressionProgram] = []
    /// The embeddings without duplicates.
    var embeddings: [EmbeddingSource] = []
    /// The number of fields that custom resolvers provide.
    var remoteFieldCount = 0
    /// Whether errors were suppressed as consequences of schema errors. What was skipped because of them may be in use.
    var hasFollowUps = false
}
