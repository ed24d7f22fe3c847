import GraphQLLanguage

/// Builds the view of a `@view` type, which is read like a table and never written. Source:
/// docs/reference/sql-connect.md §5.2.
///
/// SQL given by the directive is inlined into the FROM clause of queries; a view given by name must exist in the
/// database.
enum ViewBuilder {
    static func view(_ type: DeclaredType, sink: inout DiagnosticSink) -> Table.View {
        func report(_ rule: Diagnostic.Rule, at range: FileRange, _ message: String, help: String? = nil) {
            sink.report(.error, rule: rule, at: range, message, help: help)
        }
        for field in type.fields {
            for name in ["default", "searchable", "index"] {
                guard let use = field.directive(name) else { continue }
                report(.view, at: use.range, "@\(name) is not allowed in a view")
            }
            if let use = field.directive("unique"), case .column = field.kind {
                report(
                    .view, at: use.range, "in a view, @unique is only allowed on a reference, to make it one-to-one")
            }
            if !field.isNullable {
                sink.report(
                    .warning, rule: .viewNullability, at: field.typeRange,
                    "\"\(field.name)\" may be null despite \"!\", which Postgres does not enforce in a view")
            }
        }
        if let use = type.directives.first {
            report(
                .view, at: use.range, "@\(use.name) is not supported on a view",
                help: "put it on the underlying tables")
        }
        guard let sql = type.table.string("sql") else { return .named }
        let sqlPlace = type.table.range(of: "sql")
        if type.table.value("name") != nil {
            report(.view, at: sqlPlace, "a view takes either \"name\" or \"sql\", not both")
        }
        do {
            let scan = try NativeSQLScanner.scan(sql)
            let words = ["SELECT", "TABLE", "VALUES", "WITH"]
            if !words.contains(scan.firstWord.uppercased()) {
                report(.view, at: sqlPlace, "the SQL of a view must begin with \(words.joined(separator: ", "))")
            }
            var text = ""
            for piece in scan.pieces {
                switch piece {
                case .text(let part): text += part
                case .parameter: report(.view, at: sqlPlace, "the SQL of a view cannot have parameters")
                }
            }
            return .sql(text)
        } catch {
            report(.view, at: sqlPlace, error.message)
            return .sql(sql)
        }
    }

    /// Marks the references that `@unique` makes one-to-one. The database has no such constraint.
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
