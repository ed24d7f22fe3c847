import CEL
import GraphQLLanguage
import LiveModel
import SchemaModel

/// Resolves `@refresh`: only on queries, repeatable, each with `every`, `onMutationExecuted` or both.
///
/// Checks what a condition reads. Whether the mutations exist is checked once all operations of the
/// connector are known (`TriggerTargets`).
extension OperationScope {
    /// - Parameter lookupTables: SQL names of the tables that the root fields look up by primary key.
    /// - Returns: the rules, and where their triggers name mutations.
    func resolveRefresh(lookupTables: [String]) -> (rules: RefreshRules, targets: [TriggerTargets.Target]) {
        var everyMs: Int?
        var targets: [TriggerTargets.Target] = []
        for directive in operation.directives.all(named: "refresh") {
            let range = FileRange(range: directive.range, file: file)
            guard operation.kind == .query else {
                error(.refresh, at: range, "@refresh is only allowed on queries")
                continue
            }
            if directive.arguments.isEmpty {
                error(.refresh, at: range, "@refresh needs \"every\" or \"onMutationExecuted\"")
            }
            for argument in directive.arguments {
                switch argument.name.value {
                case "every":
                    guard let interval = interval(argument.value) else { continue }
                    everyMs = min(everyMs ?? interval, interval)
                case "onMutationExecuted":
                    // A single object counts as a list of one.
                    let events = argument.value.listValue ?? [argument.value]
                    if events.isEmpty {
                        error(
                            .refresh, at: FileRange(range: argument.value.range, file: file),
                            "\"onMutationExecuted\" must name a mutation")
                    }
                    for event in events {
                        if let target = target(event, index: targets.count) { targets.append(target) }
                    }
                default:
                    error(
                        .unknownArgument, at: FileRange(range: argument.name.range, file: file),
                        "@refresh has no argument \"\(argument.name.value)\"",
                        help: DidYouMean.help(argument.name.value, among: ["every", "onMutationExecuted"]))
                }
            }
        }
        let rules = RefreshRules(everyMs: everyMs, triggers: targets.map(\.trigger), lookupTables: lookupTables)
        return (rules, targets)
    }

    // MARK: every

    /// The units of `Timestamp_Duration`. A month counts 30 days and a year 365; the limits exclude both anyway.
    private static let unitsMs: [(name: String, ms: Int64)] = [
        ("milliseconds", 1), ("seconds", 1_000), ("minutes", 60_000), ("hours", 3_600_000), ("days", 86_400_000),
        ("weeks", 604_800_000), ("months", 2_592_000_000), ("years", 31_536_000_000),
    ]

    private func interval(_ value: GraphQLLanguage.Value) -> Int? {
        let options = context.options
        let range = FileRange(range: value.range, file: file)
        guard let fields = inputFields(value, of: "Timestamp_Duration", offered: Self.unitsMs.map(\.name), in: file)
        else { return nil }
        var total: Int64 = 0
        for (name, value) in fields {
            guard let unit = Self.unitsMs.first(where: { $0.name == name.value })?.ms, let count = value.intValue,
                (0...Int64(Int32.max)).contains(count)
            else {
                error(.valueType, at: FileRange(range: value.range, file: file), "expected a non-negative integer")
                return nil
            }
            total += unit * count
        }
        guard total >= Int64(options.everyMinimumMs), total <= Int64(options.everyMaximumMs) else {
            error(
                .refreshInterval, at: range,
                "\"every\" must be between \(Self.text(ofMs: options.everyMinimumMs)) and"
                    + " \(Self.text(ofMs: options.everyMaximumMs))")
            return nil
        }
        return Int(total)
    }

    private static func text(ofMs milliseconds: Int) -> String {
        if milliseconds % 3_600_000 == 0 { return "\(milliseconds / 3_600_000) h" }
        return milliseconds % 1_000 == 0 ? "\(milliseconds / 1_000) s" : "\(milliseconds) ms"
    }

