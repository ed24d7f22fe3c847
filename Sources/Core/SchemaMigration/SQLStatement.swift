/// A statement of a migration.
package struct SQLStatement: Sendable, Hashable {
    /// A variant of an index or foreign key statement that does not block writers.
    package enum Concurrent: Sendable, Hashable {
        case build(ConcurrentBuild)
        /// A statement that must run outside a transaction.
        case alone(String)
        /// Statements that run in separate transactions, none of which locks a table for more than a moment. If one
        /// fails on existing rows, `unfit` describes the resulting state.
        case apart([String], unfit: String)
    }

    /// The statement, without a trailing semicolon and without parameters.
    package let sql: String
    /// Runs in the same transaction after all indexes are built, and takes a table lock that also blocks readers.
    package let exchangeSQL: String?
    /// A summary for the operator: `add column novel.tagline`.
    package let summary: String
    /// Whether it must be committed before the following statements: Postgres does not let a transaction use an enum
    /// value that it added.
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

    /// Returns the statements of steps that share a transaction. Foreign keys come after the exchanges, so that they
    /// depend on the remaining indexes.
    package static func together(_ steps: [SQLStatement]) -> [String] {
        let built = (steps.lastIndex { $0.exchangeSQL != nil } ?? -1) + 1
        return steps[..<built].map(\.sql) + steps.compactMap(\.exchangeSQL) + steps[built...].map(\.sql)
    }

    /// Sentences for display about indexes that are not built because they exist.
    package var concurrentNotes: [String] {
        if case .build(let build) = concurrent { build.notes } else { [] }
    }

    /// The statements of the concurrent variant as far as known in advance, for display.
    package var concurrentSQL: [String] {
        switch concurrent {
        case nil: Self.together([self])
        case .alone(let sql): [sql]
        case .apart(let statements, _): statements
        case .build(let build): build.planned
        }
    }
}
