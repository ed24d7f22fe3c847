import Catalog
import GraphQLLanguage
import LiveModel
import Operations
import SchemaModel

/// Compares two versions of an operation as clients see them.
struct OperationComparison {
    struct Finding: Hashable {
        let severity: Diagnostic.Severity
        let rule: Diagnostic.Rule
        let message: String
        var help: String?
    }

    let old: StoredOperation
    let new: StoredOperation
    let oldSchema: Schema
    let newSchema: Schema

    private var name: String { old.reference.description }

    var findings: [Finding] {
        guard old.kind == new.kind else {
            return [error(.operationKind, "\"\(name)\" was a \(old.kind.rawValue), now a \(new.kind.rawValue)")]
        }
        return variables + auth + result + refresh
    }

    private func error(_ rule: Diagnostic.Rule, _ message: String, help: String? = nil) -> Finding {
        Finding(severity: .error, rule: rule, message: message, help: help)
    }

    private func warning(_ rule: Diagnostic.Rule, _ message: String, help: String? = nil) -> Finding {
        Finding(severity: .warning, rule: rule, message: message, help: help)
    }

    // MARK: Variables

    private var variables: [Finding] {
        var findings: [Finding] = []
        for variable in old.variables {
            guard let next = new.variables.first(where: { $0.name == variable.name }) else {
                findings.append(
                    error(.variableRemoved, "\"\(name)\" no longer has $\(variable.name); clients that send it fail"))
                continue
            }
            if next.isRequired, !variable.isRequired {
                findings.append(
                    error(
                        .variableRequired, "$\(next.name) of \"\(name)\" may no longer be left out",
                        help: "give it a default, or take `!` from its type"))
            } else if next.type.isNonNull, !variable.type.isNonNull {
                findings.append(
                    error(.variableRequired, "$\(next.name) of \"\(name)\" may no longer be null"))
            }
            // Nullability was compared above.
            if variable.type.nullable != next.type.nullable {
                findings.append(
                    error(
                        .variableType,
                        "$\(next.name) of \"\(name)\" was \(variable.typeText), now \(next.typeText)"))
                continue
            }
            if let narrowing = narrowing(variable.plan, next.plan, at: "$\(next.name)") {
                findings.append(error(.variableAllowance, "\"\(name)\": \(narrowing)"))
            }
        }
        for variable in new.variables where variable.isRequired {
            if old.variables.contains(where: { $0.name == variable.name }) { continue }
            findings.append(
                error(
                    .variableRequired, "$\(variable.name) of \"\(name)\" is new and required",
                    help: "give it a default, or take `!` from its type"))
        }
        return findings
    }

    /// Describes the first value that is no longer accepted; both plans are for one type name.
    private func narrowing(_ old: CoercionPlan, _ new: CoercionPlan, at path: String) -> String? {
        switch (old, new) {
        case (.nonNull(let old), _): return narrowing(old, new, at: path)
        case (_, .nonNull(let new)): return narrowing(old, new, at: path)
        case (.scalar(let scalar), .scalar(let other)):
            guard scalar == other else { return "\(path) was \(scalar.typeName), now \(other.typeName)" }
            guard case .enumeration(let type) = scalar else { return nil }
            let values = newSchema.enums[type]?.values ?? []
            let gone = (oldSchema.enums[type]?.values ?? []).filter { !values.contains($0) }
            return gone.isEmpty ? nil : "\(path) may no longer be \(gone.joined(separator: ", "))"
        case (.word(let words), .word(let others)):
            return Set(words).isSubset(of: others) ? nil : "\(path) takes fewer words"
        case (.list(let element, let countMax), .list(let otherElement, let otherMax)):
            if otherMax < countMax { return "\(path) may have \(otherMax) elements, before \(countMax)" }
            return narrowing(element, otherElement, at: path + "[]")
        case (.object(_, let members), .object(_, let others)):
            for member in members {
                guard let next = others.first(where: { $0.name == member.name }) else {
                    return "\(path).\(member.name) may no longer be sent"
                }
                if let found = narrowing(member.plan, next.plan, at: "\(path).\(member.name)") { return found }
            }
            let added = others.filter { other in other.isRequired && !members.contains { $0.name == other.name } }
            return added.isEmpty ? nil : "\(path).\(added[0].name) is new and required"
        case (.relative(let isDate), .relative(let isOtherDate)):
            return isDate == isOtherDate ? nil : "\(path) is of another type"
        case (.change(let type), .change(let other)):
            return type == other ? nil : "\(path) is of another type"
        case (.generated(let input), .generated(let other)):
            guard input == other else { return "\(path) is of another type" }
            guard let type = input.table else { return nil }
            let fields = Set(newSchema.table(ofType: type)?.columns.map(\.field) ?? [])
            let gone = (oldSchema.table(ofType: type)?.columns.map(\.field) ?? []).filter { !fields.contains($0) }
            return gone.isEmpty ? nil : "\(path) may no longer name \(gone.joined(separator: ", "))"
        case (.scalar, _), (.word, _), (.list, _), (.object, _), (.generated, _), (.relative, _), (.change, _):
            return "\(path) has another shape"
        }
    }

