package import Postgres
package import SchemaMigration

extension PostgresPool {
    /// Reads the tables and enums of the database, for comparison with a schema.
    /// - Throws: `PostgresError`; `DatabaseDescription.FormatError`.
    package func databaseDescription() async throws -> DatabaseDescription {
        let result = try await query(Statement(CatalogQuery.sql()))
        return try DatabaseDescription(parsing: result.rows.first?.string(0) ?? "")
    }
}
