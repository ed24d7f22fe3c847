package import Catalog
import LiveModel
package import Operations
package import Postgres
package import SchemaModel

/// A project whose SQL texts a database has explained.
package struct InspectedProject: Sendable {
    package let project: Project
    /// Compiled from `project`.
    package let catalog: Catalog
    /// Why the other texts may read anything, as part of a sentence.
    package let refusals: [String: String]

    /// Asks the database about the SQL texts of queries that refresh by themselves.
    /// - Parameter catalog: compiled from `project`, with the same options.
    /// - Throws: `PostgresError`; `CatalogError`, which the project had without findings, too.
    package init(
        _ project: Project, _ catalog: Catalog, options: CatalogOptions, _ pool: PostgresPool
    ) async throws {
        let (reads, refusals) = try await SQLInspector.inspect(catalog.sqlTexts.map(\.text), catalog.schema, pool)
        var project = project
        let isAsBefore = project.sqlReads == reads
        project.sqlReads = reads
        self.project = project
        self.refusals = refusals
        self.catalog = isAsBefore ? catalog : try Catalog.compile(project, options: options)
    }

    /// A warning for each query that any change refreshes, because of what its SQL text may read.
    package var diagnostics: [Diagnostic] {
        let locations = OperationLocations(project)
        return catalog.sqlTexts.flatMap { text, readers in
            guard let reason = refusals[text] else { return [Diagnostic]() }
            return readers.map { query in
                locations.diagnostic(
                    query, .warning, .refreshSQL,
                    "any change of any row refreshes \"\(query.operation)\", because of its SQL: \(reason)")
            }
        }
    }
}

extension SchemaDatabase {
    /// Asks the database about a project's SQL texts. Opens and closes the pool.
    package func inspected(
        _ project: Project, _ catalog: Catalog, options: CatalogOptions
    ) async throws -> InspectedProject {
        do {
            try await pool.start()
            let inspected = try await InspectedProject(project, catalog, options: options, pool)
            await pool.stop()
            return inspected
        } catch {
            await pool.stop()
            throw error
        }
    }
}
