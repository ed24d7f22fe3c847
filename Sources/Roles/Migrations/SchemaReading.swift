package import Postgres
package import SchemaMigration

extension PostgresPool {
    /// Reads the schema of an existing database in the language of schemas; nothing is changed.
    /// - Throws: `PostgresError`; `DatabaseDescription.FormatError`.
    package func schemaImport() async throws -> SchemaImport {
        let database = try await databaseDescription()
        let rows = try await query(Statement(ViewDescription.sql())).rows.map { row in
            (view: row.string(0) ?? "", column: row.string(1) ?? "", type: row.string(2) ?? "")
        }
        var views: [ViewDescription] = []
        for name in Set(rows.map(\.view)).sorted() {
            let columns = rows.filter { $0.view == name }
            views.append(ViewDescription(name: name, columns: columns.map(\.column), types: columns.map(\.type)))
        }
        return SchemaImport(database, views: views)
    }
}
