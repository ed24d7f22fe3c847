/// One statement of a migration.
package struct SQLStatement: Sendable, Hashable {
    /// Without a semicolon at its end; no parameters.
    package let sql: String
    /// What it does, for the operator: `add column movie.tagline`.
    package let summary: String
    /// Must be committed before the statements after it run: Postgres does not let a transaction use an enum value that
    /// it added itself.
    package let needsOwnTransaction: Bool

    package init(_ sql: String, summary: String, needsOwnTransaction: Bool = false) {
        self.sql = sql
        self.summary = summary
        self.needsOwnTransaction = needsOwnTransaction
    }
}
