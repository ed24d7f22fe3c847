import Catalog
import GraphQLLanguage
import Operations
import SchemaModel

/// Reads the shape of a compiled operation's result from its selections and the types of the schema.
///
/// The operation compiled, so every name exists and equal response keys denote equal fields.
struct SelectionReader {
    let types: GraphQLTypes
    let schema: Schema
    private let operation: OperationDefinition?
    private let fragments: [String: FragmentDefinition]

    init(types: GraphQLTypes, schema: Schema, stored: StoredOperation) {
        self.types = types
        self.schema = schema
        let document = try? Parser.parseDocument(Source(text: stored.text))
        operation = document?.operations.first
        fragments = Dictionary((document?.fragments ?? []).map { ($0.name.value, $0) }) { first, _ in first }
    }

    /// The shape of `data`.
    var result: ObjectShape {
        guard let operation else { return ObjectShape(typeName: "Query", fields: [], keyFields: []) }
        return shape(
            [Part(set: operation.selectionSet)], on: operation.kind == .mutation ? "Mutation" : "Query",
            mayHaveEntities: operation.kind == .query)
    }

    /// A selection set, and whether the object lacks its fields at times although it has others.
    private struct Part {
        let set: SelectionSet
        var isConditional = false
    }

    private struct Collected {
        let field: Field
        var isConditional: Bool
        var parts: [Part] = []
    }

    private func shape(_ parts: [Part], on typeName: String, mayHaveEntities: Bool) -> ObjectShape {
        var found: [Collected] = []
        for part in parts { collect(part.set, on: typeName, part.isConditional, into: &found) }
        let table = schema.table(ofType: typeName)
        let isGroup = table.map { Self.isGroup(found, of: $0) } ?? false
        let fields = found.map { result($0, on: typeName, mayHaveEntities: mayHaveEntities && !isGroup) }
        let key = table?.key ?? []
        let hasKey =
            !key.isEmpty
            && key.allSatisfy { name in
                found.contains {
                    $0.field.name.value == name && $0.field.responseKey == name && !$0.isConditional
                }
            }
        var shape = ObjectShape(typeName: typeName, fields: fields, keyFields: hasKey ? key : [])
        if mayHaveEntities, !isGroup, let table { shape.entityKey = entityKey(of: table, found, fields) }
        return shape
    }

    private func result(_ collected: Collected, on typeName: String, mayHaveEntities: Bool) -> ResultField {
        let field = collected.field
        let name = field.name.value
        let type = types.field(name, of: typeName)?.type
        return ResultField(
            name: field.responseKey, isAliased: field.responseKey != name,
            // `__typename` is in no list of fields.
            type: type.map {
                valueType($0, collected.parts, mayHaveEntities: mayHaveEntities && !Self.isDistinct(field))
            } ?? .scalar(.string),
            isNullable: type.map { !$0.isNonNull } ?? false, mayBeAbsent: collected.isConditional)
    }

    private func valueType(_ reference: TypeReference, _ parts: [Part], mayHaveEntities: Bool) -> ValueType {
        switch reference.kind {
        case .nonNull(let inner): return valueType(inner, parts, mayHaveEntities: mayHaveEntities)
        case .list(let element):
            return .list(
                valueType(element, parts, mayHaveEntities: mayHaveEntities), hasNullableElements: !element.isNonNull)
        case .named(let name):
            if types.objects[name] != nil {
                return .object(shape(parts, on: name, mayHaveEntities: mayHaveEntities))
            }
            let type = types.valueType(reference)
            // A selection on the key that a mutation returns, which has the fields of the table.
            if case .key(let table) = type, !parts.isEmpty {
                return .object(shape(parts, on: table, mayHaveEntities: false))
            }
            return type
        }
    }

    // MARK: Entities (docs/reference/sql-connect.md §4; the rules are those of `EntityIDs.swift`)

    /// Whether the objects are groups of rows, which have no ids.
    private static func isGroup(_ found: [Collected], of table: Table) -> Bool {
        let aggregates = Set(Aggregate.all(of: table).map(\.name))
        return found.contains { aggregates.contains($0.field.name.value) }
    }

    /// Whether a list may have distinct rows, which have no ids.
    private static func isDistinct(_ field: Field) -> Bool {
        field.arguments.value(of: "distinct").map { $0.boolValue != false } ?? false
    }

    /// Returns where the key of each row is; empty if rows have no ids or lack a part of the key.
    private func entityKey(of table: Table, _ found: [Collected], _ fields: [ResultField]) -> [[String]] {
        guard table.view == nil, !table.key.isEmpty else { return [] }
        let plain = Set(table.columns.map(\.field) + table.references.map(\.field) + ["_id", "__typename"])
        // Clients merge the fields of a row by response key.
        guard
            found.allSatisfy({
                $0.field.responseKey == $0.field.name.value || !plain.contains($0.field.responseKey)
            })
        else { return [] }
        func own(_ name: String) -> ResultField? {
            fields.first { $0.name == name && !$0.isAliased && !$0.mayBeAbsent }
        }
        var paths: [[String]] = []
        for field in table.key {
            if own(field) != nil {
                paths.append([field])
                continue
            }
            let path = table.references.lazy.compactMap { reference -> [String]? in
                guard let position = reference.localFields.firstIndex(of: field), !reference.isNullable,
                    let shape = own(reference.field)?.type.shape
                else { return nil }
                let target = reference.targetFields[position]
                let isSelected = shape.fields.contains { $0.name == target && !$0.isAliased && !$0.mayBeAbsent }
                return isSelected ? [reference.field, target] : nil
            }.first
            guard let path else { return [] }
            paths.append(path)
        }
        return paths
    }

    // MARK: Collecting (GraphQL specification §6.3.2)

    private func collect(
        _ set: SelectionSet, on typeName: String, _ isConditional: Bool, into found: inout [Collected]
    ) {
        for selection in set.selections {
            guard let condition = Self.condition(selection.directives) else { continue }
            let isConditional = isConditional || condition
            switch selection {
            case .field(let field): add(field, isConditional, to: &found)
            case .inlineFragment(let fragment):
                collect(fragment.selectionSet, on: typeName, isConditional, into: &found)
            case .fragmentSpread(let spread):
                guard let fragment = fragments[spread.name.value] else { continue }
                collect(fragment.selectionSet, on: typeName, isConditional, into: &found)
            }
        }
    }

    private func add(_ field: Field, _ isConditional: Bool, to found: inout [Collected]) {
        let part = field.selectionSet.map { Part(set: $0) }
        guard let position = found.firstIndex(where: { $0.field.responseKey == field.responseKey }) else {
            found.append(Collected(field: field, isConditional: isConditional, parts: part.map { [$0] } ?? []))
            return
        }
        let known = found[position]
        found[position].isConditional = known.isConditional && isConditional
        // Where one occurrence is always included and another is not, the latter's fields may be absent; if both are
        // conditional, either may be.
        if known.isConditional { found[position].parts = known.parts.map { Part(set: $0.set, isConditional: true) } }
        if let part { found[position].parts.append(Part(set: part.set, isConditional: isConditional)) }
    }

    /// Returns whether variables decide about a selection; nil if it is never in the result.
    private static func condition(_ directives: [Directive]) -> Bool? {
        if directives.first(named: "redact") != nil { return nil }
        var isConditional = false
        for (name, excluding) in [("skip", true), ("include", false)] {
            guard let value = directives.first(named: name)?.arguments.value(of: "if") else { continue }
            switch value.boolValue {
            case excluding?: return nil
            case nil: isConditional = true
            default: continue
            }
        }
        return isConditional
    }
}
