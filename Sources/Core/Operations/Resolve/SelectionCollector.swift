import GraphQLLanguage
import SchemaModel

/// A selected field after expanding fragments and merging equal fields (GraphQL specification §6.3.2).
struct SelectedField {
    let responseKey: String
    let name: Name
    let arguments: [Argument]
    var inclusion: Inclusion
    /// The `@check` and `@redact` directives of the field and its enclosing fragments, and the checks of fragments
    /// below.
    var policy: FieldPolicy
    /// The selection sets below, each with the conditions it needs besides the field's own inclusion.
    var selections: [SelectionSource]
    let range: SourceRange
    let file: SourceFile

    var nameRange: FileRange { FileRange(range: name.range, file: file) }

    func fileRange(_ range: SourceRange) -> FileRange { FileRange(range: range, file: file) }
}

struct SelectionSource {
    let set: SelectionSet
    let inclusion: Inclusion
    let file: SourceFile
}

extension OperationScope {
    /// Collects the fields selected from a type, in order of first appearance. Fields that `@skip` or `@include` always
    /// exclude are kept with `inclusion.isNever`, so that they are checked.
    func fields(of sources: [SelectionSource], on typeName: String) -> [SelectedField] {
        var collection = FieldCollection(typeName: typeName)
        for source in sources {
            collect(
                source.set, Context(inclusion: source.inclusion, isRedacted: false, file: source.file),
                into: &collection)
        }
        return collection.fields
    }

    /// The response keys of the operation's root fields, after expanding fragments.
    var rootKeys: Set<String> {
        var keys: Set<String> = []
        var visited: Set<String> = []
        func add(_ set: SelectionSet) {
            for selection in set.selections {
                switch selection {
                case .field(let field): keys.insert(field.responseKey)
                case .inlineFragment(let fragment): add(fragment.selectionSet)
                case .fragmentSpread(let spread):
                    guard visited.insert(spread.name.value).inserted else { continue }
                    if let fragment = fragments[spread.name.value] { add(fragment.definition.selectionSet) }
                }
            }
        }
        add(operation.selectionSet)
        return keys
    }

    private struct FieldCollection {
        let typeName: String
        var fields: [SelectedField] = []
        var positions: [String: Int] = [:]
        var visited: Set<Visit> = []
        struct Visit: Hashable {
            let fragment: String
            let inclusion: Inclusion
            let isRedacted: Bool
        }
    }

    /// The state that a selection inherits from its enclosing fragments.
    private struct Context {
        var inclusion: Inclusion
        var isRedacted: Bool
        var file: SourceFile
    }

    private func collect(_ set: SelectionSet, _ enclosing: Context, into collection: inout FieldCollection) {
        for selection in set.selections {
            let location = Self.location(of: selection)
            let directives = selectionDirectives(selection.directives, at: location, in: enclosing.file)
            var context = enclosing
            context.inclusion = enclosing.inclusion.and(directives.inclusion)
            context.isRedacted = enclosing.isRedacted || directives.isRedacted
            switch selection {
            case .field(let field): add(field, context, directives.checks, to: &collection)
            case .inlineFragment(let fragment):
                if let condition = fragment.typeCondition,
                    !matches(condition, collection.typeName, FileRange(range: condition.range, file: context.file))
                {
                    continue
                }
                collect(fragment.selectionSet, context, into: &collection)
            case .fragmentSpread(let spread):
                collect(spread, context, into: &collection)
            }
        }
    }

    private func collect(_ spread: FragmentSpread, _ enclosing: Context, into collection: inout FieldCollection) {
        let name = spread.name.value
        guard let fragment = fragments[name] else {
            if context.mayLackFragments {
                findings.hasFollowUps = true
                return
            }
            error(
                .unknownFragment, at: FileRange(range: spread.name.range, file: enclosing.file),
                "unknown fragment \"\(name)\"", help: DidYouMean.help(name, among: fragments.keys.sorted()))
            return
        }
        findings.usedFragments.insert(name)
        let visit = FieldCollection.Visit(
            fragment: name, inclusion: enclosing.inclusion, isRedacted: enclosing.isRedacted)
        guard !fragment.isCyclic, collection.visited.insert(visit).inserted else { return }
        let range = FileRange(range: spread.range, file: enclosing.file)
        guard matches(fragment.definition.typeCondition, collection.typeName, range) else { return }
        var context = enclosing
        context.file = fragment.file
        collect(fragment.definition.selectionSet, context, into: &collection)
    }

