import GraphQLLanguage
import SchemaModel

/// The fields that a `_Data` variable may set: `@allow(fields:maxCount:)`. Source: docs/reference/sql-connect.md §5.1.
struct InputAllowlist: Sendable {
    /// The columns and references that may be sent; nil for all.
    var fields: Set<String>?
    /// The fields `f_date`, `f_time` and `f_update` that may be sent.
    var changes: Set<String> = []
    /// The nested rows that may be sent, by the field of their relation.
    var children: [String: InputAllowlist] = [:]
    /// The most rows in a list.
    var countMax = InputAllowlist.countMaxDefault

    static let countMaxDefault = 100
    /// The most rows, including nested ones, in a value that is not flat: each is a separate part of the statement.
    static let dynamicRowsMax = 100

    /// Whether the value only sets columns, so that one statement serves all values.
    var isFlat: Bool { changes.isEmpty && children.isEmpty }

    /// Sets the limit for each list, including nested ones.
    mutating func limit(_ countMax: Int) {
        self.countMax = countMax
        for name in children.keys { children[name]?.limit(countMax) }
    }
}

extension OperationScope {
    /// Returns what a variable's directives allow; nil for types other than `_Data`.
    func allowlist(of definition: VariableDefinition, type: InputType) -> InputAllowlist? {
        let table = type.dataType.flatMap(schema.table(ofType:))
        var allowlist: InputAllowlist?
        for directive in definition.directives {
            let range = FileRange(range: directive.range, file: file)
            directive.checkArguments(in: file, &sink)
            if directive.name.value == "retired" {
                checkRetired(directive, in: file)
                continue
            }
            guard directive.name.value == "allow" else {
                error(
                    .unknownDirective, at: range, "@\(directive.name.value) is not supported on variables",
                    help: DidYouMean.help(directive.name.value, among: ["allow", "retired"]))
                continue
            }
            guard let table else {
                error(.allow, at: range, "@allow is only allowed on variables of a _Data type")
                continue
            }
            if allowlist != nil { error(.allow, at: range, "@allow may be given only once") }
            allowlist = self.allowlist(directive, table)
        }
        if let table, allowlist == nil {
            warning(
                .allow, at: FileRange(range: definition.range, file: file),
                "\"$\(definition.name.value)\" lets clients set every column of \(table.typeName)",
                help:
                    "name the intended ones: @allow(fields: "
                    + "\"\(table.columns.prefix(2).map(\.field).joined(separator: " "))\")"
            )
            allowlist = InputAllowlist()
        }
        return allowlist
    }

    private func allowlist(_ directive: Directive, _ table: Table) -> InputAllowlist {
        var allowlist: InputAllowlist?
        var countMax: (value: Int, range: FileRange)?
        for argument in directive.arguments {
            let range = FileRange(range: argument.value.range, file: file)
            switch argument.name.value {
            case "fields":
                allowlist = InputAllowlist(fields: [])
                guard let text = argument.value.stringValue else {
                    error(.allow, at: range, "expected field names in one string, separated by spaces")
                    continue
                }
                var tokens = Self.tokens(text)[...]
                allowlist = fields(&tokens, table, below: nil, at: range)
                if !tokens.isEmpty { error(.allow, at: range, "unmatched \"}\"") }
            case "maxCount":
                guard let count = argument.value.intValue, (1...Int64(CoercionPlan.listCountMax)).contains(count) else {
                    error(.allow, at: range, "expected a number from 1 to \(CoercionPlan.listCountMax)")
                    continue
                }
                countMax = (Int(count), range)
            default:
                error(
                    .unknownArgument, at: FileRange(range: argument.name.range, file: file),
                    "@allow has no argument \"\(argument.name.value)\"",
                    help: DidYouMean.help(argument.name.value, among: ["fields", "maxCount"]))
            }
        }
        if allowlist == nil {
            error(.allow, at: FileRange(range: directive.range, file: file), "@allow needs the argument \"fields\"")
        }
        var result = allowlist ?? InputAllowlist()
        if let countMax {
            result.limit(countMax.value)
            if !result.isFlat, countMax.value > InputAllowlist.dynamicRowsMax {
                error(
                    .allow, at: countMax.range,
                    "\"maxCount\" may be at most \(InputAllowlist.dynamicRowsMax)"
                        + " with nested rows, updates or relative times"
                )
            }
        }
        return result
    }

    /// Splits a text into names and braces, separated by white space and commas.
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

    /// Parses `title premiere_date remarks_on_novel { stars text }` up to the closing brace.
    /// - Parameter reference: for nested rows, the reference to the enclosing row, which supplies its columns.
    private func fields(
        _ tokens: inout ArraySlice<String>, _ table: Table, below reference: Reference?, at range: FileRange
    ) -> InputAllowlist {
        let filled = Set((reference?.localFields ?? []) + (reference.map { [$0.field] } ?? []))
        let plain = (table.columns.map(\.field) + table.references.map(\.field)).filter { !filled.contains($0) }
        let changes = table.columns.flatMap { DynamicRows.plans(of: $0, in: table).map(\.name) }
        let relations = schema.inverseRelations(ofType: table.typeName).filter { $0.child.view == nil }
        var allowlist = InputAllowlist(fields: [])
        while let name = tokens.first, name != "}" {
            tokens.removeFirst()
            let hasSelection = tokens.first == "{"
            if name == "{" {
                error(.allow, at: range, "\"{\" must follow the name of nested rows")
                continue
            }
            if let relation = relations.first(where: { $0.name == name }) {
                guard hasSelection else {
                    error(
                        .allow, at: range,
                        "\"\(name)\" contains rows of \(relation.child.typeName): name their fields",
                        help: "\(name) { … }")
                    continue
                }
                tokens.removeFirst()
                allowlist.children[name] = fields(&tokens, relation.child, below: relation.reference, at: range)
                if tokens.popFirst() == nil { error(.allow, at: range, "the \"{\" after \"\(name)\" is not closed") }
                continue
            }
            if plain.contains(name) {
                allowlist.fields?.insert(name)
            } else if changes.contains(name) {
                allowlist.changes.insert(name)
            } else {
                error(
                    .allow, at: range,
                    "@allow cannot name \"\(name)\": \(table.typeName)_Data has no such field for variables",
                    help: filled.contains(name)
                        ? "it is set from the enclosing row"
                        : FieldForm.split(name)?.form.literalOnlyReason
                            ?? DidYouMean.help(name, among: plain + changes + relations.map(\.name)))
            }
        }
        return allowlist
    }
}
