import Catalog
import Deployments
import Execution
import Logging
import Postgres
import SchemaMigration
import SchemaModel

/// The database against what is served.
extension ServiceNode {
    /// Findings in the log.
    private static let findingsMax = 50
    /// Names in one line.
    private static let missingMax = 8
    /// Between looks at a database that lacks something.
    private static let lookAgainMs = 1_000

    /// Waits until the database has every table and column of the schema that is served, so that a rollout that came
    /// before its `freshet migrate` halts at the first node and goes on by itself. What else is different is told in the
    /// log and does not keep a node from serving: an index, a default, a column that the schema does not have.
    func awaitSchema(
        _ pool: PostgresPool, _ catalogs: ServedCatalogs, _ deployments: DeploymentWatch?, _ wait: StartupGate
    ) async throws(NodeError) {
        let plan = try await wait.until("Postgres") { withinMs -> StartupGate.Attempt<MigrationPlan> in
            do {
                let plan = try await self.plan(catalogs.set.current.catalog.schema, pool)
                if plan.missing.isEmpty { return .done(plan) }
                try? await Task.sleep(for: .milliseconds(min(Self.lookAgainMs, withinMs)))
                await deployments?.poll()
                return .away(Self.lack(plan.missing))
            } catch let error as PostgresError {
                return error.isRetryable || error.isOutcomeUnknown ? .away(error.sentence) : .refused(error.sentence)
            } catch {
                return .refused("the description of the database cannot be read: \(error)")
            }
        }
        if isDevelopment { return }
        for finding in plan.findings.prefix(Self.findingsMax) {
            logger.log(
                level: finding.isHarmful ? .warning : .info, "the database is not as the schema says",
                metadata: ["finding": "\(finding.text)"])
        }
    }

    private func plan(_ schema: Schema, _ pool: PostgresPool) async throws -> MigrationPlan {
        Migration.plan(schema, existing: try await pool.databaseDescription())
    }

    private static func lack(_ missing: [String]) -> String {
        let more = missing.count > missingMax ? " and \(missing.count - missingMax) more" : ""
        return "the database lacks \(missing.prefix(missingMax).joined(separator: ", "))\(more): run freshet migrate"
    }
}
