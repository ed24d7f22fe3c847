package import Catalog
package import Inspection
package import JSON
package import LiveModel
import Postgres
import QuerySQL

extension QueryExecutor {
    /// Returns the plan of a query's statement for one request, from the primary.
    ///
    /// Nothing is run unless `isMeasured`: then the statement runs once, in a transaction that is read-only and rolled
    /// back.
    /// - Parameter limitMs: the statement timeout.
    /// - Throws: `.badRequest` for a mutation; the database's error.
    package func plan(
        _ operation: StoredOperation, variables: JSONObject, auth: Auth?, isMeasured: Bool, limitMs: Int
    ) async throws(RequestError) -> (report: PlanReport, sql: String) {
        let embeddings = try await embeddings.embeddings(for: operation, variables)
        let call = try operation.queryCall(
            variables: variables, auth: auth, nowMs: clock.nowMs(), embeddings: embeddings)
        let sql = call.statement.single
        let options = isMeasured ? "ANALYZE, BUFFERS, FORMAT JSON" : "FORMAT JSON"
        let parameters = call.parameters.map { Parameter($0) }
        do {
            let report = try await pool.withSession { session in
                _ = try await session.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY")
                _ = try await session.execute(Statement("SET LOCAL statement_timeout = \(limitMs)"))
                let rows = try await session.execute(
                    Statement("EXPLAIN (\(options)) \(sql)"), parameters, timeoutMs: limitMs + Self.planGraceMs)
                let text = rows.rows.first?.string(0) ?? ""
                guard let explained = try? JSONValue(parsing: Array(text.utf8)) else {
                    throw RequestError(.internalError, "the database gave no plan")
                }
                let tables = PlanReport.wholeTables(explained).sorted()
                let sizes = try await session.execute(
                    """
                    SELECT c.relname::text, sum(greatest(c.reltuples, 0))::float8 FROM pg_class c \
                    WHERE c.relname = ANY(string_to_array($1::text, E'\\n')) AND c.relkind IN ('r', 'm', 'p') \
                    AND pg_table_is_visible(c.oid) GROUP BY 1
                    """, [.text(tables.joined(separator: "\n"))])
                try await session.rollback()
                var tableRows: [String: Double] = [:]
                for row in sizes.rows { tableRows[row.string(0) ?? ""] = row.string(1).flatMap(Double.init) }
                return PlanReport(explained, tableRows: tableRows)
            }
            return (report, sql)
        } catch let error as RequestError {
            throw error
        } catch let error as PostgresError {
            throw RequestError(error)
        } catch {
            throw RequestError(.unavailable, "\(error)")
        }
    }

    /// The time that an answer may take beyond the statement timeout.
    private static let planGraceMs = 1_000
}
