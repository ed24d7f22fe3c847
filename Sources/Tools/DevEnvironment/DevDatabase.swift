package import Catalog
import Deployments
import Execution
package import Migrations
import Postgres
package import SchemaModel

extension SchemaDatabase {
    /// Prepares a private server for a project: migrates the schema, makes the folder current and, once, loads the
    /// seed. Opens and closes the pool.
    /// - Parameter report: receives a line for each change.
    /// - Returns: the id of a lot for examples, if the project is the sample.
    package func prepare(
        _ project: Project, _ catalog: Catalog, loadsSeed: Bool, report: @escaping @Sendable (String) -> Void
    ) async throws -> String? {
        let example: String?
        do {
            try await pool.start()
            let migrated = try await migrate(catalog.schema) { event in
                for line in event.lines { report(line) }
            }
            if !migrated.isEmpty { report("schema: \(migrated.count) changes made") }
            try await pool.script(ServiceSchema.sql)
            for line in try await ChangePublications.publish(catalog.captured, pool) { report(line) }
            try await HotReload.adopt(project, in: self)
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
        return example
    }

    private func sampleLot(_ catalog: Catalog) async throws -> String? {
        guard catalog.connectors["auctions"]?.operations["ListLots"] != nil else { return nil }
        let found = try await pool.query(
            "SELECT id FROM lot WHERE category = 'Books' AND open ORDER BY closes_at LIMIT 1")
        return found.rows.first?.string(0)
    }
}
