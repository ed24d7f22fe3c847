import Postgres
package import SchemaMigration

/// Existing rows do not fit a new constraint.
package struct ConstraintViolated: Error, CustomStringConvertible {
    let cause: PostgresError
    /// The resulting state of the database.
    let state: String

    package var description: String { "\(cause.sentence): \(state)" }
}

/// Changes that would lose or reinterpret data, or that the database's state rules out.
package struct MigrationRefused: Error, CustomStringConvertible {
    package let findings: [MigrationPlan.Finding]
    /// Existing rows that stand in the way, one text for each.
    let rows: [String]

    package init(findings: [MigrationPlan.Finding], rows: [String] = []) {
        self.findings = findings
        self.rows = rows
    }

    package var description: String {
        let forceable = findings.count { $0.permission.contains(.rewrites) }
        let help = forceable == findings.count ? "all of them" : "\(forceable) of \(findings.count)"
        let command = findings.contains(where: \.isBuilt) ? "--force --concurrently" : "--force"
        return "migration refused:\n"
            + (findings.map { "  " + $0.text } + rows.map { "  " + $0 }).joined(separator: "\n")
            + (forceable == 0
                ? "" : "\nrun freshet migrate \(command) to make \(help); add --dry-run to see what may be lost")
    }
}

/// Other transactions held a table's lock during every attempt.
package struct TableNotFree: Error, CustomStringConvertible {
    let totalMs: Int
    let setting: String
    let isDeadlock: Bool

    package var description: String {
        "a table could not be locked within \(totalMs) ms (\(setting)): "
            + (isDeadlock ? "deadlocks with other transactions" : "a long transaction") + ", see pg_stat_activity;"
            + " run the command again to continue"
    }
}

/// An index that could not be built while others write. The next run continues with the finished parts.
package struct IndexUnfinished: Error, CustomStringConvertible {
    let summary: String
    let reason: String

    package var description: String { "\(summary): \(reason); run freshet migrate again to continue" }
}

/// Another migration did not end in time.
package struct MigrationUnderWay: Error, CustomStringConvertible {
    let waitMs: Int
    let holder: String

    package var description: String {
        "another migration was under way for \(waitMs) ms (migrate.waitMs): \(holder); nothing was changed"
    }
}
