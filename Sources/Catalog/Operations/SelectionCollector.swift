internal import GraphQLLanguage

/// One field of a selection with its fragments put in place and equal fields merged (GraphQL specification §6.3.2).
struct SelectedField {
    let responseKey: String
    let name: Name
    let arguments: [Argument]
    var inclusion: Inclusion
    /// Selection sets below, each with what must hold beyond the field's own inclusion.
    var selections: [SelectionSource]
    let range: SourceRange
    let file: SourceFile

    var place: Place { Place(range: name.range, file: file) }

    func place(_ range: SourceRange) -> Place { Place(range: range, file: file) }
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
            collect(source.set, source.inclusion, source.file, into: &collection)
        }
        return collection.fields
    }

    private struct FieldCollection {
        let typeName: String
        var fields: [SelectedField] = []
        var positions: [String: Int] = [:]
        var visited: Set<Visit> = []
        struct Visit: Hashable {
            let fragment: String
            let inclusion: Inclusion
        }
    }

    private func collect(
        _ set: SelectionSet, _ inclusion: Inclusion, _ file: SourceFile, into collection: inout FieldCollection
    ) {
        for selection in set.selections {
            let inclusion = inclusion.and(self.inclusion(of: selection.directives, in: file))
            switch selection {
            case .field(let field): add(field, inclusion, file, to: &collection)
            case .inlineFragment(let fragment):
                if let condition = fragment.typeCondition,
                    !matches(condition, collection.typeName, Place(range: condition.range, file: file))
                {
                    continue
                }
                collect(fragment.selectionSet, inclusion, file, into: &collection)
            case .fragmentSpread(let spread):
                let name = spread.name.value
                guard let fragment = fragments[name] else {
                    error(
                        "unknown-fragment", at: Place(range: spread.name.range, file: file),
                        "unknown fragment \"\(name)\"", help: DidYouMean.help(name, among: fragments.keys.sorted()))
                    continue
                }
                usedFragments.insert(name)
                guard !fragment.isCyclic,
                    collection.visited.insert(.init(fragment: name, inclusion: inclusion)).inserted
                else { continue }
                let place = Place(range: spread.range, file: file)
                guard matches(fragment.definition.typeCondition, collection.typeName, place) else { continue }
                collect(fragment.definition.selectionSet, inclusion, fragment.file, into: &collection)
            }
        }
    }

    /// There are no interfaces and unions, so a fragment fits exactly its own type.
    private func matches(_ condition: Name, _ typeName: String, _ place: Place) -> Bool {
        if condition.value == typeName { return true }
        if !api.outputTypes.contains(condition.value) {
            error(
                "unknown-type", at: place, "unknown type \"\(condition.value)\"",
                help: DidYouMean.help(condition.value, among: api.outputTypes.sorted()))
        } else {
            error(
                "fragment-type", at: place,
                "a fragment on \"\(condition.value)\" can never apply to \"\(typeName)\"")
        }
        return false
    }

    private func add(
        _ field: Field, _ inclusion: Inclusion, _ file: SourceFile, to collection: inout FieldCollection
    ) {
        let key = field.responseKey
        let place = Place(range: (field.alias ?? field.name).range, file: file)
        guard countField(at: place) else { return }
        if key.utf8.count > SQLName.bytesMax {
            error(
                "name-too-long", at: place,
                "a response key may have at most \(SQLName.bytesMax) bytes, a name of Postgres",
                help: "give the field a shorter alias")
        }
        guard let position = collection.positions[key] else {
            collection.positions[key] = collection.fields.count
            collection.fields.append(
                SelectedField(
                    responseKey: key, name: field.name, arguments: field.arguments, inclusion: inclusion,
                    selections: field.selectionSet.map { [SelectionSource(set: $0, inclusion: .always, file: file)] }
                        ?? [],
                    range: field.range, file: file))
            return
        }
        merge(field, inclusion, file, into: &collection.fields[position])
    }

    private func merge(_ field: Field, _ inclusion: Inclusion, _ file: SourceFile, into known: inout SelectedField) {
        func text(_ arguments: [Argument]) -> [String] {
            arguments.map { "\($0.name.value): \($0.value.description)" }.sorted()
        }
        guard field.name.value == known.name.value, text(field.arguments) == text(known.arguments) else {
            error(
                "overlapping-fields", at: Place(range: (field.alias ?? field.name).range, file: file),
                "\"\(known.responseKey)\" already stands for another field or other arguments",
                help: "give one of them an alias")
            return
        }
        let set = field.selectionSet
        if known.inclusion == inclusion {
            if let set { known.selections.append(SelectionSource(set: set, inclusion: .always, file: file)) }
            return
        }
        // Each place brings its own part of the selection, under its own condition.
        known.selections = known.selections.map {
            SelectionSource(set: $0.set, inclusion: $0.inclusion.and(known.inclusion), file: $0.file)
        }
        if let set { known.selections.append(SelectionSource(set: set, inclusion: inclusion, file: file)) }
        known.inclusion = known.inclusion.or(inclusion)
    }
}

// MARK: - @skip and @include

extension OperationScope {
    private func inclusion(of directives: [Directive], in file: SourceFile) -> Inclusion {
        var inclusion = Inclusion.always
        for directive in directives {
            let place = Place(range: directive.range, file: file)
            let name = directive.name.value
            guard name == "skip" || name == "include" else {
                error(
                    "unknown-directive", at: place, "@\(name) is not offered here",
                    help: DidYouMean.help(name, among: ["skip", "include"]))
                continue
            }
            guard directive.arguments.count == 1, let argument = directive.arguments.first,
                argument.name.value == "if"
            else {
                error("directive-arguments", at: place, "@\(name) takes exactly the argument \"if\"")
                continue
            }
            inclusion = inclusion.and(test(argument.value, expected: name == "include", in: file))
        }
        return inclusion
    }

    private func test(_ value: Value, expected: Bool, in file: SourceFile) -> Inclusion {
        let place = Place(range: value.range, file: file)
        switch value.kind {
        case .boolean(let flag): return flag == expected ? .always : .never
        case .variable(let name):
            guard let variable = use(variable: name, at: place) else { return .always }
            guard variable.type.accepts(in: .nonNull(.scalar(.boolean)), hasDefault: variable.defaultValue != nil)
            else {
                mismatch(variable, expected: "Boolean!", at: place)
                return .always
            }
            return Inclusion(alternatives: [[.init(variable: name, expected: expected)]])
        default:
            error("value-type", at: place, "expected true, false or a variable of type Boolean!")
            return .always
        }
    }
}
