/// One statement of a migration.
package struct SQLStatement: Sendable, Hashable {
    /// Of an index or a foreign key: the same without holding up writers.
    package enum Concurrent: Sendable, Hashable {
        case build(ConcurrentBuild)
        /// One statement that does not run in a transaction.
        case alone(String)
        /// One after the other, each a transaction: none needs a table's lock for more than a moment. Where one fails on
        /// rows that are there, `unfit` says how things stand.
        case apart([String], unfit: String)
    }

    /// Without a semicolon at its end; no parameters.
    package let sql: String
    /// In the same transaction when all indexes are built: takes the lock of a table that readers wait for, too.
    package let exchangeSQL: String?
    /// What it does, for the operator: `add column movie.tagline`.
    package let summary: String
    /// Must be committed before the statements after it run: Postgres does not let a transaction use an enum value that
    /// it added itself.
    package let needsOwnTransaction: Bool
    package let concurrent: Concurrent?

    package init(
        _ sql: String, exchangeSQL: String? = nil, summary: String, needsOwnTransaction: Bool = false,
        concurrent: Concurrent? = nil
    ) {
        self.exchangeSQL = exchangeSQL
        self.concurrent = concurrent
        self.sql = sql
        self.summary = summary
        self.needsOwnTransaction = needsOwnTransaction
    }

    /// Of steps that share a transaction. Foreign keys come after the exchanges: what they refer to is what stays.
    package static func together(_ steps: [SQLStatement]) -> [String] {
        let built = (steps.lastIndex { $0.exchangeSQL != nil } ?? -1) + 1
        return steps[..<built].map(\.sql) + steps.compactMap(\.exchangeSQL) + steps[built...].map(\.sql)
    }

    /// For people: what is not built because it is there.
    package var concurrentNotes: [String] {
        if case .build(let build) = concurrent { build.notes } else { [] }
    }

    /// For people: what runs where others write meanwhile, as far as that can be told ahead.
    package var concurrentSQL: [String] {
        switch concurrent {
        case nil: Self.together([self])
        case .alone(let sql): [sql]
        case .apart(let statements, _): statements
        case .build(let build): build.planned
        }
    }
}
