import Catalog
import LiveModel
import Operations
import Postgres
import Refresh
import SchemaModel

/// Compares what the queries need that refresh by changes of rows with a database (`freshet check --database`): whether
/// its log can be read (`database-log`), triggers that mutations do not tell of (`refresh-trigger`), and queries that
/// any change of a busy table refreshes (`refresh-any-row`).
enum ChangeLint {
    /// The changes of rows per second from which a table is busy.
    static let busyPerSecond = 1.0

    static func diagnostics(
        _ catalog: Catalog, _ locations: OperationLocations, _ session: PostgresSession
    ) async throws -> [Diagnostic] {
        let queries = catalog.connectors.values.flatMap(\.operations.values)
            .filter { $0.automaticSites != nil }.sorted { $0.reference < $1.reference }
        if queries.isEmpty { return [] }
        let tables = Set(queries.flatMap { $0.automaticSites?.sites.map(\.form.table) ?? [] }).sorted()
        let found = try await state(tables, session)
        var diagnostics: [Diagnostic] = []
        for query in queries {
            guard let automatic = query.automaticSites, !automatic.mayReadAnything else { continue }
            let sites = automatic.sites.map(\.form)
            if automatic.sites.allSatisfy({ $0.siteClass == .table }),
                let busy = sites.first(where: { found[$0.table]?.perSecond ?? 0 >= busyPerSecond })
            {
                let rate = Int(found[busy.table]?.perSecond ?? 0)
                diagnostics.append(
                    locations.diagnostic(
                        query.reference, .warning, .refreshAnyRow,
                        "any change of \(busy.table), about \(rate) a second, refreshes"
                            + " \"\(query.reference.operation)\"",
                        help: "an equality in its filter, or a rule with a condition, would narrow it"))
            }
            guard automatic.source == .mutations else { continue }
            for table in Set(sites.map(\.table)).sorted() {
                guard let trigger = found[table]?.trigger else { continue }
                diagnostics.append(
                    locations.diagnostic(
                        query.reference, .warning, .refreshTrigger,
                        "the trigger \(trigger) of \(table) may change rows that"
                            + " \"\(query.reference.operation)\" reads, which mutations do not tell",
                        help: "source: both in refresh.yaml notices them"))
            }
        }
        guard let captured = catalog.captured else { return diagnostics }
        return diagnostics + (try await log(captured, found, session))
    }

    private struct Table {
        let perSecond: Double
        let trigger: String?
        /// Whether the log tells all fields of a row before its change.
        let tellsFormerRows: Bool
        let hasIdentity: Bool
    }

    private static func state(_ tables: [String], _ session: PostgresSession) async throws -> [String: Table] {
        let rows = try await session.execute(
            """
            SELECT name, (s.n_tup_ins + s.n_tup_upd + s.n_tup_del)
                / greatest(1, extract(epoch FROM now() - coalesce(d.stats_reset, pg_postmaster_start_time()))),
                (SELECT min(tgname) FROM pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal),
                c.relreplident = 'f', c.relreplident IN ('f', 'i')
                    OR c.relreplident = 'd' AND EXISTS (
                        SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary)
            FROM unnest($1::text[]) AS name JOIN pg_class c ON c.oid = to_regclass(quote_ident(name))
            LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
            LEFT JOIN pg_stat_database d ON d.datname = current_database()
            """, [.text(PostgresArray.literal(tables))]
        ).rows
        var found: [String: Table] = [:]
        for row in rows {
            found[row.string(0) ?? ""] = Table(
                perSecond: row.string(1).flatMap(Double.init) ?? 0, trigger: row.string(2),
                tellsFormerRows: row.bool(3) ?? false, hasIdentity: row.bool(4) ?? false)
        }
        return found
    }

