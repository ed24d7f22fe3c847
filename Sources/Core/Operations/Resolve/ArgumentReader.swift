import GraphQLLanguage
import SchemaModel

extension OperationScope {
    /// The arguments of a field by name; unknown and repeated ones are reported and left out.
    func arguments(of field: SelectedField, offered: [String]) -> [String: Value] {
        var values: [String: Value] = [:]
        for argument in field.arguments {
            let name = argument.name.value
            let place = field.place(argument.name.range)
            guard offered.contains(name) else {
                error(
                    "unknown-argument", at: place, "\"\(field.name.value)\" has no argument \"\(name)\"",
                    help: DidYouMean.help(name, among: offered))
                continue
            }
            if values.updateValue(argument.value, forKey: name) != nil {
                error("unique-argument", at: place, "the argument \"\(name)\" is given twice")
            }
        }
        return values
    }

    /// Input fields of the language that are refused there.
    private static func notOfferedHelp(_ name: String) -> String? {
        if name.hasSuffix("_embed") {
            return "a model makes vectors, so only columns of type Vector have a field …_embed"
        }
        if name.contains("_via_") { return "rows of the join table are given by its own field, …_on_…" }
        return nil
    }

    /// The fields of an input object by name. Nil after a diagnostic when the value is none.
    func inputFields(
        _ value: Value, of typeName: String, offered: [String], in file: SourceFile
    ) -> [(name: Name, value: Value)]? {
        guard let fields = value.objectFields else {
            let place = FileRange(range: value.range, file: file)
            if let variable = value.variableName {
                if use(variable: variable, at: place) != nil {
                    error("value-type", at: place, "a variable cannot stand for a whole \(typeName)")
                }
            } else {
                error("value-type", at: place, "expected an object of type \(typeName)")
            }
            return nil
        }
        var seen: Set<String> = []
        var known: [(Name, Value)] = []
        for field in fields {
            let place = FileRange(range: field.name.range, file: file)
            guard offered.contains(field.name.value) else {
                error(
                    "unknown-input-field", at: place, "\(typeName) has no field \"\(field.name.value)\"",
                    help: Self.notOfferedHelp(field.name.value) ?? DidYouMean.help(field.name.value, among: offered),
                    unknown: field.name.value)
                continue
            }
            guard seen.insert(field.name.value).inserted else {
                error("unique-input-field", at: place, "the field \"\(field.name.value)\" is given twice")
                continue
            }
            known.append((field.name, field.value))
        }
        return known
    }

    /// True when the field has a selection; otherwise a diagnostic was made.
    func requireSelection(_ field: SelectedField, of typeName: String) -> Bool {
        if field.selections.isEmpty {
            error(
                "missing-selection", at: field.place,
                "\"\(field.name.value)\" gives \(typeName), so it needs a selection: \(field.name.value) { … }")
        }
        return !field.selections.isEmpty
    }

    func refuseSelection(_ field: SelectedField, of typeName: String) {
        guard let set = field.selections.first?.set else { return }
        error(
            "unexpected-selection", at: field.place(set.range),
            "\"\(field.name.value)\" gives \(typeName), which has no fields to select")
    }

    func refuseArguments(_ field: SelectedField) {
        _ = arguments(of: field, offered: [])
    }
}
