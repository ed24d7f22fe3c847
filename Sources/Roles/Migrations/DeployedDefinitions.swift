import DeploymentPlan
import Execution
import Postgres
import SchemaModel

/// Compares the definitions that the deployed version relies on with the database (`freshet check --database`).
enum DeployedDefinitions {
    static func diagnostics(_ pool: PostgresPool) async throws -> [Diagnostic] {
        let exists = try await pool.query("SELECT to_regclass('freshet.deployments') IS NOT NULL")
        guard exists.rows.first?.bool(0) == true else { return [] }
        let stored = try await pool.query(
            """
            SELECT project FROM freshet.deployments WHERE origin = 'deploy' AND active_at IS NOT NULL
            ORDER BY active_at DESC LIMIT 1
            """
        ).rows.first?.string(0)
        guard let stored, let archive = try? ProjectArchive(parsing: stored) else { return [] }
        let known = archive.project.sqlReads.definitions
            .merging(archive.project.sqlWrites.definitions, uniquingKeysWith: SQLDigests.common)
        return SQLDefinitions.names(of: try await SQLDefinitions.changed(since: known, pool)).map { name in
            Diagnostic(
                severity: .warning, rule: .refreshSQL,
                message: "\(name) changed after the deployment that relies on its definition",
                file: "(project)", line: 0, column: 0,
                help: "deploy again; until then queries that rely on it refresh at intervals (worker.definitionsMs)")
        }
    }
}
