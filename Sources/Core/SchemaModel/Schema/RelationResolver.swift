import GraphQLLanguage

/// The properties of a column that its foreign keys share.
struct ColumnShape: Hashable {
    let field: String
    let type: ColumnType
    let dataType: ColumnDataType?
}

/// A column of a foreign key.
struct ForeignColumn {
    let local: ColumnShape
    let targetField: String
    /// Whether the schema declares the column as a field.
    let isDeclared: Bool
}

/// Determines the columns of keys and foreign keys.
///
/// The two depend on each other: a foreign key has the columns of the target's key, and a key may name a reference and
/// thereby include the columns of its foreign key. Cycles of references are allowed, since each foreign key ends at a
/// key; only a key that depends on itself is an error.
struct RelationResolver {
    let declared: DeclaredSchema
    /// The resolved keys by type; nil for a key that failed and was reported.
    private var keys: [String: [ColumnShape]?] = [:]
    /// Types whose keys are being resolved, outermost first.
    private var open: [String] = []

    init(_ declared: DeclaredSchema) {
        self.declared = declared
    }

    /// Returns whether the type gets an implicit `id: UUID!` because it names no other key and declares no such field.
    static func hasImplicitID(_ type: DeclaredType) -> Bool {
        !type.isView && type.field(named: "id") == nil
            && (type.table.names("key").map { $0.map(\.value) } ?? ["id"]) == ["id"]
    }

    /// Returns the columns of the primary key; nil after a reported problem.
    mutating func key(of type: DeclaredType, sink: inout DiagnosticSink) -> [ColumnShape]? {
        if let known = keys[type.name] { return known }
        if open.contains(type.name) {
            let path = (open.drop { $0 != type.name } + [type.name]).joined(separator: " → ")
            sink.report(
                .error, rule: .keyCycle, at: type.table.range(of: "key"),
                "the key of \"\(type.name)\" depends on itself: \(path)")
            return nil
        }
        open.append(type.name)
        let key = resolveKey(of: type, sink: &sink)
        open.removeLast()
        keys[type.name] = .some(key)
        return key
    }

    private mutating func resolveKey(of type: DeclaredType, sink: inout DiagnosticSink) -> [ColumnShape]? {
        if Self.hasImplicitID(type) { return [ColumnShape(field: "id", type: ColumnType(.uuid), dataType: nil)] }
        var key: [ColumnShape] = []
        for name in type.table.names("key") ?? [Name("id", range: type.table.range.range)] {
            guard let shapes = columns(named: name, in: type, from: type.table.range.file, sink: &sink) else {
                return nil
            }
            if let repeated = shapes.first(where: key.contains) {
                sink.report(
                    .error, rule: .repeatedField, at: name.range, in: type.table.range.file,
                    "\"\(repeated.field)\" is named more than once")
                return nil
            }
            key += shapes
        }
        for shape in key where shape.type.isList || [.any, .vector].contains(shape.type.scalar) {
            sink.report(
                .error, rule: .keyType, at: type.table.range(of: "key"),
                "\"\(shape.field)\" cannot be part of a key: it is a list or of type \(shape.type.scalar.typeName)")
            return nil
        }
        return key
    }

    /// Returns the columns that a name in `key`, `fields` or `references` denotes: one column, or all of a reference.
    mutating func columns(
        named name: Name, in type: DeclaredType, from file: SourceFile, sink: inout DiagnosticSink
    ) -> [ColumnShape]? {
        if let field = type.field(named: name.value) {
            switch field.kind {
            case .column(let columnType): return [shape(of: field, columnType)]
            case .reference: return foreignKey(of: field, in: type, sink: &sink)?.map(\.local)
            }
        }
        if name.value == "id", Self.hasImplicitID(type) {
            return [ColumnShape(field: "id", type: ColumnType(.uuid), dataType: nil)]
        }
        // The name may be that of a column which a reference adds.
        for field in type.fields where Self.mayAdd(field, column: name.value) {
            guard let columns = foreignKey(of: field, in: type, sink: &sink) else { return nil }
            if let column = columns.first(where: { $0.local.field == name.value }) { return [column.local] }
        }
        guard !sink.isSuppressed(name.value) else { return nil }
        sink.report(
            .error, rule: .unknownField, at: name.range, in: file,
            "\"\(type.name)\" has no field \"\(name.value)\"",
            help: DidYouMean.help(name.value, among: type.fields.map(\.name)))
        return nil
    }

    /// Returns the columns of a reference's foreign key, in the target's order; nil after a reported problem.
    mutating func foreignKey(
        of field: DeclaredField, in type: DeclaredType, sink: inout DiagnosticSink
    ) -> [ForeignColumn]? {
        // An unresolved target has already been reported.
        guard case .reference(let typeName) = field.kind, let target = declared.type(named: typeName) else {
            return nil
        }
        guard !target.isView else {
            sink.report(
                .error, rule: .view, at: field.typeRange,
                "\"\(field.name)\" cannot refer to the view \"\(typeName)\", which has no key")
            return nil
        }
        let ref = field.directive("ref")
        var targets: [ColumnShape] = []
        if let ref, let references = ref.names("references") {
            for name in references {
                guard let shapes = columns(named: name, in: target, from: ref.range.file, sink: &sink) else {
                    return nil
                }
                targets += shapes
            }
        } else {
            guard let key = key(of: target, sink: &sink) else { return nil }
            targets = key
        }
        let names =
            ref?.names("fields")
            ?? targets.map {
                Name(GeneratedNames.foreignKeyField(reference: field.name, target: $0.field), range: field.range.range)
            }
        guard names.count == targets.count else {
            sink.report(
                .error, rule: .refCount, at: ref?.range(of: "fields") ?? field.range,
                "@ref names \(names.count) fields of this type, but \(targets.count) of \"\(typeName)\""
                    + " (\(targets.map(\.field).joined(separator: ", ")))")
            return nil
        }
        var columns: [ForeignColumn] = []
        for (name, shape) in zip(names, targets) {
            let local = ColumnShape(field: name.value, type: shape.type, dataType: shape.dataType)
            let declaredField = type.field(named: name.value)
            if let declaredField, !Self.fits(declaredField, shape) {
                sink.report(
                    .error, rule: .refType, at: declaredField.range,
                    "\"\(name.value)\" is the foreign key of \"\(field.name)\" and must have the type of"
                        + " \"\(typeName).\(shape.field)\", \(shape.type.scalar.typeName)")
                return nil
            }
            columns.append(ForeignColumn(local: local, targetField: shape.field, isDeclared: declaredField != nil))
        }
        return columns
    }

    private func shape(of field: DeclaredField, _ type: ColumnType) -> ColumnShape {
        ColumnShape(
            field: field.name, type: type, dataType: ColumnDataType(of: field, type, enums: declared.enums)?.referring)
    }

    private static func fits(_ field: DeclaredField, _ target: ColumnShape) -> Bool {
        if case .column(let type) = field.kind { type == target.type } else { false }
    }

    private static func mayAdd(_ field: DeclaredField, column: String) -> Bool {
        guard case .reference = field.kind else { return false }
        guard let names = field.directive("ref")?.names("fields") else { return column.hasPrefix(field.name) }
        return names.contains { $0.value == column }
    }
}