    private static func log(
        _ captured: CapturedReads, _ tables: [String: Table], _ session: PostgresSession
    ) async throws -> [Diagnostic] {
        func diagnostic(_ severity: Diagnostic.Severity, _ message: String, _ help: String) -> Diagnostic {
            Diagnostic(
                severity: severity, rule: .databaseLog, message: message, file: RefreshConfiguration.fileName, line: 0,
                column: 0, help: help)
        }
        let row = try await session.execute(
            """
            SELECT current_setting('wal_level'), current_user, rolsuper OR rolreplication,
                (SELECT count(*) FROM pg_publication WHERE pubname IN ('freshet_changes', 'freshet_outbox')),
                (SELECT string_agg(name, ', ' ORDER BY name) FROM unnest($1::text[]) AS name WHERE NOT EXISTS (
                    SELECT FROM pg_publication_tables WHERE pubname = 'freshet_changes' AND tablename = name
                    AND schemaname = current_schema())),
                (SELECT count(*) FROM pg_replication_slots), current_setting('max_replication_slots')::int,
                (SELECT count(*) FROM pg_stat_replication), current_setting('max_wal_senders')::int,
                current_setting('max_slot_wal_keep_size'),
                EXISTS (SELECT FROM pg_replication_slots WHERE slot_name LIKE 'freshet%'
                    AND database = current_database())
            FROM pg_roles WHERE rolname = current_user
            """, [.text(PostgresArray.literal(captured.tableNames))]
        ).rows.first
        guard let row else { return [] }
        var found: [Diagnostic] = []
        if let level = row.string(0), level != "logical" {
            found.append(
                diagnostic(
                    .warning, "wal_level of the database is \(level), so its log has no rows",
                    "ALTER SYSTEM SET wal_level = logical; then restart Postgres"))
        }
        if row.bool(2) != true {
            found.append(
                diagnostic(
                    .warning, "the role \(row.string(1) ?? "") may not read the log",
                    "if nodes use it: ALTER ROLE … REPLICATION"))
        }
        if row.int(3) != 2 {
            found.append(diagnostic(.warning, "the database has no publications for its log", "run freshet migrate"))
        } else if let tables = row.string(4) {
            found.append(diagnostic(.warning, "the log does not tell changes of \(tables)", "run freshet migrate"))
        }
        let (slots, slotsMax) = (row.int(5) ?? 0, row.int(6) ?? 0)
        if slots >= slotsMax, row.bool(10) != true {
            found.append(
                diagnostic(
                    .warning, "all \(slotsMax) replication slots of the server are in use",
                    "raise max_replication_slots"))
        }
        let (senders, sendersMax) = (row.int(7) ?? 0, row.int(8) ?? 0)
        if senders >= sendersMax, row.bool(10) != true {
            found.append(
                diagnostic(
                    .warning, "all \(sendersMax) WAL senders of the server are in use", "raise max_wal_senders"))
        }
        if row.string(9) == "-1" {
            found.append(
                diagnostic(
                    .note, "a reader that stays away lets the log fill the disk",
                    "max_slot_wal_keep_size bounds it, for example 8GB; a lost slot costs one run of each query"))
        }
        for (name, table) in tables.sorted(by: { $0.key < $1.key }) {
            if !table.hasIdentity {
                found.append(
                    diagnostic(
                        .warning, "once \(name) is published, the database refuses updates of it: it has no key",
                        "ALTER TABLE … ADD PRIMARY KEY, or REPLICA IDENTITY FULL"))
            }
            let keys = captured.tables.filter { $0.name == name }.map { Set($0.key) }
            guard !table.tellsFormerRows, let guards = captured.formerFields[name],
                let others = keys.first.map({ guards.subtracting($0) }), !others.isEmpty
            else { continue }
            found.append(
                diagnostic(
                    .note,
                    "updates and deletes of \(name) by others refresh all queries with a guard on"
                        + " \(others.sorted().joined(separator: ", "))",
                    "REPLICA IDENTITY FULL, or USING INDEX, makes them exact and the log larger"))
        }
        return found
    }
}
