/// One statement of a migration.
package struct SQLStatement: Sendable, Hashable {
    /// Without a semicolon at its end; no parameters.
    package let sql: String
    /// What it does, for the operator: `add column movie.tagline`.
    package let summary: String
    /// Must be committed before the statements after it run: Postgres does not let a transaction use an enum value that
    /// it added itself.
    package let needsOwnTransaction: Bool
    /// Of an index: the same without holding up writers, one after the other, outside of any transaction. A run that
    /// breaks off leaves an index that serves nothing, which the next plan removes.
    package let concurrentSQL: [String]?

    package init(
        _ sql: String, summary: String, needsOwnTransaction: Bool = false, concurrentSQL: [String]? = nil
    ) {
        self.concurrentSQL = concurrentSQL
        self.sql = sql
        self.summary = summary
        self.needsOwnTransaction = needsOwnTransaction
    }
}
