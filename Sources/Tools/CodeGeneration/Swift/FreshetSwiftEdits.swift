/// Prints the fields that queued mutations may be expected to change: for each table whose rows the cache of
/// `FreshetClient` keeps by key, an extension of `EditedRow`. Source: docs/reference/generate.md.
struct FreshetSwiftEdits {
    private struct Row {
        /// The fields by response key, in the order of their first appearance. Nil: they have several types.
        var fields: [(name: String, field: ResultField?)] = []
    }

    private let rows: [(key: String, fields: [ResultField])]

    /// Nil if no result has such rows.
    init?(_ connector: ConnectorDescription) {
        var found: [String: Row] = [:]
        for operation in connector.operations where operation.kind == .query {
            Self.collect(operation.result, &found)
        }
        rows = connector.keys.compactMap { key in
            let names = Set(key.fields.map(\.name))
            let fields = (found[key.typeName]?.fields ?? []).compactMap(\.field)
                .filter { !names.contains($0.name) && Self.isShared($0.type) && !$0.name.hasPrefix("_") }
            return fields.isEmpty ? nil : (SwiftText.key(of: key.typeName), fields)
        }
        if rows.isEmpty { return nil }
    }

    private static func collect(_ shape: ObjectShape, _ found: inout [String: Row]) {
        for field in shape.fields {
            if !shape.entityKey.isEmpty {
                var row = found[shape.typeName] ?? Row()
                if let index = row.fields.firstIndex(where: { $0.name == field.name }) {
                    let known = row.fields[index].field
                    if known?.type != field.type || known?.isNullable != field.isNullable {
                        row.fields[index].field = nil
                    }
                } else {
                    row.fields.append((field.name, field))
                }
                found[shape.typeName] = row
            }
            if let inner = field.type.shape { collect(inner, &found) }
        }
    }

    /// Whether the cache keeps values of a type with the row, for all results: scalars and lists of them. An object
    /// belongs to one result.
    private static func isShared(_ type: ValueType) -> Bool {
        switch type {
        case .scalar(let scalar): scalar != .any
        case .enumeration: true
        case .key, .input, .object: false
        case .list(let element, _): isShared(element)
        }
    }

    var hasUUIDs: Bool { rows.contains { $0.fields.contains { $0.type.contains(SwiftText.isUUID) } } }

    func declare(in writer: inout CodeWriter) {
        for (index, row) in rows.enumerated() {
            if index > 0 { writer.line() }
            writer.block("extension EditedRow where Key == \(row.key) {") { writer in
                for field in row.fields {
                    let name = SwiftText.literal(field.name)
                    let setter = field.isNullable ? "set" : "setOrReset"
                    let declaration = "public var \(SwiftText.name(field.name)): \(SwiftText.type(field.type))? {"
                    writer.block(declaration) { writer in
                        writer.line("get { self.value(of: \(name)) }")
                        writer.line("set { self.\(setter)(\(name), to: newValue) }")
                    }
                }
            }
        }
    }
}
