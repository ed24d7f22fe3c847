import GraphQLLanguage

/// The third stage: builds uniqueness constraints and indexes from `@unique` and `@index`, derives which references are
/// one-to-one, and adds the indexes that let foreign keys be followed backwards.
struct ConstraintBuilder {
    private let type: DeclaredType
    private var table: Table

    static func build(
        _ table: Table, of type: DeclaredType, resolver: inout RelationResolver, sink: inout DiagnosticSink
    ) -> Table {
        var builder = ConstraintBuilder(type: type, table: table)
        for use in type.directives { builder.addComposite(use, &resolver, &sink) }
        for field in type.fields {
            for use in field.directives { builder.add(use, of: field, &sink) }
        }
        builder.markUniqueReferences()
        if !type.isView { builder.addReferenceIndexes() }
        return builder.table
    }

    private init(type: DeclaredType, table: Table) {
        self.type = type
        self.table = table
    }

    private mutating func addComposite(
        _ use: DirectiveUse, _ resolver: inout RelationResolver, _ sink: inout DiagnosticSink
    ) {
        guard use.name == "unique" || use.name == "index" else { return }
        guard let names = use.names("fields") else {
            report(.missingFields, at: use.range, &sink, "@\(use.name) on a type needs \"fields\"")
            return
        }
        var fields: [String] = []
        var order: [SortOrder] = []
        let given = sortOrder(use)
        if !given.isEmpty, given.count != names.count {
            report(
                .indexOrder, at: use.range(of: "order"), &sink,
                "\"order\" has \(given.count) entries for \(names.count) fields")
        }
        for (position, name) in names.enumerated() {
            guard let shapes = resolver.columns(named: name, in: type, from: use.range.file, sink: &sink) else {
                return
            }
            for shape in shapes {
                if fields.contains(shape.field) {
                    report(
                        .repeatedField, at: FileRange(range: name.range, file: use.range.file), &sink,
                        "\"\(shape.field)\" is named more than once")
                    return
                }
                fields.append(shape.field)
                if given.indices.contains(position) { order.append(given[position]) }
            }
        }
        addConstraint(use, fields: fields, order: given.isEmpty ? [] : order, &sink)
    }

    private mutating func add(_ use: DirectiveUse, of field: DeclaredField, _ sink: inout DiagnosticSink) {
        guard use.name == "unique" || use.name == "index" else { return }
        for argument in ["fields", "order"] where use.value(argument) != nil {
            report(
                .fieldsOnField, at: use.range(of: argument), &sink,
                "\"\(argument)\" is only allowed for @\(use.name) on a type; on a field it applies to \"\(field.name)\""
            )
            return
        }
        switch field.kind {
        case .column: addConstraint(use, fields: [field.name], order: [], &sink)
        case .reference:
            // A missing reference has already been reported.
            guard let reference = table.reference(ofField: field.name) else { return }
            addConstraint(use, fields: reference.localFields, order: [], &sink)
        }
    }

    private mutating func addConstraint(
        _ use: DirectiveUse, fields: [String], order: [SortOrder], _ sink: inout DiagnosticSink
    ) {
        let columns = fields.compactMap { table.column(ofField: $0) }
        guard columns.count == fields.count else { return }
        let names = [table.name] + columns.map(\.name)
        if use.name == "unique" {
            if let column = columns.first(where: { [.any, .vector].contains($0.type.scalar) }) {
                report(
                    .uniqueType, at: use.range, &sink,
                    "\"\(column.field)\" of type \(column.type.scalar.typeName) cannot be unique")
                return
            }
            if isUnique(exactly: fields) {
                sink.report(
                    .warning, rule: .redundantUnique, at: use.range,
                    "\(fields.joined(separator: ", ")) is already unique")
                return
            }
            let name = givenName("indexName", use, &sink) ?? SQLName.generated(names, suffix: "uidx")
            table.uniques.append(UniqueConstraint(name: name, fields: fields))
            return
        }
        guard let index = IndexMethod.read(use, columns, sink: &sink) else { return }
        if index.method != "btree", !order.isEmpty {
            report(.indexOrder, at: use.range(of: "order"), &sink, "only a BTREE index can have an order")
            return
        }
        // The order is part of a composite index's generated name: `remark_novel_id_stars_ad_idx`.
        let letters =
            fields.count > 1
            ? [fields.indices.map { order.indices.contains($0) && order[$0] == .descending ? "d" : "a" }.joined()] : []
        let name = givenName("name", use, &sink) ?? SQLName.generated(names + letters, suffix: "idx")
        table.indexes.append(
            TableIndex(
                name: name, fields: fields, order: order, method: index.method, operatorClass: index.operatorClass))
    }

    private func sortOrder(_ use: DirectiveUse) -> [SortOrder] {
        (use.enumerations("order") ?? []).map { $0 == "DESC" ? .descending : .ascending }
    }

    private func givenName(_ argument: String, _ use: DirectiveUse, _ sink: inout DiagnosticSink) -> String? {
        guard let name = use.string(argument) else { return nil }
        guard name.utf8.count <= SQLName.bytesMax, !name.utf8.contains(0) else {
            report(
                .nameTooLong, at: use.range(of: argument), &sink,
                "a name in Postgres can have at most \(SQLName.bytesMax) bytes")
            return nil
        }
        return name
    }

    /// Returns whether exactly these fields, in any order, are already the key or unique.
    private func isUnique(exactly fields: [String]) -> Bool {
        let fields = Set(fields)
        return Set(table.key) == fields || table.uniques.contains { Set($0.fields) == fields }
    }

    /// Marks references as one-to-one whose columns include the key or a unique constraint.
    private mutating func markUniqueReferences() {
        for index in table.references.indices {
            let local = Set(table.references[index].localFields)
            table.references[index].isUnique =
                (!table.key.isEmpty && local.isSuperset(of: table.key))
                || table.uniques.contains { local.isSuperset(of: $0.fields) }
        }
    }

    /// Adds indexes for foreign keys, which Postgres does not index itself: without one, deleting a novel scans all
    /// remarks.
    private mutating func addReferenceIndexes() {
        for reference in table.references {
            let local = Set(reference.localFields)
            let leading =
                [table.key] + table.uniques.map(\.fields)
                + table.indexes.filter { $0.method == "btree" }.map(\.fields)
            guard !leading.contains(where: { Set($0.prefix(local.count)) == local }) else { continue }
            let names = reference.localFields.compactMap { table.column(ofField: $0)?.name }
            let letters = names.count > 1 ? [String(repeating: "a", count: names.count)] : []
            table.indexes.append(
                TableIndex(
                    name: SQLName.generated([table.name] + names + letters, suffix: "idx"),
                    fields: reference.localFields))
        }
    }

    private func report(
        _ rule: Diagnostic.Rule, at range: FileRange, _ sink: inout DiagnosticSink, _ message: String,
        help: String? = nil
    ) {
        sink.report(.error, rule: rule, at: range, message, help: help)
    }
}
