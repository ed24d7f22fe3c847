import CEL
package import GraphQLLanguage
import LiveModel
package import SchemaModel

/// The rule about what `onMutationExecuted` names: a mutation of the same connector, letter case included. A name that
/// nothing has is a warning, since the mutation may come later; the name of a query is an error.
package enum TriggerTargets {
    package struct Target {
        let trigger: RefreshRules.Trigger
        package let place: FileRange
    }

    package struct Known {
        package let kind: OperationKind
        package let variables: [String]

        package init(kind: OperationKind, variables: [String]) {
            self.kind = kind
            self.variables = variables
        }
    }

    /// - Parameter isComplete: false when a file of the connector did not parse, so that a mutation only seems unknown.
    package static func check(
        _ targets: [Target], _ operations: [String: Known], isComplete: Bool, sink: inout DiagnosticSink
    ) {
        let mutations = operations.filter { $0.value.kind == .mutation }
        for target in targets {
            let name = target.trigger.mutation.operation
            let place = target.place
            guard let known = operations[name] else {
                if !isComplete { continue }
                sink.report(
                    .warning, rule: "unknown-mutation", at: place.range, in: place.file,
                    "the connector has no mutation \"\(name)\"",
                    help: DidYouMean.help(name, among: mutations.keys.sorted()))
                continue
            }
            guard known.kind == .mutation else {
                sink.report(
                    .error, rule: "trigger-target", at: place.range, in: place.file,
                    "\"\(name)\" is a query; only mutations are executed")
                continue
            }
            for attribute in target.trigger.condition?.attributes ?? []
            where attribute.root == "mutation" && attribute.fields.count > 1 && attribute.fields[0] == "variables" {
                let variable = attribute.fields[1]
                guard !known.variables.contains(variable) else { continue }
                sink.report(
                    .warning, rule: "refresh-condition", at: place.range, in: place.file,
                    "the mutation \"\(name)\" declares no variable \"$\(variable)\", so the condition cannot be decided",
                    help: DidYouMean.help(variable, among: known.variables))
            }
        }
    }
}
