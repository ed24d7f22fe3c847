import APINode
import ChangeCapture
import Migrations
package import Postgres
package import RoleMachines

/// Events that mutations leave in the log alone (`OutboxKind.wal`).
extension ChangeSlot: PublishedLog {
    private static let publications = """
        DO $$ BEGIN
        PERFORM pg_advisory_xact_lock(hashtextextended('freshet.schema', 0));
        IF NOT EXISTS (SELECT FROM pg_publication WHERE pubname = '\(ChangePublications.changes)') THEN
            CREATE PUBLICATION \(ChangePublications.changes) WITH (publish_via_partition_root = true);
        END IF;
        IF NOT EXISTS (SELECT FROM pg_publication WHERE pubname = '\(ChangePublications.outbox)') THEN
            CREATE PUBLICATION \(ChangePublications.outbox) FOR TABLE freshet.outbox WITH (publish = 'insert');
        END IF;
        END $$
        """

    private static let announcement = Statement(
        """
        INSERT INTO freshet.change_slots (slot, incarnation, confirmable, carries_events)
        VALUES ($1::text, gen_random_uuid(), '0/0', true)
        ON CONFLICT (slot) DO UPDATE SET carries_events = true WHERE NOT change_slots.carries_events
        """)

    /// Records that events are left in the log from now on, so that some node reads it, whatever its own settings and
    /// queries are. A slot that is created after this makes every live query run once more.
    package func announceEvents() async throws(PostgresError) {
        try await resolveName()
        _ = try await run(Self.announcement, [.text(name)])
    }

    /// Prepares for events again and again until its task is cancelled: somebody may drop the slot with all that
    /// belongs to it. A failure is made up for by the next round.
    package func prepareForEvents(everyMs: Int) async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(everyMs))
            _ = try? await prepareForEvents()
        }
    }

    /// Makes the publications that a slot needs and announces events.
    /// - Returns: why the log cannot be read; nil if it can.
    package func prepareForEvents() async throws(PostgresError) -> String? {
        let found = try await run(
            "SELECT count(*) FROM pg_publication WHERE pubname IN ('freshet_changes', 'freshet_outbox')", [])
        if found.rows.first?.int(0) != 2 {
            do throws(PostgresError) {
                try await pool.script(Self.publications)
            } catch {
                guard error.sqlState == "42501" else { throw error }
                return "the database has no publications for it: run freshet migrate with this setting, as the owner"
            }
        }
        if let obstacle = try await inspect([]).0.obstacle { return obstacle }
        try await announceEvents()
        return nil
    }

    // MARK: Waiting

    private static let position = Statement(
        """
        SELECT incarnation, (reached - '0/0'::pg_lsn)::bigint FROM freshet.change_slots
        WHERE slot = $1::text AND carries_events
        """)

    /// Returns how far the log is published; nil if nobody leaves events in it.
    package func publishedPosition() async throws(PostgresError) -> EventWaits.LogPosition? {
        try await resolveName()
        guard let row = try await run(Self.position, [.text(name)]).rows.first else { return nil }
        return EventWaits.LogPosition(incarnation: row.string(0) ?? "", position: UInt64(row.int(1) ?? 0))
    }

    private static let mark = Statement(
        """
        SELECT (pg_logical_emit_message(true, '\(TransactionReader.markPrefix)', '') - '0/0'::pg_lsn)::bigint
        """)

    /// Leaves a mark in the log behind everything that is committed, which has the reader record its position there.
    package func leaveMark() async throws(PostgresError) -> UInt64 {
        UInt64(try await run(Self.mark, []).rows.first?.int(0) ?? 0)
    }
}
