import CEL
package import GraphQLLanguage
import LiveModel
package import SchemaModel

/// Checks the names in `onMutationExecuted`, which must denote mutations of the same connector (case-sensitive). An
/// unknown name is a warning, since the mutation may be added later; the name of a query is an error.
package enum TriggerTargets {
    package struct Target {
        let trigger: RefreshRules.Trigger
        package let range: FileRange

        /// Returns whether the condition reads this variable of the mutation, or all of them.
        package func reads(variable: String, of mutation: String) -> Bool {
            guard trigger.mutation.operation == mutation else { return false }
            return (trigger.condition?.attributes ?? []).contains { attribute in
                attribute.root == "mutation"
                    && (attribute.fields.isEmpty || attribute.fields == ["variables"]
                        || attribute.fields.starts(with: ["variables", variable]))
            }
        }
    }

    package struct Known {
        package let kind: OperationKind
        package let variables: [String]

        package init(kind: OperationKind, variables: [String]) {
            self.kind = kind
            self.variables = variables
        }
    }

    /// - Parameters:
    ///   - elsewhere: for the names of mutations of other connectors, the ids of these connectors.
    ///   - isComplete: false if a file of the connector failed to parse, so that a mutation may only seem unknown.
    package static func check(
        _ targets: [Target], _ operations: [String: Known], elsewhere: [String: [String]], isComplete: Bool,
        sink: inout DiagnosticSink
    ) {
        let mutations = operations.filter { $0.value.kind == .mutation }
        for target in targets {
            let name = target.trigger.mutation.operation
            let range = target.range
            guard let known = operations[name] else {
                if !isComplete { continue }
                let owners = (elsewhere[name] ?? []).sorted().map { "\"\($0)\"" }
                sink.report(
                    .warning, rule: .unknownMutation, at: range.range, in: range.file,
                    owners.isEmpty
                        ? "the connector has no mutation \"\(name)\""
                        : "the mutation \"\(name)\" belongs to the connector\(owners.count == 1 ? "" : "s")"
                            + " \(owners.joined(separator: " and "))",
                    help: owners.isEmpty
                        ? DidYouMean.help(name, among: mutations.keys.sorted())
                        : "only mutations of the query's own connector refresh it: move one of them, or use every")
                continue
            }
            guard known.kind == .mutation else {
                sink.report(
                    .error, rule: .triggerTarget, at: range.range, in: range.file,
                    "\"\(name)\" is a query, not a mutation")
                continue
            }
            for attribute in target.trigger.condition?.attributes ?? []
            where attribute.root == "mutation" && attribute.fields.count > 1 && attribute.fields[0] == "variables" {
                let variable = attribute.fields[1]
                guard !known.variables.contains(variable) else { continue }
                sink.report(
                    .warning, rule: .refreshCondition, at: range.range, in: range.file,
                    "the mutation \"\(name)\" declares no variable \"$\(variable)\", so the condition always matches",
                    help: DidYouMean.help(variable, among: known.variables))
            }
        }
    }
}