    private static func location(of selection: Selection) -> DirectiveTarget {
        switch selection {
        case .field: .field
        case .inlineFragment, .fragmentSpread: .fragment
        }
    }

    /// Returns whether a fragment applies. Without interfaces and unions, it applies only to its own type.
    private func matches(_ condition: Name, _ typeName: String, _ range: FileRange) -> Bool {
        if condition.value == typeName { return true }
        if !api.outputTypes.contains(condition.value) {
            error(
                .unknownType, at: range, "unknown type \"\(condition.value)\"",
                help: DidYouMean.help(condition.value, among: api.outputTypes.sorted()), unknown: condition.value)
        } else {
            error(
                .fragmentType, at: range,
                "a fragment on \"\(condition.value)\" can never apply to \"\(typeName)\"")
        }
        return false
    }

    private func add(
        _ field: Field, _ context: Context, _ checks: [FieldCheck], to collection: inout FieldCollection
    ) {
        let key = field.responseKey
        let range = FileRange(range: (field.alias ?? field.name).range, file: context.file)
        guard countField(at: range) else { return }
        if key.utf8.count > SQLName.bytesMax {
            error(
                .nameTooLong, at: range,
                "a response key can have at most \(SQLName.bytesMax) bytes, the limit of names in Postgres",
                help: "give the field a shorter alias")
        }
        var placed = checks.map {
            FieldCheck(
                program: $0.program, message: $0.message, isOptional: $0.isOptional, inclusion: context.inclusion)
        }
        if let set = field.selectionSet { placed += fragmentChecks(in: set, context.inclusion, context.file) }
        let policy = FieldPolicy(checks: placed, isRedacted: context.isRedacted)
        guard let position = collection.positions[key] else {
            collection.positions[key] = collection.fields.count
            collection.fields.append(
                SelectedField(
                    responseKey: key, name: field.name, arguments: field.arguments, inclusion: context.inclusion,
                    policy: policy,
                    selections: field.selectionSet.map {
                        [SelectionSource(set: $0, inclusion: .always, file: context.file)]
                    } ?? [],
                    range: field.range, file: context.file))
            return
        }
        merge(field, context, policy, into: &collection.fields[position])
    }

    private func merge(_ field: Field, _ context: Context, _ policy: FieldPolicy, into known: inout SelectedField) {
        func text(_ arguments: [Argument]) -> [String] {
            arguments.map { "\($0.name.value): \($0.value.description)" }.sorted()
        }
        let range = FileRange(range: (field.alias ?? field.name).range, file: context.file)
        guard field.name.value == known.name.value, text(field.arguments) == text(known.arguments) else {
            error(
                .overlappingFields, at: range,
                "\"\(known.responseKey)\" is already used for another field or other arguments",
                help: "give one of them an alias")
            return
        }
        if policy.isRedacted != known.policy.isRedacted {
            error(
                .overlappingFields, at: range,
                "\"\(known.responseKey)\" is redacted in one selection but not in another",
                help: "give one of them an alias")
        }
        known.policy.checks += policy.checks
        let set = field.selectionSet
        if known.inclusion == context.inclusion {
            if let set {
                known.selections.append(SelectionSource(set: set, inclusion: .always, file: context.file))
            }
            return
        }
        // Each occurrence contributes its part of the selection under its own condition.
        known.selections = known.selections.map {
            SelectionSource(set: $0.set, inclusion: $0.inclusion.and(known.inclusion), file: $0.file)
        }
        if let set {
            known.selections.append(SelectionSource(set: set, inclusion: context.inclusion, file: context.file))
        }
        known.inclusion = known.inclusion.or(context.inclusion)
    }
}
