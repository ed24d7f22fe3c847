package import Postgres
package import SchemaMigration
package import SchemaModel

/// Names the rows that stand in a migration's way, a few of each kind.
extension SchemaDatabase {
    /// Returns the error for a plan with refused changes.
    package func refused(_ plan: MigrationPlan, _ schema: Schema) async -> MigrationRefused {
        var rows: [String] = []
        for finding in plan.refused where finding.mayHaveNulls {
            guard let column = finding.part,
                let sql = UnfitRows.withNull(in: column, of: finding.object, schema)
            else { continue }
            rows += await names(sql).map { "\(finding.object).\(column) is null in the row \($0)" }
        }
        return MigrationRefused(findings: plan.refused, rows: rows)
    }

    /// Returns the error for a failed step: with the rows that violate its constraint, if they did.
    func unfit(_ error: PostgresError, _ schema: Schema) async -> any Error {
        guard let table = error.table else { return error }
        var rows: [String] = []
        if error.isUniqueViolation, let constraint = error.constraint,
            let sql = UnfitRows.alike(by: constraint, of: table, schema)
        {
            rows = await names(sql)
        } else if error.isNotNullViolation, let column = error.column,
            let sql = UnfitRows.withNull(in: column, of: table, schema)
        {
            rows = await names(sql)
        }
        guard !rows.isEmpty else { return error }
        return ConstraintViolated(cause: error, state: "in \(table), change first: \(rows.joined(separator: "; "))")
    }

    /// Best effort: the error that is being reported matters more.
    private func names(_ sql: String) async -> [String] {
        let found = try? await pool.query(Statement(sql))
        return found?.rows.compactMap { $0.string(0) } ?? []
    }
}
