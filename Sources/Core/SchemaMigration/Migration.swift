package import SchemaModel

/// Creates or migrates the database objects of a schema.
///
/// `create` builds everything in an empty database and has no effect if it exists. `plan` compares the schema with a
/// database and by default only adds: it refuses and explains changes that would lose or reinterpret data, and keeps
/// and lists additional objects. Permissions allow both; the plan then states what may be lost.
///
/// The caller must hold an advisory lock from reading the description to the last statement.
package enum Migration {
    /// Returns all statements in an order that works with cyclic references: types, tables, indexes, foreign keys. They
    /// may run in one transaction.
    package static func create(_ schema: Schema, in namespace: String = "public") -> [SQLStatement] {
        let sql = DefinitionSQL(schema: schema, namespace: namespace)
        var statements: [SQLStatement] = []
        if namespace != "public" {
            statements.append(
                SQLStatement(
                    "CREATE SCHEMA IF NOT EXISTS \(SQLName.quoted(namespace))", summary: "create schema \(namespace)"))
        }
        statements += schema.extensions.sorted().map(sql.createExtension)
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

    /// Kinds of steps that a plan may contain besides those that add objects.
    package struct Permissions: OptionSet, Sendable, Hashable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }
        /// Rewriting tables, and changes that existing rows may violate: other types, NOT NULL, other definitions of
        /// indexes.
        package static let rewrites = Permissions(rawValue: 1)
        /// Dropping tables, columns and enums that the schema lacks.
        package static let drops = Permissions(rawValue: 2)
        /// Running steps as `SQLStatement.concurrent` describes, including optional steps that would otherwise block
        /// operations, or fail on rows that were kept on purpose.
        package static let concurrent = Permissions(rawValue: 4)
    }

    /// Returns the changes that a database needs to serve the schema.
    package static func plan(
        _ schema: Schema, existing: DatabaseDescription, in namespace: String = "public",
        allowing permissions: Permissions = []
    ) -> MigrationPlan {
        var planner = MigrationPlanner(
            schema: schema, existing: existing, namespace: namespace, permissions: permissions)
        return planner.plan()
    }
}

/// The result of `Migration.plan`.
package struct MigrationPlan: Sendable {
    /// A difference that the plan does not resolve.
    package struct Finding: Sendable, Hashable {
        /// SQL name of the table or enum.
        package let object: String
        /// SQL name of the column, index or constraint, if any.
        package let part: String?
        /// One sentence for the operator.
        package let message: String
        /// A statement that could be run manually, if any.
        package let suggestion: String?
        /// Whether it is a column or enum value that the schema no longer has, or a table that was probably renamed.
        package var hasLeftSchema = false
        /// Whether it is a column that must not be null but may be in existing rows.
        package var mayHaveNulls = false
        /// Whether operations fail until it is resolved.
        package var isHarmful = false
        /// The permission that would resolve it.
        package var permission: Migration.Permissions = []
        /// Whether the index that it needs is already built; a concurrent migration uses it.
        package var isBuilt = false
    }

    /// Data that a permitted step may lose.
    package struct Loss: Sendable, Hashable {
        /// `novel.year` or `novel`.
        package let object: String
        /// One sentence for the operator.
        package let message: String
        /// Returns the number of affected rows; nil if no rows are affected.
        package let countSQL: String?
    }

    /// The steps in order. Each has no effect if its work is already done.
    package var steps: [SQLStatement] = []
    /// Data that the steps may lose; empty without permissions.
    package var losses: [Loss] = []
    /// Changes that would lose or reinterpret data. The database does not fit the schema while there are any.
    package var refused: [Finding] = []
    /// Objects in the database that the schema lacks. Harmless unless marked otherwise.
    package var drift: [Finding] = []
    /// Objects that operations need and the database lacks, such as `table "novel"`. Those operations fail until they
    /// exist; the other differences let most operations work.
    package var missing: [String] = []

    /// The drift to report when migrating: drift that breaks operations, what has left the schema, and what
    /// `--concurrently` resolves.
    package var notices: [Finding] {
        drift.filter { $0.isHarmful || $0.hasLeftSchema || $0.permission.contains(.concurrent) }
    }

    /// Whether the database matches the schema, apart from additional objects.
    package var isUpToDate: Bool { steps.isEmpty && refused.isEmpty }

    /// All findings as sentences, those first that may break operations.
    package var findings: [(text: String, isHarmful: Bool)] {
        refused.map { ($0.text, true) }
            + steps.map { ("pending: \($0.summary) (freshet migrate)", true) }
            + drift.filter(\.isHarmful).map { ($0.text, true) }
            + drift.filter { !$0.isHarmful }.map { ($0.text, false) }
    }
}

extension MigrationPlan.Finding {
    /// A description with a suggestion for the operator.
    package var text: String {
        "\(object)\(part.map { "." + $0 } ?? ""): \(message)" + (suggestion.map { "\n    manually: \($0)" } ?? "")
    }
}
