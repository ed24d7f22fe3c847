import GraphQLLanguage
import SchemaModel

/// `@allow(fields:maxCount:)` of a variable: what a value of its `_Data` type may bring.
/// Source: docs/reference/sql-connect.md §5.1.
struct InputAllowlist: Sendable {
    /// Columns and references that may be sent; nil for all.
    var fields: Set<String>?
    /// `f_date`, `f_time` and `f_update` that may be sent.
    var changes: Set<String> = []
    /// Nested rows that may be sent, by the field of their relation.
    var children: [String: InputAllowlist] = [:]
    /// Rows of a list.
    var countMax = InputAllowlist.countMaxDefault

    static let countMaxDefault = 100
    /// Rows of a value that is not flat, nested ones included: each is a part of the statement of its own.
    static let dynamicRowsMax = 100

    /// It brings values of columns only, so that one statement does for all its values.
    var isFlat: Bool { changes.isEmpty && children.isEmpty }

    /// Of each list, nested ones included.
    mutating func limit(_ countMax: Int) {
        self.countMax = countMax
        for name in children.keys { children[name]?.limit(countMax) }
    }
}

extension OperationScope {
    /// What the directives of a variable allow; nil for types other than `_Data`.
    func allowance(of definition: VariableDefinition, type: InputType) -> InputAllowlist? {
        let table = type.dataType.flatMap(schema.table(ofType:))
        var allowance: InputAllowlist?
        for directive in definition.directives {
            let place = FileRange(range: directive.range, file: file)
            directive.checkArguments(in: file, &sink)
            if directive.name.value == "retired" {
                checkRetired(directive, in: file)
                continue
            }
            guard directive.name.value == "allow" else {
                error(
                    "unknown-directive", at: place, "@\(directive.name.value) is not offered on variables",
                    help: DidYouMean.help(directive.name.value, among: ["allow", "retired"]))
                continue
            }
            guard let table else {
                error("allow", at: place, "@allow belongs to variables of a _Data type")
                continue
            }
            if allowance != nil { error("allow", at: place, "@allow may be given once") }
            allowance = self.allowance(directive, table)
        }
        if let table, allowance == nil {
            warning(
                "allow", at: FileRange(range: definition.range, file: file),
                "\"$\(definition.name.value)\" lets clients set every column of \(table.typeName)",
                help:
                    "name those meant: @allow(fields: \"\(table.columns.prefix(2).map(\.field).joined(separator: " "))\")"
            )
            allowance = InputAllowlist()
        }
        return allowance
    }

    private func allowance(_ directive: Directive, _ table: Table) -> InputAllowlist {
        var allowance: InputAllowlist?
        var countMax: (value: Int, place: FileRange)?
        for argument in directive.arguments {
            let place = FileRange(range: argument.value.range, file: file)
            switch argument.name.value {
            case "fields":
                allowance = InputAllowlist(fields: [])
                guard let text = argument.value.stringValue else {
                    error("allow", at: place, "expected names of fields in one string, separated by blanks")
                    continue
                }
                var tokens = Self.tokens(text)[...]
                allowance = fields(&tokens, table, below: nil, at: place)
                if !tokens.isEmpty { error("allow", at: place, "a \"}\" closes nothing") }
            case "maxCount":
                guard let count = argument.value.intValue, (1...Int64(CoercionPlan.listCountMax)).contains(count) else {
                    error("allow", at: place, "expected a number from 1 to \(CoercionPlan.listCountMax)")
                    continue
                }
                countMax = (Int(count), place)
            default:
                error(
                    "unknown-argument", at: FileRange(range: argument.name.range, file: file),
                    "@allow has no argument \"\(argument.name.value)\"",
                    help: DidYouMean.help(argument.name.value, among: ["fields", "maxCount"]))
            }
        }
        if allowance == nil {
            error("allow", at: FileRange(range: directive.range, file: file), "@allow needs the argument \"fields\"")
        }
        var result = allowance ?? InputAllowlist()
        if let countMax {
            result.limit(countMax.value)
            if !result.isFlat, countMax.value > InputAllowlist.dynamicRowsMax {
                error(
                    "allow", at: countMax.place,
                    "with nested rows, changes or relative times at most \(InputAllowlist.dynamicRowsMax)")
            }
        }
        return result
    }

    /// Why no variable brings a field that can be written out.
    private static func neverAllowed(_ name: String) -> String? {
        if name.hasSuffix("_expr") { return "expressions cannot come from variables" }
        if name.hasSuffix("_embed") { return "what a vector is made of is written out, beside the variable's columns" }
        return nil
    }

    /// Names and braces; blanks and commas separate.
    private static func tokens(_ text: String) -> [String] {
        var tokens: [String] = []
        var name = ""
        for character in text {
            if character.isWhitespace || character == "," || character == "{" || character == "}" {
                if !name.isEmpty { tokens.append(name) }
                name = ""
                if character == "{" || character == "}" { tokens.append(String(character)) }
            } else {
                name.append(character)
            }
        }
        return name.isEmpty ? tokens : tokens + [name]
    }

    /// `title premiere_date reviews_on_movie { stars text }`, up to the brace that closes it.
    /// - Parameter reference: for nested rows the one that leads to the row around, which fills its columns.
    private func fields(
        _ tokens: inout ArraySlice<String>, _ table: Table, below reference: Reference?, at place: FileRange
    ) -> InputAllowlist {
        let filled = Set((reference?.localFields ?? []) + (reference.map { [$0.field] } ?? []))
        let plain = (table.columns.map(\.field) + table.references.map(\.field)).filter { !filled.contains($0) }
        let changes = table.columns.flatMap { DynamicRows.plans(of: $0, in: table).map(\.name) }
        let relations = schema.inverseRelations(ofType: table.typeName).filter { $0.child.view == nil }
        var allowance = InputAllowlist(fields: [])
        while let name = tokens.first, name != "}" {
            tokens.removeFirst()
            let hasSelection = tokens.first == "{"
            if name == "{" {
                error("allow", at: place, "a \"{\" stands after the name of nested rows")
                continue
            }
            if let relation = relations.first(where: { $0.name == name }) {
                guard hasSelection else {
                    error(
                        "allow", at: place, "\"\(name)\" brings rows of \(relation.child.typeName): name their fields",
                        help: "\(name) { … }")
                    continue
                }
                tokens.removeFirst()
                allowance.children[name] = fields(&tokens, relation.child, below: relation.reference, at: place)
                if tokens.popFirst() == nil { error("allow", at: place, "the \"{\" of \"\(name)\" is not closed") }
                continue
            }
            if plain.contains(name) {
                allowance.fields?.insert(name)
            } else if changes.contains(name) {
                allowance.changes.insert(name)
            } else {
                error(
                    "allow", at: place, "\(table.typeName)_Data has no field \"\(name)\" that can be allowed",
                    help: filled.contains(name)
                        ? "a nested row has it from the row around"
                        : Self.neverAllowed(name)
                            ?? DidYouMean.help(name, among: plain + changes + relations.map(\.name)))
            }
        }
        return allowance
    }
}
