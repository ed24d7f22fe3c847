/// Creates Freshet's own tables, in a separate Postgres schema. Idempotent; run at every start under an advisory lock.
package enum ServiceSchema {
    package static let sql = """
        BEGIN;
        SELECT pg_advisory_xact_lock(hashtextextended('freshet.schema', 0));
        CREATE SCHEMA IF NOT EXISTS freshet;
        CREATE TABLE IF NOT EXISTS freshet.outbox (
            id uuid PRIMARY KEY,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            shards int[] NOT NULL,
            event text NOT NULL
        );
        CREATE INDEX IF NOT EXISTS outbox_created_at ON freshet.outbox (created_at);
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
        CREATE TABLE IF NOT EXISTS freshet.shard_epochs (
            namespace text NOT NULL,
            shard int NOT NULL,
            epoch bigint NOT NULL,
            PRIMARY KEY (namespace, shard)
        );
        COMMIT;
        """
}
