package import Catalog
package import Postgres

extension PostgresPool {
    /// The tables and enums of the database, to be compared with a schema.
    /// - Throws: `PostgresError`; `DatabaseDescription.FormatError`.
    package func databaseDescription() async throws -> DatabaseDescription {
        // It costs milliseconds, and by its estimated costs Postgres would compile it first, for seconds.
        let results = try await transaction([
            ("SET LOCAL jit = off", []), (Statement(Migration.introspectionSQL()), []),
        ])
        return try DatabaseDescription(parsing: results.last?.rows.first?.string(0) ?? "")
    }
}