    // MARK: Authorization

    /// Access levels from the most open to the most restricted.
    private static let order: [AccessLevel] = [.everyone, .userAnonymous, .user, .userEmailVerified, .noAccess]

    private var auth: [Finding] {
        if let before = old.auth.level, let after = new.auth.level {
            let ranks = (Self.order.firstIndex(of: before) ?? 0, Self.order.firstIndex(of: after) ?? 0)
            let change = "@auth of \"\(name)\" was \(before.rawValue), now \(after.rawValue)"
            if ranks.0 < ranks.1 { return [error(.authStricter, change + ": callers lose access")] }
            return ranks.0 > ranks.1 ? [warning(.authLooser, change + ": more callers get access")] : []
        }
        guard old.auth.level != new.auth.level || old.auth.expression.text != new.auth.expression.text else {
            return []
        }
        if new.auth.level == .everyone {
            return [warning(.authLooser, "@auth of \"\(name)\" is PUBLIC now: more callers get access")]
        }
        let before = old.auth.level?.rawValue ?? old.auth.expression.text
        let after = new.auth.level?.rawValue ?? new.auth.expression.text
        return [
            error(
                .authStricter,
                "@auth of \"\(name)\" was \(before), now \(after): callers may lose access",
                help: "expressions cannot be compared; whether callers lose access is for you to know")
        ]
    }

    // MARK: Result

    private var result: [Finding] {
        let before = ResultShape(old.text)
        let after = ResultShape(new.text)
        let gone = before.paths.subtracting(after.paths).sorted()
        var findings: [Finding] = []
        if !gone.isEmpty {
            let named = gone.prefix(5).map { "\"\($0)\"" }.joined(separator: ", ")
            let more = gone.count > 5 ? " and \(gone.count - 5) more" : ""
            findings.append(error(.resultFieldRemoved, "results of \"\(name)\" no longer have \(named)\(more)"))
        }
        if before.text != after.text {
            findings.append(
                warning(
                    .operationText, "the selections of \"\(name)\" are others",
                    help: "clients that send the former text get what they ask for until deploy.keepMs is over, then "
                        + "they are refused"))
        }
        return findings
    }

    // MARK: Refresh

    private var refresh: [Finding] {
        var gone: [String] = []
        for trigger in old.refresh.triggers
        where !new.refresh.triggers.contains(where: { $0.mutation == trigger.mutation }) {
            gone.append("onMutationExecuted \(trigger.mutation.name(within: old.reference.connector))")
        }
        for table in old.refresh.lookupTables where !new.refresh.lookupTables.contains(table) {
            gone.append("key of \(table)")
        }
        if let before = old.refresh.everyMs, new.refresh.everyMs.map({ $0 > before }) ?? true {
            gone.append("every \(before) ms")
        }
        if old.automaticSites?.use == .refreshes, new.automaticSites?.use != .refreshes {
            gone.append("changes of the rows that it reads")
        }
        if gone.isEmpty { return [] }
        return [warning(.refreshRemoved, "\"\(name)\" is no longer refreshed by: \(gone.joined(separator: "; "))")]
    }
}

/// The fields that a stored operation text puts into its results.
struct ResultShape {
    /// Paths of response keys, such as `novels.remarks.stars`.
    private(set) var paths: Set<String> = []
    /// The canonical selections; empty if the text cannot be parsed.
    private(set) var text = ""

    init(_ stored: String) {
        guard let document = try? Parser.parseDocument(Source(name: "stored", text: stored)),
            let operation = document.operations.first
        else { return }
        text = document.selectionText(of: operation)
        let fragments = Dictionary(
            document.fragments.map { ($0.name.value, $0.selectionSet) }, uniquingKeysWith: { first, _ in first })
        collect(operation.selectionSet, prefix: "", fragments, open: [])
    }

    private mutating func collect(
        _ set: SelectionSet, prefix: String, _ fragments: [String: SelectionSet], open: Set<String>
    ) {
        for selection in set.selections {
            switch selection {
            case .field(let field):
                // A redacted field is selected by the operation but withheld from clients.
                if field.directives.first(named: "redact") != nil { continue }
                let path = prefix + field.responseKey
                paths.insert(path)
                if let inner = field.selectionSet { collect(inner, prefix: path + ".", fragments, open: open) }
            case .inlineFragment(let fragment): collect(fragment.selectionSet, prefix: prefix, fragments, open: open)
            case .fragmentSpread(let spread):
                // Stored operations have no cycles; the check prevents an endless recursion if one does.
                guard let inner = fragments[spread.name.value], !open.contains(spread.name.value) else { continue }
                collect(inner, prefix: prefix, fragments, open: open.union([spread.name.value]))
            }
        }
    }
}
