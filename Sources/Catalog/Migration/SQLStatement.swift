/// One statement of a migration.
package struct SQLStatement: Sendable, Hashable {
    /// Without a semicolon at its end; no parameters.
    package let sql: String
    /// What it does, for the operator: `add column movie.tagline`.
    package let summary: String
    /// Must be committed before the statements after it run: Postgres does not let a transaction use an enum value that
    /// it added itself.
    package let needsOwnTransaction: Bool
    /// Of an index: the same without holding up writers.
    package let concurrent: ConcurrentBuild?

    package init(
        _ sql: String, summary: String, needsOwnTransaction: Bool = false, concurrent: ConcurrentBuild? = nil
    ) {
        self.concurrent = concurrent
        self.sql = sql
        self.summary = summary
        self.needsOwnTransaction = needsOwnTransaction
    }
}

/// How an index is built while others write. A run that breaks off leaves what serves nothing, which the next plan
/// removes.
package struct ConcurrentBuild: Sendable, Hashable {
    /// Take long and hold up nobody; one after the other, outside of any transaction.
    package let parts: [String]
    /// Puts the parts together. Takes locks that writers queue up behind, and is done at once when it has them: it must
    /// not wait for them long.
    package let whole: String?
    package let index: QualifiedName
    package let table: QualifiedName

    /// Returns one row with one boolean: whether the index serves its table.
    package var checkSQL: String {
        "SELECT count(*) > 0 FROM pg_catalog.pg_index i"
            + " WHERE i.indisvalid AND i.indexrelid = pg_catalog.to_regclass(\(SQLName.literal(index.quoted)))"
            + " AND i.indrelid = pg_catalog.to_regclass(\(SQLName.literal(table.quoted)))"
    }
}
