import CEL
package import GraphQLLanguage
package import LiveModel
package import SchemaModel

/// Checks the names in `onMutationExecuted`, which must denote mutations (case-sensitive): `AddReview` of the same
/// connector, `admin/AddReview` of another one. An unknown name is a warning, since the mutation may be added later;
/// the name of a query is an error. Source: Data Connect has only the first form; the second is an extension.
package enum TriggerTargets {
    package struct Target {
        let trigger: RefreshRules.Trigger
        package let range: FileRange

        /// Returns whether the condition reads this variable of the mutation, or all of them.
        package func reads(variable: String, of mutation: OperationReference) -> Bool {
            guard trigger.mutation == mutation else { return false }
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

    /// The operations of a connector, as far as they are known.
    package struct Connector {
        package var operations: [String: Known] = [:]
        /// False if a file of the connector failed to parse, so that a mutation may only seem unknown.
        package var isComplete = true

        package init() {}

        fileprivate var mutations: [String] {
            operations.filter { $0.value.kind == .mutation }.keys.sorted()
        }
    }

    /// - Parameters:
    ///   - own: the id of the queries' connector.
    ///   - connectors: all connectors of the project by their ids.
    package static func check(
        _ targets: [Target], of own: String, _ connectors: [String: Connector], sink: inout DiagnosticSink
    ) {
        for target in targets {
            let mutation = target.trigger.mutation
            let name = mutation.name(within: own)
            let range = target.range
            guard let connector = connectors[mutation.connector] else {
                sink.report(
                    .warning, rule: .unknownMutation, at: range.range, in: range.file,
                    "the project has no connector \"\(mutation.connector)\"",
                    help: DidYouMean.help(mutation.connector, among: connectors.keys.sorted()))
                continue
            }
            guard let known = connector.operations[mutation.operation] else {
                if !connector.isComplete { continue }
                let owners = connectors.filter { $0.value.operations[mutation.operation]?.kind == .mutation }.keys
                let names = owners.sorted().map {
                    "\"\(OperationReference(connector: $0, operation: mutation.operation).name(within: own))\""
                }
                let whose = mutation.connector == own ? "the connector" : "the connector \"\(mutation.connector)\""
                sink.report(
                    .warning, rule: .unknownMutation, at: range.range, in: range.file,
                    "\(whose) has no mutation \"\(mutation.operation)\"",
                    help: names.isEmpty
                        ? DidYouMean.help(mutation.operation, among: connector.mutations)
                        : "did you mean \(names.joined(separator: " or "))?")
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
