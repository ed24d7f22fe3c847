package import SchemaModel

/// From a schema to DDL.
///
/// `create` builds everything on an empty database and does nothing on one that has it. `plan` compares with what a
/// database has and by itself only ever adds: what would lose or reinterpret data is refused and explained, what the
/// database has beyond the schema is left alone and listed. Both are done where the caller allows them, and the plan
/// says what may be lost.
///
/// Concurrency is the caller's: hold one advisory lock from reading the description to the last statement.
package enum Migration {
    /// All statements, in an order that works with cycles of references: types, tables, indexes, foreign keys. May run in
    /// one transaction.
    package static func create(_ schema: Schema, in namespace: String = "public") -> [SQLStatement] {
        let sql = DefinitionSQL(schema: schema, namespace: namespace)
        var statements: [SQLStatement] = []
        if namespace != "public" {
            statements.append(
                SQLStatement(
                    "CREATE SCHEMA IF NOT EXISTS \(SQLName.quoted(namespace))", summary: "create schema \(namespace)"))
        }
        if schema.usesVectors { statements.append(sql.createVectorExtension) }
        statements += schema.enums.values.sorted { $0.name < $1.name }.map(sql.createEnum)
        statements += schema.tables.map(sql.createTable)
        for table in schema.tables { statements += table.uniques.map { sql.createUnique($0, of: table) } }
        for table in schema.tables { statements += table.indexes.map { sql.createIndex($0, of: table) } }
        statements += schema.tables.compactMap { sql.createSearchIndex(of: $0) }
        for table in schema.tables {
            statements += table.references.compactMap { sql.addForeignKey($0, of: table) }
        }
        return statements
    }

    /// What else than additions a plan may contain.
    package struct Permissions: OptionSet, Sendable, Hashable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }
        /// Rewriting tables, and what fails on rows that exist: other types, NOT NULL, other definitions of indexes.
        package static let rewrites = Permissions(rawValue: 1)
        /// Dropping tables, columns and enums that the schema does not have.
        package static let drops = Permissions(rawValue: 2)
        /// The steps are run as `SQLStatement.concurrent` says, and what no operation waits for is done, too: it would
        /// hold up others, or fail on rows that were left on purpose.
        package static let concurrent = Permissions(rawValue: 4)
    }

    /// What is to be done so that a database serves the schema.
    package static func plan(
        _ schema: Schema, existing: DatabaseDescription, in namespace: String = "public",
        allowing permissions: Permissions = []
    ) -> MigrationPlan {
        var planner = MigrationPlanner(
            schema: schema, existing: existing, namespace: namespace, permissions: permissions)
        return planner.plan()
    }
}

/// What `Migration.plan` found.
package struct MigrationPlan: Sendable {
    /// Something in the database that the plan leaves as it is.
    package struct Finding: Sendable, Hashable {
        /// SQL name of the table or enum.
        package let object: String
        /// SQL name of the column, index or constraint, if it is about one.
        package let part: String?
        /// One sentence for the operator.
        package let message: String
        /// What could be run by hand, if there is something.
        package let suggestion: String?
        /// Operations over the schema fail as long as it is so.
        package var isHarmful = false
        /// It is done when it is allowed.
        package var permission: Migration.Permissions = []
        /// The index that it waits for is there already; what is done concurrently takes it.
        package var isBuilt = false
    }

    /// What a step that had to be allowed may lose.
    package struct Loss: Sendable, Hashable {
        /// `movie.year`, `movie`.
        package let object: String
        /// One sentence for the operator.
        package let message: String
        /// Gives the number of rows that it concerns; nil: it concerns none.
        package let countSQL: String?
    }

    /// To be run in order; each does nothing when its work is done already.
    package var steps: [SQLStatement] = []
    /// What the steps may lose; empty unless something was allowed.
    package var losses: [Loss] = []
    /// Changes of the schema that cannot be made without losing or reinterpreting data. The schema does not fit the
    /// database while there are any.
    package var refused: [Finding] = []
    /// What the database has and the schema does not. Harmless, unless the message says otherwise.
    package var drift: [Finding] = []
    /// What operations of the schema read and the database does not have: `table "movie"`. They fail until it is there,
    /// while everything else that is found lets most of them work.
    package var missing: [String] = []

    /// For whoever migrates: drift by which operations fail, or which `--concurrently` mends.
    package var told: [Finding] {
        drift.filter { $0.isHarmful || $0.permission.contains(.concurrent) }
    }

    /// The database is exactly as the schema wants it, extras aside.
    package var isUpToDate: Bool { steps.isEmpty && refused.isEmpty }

    /// All that was found, in sentences, those first by which operations may fail.
    package var findings: [(text: String, isHarmful: Bool)] {
        refused.map { ($0.text, true) }
            + steps.map { ("not done yet: \($0.summary) (freshet migrate)", true) }
            + drift.filter(\.isHarmful).map { ($0.text, true) }
            + drift.filter { !$0.isHarmful }.map { ($0.text, false) }
    }
}

extension MigrationPlan.Finding {
    /// For people: what, and what could be done by hand.
    package var text: String {
        "\(object)\(part.map { "." + $0 } ?? ""): \(message)" + (suggestion.map { "\n    by hand: \($0)" } ?? "")
    }
}
