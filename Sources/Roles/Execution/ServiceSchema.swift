/// Creates Freshet's own tables, in a separate Postgres schema. Idempotent; run at every start under an advisory lock.
///
/// A server that accepts no writes is refused (SQLSTATE 25006), even if there is nothing to create. Each statement runs
/// only if its object is missing: `IF NOT EXISTS` alone would need the right to create it, or the
/// ownership of its table, even when there is nothing to create.
package enum ServiceSchema {
    package static let sql = """
        BEGIN;
        SELECT pg_advisory_xact_lock(hashtextextended('freshet.schema', 0));
        DO $$ BEGIN
        IF current_setting('transaction_read_only') = 'on' THEN
            RAISE EXCEPTION 'the server accepts no writes' USING ERRCODE = 'read_only_sql_transaction';
        END IF;
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'freshet') THEN
            CREATE SCHEMA IF NOT EXISTS freshet;
        END IF;
        IF to_regclass('freshet.outbox') IS NULL THEN
            CREATE TABLE IF NOT EXISTS freshet.outbox (
                id uuid PRIMARY KEY,
                created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
                shards int[] NOT NULL,
                event text NOT NULL
            );
        END IF;
        IF to_regclass('freshet.outbox_created_at') IS NULL THEN
            CREATE INDEX IF NOT EXISTS outbox_created_at ON freshet.outbox (created_at);
        END IF;
        IF to_regclass('freshet.deployments') IS NULL THEN
            CREATE TABLE IF NOT EXISTS freshet.deployments (
                id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                version text NOT NULL,
                origin text NOT NULL,
                project text NOT NULL,
                created_by text NOT NULL,
                created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
                active_at timestamptz,
                seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
            );
        END IF;
        IF to_regclass('freshet.shard_epochs') IS NULL THEN
            CREATE TABLE IF NOT EXISTS freshet.shard_epochs (
                namespace text NOT NULL,
                shard int NOT NULL,
                epoch bigint NOT NULL,
                PRIMARY KEY (namespace, shard)
            );
        END IF;
        IF to_regclass('freshet.change_slots') IS NULL THEN
            CREATE TABLE IF NOT EXISTS freshet.change_slots (
                slot text PRIMARY KEY,
                incarnation uuid NOT NULL,
                confirmable pg_lsn NOT NULL,
                signed_at timestamptz,
                published text[] NOT NULL DEFAULT '{}',
                publications text NOT NULL DEFAULT '',
                carries_events boolean NOT NULL DEFAULT false,
                reached pg_lsn NOT NULL DEFAULT '0/0'
            );
        END IF;
        IF NOT EXISTS (SELECT FROM pg_attribute
                WHERE attrelid = 'freshet.change_slots'::regclass AND attname = 'reached') THEN
            ALTER TABLE freshet.change_slots ADD COLUMN carries_events boolean NOT NULL DEFAULT false,
                ADD COLUMN reached pg_lsn NOT NULL DEFAULT '0/0';
        END IF;
        IF to_regclass('freshet.idempotency_keys') IS NULL THEN
            CREATE TABLE IF NOT EXISTS freshet.idempotency_keys (
                id bytea PRIMARY KEY,
                request bytea NOT NULL,
                created_at timestamptz NOT NULL,
                data text,
                errors text
            );
        END IF;
        IF to_regclass('freshet.idempotency_keys_created_at') IS NULL THEN
            CREATE INDEX IF NOT EXISTS idempotency_keys_created_at ON freshet.idempotency_keys (created_at);
        END IF;
        END $$;
        COMMIT;
        """
}
