package import Catalog
import JSON
import LiveModel
import Logging
package import Operations
import Postgres
import QuerySQL
package import SchemaModel

/// Finds queries whose refreshes read whole tables (`freshet check --database`): Postgres plans the statement of every
/// refreshed query for unknown values, and each large table that the plan scans entirely yields a warning,
/// `sequential-scan`. `ChangeLint` adds what concerns changes of rows.
package enum DatabaseLint {
    /// The number of rows below which scanning a whole table is appropriate.
    static let rowsMin = 1_000.0

    /// - Returns: the warnings, and the catalog with what the database says of native SQL and views.
    package static func findings(
        _ catalog: Catalog, _ project: Project, options: CatalogOptions, url: String
    ) async throws -> (diagnostics: [Diagnostic], catalog: Catalog) {
        let database = SchemaDatabase(url: url, logger: Logger(label: "freshet.check"))
        try await database.pool.start()
        do {
            let inspected = try await InspectedProject(project, catalog, options: options, database.pool)
            var found = inspected.diagnostics
            found += try await DeployedDefinitions.diagnostics(database.pool)
            found += try await diagnostics(inspected.catalog, project, database.pool)
            await database.pool.stop()
            return (found, inspected.catalog)
        } catch {
            await database.pool.stop()
            throw error
        }
    }

    private static func diagnostics(
        _ catalog: Catalog, _ project: Project, _ pool: PostgresPool
    ) async throws -> [Diagnostic] {
        let locations = OperationLocations(project)
        let queries = catalog.connectors.values.flatMap(\.operations.values)
            .filter { $0.kind == .query && $0.isRefreshed }.sorted { $0.reference < $1.reference }
        return try await pool.withSession { session in
            // Postgres uses this plan for a prepared statement that runs often.
            _ = try await session.execute("SET plan_cache_mode = force_generic_plan")
            var diagnostics: [Diagnostic] = []
            for query in queries {
                guard let explained = query.statement(variables: query.sampleVariables(of: catalog.schema)) else {
                    continue
                }
                try await session.script("PREPARE freshet_lint AS \(explained.statement.single)")
                let nulls = explained.parameters.map { _ in "NULL" }.joined(separator: ", ")
                let arguments = nulls.isEmpty ? "" : "(\(nulls))"
                let rows = try await session.execute(
                    Statement("EXPLAIN (FORMAT JSON) EXECUTE freshet_lint\(arguments)"))
                try await session.script("DEALLOCATE freshet_lint")
                guard let text = rows.rows.first?.string(0), let plan = try? JSONParser.parse(Array(text.utf8)) else {
                    continue
                }
                for table in scanned(plan) {
                    let size = try await session.execute(
                        Statement("SELECT reltuples::float8 FROM pg_class WHERE oid = to_regclass($1::text)"),
                        [.text(SQLName.quoted(table.name))])
                    let count = size.rows.first?.string(0).flatMap(Double.init) ?? 0
                    guard count >= rowsMin else { continue }
                    diagnostics.append(
                        locations.diagnostic(
                            query.reference, .warning, .sequentialScan,
                            "each refresh of \"\(query.reference.operation)\" reads all \(Int(count)) rows of"
                                + " \(table.name)",
                            help: table.filter.map { "an index could serve \($0)" }))
                }
            }
            return diagnostics + (try await ChangeLint.diagnostics(catalog, locations, session))
        }
    }

    /// Returns the tables that a plan scans entirely to find some rows, without duplicates.
    private static func scanned(_ plan: JSONValue) -> [(name: String, filter: String?)] {
        var found: [(name: String, filter: String?)] = []
        func visit(_ value: JSONValue) {
            if let elements = value.arrayValue { for element in elements { visit(element) } }
            guard let object = value.objectValue else { return }
            if object["Node Type"]?.stringValue == "Seq Scan", let filter = object["Filter"]?.stringValue,
                let name = object["Relation Name"]?.stringValue, !found.contains(where: { $0.name == name })
            {
                found.append((name, filter))
            }
            for entry in object.entries where entry.key == "Plan" || entry.key == "Plans" { visit(entry.value) }
        }
        visit(plan)
        return found
    }
}
