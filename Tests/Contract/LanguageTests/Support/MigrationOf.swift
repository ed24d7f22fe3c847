import Catalog
import Execution
import Migrations
import Postgres
import SchemaMigration
import SchemaModel

/// Migrations of a database to a schema's types.
enum MigrationOf {
    static func schema(_ types: String) throws -> Schema {
        try Catalog.compile(
            Project(
                serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: types)],
                connectors: [
                    ConnectorSource(id: "main", files: [SourceFile(path: "q.gql", text: "query Q { __typename }")])
                ])
        ).schema
    }

    static func plan(
        _ schema: Schema, _ pool: PostgresPool, _ permissions: Migration.Permissions = []
    ) async throws -> MigrationPlan {
        Migration.plan(schema, existing: try await pool.databaseDescription(), allowing: permissions)
    }
}
