package import Catalog
import Deployments
import Execution
package import Migrations
package import Operations
import Postgres
package import SchemaModel

extension SchemaDatabase {
    /// Prepares a private server for a project: migrates the schema, makes the folder current and, once, loads the
    /// seed. Asks it what the project's SQL reads and writes. Opens and closes the pool.
    /// - Parameter report: receives a line for each change.
    /// - Returns: the project with what the database says of it, and the id of a lot for examples, if it is the sample.
    package func prepare(
        _ project: Project, _ catalog: Catalog, _ options: CatalogOptions, loadsSeed: Bool,
        report: @escaping @Sendable (String) -> Void
    ) async throws -> (project: InspectedProject, example: String?) {
        let inspected: InspectedProject
        let example: String?
        do {
            try await pool.start()
            let migrated = try await migrate(catalog.schema) { event in
                for line in event.lines { report(line) }
            }
            if !migrated.isEmpty { report("schema: \(migrated.count) changes made") }
            try await pool.script(ServiceSchema.sql)
            inspected = try await InspectedProject(project, catalog, options: options, pool)
            for line in try await ChangePublications.publish(inspected.catalog.captured, pool) { report(line) }
            try await HotReload.adopt(inspected.project, in: self)
            if let seed = project.seedSQL, loadsSeed, try await isEmpty(catalog.schema) {
                try await pool.script(seed)
                report("seed.sql loaded")
            }
            example = try await sampleLot(catalog)
        } catch {
            await pool.stop()
            throw error
        }
        await pool.stop()
        return (inspected, example)
    }

    private func sampleLot(_ catalog: Catalog) async throws -> String? {
        guard catalog.connectors["auctions"]?.operations["ListLots"] != nil else { return nil }
        let found = try await pool.query(
            "SELECT id FROM lot WHERE category = 'Books' AND open ORDER BY closes_at LIMIT 1")
        return found.rows.first?.string(0)
    }
}
