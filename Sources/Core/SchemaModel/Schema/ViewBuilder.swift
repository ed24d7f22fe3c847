import GraphQLLanguage

/// `@view`: a type that is read like a table and never written. Source: docs/reference/sql-connect.md §5.2.
///
/// Its SQL stands in the FROM of the queries; a view by name is one that the database has.
enum ViewBuilder {
    static func view(_ type: DeclaredType, sink: inout DiagnosticSink) -> Table.View {
        func report(_ rule: String, at place: FileRange, _ message: String, help: String? = nil) {
            sink.report(.error, rule: rule, at: place, message, help: help)
        }
        for field in type.fields {
            for name in ["default", "searchable", "index"] {
                guard let use = field.directive(name) else { continue }
                report("view", at: use.place, "@\(name) cannot stand in a view")
            }
            if let use = field.directive("unique"), case .column = field.kind {
                report("view", at: use.place, "in a view @unique can only say that a reference is one-to-one")
            }
            if !field.isNullable {
                sink.report(
                    .warning, rule: "view-nullability", at: field.typePlace,
                    "\"\(field.name)\" can be null all the same: nothing holds a view to \"!\"")
            }
        }
        if let use = type.directives.first {
            report("view", at: use.place, "@\(use.name) on a view is not offered", help: "put it on the tables below")
        }
        guard let sql = type.table.string("sql") else { return .named }
        let sqlPlace = type.table.place(of: "sql")
        if type.table.value("name") != nil {
            report("view", at: sqlPlace, "a view has either \"name\" or \"sql\"")
        }
        do {
            let scan = try NativeSQLScanner.scan(sql)
            let words = ["SELECT", "TABLE", "VALUES", "WITH"]
            if !words.contains(scan.firstWord.uppercased()) {
                report("view", at: sqlPlace, "the SQL of a view must begin with \(words.joined(separator: ", "))")
            }
            var text = ""
            for piece in scan.pieces {
                switch piece {
                case .text(let part): text += part
                case .parameter: report("view", at: sqlPlace, "the SQL of a view has no parameters")
                }
            }
            return .sql(text)
        } catch {
            report("view", at: sqlPlace, error.message)
            return .sql(sql)
        }
    }

    /// With the references marked that `@unique` calls one-to-one. Nothing of it is in the database.
    static func relations(
        of view: Table, _ type: DeclaredType, resolver: inout RelationResolver, sink: inout DiagnosticSink
    ) -> Table {
        guard type.directives.isEmpty else { return view }
        var ignored = DiagnosticSink()
        var table = ConstraintBuilder.build(view, of: type, resolver: &resolver, sink: &ignored)
        table.uniques = []
        table.indexes = []
        return table
    }
}
