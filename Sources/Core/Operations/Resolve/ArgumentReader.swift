import GraphQLLanguage
import SchemaModel

extension OperationScope {
    /// Returns a field's arguments by name; unknown and repeated ones are reported and omitted.
    func arguments(of field: SelectedField, offered: [String]) -> [String: Value] {
        var values: [String: Value] = [:]
        for argument in field.arguments {
            let name = argument.name.value
            let range = field.fileRange(argument.name.range)
            guard offered.contains(name) else {
                error(
                    .unknownArgument, at: range, "\"\(field.name.value)\" has no argument \"\(name)\"",
                    help: DidYouMean.help(name, among: offered))
                continue
            }
            if values.updateValue(argument.value, forKey: name) != nil {
                error(.uniqueArgument, at: range, "argument \"\(name)\" is given more than once")
            }
        }
        return values
    }

    /// Returns an explanation for input fields of SQL Connect that are not available here.
    private static func notOfferedHelp(_ name: String) -> String? {
        if FieldForm.split(name)?.form == .embedding {
            return "only columns of type Vector have a field …_embed"
        }
        if name.contains("_via_") { return "give rows of the join table through its field …_on_…" }
        return nil
    }

    /// Returns the fields of an input object; nil after a diagnostic if the value is not an object.
    func inputFields(
        _ value: Value, of typeName: String, offered: [String], listsOffered: Bool = false, in file: SourceFile
    ) -> [(name: Name, value: Value)]? {
        guard let fields = value.objectFields else {
            let range = FileRange(range: value.range, file: file)
            if let variable = value.variableName {
                if use(variable: variable, at: range) != nil {
                    error(.valueType, at: range, "a variable cannot replace a whole \(typeName)")
                }
            } else {
                error(.valueType, at: range, "expected an object of type \(typeName)")
            }
            return nil
        }
        var seen: Set<String> = []
        var known: [(Name, Value)] = []
        for field in fields {
            let range = FileRange(range: field.name.range, file: file)
            guard offered.contains(field.name.value) else {
                error(
                    .unknownInputField, at: range, "\(typeName) has no field \"\(field.name.value)\"",
                    help: Self.notOfferedHelp(field.name.value)
                        ?? (listsOffered
                            ? "it has \(offered.joined(separator: ", "))"
                            : DidYouMean.help(field.name.value, among: offered)),
                    unknown: field.name.value)
                continue
            }
            guard seen.insert(field.name.value).inserted else {
                error(.uniqueInputField, at: range, "field \"\(field.name.value)\" is given more than once")
                continue
            }
            known.append((field.name, field.value))
        }
        return known
    }

    /// Returns whether the field has a selection; reports a missing one.
    func requireSelection(_ field: SelectedField, of typeName: String) -> Bool {
        if field.selections.isEmpty {
            error(
                .missingSelection, at: field.nameRange,
                "\"\(field.name.value)\" returns \(typeName) and needs a selection: \(field.name.value) { … }")
        }
        return !field.selections.isEmpty
    }

    func refuseSelection(_ field: SelectedField, of typeName: String) {
        guard let set = field.selections.first?.set else { return }
        error(
            .unexpectedSelection, at: field.fileRange(set.range),
            "\"\(field.name.value)\" returns \(typeName), which has no fields to select")
    }

    func refuseArguments(_ field: SelectedField) {
        _ = arguments(of: field, offered: [])
    }
}
