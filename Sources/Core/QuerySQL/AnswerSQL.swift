/// The SQL by which a transaction keeps its own answer, for mutations with an idempotency key whose steps are sent at
/// once: nobody knows the results before the last step.
///
/// Each step adds its result to a setting of the transaction, as `RowImages` does with changes of rows, and the last
/// step reads it. Where a statement has common table expressions that write, its own `SELECT` becomes one more of them,
/// because Postgres allows such expressions only at the top level:
///
///     WITH w AS (INSERT INTO "novel" AS t1 (…) VALUES (…) RETURNING …),
///         kept (answer) AS (SELECT row_to_json(w.*)::text FROM w)
///     SELECT kept.*, (set_config('freshet.answer', … || $3::text || coalesce(kept.answer, 'null'), true) IS NULL)
///     FROM (SELECT) one LEFT JOIN kept ON TRUE
///
/// Each member begins with a comma: `,"title":"Emma"`.
package enum AnswerSQL {
    private static let stored = "coalesce(current_setting('freshet.answer', true), '')"

    /// The JSON text of the answer's `data`, after the last step.
    package static let data = "'{' || substr(\(stored), 2) || '}'"

    /// - Parameter member: the number of the parameter that begins the member: `,"title":`.
    static func storing(_ statement: MutationStatement, member: Int) -> String {
        let sql = statement.sql.utf8
        let split = sql.index(sql.startIndex, offsetBy: statement.resultOffset ?? 0)
        // Without expressions that write the whole statement is one, even if it writes itself.
        let before = statement.resultOffset == nil ? "WITH " : "\(String(sql[..<split]) ?? ""), "
        let result = String(sql[split...]) ?? ""
        // A set value is never null; comparing it keeps the text on the server.
        return "\(before)kept (answer) AS (\(result)) SELECT kept.*, (set_config('freshet.answer', \(stored)"
            + " || $\(member)::text || coalesce(kept.answer, 'null'), true) IS NULL)"
            + " FROM (SELECT) one LEFT JOIN kept ON TRUE"
    }
}
