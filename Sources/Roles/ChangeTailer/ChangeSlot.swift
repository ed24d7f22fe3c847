import LiveModel
package import Postgres
package import RoleMachines
import Synchronization

/// The logical replication slot of a cluster in its database, and what is recorded of it.
///
/// Statements run on the connections for transactions, because those reach the primary and re-runs do not occupy them.
package final class ChangeSlot: Sendable {
    /// Creating a slot waits for the transactions that are open.
    private static let createTimeoutMs = 30_000

    let pool: PostgresPool
    /// Whether mutations of the node leave their events in the log alone.
    package let holdsOwnEvents: Bool
    private let namespace: String
    private let resolved: Mutex<String?>

    /// - Parameter name: nil: it follows from the names of the database and the broker's key namespace.
    package init(name: String?, namespace: String, pool: PostgresPool, holdsOwnEvents: Bool = false) {
        self.holdsOwnEvents = holdsOwnEvents
        self.pool = pool
        self.namespace = namespace
        resolved = Mutex(name)
    }

    /// The slot's name; empty before the database was first asked.
    package var name: String { resolved.withLock { $0 ?? "" } }

    func resolveName() async throws(PostgresError) {
        guard name.isEmpty else { return }
        let database = try await run("SELECT current_database()", []).rows.first?.string(0) ?? ""
        resolved.withLock { $0 = $0 ?? Self.name(database: database, namespace: namespace) }
    }

    /// Returns the name of a slot for a database: names of slots are those of the whole server, of at most 63
    /// lower-case letters, digits and underscores.
    package static func name(database: String, namespace: String) -> String {
        let name = "freshet_\(database)_\(namespace)"
        let isPlain = name.utf8.allSatisfy { Self.isPlain($0) } && name.utf8.count <= 63
        if isPlain { return name }
        // Different names stay different.
        let digest = Digest(of: Array(name.utf8)).hex.prefix(8)
        let plain = name.lowercased().utf8.map { Self.isPlain($0) ? Character(Unicode.Scalar($0)) : "_" }
        return String(plain.prefix(63 - 9)) + "_" + digest
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || byte == UInt8(ascii: "_")
    }

    // MARK: Looking

    private static let inspection = Statement(
        """
        SELECT current_setting('wal_level'), (SELECT rolsuper OR rolreplication FROM pg_roles
            WHERE rolname = current_user), current_schema(),
            (SELECT count(*) FROM pg_publication WHERE pubname IN ('freshet_changes', 'freshet_outbox')),
            (SELECT string_agg(name, ',' ORDER BY name) FROM unnest($2::text[]) AS name WHERE NOT EXISTS (
                SELECT FROM pg_publication_tables WHERE pubname = 'freshet_changes' AND tablename = name
                AND schemaname = current_schema())),
            (SELECT count(*) FROM pg_replication_slots) < current_setting('max_replication_slots')::int,
            s.database = current_database() AND s.plugin = 'pgoutput', s.wal_status, s.active_pid,
            (extract(epoch FROM clock_timestamp() - greatest(c.signed_at, a.backend_start)) * 1000)::bigint,
            (s.confirmed_flush_lsn - '0/0'::pg_lsn)::bigint,
            pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)::bigint,
            c.incarnation, (c.confirmable - '0/0'::pg_lsn)::bigint, s.slot_name IS NOT NULL, s.safe_wal_size,
            array_to_string(c.published, ','), c.publications,
            (SELECT string_agg(oid::text, ',' ORDER BY oid) FROM pg_publication
                WHERE pubname IN ('freshet_changes', 'freshet_outbox')),
            pg_snapshot_xmin(pg_current_snapshot())::text,
            (SELECT string_agg(other.slot, ',' ORDER BY other.slot) FROM freshet.change_slots other
                JOIN pg_replication_slots o ON o.slot_name = other.slot
                WHERE other.slot <> $1::text AND NOT o.active AND o.database = current_database()),
            (SELECT string_agg(name, ',') FROM unnest($2::text[]) AS name
                WHERE (SELECT relkind FROM pg_class WHERE oid = to_regclass(quote_ident(name))) = 'p'),
            (SELECT string_agg(name, ',') FROM unnest($2::text[]) AS name WHERE EXISTS (
                -- BEFORE UPDATE
                SELECT FROM pg_trigger WHERE tgrelid = to_regclass(quote_ident(name)) AND NOT tgisinternal
                    AND tgtype & 18 = 18
                UNION ALL SELECT FROM pg_attribute
                WHERE attrelid = to_regclass(quote_ident(name)) AND attgenerated <> '')),
            c.carries_events
        FROM (SELECT) AS one LEFT JOIN pg_replication_slots s ON s.slot_name = $1::text
        LEFT JOIN pg_stat_activity a ON a.pid = s.active_pid
        LEFT JOIN freshet.change_slots c ON c.slot = $1::text
        """)

    /// The place and form of the tables in the database.
    struct Layout: Sendable, Hashable {
        /// The Postgres schema.
        var namespace = "public"
        /// The tables with partitions.
        var partitioned: Set<String> = []
        /// The tables of whose rows an update may change more fields than it sets, by triggers or generated columns.
        var derived: Set<String> = []
    }

    /// - Parameter tables: those that must be published.
    func inspect(_ tables: [String]) async throws(PostgresError) -> (TailerMachine.Inspection, Layout) {
        try await resolveName()
        let parameters: [Parameter] = [.text(name), .text(PostgresArray.literal(tables))]
        guard let row = try await run(Self.inspection, parameters).rows.first else {
            throw PostgresError(.unsupported, "no answer about the slot")
        }
        var slot: TailerMachine.Inspection.Slot?
        if row.bool(14) == true {
            let health: TailerMachine.Inspection.Slot.Health =
                switch row.string(7) {
                case "lost", nil: .lost
                case "unreserved": .unreserved
                default: .ok
                }
            let reader = row.int(8).map { TailerMachine.Inspection.Reader(pid: $0, silentMs: Int64(row.int(9) ?? 0)) }
            slot = .init(
                health: health, reader: reader, confirmed: UInt64(row.int(10) ?? 0),
                retainedBytes: Int64(row.int(11) ?? 0), safeBytes: row.int(15).map(Int64.init))
        }
        func list(_ column: Int) -> [String] { (row.string(column) ?? "").split(separator: ",").map(String.init) }
        let record = row.string(12).map {
            TailerMachine.Inspection.Record(
                incarnation: $0, confirmable: UInt64(row.int(13) ?? 0), published: Set(list(16)),
                publications: row.string(17) ?? "", carriesEvents: row.bool(23) == true)
        }
        let inspection = TailerMachine.Inspection(
            obstacle: obstacle(row), slot: slot, record: record, published: Set(tables).subtracting(list(4)),
            unpublished: list(4), publications: row.string(18) ?? "",
            oldestOpen: row.string(19).flatMap(UInt64.init) ?? 0, strays: list(20))
        let layout = Layout(
            namespace: row.string(2) ?? "public", partitioned: Set(list(21)), derived: Set(list(22)))
        return (inspection, layout)
    }

    private func obstacle(_ row: Row) -> String? {
        if row.string(0) != "logical" {
            let level = row.string(0) ?? "unknown"
            return "wal_level of the database is \(level); it must be logical, which takes a restart"
        }
        if row.bool(1) != true { return "the database role lacks the attribute REPLICATION" }
        if row.int(3) != 2 {
            return "the database has no publications freshet_changes and freshet_outbox: run freshet migrate"
        }
        if row.bool(14) == true, row.bool(6) != true {
            return "the replication slot \(name) belongs to another database or plugin: set tailer.slot"
        }
        if row.bool(14) != true, row.bool(5) != true {
            return "the database has no replication slot left: raise max_replication_slots"
        }
        return nil
    }

    // MARK: Transactions

    /// A snapshot's identifiers have 64 bits, those of the log 32: each is the one nearest to the next that the server
    /// gives out.
    private static let visibility = Statement(
        """
        WITH taken AS MATERIALIZED (SELECT pg_current_snapshot() AS snapshot),
        next AS (SELECT snapshot, pg_snapshot_xmax(snapshot)::text::bigint AS xid FROM taken)
        SELECT coalesce(bool_and(pg_visible_in_snapshot((next.xid
            - ((next.xid - low + 10737418240) % 4294967296 - 2147483648))::text::xid8, snapshot)), true),
            EXISTS (SELECT FROM freshet.deployments WHERE id > $2::bigint),
            CASE WHEN $3::boolean THEN pg_current_xact_id()::text END, min(pg_snapshot_xmin(snapshot)::text::bigint)
        FROM next LEFT JOIN unnest($1::bigint[]) AS low ON true
        """)

    /// Returns whether new snapshots see all of the transactions, and whether there are later deployments.
    /// - Parameter asksOpen: whether also which transactions are open; this takes a number itself.
    func check(
        _ xids: [UInt32], loadedDeployment: Int64, asksOpen: Bool
    ) async throws(PostgresError) -> TailerMachine.Check {
        let parameters: [Parameter] = [
            .text("{" + xids.map(String.init).joined(separator: ",") + "}"), .text(String(loadedDeployment)),
            .text(asksOpen ? "true" : "false"),
        ]
        let row = try await run(Self.visibility, parameters).rows.first
        let newest = row?.string(2).flatMap(UInt64.init)
        return TailerMachine.Check(
            areVisible: row?.bool(0) ?? false, isBehindDeployments: row?.bool(1) ?? false,
            open: newest.map { .init(newest: $0, oldest: row?.string(3).flatMap(UInt64.init) ?? 0) })
    }

    // MARK: Changes

    private static let recording = Statement(
        """
        UPDATE freshet.change_slots SET reached = greatest(reached, $2::pg_lsn), published = $4::text[],
            confirmable = CASE WHEN $5::boolean THEN greatest(confirmable, $2::pg_lsn) ELSE confirmable END
        WHERE slot = $1::text AND incarnation = $3::uuid RETURNING slot
        """)

    /// Records that the log is published up to a position, and the tables that were published.
    /// - Returns: false if the record has another incarnation.
    func record(
        _ record: TailerMachine.PositionRecord, incarnation: String, published: [String]
    ) async throws(PostgresError) -> Bool {
        let parameters: [Parameter] = [
            .text(name), .text(Self.text(record.position)), .text(incarnation),
            .text(PostgresArray.literal(published)), .text(record.isConfirmable ? "true" : "false"),
        ]
        return try await !run(Self.recording, parameters).rows.isEmpty
    }

    private static let signature = Statement(
        """
        UPDATE freshet.change_slots SET signed_at = clock_timestamp()
        WHERE slot = $1::text AND incarnation = $2::uuid
        """)

    /// Says that the reader of this incarnation lives.
    func sign(incarnation: String) async throws(PostgresError) {
        _ = try await run(Self.signature, [.text(name), .text(incarnation)])
    }

    /// Ends the server's process that reads the slot.
    func terminate(pid: Int) async throws(PostgresError) {
        _ = try await run(
            """
            SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots
            WHERE slot_name = $1 AND active_pid = $2::int
            """, [.text(name), .text(String(pid))])
    }

    private static let renewal = Statement(
        """
        INSERT INTO freshet.change_slots (slot, incarnation, confirmable, publications)
        VALUES ($1::text, $2::uuid, '0/0', (SELECT coalesce(string_agg(oid::text, ',' ORDER BY oid), '')
            FROM pg_publication WHERE pubname IN ('freshet_changes', 'freshet_outbox')))
        ON CONFLICT (slot) DO UPDATE SET incarnation = excluded.incarnation, confirmable = excluded.confirmable,
            reached = DEFAULT,
            publications = excluded.publications, published = DEFAULT, signed_at = DEFAULT
        """)

    /// Creates the slot under a new incarnation; drops it first if it exists and nobody reads it.
    /// - Parameter seen: the incarnation of the record when this was decided. If it is another one now, another node
    ///   has created the slot, and nothing is done.
    func create(incarnation: String, seen: String?) async throws {
        try await pool.withSession { session in
            try await session.script("SET statement_timeout = \(Self.createTimeoutMs)")
            let parameters: [Parameter] = [.text(name)]
            try await lock(session, timeoutMs: Self.createTimeoutMs)
            let record = try await session.execute(
                "SELECT incarnation FROM freshet.change_slots WHERE slot = $1::text", parameters)
            guard record.rows.first?.string(0) == seen else { return }
            try await Self.drop(name, session)
            try await session.execute(Self.renewal, parameters + [.text(incarnation)])
            let version = try await session.execute("SELECT current_setting('server_version_num')::int").rows
            let failover = (version.first?.int(0) ?? 0) >= 170_000 ? ", true" : ""
            do {
                try await session.execute(
                    Statement("SELECT pg_create_logical_replication_slot($1, 'pgoutput', false, false\(failover))"),
                    parameters, timeoutMs: Self.createTimeoutMs)
            } catch let error as PostgresError where error.isQueryCanceled || error.isTimeout {
                throw SlotWaits(transaction: try await oldestTransaction())
            }
        }
    }

    /// Keeps other nodes from creating or dropping the slot until the session ends.
    func lock(_ session: PostgresSession, timeoutMs: Int? = nil) async throws(PostgresError) {
        try await session.execute(
            "SELECT pg_advisory_lock(hashtextextended('freshet.slot.' || $1, 0))", [.text(name)], timeoutMs: timeoutMs)
    }

    private func oldestTransaction() async throws(PostgresError) -> String {
        let row = try await run(
            """
            SELECT pid, application_name, extract(epoch FROM clock_timestamp() - xact_start)::bigint
            FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid() ORDER BY xact_start LIMIT 1
            """, []
        ).rows.first
        guard let row, let pid = row.int(0) else { return "none is open any more" }
        return "process \(pid) (\(row.string(1) ?? "")), open for \(row.int(2) ?? 0) s"
    }

    /// Drops the slot if it exists.
    /// - Throws: if it is being read.
    package static func drop(_ name: String, _ session: PostgresSession) async throws(PostgresError) {
        try await session.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1",
            [.text(name)])
    }

    func run(_ statement: Statement, _ parameters: [Parameter]) async throws(PostgresError) -> ResultSet {
        let results = try await pool.transaction([(statement, parameters)])
        guard let result = results.first else { throw PostgresError(.unsupported, "a statement without a result") }
        return result
    }
}

/// A slot cannot be created while a transaction stays open.
struct SlotWaits: Error, CustomStringConvertible {
    let transaction: String

    var description: String { "creating the replication slot waits for the end of a transaction: \(transaction)" }
}