    // MARK: onMutationExecuted

    private func target(_ value: GraphQLLanguage.Value, index: Int) -> TriggerTargets.Target? {
        let range = FileRange(range: value.range, file: file)
        guard
            let fields = inputFields(
                value, of: "OnMutationExecuted_Event", offered: ["operation", "condition"], in: file)
        else { return nil }
        guard let operation = fields.first(where: { $0.name.value == "operation" })?.value else {
            error(.refresh, at: range, "\"onMutationExecuted\" needs the name of a mutation in \"operation\"")
            return nil
        }
        // Tolerates white space inside the quotes, which documented examples contain.
        guard let name = operation.stringValue.map({ $0.split(whereSeparator: \.isWhitespace).joined() }), !name.isEmpty
        else {
            error(
                .refresh, at: FileRange(range: operation.range, file: file),
                "expected a string with the name of a mutation")
            return nil
        }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, !parts.contains("") else {
            error(
                .refresh, at: FileRange(range: operation.range, file: file),
                "\"\(name)\" must name a mutation, or a connector and a mutation, as in \"admin/AddReview\"")
            return nil
        }
        let mutation = OperationReference(
            connector: parts.count == 2 ? parts[0] : context.connector, operation: parts[parts.count - 1])
        var program: Program?
        var text: String?
        if let condition = fields.first(where: { $0.name.value == "condition" })?.value, !condition.isNull {
            let conditionRange = FileRange(range: condition.range, file: file)
            text = condition.stringValue
            guard let text else {
                error(.refresh, at: conditionRange, "expected a string with a CEL expression")
                return nil
            }
            program = refreshCondition(text, at: conditionRange)
            if program == nil { return nil }
        }
        let trigger = RefreshRules.Trigger(index: index, mutation: mutation, condition: program, conditionText: text)
        return TriggerTargets.Target(trigger: trigger, range: FileRange(range: operation.range, file: file))
    }

    private func refreshCondition(_ text: String, at range: FileRange) -> Program? {
        let program: Program
        do {
            program = try ConditionActivation.environment.compile(text, expecting: .bool)
        } catch {
            report(
                error, of: text, .refreshCondition, at: range, variables: "request.variables",
                help: "a condition can read request and mutation, each with .variables and .auth")
            return nil
        }
        for attribute in program.attributes {
            if attribute.root == "request", attribute.fields.isEmpty || attribute.fields == ["variables"] {
                findings.usedVariables.formUnion(context.declaredNames)
            }
            guard let field = attribute.fields.first else { continue }
            guard field == "variables" || field == "auth" else {
                error(
                    .refreshCondition, at: range, "a condition cannot read \(attribute.root).\(field)",
                    help: DidYouMean.help(field, among: ["variables", "auth"])
                        ?? "it can read request and mutation, each with .variables and .auth")
                return nil
            }
            if field == "auth", attribute.fields.count > 1, !AuthBinding.fields.contains(attribute.fields[1]) {
                error(
                    .refreshCondition, at: range,
                    "a condition cannot read \(attribute.root).auth.\(attribute.fields[1])",
                    help: DidYouMean.help(attribute.fields[1], among: AuthBinding.fields) ?? "auth has uid and token")
                return nil
            }
            if attribute.root == "request", field == "variables", attribute.fields.count > 1 {
                checkVariable(attribute.fields[1], at: range)
            }
        }
        return program
    }

    /// Warns about an unknown variable. The condition would fail to evaluate and count as a match, so this is not an
    /// error.
    private func checkVariable(_ name: String, at range: FileRange) {
        findings.usedVariables.insert(name)
        guard !context.declaredNames.contains(name) else { return }
        warning(
            .refreshCondition, at: range,
            "the query declares no variable \"$\(name)\", so the condition always matches",
            help: DidYouMean.help(name, among: operation.variables.map(\.name.value)))
    }
}
