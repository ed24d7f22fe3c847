import Catalog
import Deployments
import Execution
import Logging
import Migrations
import Postgres
import SchemaMigration
import SchemaModel

/// Keeps a node from serving a schema that the database does not have.
struct SchemaGate {
    /// The most findings in the log.
    private static let findingsMax = 50
    /// The most missing names in one line.
    private static let missingMax = 8
    /// The pause between two checks of an incomplete database.
    private static let retryMs = 1_000

    let pool: PostgresPool
    let catalogs: ServedCatalogs
    let deployments: DeploymentWatch?

    /// Waits until the database has every table and column of the served schema: a rollout that precedes its `freshet
    /// migrate` halts at the first node and continues by itself. Other differences (an index, a default, an additional
    /// column) are logged and do not keep a node from serving.
    func pass(_ node: NodeContext, _ gate: StartupGate) async throws(NodeError) {
        let plan = try await gate.until("Postgres") { withinMs -> StartupGate.Attempt<MigrationPlan> in
            do {
                let plan = Migration.plan(
                    catalogs.set.current.catalog.schema, existing: try await pool.databaseDescription())
                if plan.missing.isEmpty { return .done(plan) }
                try? await Task.sleep(for: .milliseconds(min(Self.retryMs, withinMs)))
                await deployments?.poll()
                return .away(Self.lack(plan.missing))
            } catch let error as PostgresError {
                return error.isTransient ? .away(error.sentence) : .refused(error.sentence)
            } catch {
                return .refused("the description of the database cannot be read: \(error)")
            }
        }
        if node.isDevelopment { return }
        for finding in plan.findings.prefix(Self.findingsMax) {
            node.logger.log(
                level: finding.isHarmful ? .warning : .info, "the database differs from the schema",
                metadata: ["finding": "\(finding.text)"])
        }
    }

    private static func lack(_ missing: [String]) -> String {
        let more = missing.count > missingMax ? " and \(missing.count - missingMax) more" : ""
        return "the database lacks \(missing.prefix(missingMax).joined(separator: ", "))\(more): run freshet migrate"
    }
}
