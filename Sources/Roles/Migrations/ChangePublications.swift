package import Catalog
import Execution
package import Postgres
import SchemaModel

/// The publications by which the database's log tells changes of rows.
///
/// Whole rows are published: a list of columns would have to hold those of the replica identity, and would make the
/// database refuse updates where it does not. The outbox has a publication of its own, of inserts only, because its
/// rows are deleted without concern to anybody.
package enum ChangePublications {
    package static let changes = "freshet_changes"
    package static let outbox = "freshet_outbox"

    /// Makes the publications publish what the queries read that refresh by the log; further tables stay published.
    /// - Parameters:
    ///   - reads: nil if no query refreshes by the log.
    ///   - holdsEvents: whether mutations leave their events in the log. Without both, nothing is done.
    /// - Returns: what was done, one line each.
    /// - Throws: `PostgresError`, for example if the role does not own a table.
    package static func publish(
        _ reads: CapturedReads?, holdsEvents: Bool = false, _ pool: PostgresPool
    ) async throws -> [String] {
        guard reads != nil || holdsEvents else { return [] }
        try await pool.script(ServiceSchema.sql)
        let statements = try await plan(reads, holdsEvents: holdsEvents, pool)
        if statements.isEmpty { return [] }
        try await pool.script((["BEGIN"] + statements.map(\.sql) + ["COMMIT"]).joined(separator: ";\n"))
        return statements.map(\.summary)
    }

    /// Returns what `publish` would do.
    package static func plan(
        _ reads: CapturedReads?, holdsEvents: Bool = false, _ pool: PostgresPool
    ) async throws -> [(summary: String, sql: String)] {
        guard reads != nil || holdsEvents else { return [] }
        let tables = reads?.tableNames ?? []
        let found = try await pool.query(
            """
            SELECT EXISTS (SELECT FROM pg_publication WHERE pubname = 'freshet_changes'),
                EXISTS (SELECT FROM pg_publication WHERE pubname = 'freshet_outbox'),
                (SELECT string_agg(name, ',' ORDER BY name) FROM unnest($1::text[]) AS name WHERE NOT EXISTS (
                    SELECT FROM pg_publication_tables WHERE pubname = 'freshet_changes' AND tablename = name
                    AND schemaname = current_schema()))
            """, [.text(PostgresArray.literal(tables))]
        ).rows.first
        try await refuse(missingIdentityOf: tables, pool)
        var statements: [(summary: String, sql: String)] = []
        if found?.bool(1) != true {
            statements.append(
                (
                    "create publication freshet_outbox",
                    "CREATE PUBLICATION freshet_outbox FOR TABLE freshet.outbox WITH (publish = 'insert')"
                ))
        }
        let missing = (found?.string(2) ?? "").split(separator: ",").map(String.init)
        let names = missing.map { SQLName.quoted($0) }.joined(separator: ", ")
        if found?.bool(0) != true {
            let of = missing.isEmpty ? "" : " FOR TABLE \(names)"
            statements.append(
                (
                    "create publication freshet_changes of \(missing.joined(separator: ", "))",
                    "CREATE PUBLICATION freshet_changes\(of) WITH (publish_via_partition_root = true)"
                ))
        } else if !missing.isEmpty {
            statements.append(
                (
                    "publish changes of \(missing.joined(separator: ", "))",
                    "ALTER PUBLICATION freshet_changes ADD TABLE \(names)"
                ))
        }
        return statements
    }

    /// Refuses tables whose updates the database would refuse once they are published.
    private static func refuse(missingIdentityOf tables: [String], _ pool: PostgresPool) async throws {
        let found = try await pool.query(
            """
            SELECT name FROM unnest($1::text[]) AS name JOIN pg_class c ON c.oid = to_regclass(quote_ident(name))
            WHERE c.relreplident = 'n' OR c.relreplident = 'd' AND NOT EXISTS (
                SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary) ORDER BY name
            """, [.text(PostgresArray.literal(tables))])
        let names = found.rows.compactMap { $0.string(0) }
        if !names.isEmpty { throw NoReplicaIdentity(tables: names) }
    }
}

/// Tables cannot be published, because they have neither a primary key nor another replica identity.
struct NoReplicaIdentity: Error, CustomStringConvertible {
    let tables: [String]

    var description: String {
        "\(tables.joined(separator: ", ")): without a primary key or replica identity the database would refuse updates"
            + " of a published table"
    }
}
