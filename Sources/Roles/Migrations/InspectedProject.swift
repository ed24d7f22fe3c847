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
    /// Why the other texts of mutations may write anything, as part of a sentence.
    package let writeRefusals: [String: String]

    /// Asks the database about the SQL texts of queries that refresh by themselves, and of mutations if there are any.
    /// - Parameter catalog: compiled from `project`, with the same options.
    /// - Throws: `PostgresError`; `CatalogError`, which the project had without findings, too.
    package init(
        _ project: Project, _ catalog: Catalog, options: CatalogOptions, _ pool: PostgresPool
    ) async throws {
        let found = try await SQLInspector.inspect(
            catalog.sqlTexts.map(\.text), written: catalog.sqlWriteTexts.map(\.text), catalog.schema, pool)
        var project = project
        let isAsBefore = project.sqlReads == found.reads && project.sqlWrites == found.writes
        (project.sqlReads, project.sqlWrites) = (found.reads, found.writes)
        self.project = project
        (refusals, writeRefusals) = (found.readRefusals, found.writeRefusals)
        self.catalog = isAsBefore ? catalog : try Catalog.compile(project, options: options)
    }

    /// A warning for each query that any change refreshes, because of what its SQL text may read, and for each mutation
    /// that refreshes all queries, because of what its text may write.
    package var diagnostics: [Diagnostic] {
        let locations = OperationLocations(project)
        func warnings(
            _ texts: [(text: String, operations: [OperationReference])], _ refusals: [String: String],
            _ consequence: (String) -> String
        ) -> [Diagnostic] {
            texts.flatMap { text, operations in
                guard let reason = refusals[text] else { return [Diagnostic]() }
                return operations.map { operation in
                    locations.diagnostic(
                        operation, .warning, .refreshSQL,
                        "\(consequence(operation.operation)), because of its SQL: \(reason)")
                }
            }
        }
        return warnings(catalog.sqlTexts, refusals) { "any change of any row refreshes \"\($0)\"" }
            + warnings(catalog.sqlWriteTexts, writeRefusals) {
                "\"\($0)\" refreshes every query that refreshes by itself"
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
