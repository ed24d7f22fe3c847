import GraphQLLanguage
import SchemaModel

/// One field of a selection with its fragments put in place and equal fields merged (GraphQL specification §6.3.2).
struct SelectedField {
    let responseKey: String
    let name: Name
    let arguments: [Argument]
    var inclusion: Inclusion
    /// `@check` and `@redact` here and on the fragments that bring it, and the checks of fragments below.
    var policy: FieldPolicy
    /// Selection sets below, each with what must hold beyond the field's own inclusion.
    var selections: [SelectionSource]
    let range: SourceRange
    let file: SourceFile

    var place: FileRange { FileRange(range: name.range, file: file) }

    func place(_ range: SourceRange) -> FileRange { FileRange(range: range, file: file) }
}

struct SelectionSource {
    let set: SelectionSet
    let inclusion: Inclusion
    let file: SourceFile
}

extension OperationScope {
    /// The fields that a type is asked for, in the order of their first mention. What `@skip` or `@include` leave out
    /// for good is still here, so that it is checked; its inclusion `isNever`.
    func fields(of sources: [SelectionSource], on typeName: String) -> [SelectedField] {
        var collection = FieldCollection(typeName: typeName)
        for source in sources {
            collect(
                source.set, Context(inclusion: source.inclusion, isRedacted: false, file: source.file),
                into: &collection)
        }
        return collection.fields
    }

    /// Keys of the operation's fields, its fragments put in place.
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

    /// What the fragments around a selection say.
    private struct Context {
        var inclusion: Inclusion
        var isRedacted: Bool
        var file: SourceFile
    }

    private func collect(_ set: SelectionSet, _ around: Context, into collection: inout FieldCollection) {
        for selection in set.selections {
            let place = Self.place(of: selection)
            let directives = selectionDirectives(selection.directives, at: place, in: around.file)
            var context = around
            context.inclusion = around.inclusion.and(directives.inclusion)
            context.isRedacted = around.isRedacted || directives.isRedacted
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

    private func collect(_ spread: FragmentSpread, _ around: Context, into collection: inout FieldCollection) {
        let name = spread.name.value
        guard let fragment = fragments[name] else {
            if mayLackFragments {
                hasFollowUps = true
                return
            }
            error(
                "unknown-fragment", at: FileRange(range: spread.name.range, file: around.file),
                "unknown fragment \"\(name)\"", help: DidYouMean.help(name, among: fragments.keys.sorted()))
            return
        }
        usedFragments.insert(name)
        let visit = FieldCollection.Visit(fragment: name, inclusion: around.inclusion, isRedacted: around.isRedacted)
        guard !fragment.isCyclic, collection.visited.insert(visit).inserted else { return }
        let place = FileRange(range: spread.range, file: around.file)
        guard matches(fragment.definition.typeCondition, collection.typeName, place) else { return }
        var context = around
        context.file = fragment.file
        collect(fragment.definition.selectionSet, context, into: &collection)
    }

    private static func place(of selection: Selection) -> DirectivePlace {
        switch selection {
        case .field: .field
        case .inlineFragment, .fragmentSpread: .fragment
        }
    }

    /// There are no interfaces and unions, so a fragment fits exactly its own type.
    private func matches(_ condition: Name, _ typeName: String, _ place: FileRange) -> Bool {
        if condition.value == typeName { return true }
        if !api.outputTypes.contains(condition.value) {
            error(
                "unknown-type", at: place, "unknown type \"\(condition.value)\"",
                help: DidYouMean.help(condition.value, among: api.outputTypes.sorted()), unknown: condition.value)
        } else {
            error(
                "fragment-type", at: place,
                "a fragment on \"\(condition.value)\" can never apply to \"\(typeName)\"")
        }
        return false
    }

    private func add(
        _ field: Field, _ context: Context, _ checks: [FieldCheck], to collection: inout FieldCollection
    ) {
        let key = field.responseKey
        let place = FileRange(range: (field.alias ?? field.name).range, file: context.file)
        guard countField(at: place) else { return }
        if key.utf8.count > SQLName.bytesMax {
            error(
                "name-too-long", at: place,
                "a response key may have at most \(SQLName.bytesMax) bytes, a name of Postgres",
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
        let place = FileRange(range: (field.alias ?? field.name).range, file: context.file)
        guard field.name.value == known.name.value, text(field.arguments) == text(known.arguments) else {
            error(
                "overlapping-fields", at: place,
                "\"\(known.responseKey)\" already stands for another field or other arguments",
                help: "give one of them an alias")
            return
        }
        if policy.isRedacted != known.policy.isRedacted {
            error(
                "overlapping-fields", at: place,
                "\"\(known.responseKey)\" is redacted in one place and shown in another",
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
        // Each place brings its own part of the selection, under its own condition.
        known.selections = known.selections.map {
            SelectionSource(set: $0.set, inclusion: $0.inclusion.and(known.inclusion), file: $0.file)
        }
        if let set {
            known.selections.append(SelectionSource(set: set, inclusion: context.inclusion, file: context.file))
        }
        known.inclusion = known.inclusion.or(context.inclusion)
    }
}
