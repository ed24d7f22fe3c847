-- data types
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname = 'public' AND t.typname = 'task_state') THEN
        CREATE TYPE "public"."task_state" AS ENUM ('OPEN', 'DONE');
    END IF;
END
$freshet$
CREATE TABLE IF NOT EXISTS "public"."task" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "state" "public"."task_state" NOT NULL,
    "states" "public"."task_state"[],
    "due" timestamp without time zone,
    "runs" timestamp without time zone[],
    "at" timestamp without time zone NOT NULL DEFAULT now(),
    PRIMARY KEY ("id")
)
INSERT INTO "task" AS t1 ("id", "state", "states", "due", "runs", "at") VALUES ('a0000000000040008000000000000001'::uuid, 'OPEN'::"task_state", '{"OPEN","DONE"}'::"task_state"[], $1::timestamp with time zone, '{"2023-12-31T23:00:00.000000Z"}'::timestamp with time zone[], $2::timestamp with time zone) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
UPDATE "task" t1 SET "due" = ((t1."due" AT TIME ZONE 'UTC') + make_interval(days => coalesce('1'::integer, 0))) AT TIME ZONE 'UTC' WHERE t1."id" = 'a0000000000040008000000000000001'::uuid RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"tasks":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"state":', coalesce('"' || t1."state"::text || '"', 'null'), ',"states":', coalesce(to_json(t1."states")::text, 'null'), ',"due":', coalesce(to_json(coalesce(to_char(t1."due" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN t1."due" < '0001-01-01Z' THEN ' BC' ELSE '' END), t1."due"::text))::text, 'null'), ',"runs":', coalesce(to_json(CASE WHEN t1."runs" IS NOT NULL THEN ARRAY(SELECT coalesce(to_char(e AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN e < '0001-01-01Z' THEN ' BC' ELSE '' END), e::text) FROM unnest(t1."runs") WITH ORDINALITY AS u(e, o) ORDER BY o) END)::text, 'null'), ',"at":', coalesce(to_json(coalesce(to_char(t1."at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN t1."at" < '0001-01-01Z' THEN ' BC' ELSE '' END), t1."at"::text))::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "task" t1 WHERE (t1."state" = 'OPEN'::"task_state" AND t1."due" = $1::timestamp with time zone AND t1."runs"::timestamp with time zone[] @> ARRAY[$2::timestamp with time zone] AND t1."at" <= $3::timestamp with time zone) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), ',"last":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT row_to_json(g.*)::text AS j FROM (SELECT coalesce(to_char(max(t2."due") AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN max(t2."due") < '0001-01-01Z' THEN ' BC' ELSE '' END), max(t2."due")::text) AS "due_max" FROM "task" t2) g LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b

-- fields named like generated ones
CREATE TABLE IF NOT EXISTS "public"."user" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "name" text NOT NULL,
    PRIMARY KEY ("id")
)
CREATE TABLE IF NOT EXISTS "public"."room" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "user_id" uuid NOT NULL,
    "user_count" integer NOT NULL,
    PRIMARY KEY ("id")
)
CREATE TABLE IF NOT EXISTS "public"."shipment" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "room_id" uuid NOT NULL,
    "room_date" date,
    "room_expr" text,
    "room_max" integer,
    PRIMARY KEY ("id")
)
CREATE TABLE IF NOT EXISTS "public"."bill" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "paid" boolean NOT NULL,
    "paid_date" date,
    "paid_update" integer,
    "paid_min" integer,
    "paid_embed" integer,
    PRIMARY KEY ("id")
)
CREATE INDEX IF NOT EXISTS "room_user_id_idx" ON "public"."room" USING btree ("user_id")
CREATE INDEX IF NOT EXISTS "shipment_room_id_idx" ON "public"."shipment" USING btree ("room_id")
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'room' AND c.conname = 'room_user_id_fkey') THEN
        ALTER TABLE "public"."room" ADD CONSTRAINT "room_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "public"."user" ("id") ON DELETE CASCADE;
    END IF;
END
$freshet$
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'shipment' AND c.conname = 'shipment_room_id_fkey') THEN
        ALTER TABLE "public"."shipment" ADD CONSTRAINT "shipment_room_id_fkey" FOREIGN KEY ("room_id") REFERENCES "public"."room" ("id") ON DELETE CASCADE;
    END IF;
END
$freshet$
INSERT INTO "user" AS t1 ("id", "name") VALUES ('a0000000000040008000000000000001'::uuid, 'Ann'::text) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
INSERT INTO "room" AS t1 ("id", "user_id", "user_count") VALUES ('a0000000000040008000000000000002'::uuid, 'a0000000000040008000000000000001'::uuid, '3'::integer) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
INSERT INTO "shipment" AS t1 ("id", "room_id", "room_date", "room_expr") VALUES ('a0000000000040008000000000000003'::uuid, 'a0000000000040008000000000000002'::uuid, '2024-02-29'::date, 'x'::text) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
INSERT INTO "bill" AS t1 ("id", "paid", "paid_date", "paid_update") VALUES ('a0000000000040008000000000000004'::uuid, $1::boolean, '2024-02-29'::date, '4'::integer) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
UPDATE "bill" t1 SET "paid_update" = $1::integer WHERE t1."id" = 'a0000000000040008000000000000004'::uuid RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"rooms":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"user":', coalesce((SELECT concat('{"name":', coalesce(to_json(t2."name")::text, 'null'), '}') FROM "user" t2 WHERE t1."user_id" = t2."id"), 'null'), ',"user_count":', coalesce(t1."user_count"::text, 'null'), '}') AS j FROM "room" t1 WHERE t1."user_count" >= '3'::integer ORDER BY t1."user_count", t1."id" LIMIT 100) r), '[]'), ',"counted":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT row_to_json(g.*)::text AS j FROM (SELECT count(t3."user_id") AS "userId_count", max(t3."user_count") AS "user_count_max" FROM "room" t3) g LIMIT 100) r), '[]'), ',"shipments":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"room_date":', coalesce(to_json(t4."room_date")::text, 'null'), ',"room_expr":', coalesce(to_json(t4."room_expr")::text, 'null'), ',"room_max":', coalesce(t4."room_max"::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t4.*, tableoid AS "~table", ctid AS "~place" FROM "shipment" t4 ORDER BY t4."id" LIMIT 100) t4 ORDER BY t4."~table", t4."~place", t4."id") r), '[]'), ',"bills":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"paid":', coalesce(t5."paid"::text, 'null'), ',"paid_date":', coalesce(to_json(t5."paid_date")::text, 'null'), ',"paid_update":', coalesce(t5."paid_update"::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t5.*, tableoid AS "~table", ctid AS "~place" FROM "bill" t5 WHERE t5."paid_date" = $1::date ORDER BY t5."id" LIMIT 100) t5 ORDER BY t5."~table", t5."~place", t5."id") r), '[]'), '}') AS body OFFSET 0) b

-- filter through a join table
CREATE TABLE IF NOT EXISTS "public"."letter" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "subject" text NOT NULL,
    PRIMARY KEY ("id")
)
CREATE TABLE IF NOT EXISTS "public"."friend" (
    "uid" text NOT NULL,
    PRIMARY KEY ("uid")
)
CREATE TABLE IF NOT EXISTS "public"."recipient" (
    "letter_id" uuid NOT NULL,
    "friend_uid" text NOT NULL,
    "copy" boolean,
    PRIMARY KEY ("letter_id", "friend_uid")
)
CREATE INDEX IF NOT EXISTS "recipient_friend_uid_idx" ON "public"."recipient" USING btree ("friend_uid")
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'recipient' AND c.conname = 'recipient_letter_id_fkey') THEN
        ALTER TABLE "public"."recipient" ADD CONSTRAINT "recipient_letter_id_fkey" FOREIGN KEY ("letter_id") REFERENCES "public"."letter" ("id") ON DELETE CASCADE;
    END IF;
END
$freshet$
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'recipient' AND c.conname = 'recipient_friend_uid_fkey') THEN
        ALTER TABLE "public"."recipient" ADD CONSTRAINT "recipient_friend_uid_fkey" FOREIGN KEY ("friend_uid") REFERENCES "public"."friend" ("uid") ON DELETE CASCADE;
    END IF;
END
$freshet$
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"letters":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"subject":', coalesce(to_json(t1."subject")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "letter" t1 WHERE EXISTS (SELECT 1 FROM "recipient" t3 JOIN "friend" t2 ON t3."friend_uid" = t2."uid" WHERE t3."letter_id" = t1."id" AND t2."uid" = $1::text) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), ',"toMany":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"subject":', coalesce(to_json(t4."subject")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t4.*, tableoid AS "~table", ctid AS "~place" FROM "letter" t4 WHERE (SELECT count(*) FROM "recipient" t6 JOIN "friend" t5 ON t6."friend_uid" = t5."uid" WHERE t6."letter_id" = t4."id") >= '2'::integer ORDER BY t4."id" LIMIT 100) t4 ORDER BY t4."~table", t4."~place", t4."id") r), '[]'), ',"toNone":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"subject":', coalesce(to_json(t7."subject")::text, 'null'), '}') AS j FROM "letter" t7 WHERE (SELECT count(*) FROM "recipient" t9 JOIN "friend" t8 ON t9."friend_uid" = t8."uid" WHERE t9."letter_id" = t7."id" AND t8."uid" = $1::text) = '0'::integer ORDER BY t7."subject", t7."id" LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"letters":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"subject":', coalesce(to_json(t1."subject")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "letter" t1 WHERE EXISTS (SELECT 1 FROM "recipient" t3 JOIN "friend" t2 ON t3."friend_uid" = t2."uid" WHERE t3."letter_id" = t1."id" AND t2."uid" = $1::text) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"letters":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"subject":', coalesce(to_json(t1."subject")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "letter" t1 WHERE (SELECT count(*) FROM "recipient" t3 JOIN "friend" t2 ON t3."friend_uid" = t2."uid" WHERE t3."letter_id" = t1."id" AND t2."uid" = $1::text) = $2::integer ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- insert without a required column
CREATE TABLE IF NOT EXISTS "public"."task" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "title" text NOT NULL,
    "done" boolean NOT NULL,
    PRIMARY KEY ("id")
)
INSERT INTO "task" AS t1 ("id", "title") VALUES ($1::uuid, 'x'::text) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
INSERT INTO "task" AS t1 ("id", "done") VALUES ($1::uuid, $2::boolean) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
INSERT INTO "task" AS t1 ("id", "title", "done") VALUES ($1::uuid, $2::text, $3::boolean) RETURNING concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}')

-- nullable key with a default
CREATE TABLE IF NOT EXISTS "public"."page" (
    "id" text NOT NULL,
    "title" text,
    PRIMARY KEY ("id")
)
INSERT INTO "page" AS t1 ("id", "title") VALUES ($1::text, 'fresh'::text) RETURNING concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}')
INSERT INTO "page" AS t1 ("id") VALUES ('own'::text) RETURNING concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"page":', coalesce((SELECT concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), ',"title":', coalesce(to_json(t1."title")::text, 'null'), '}') FROM "page" t1 WHERE t1."id" = 'own'::text), 'null'), '}') AS body OFFSET 0) b

-- one-to-one nested data
CREATE TABLE IF NOT EXISTS "public"."person" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "name" text NOT NULL,
    PRIMARY KEY ("id")
)
CREATE TABLE IF NOT EXISTS "public"."badge" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "person_id" uuid NOT NULL,
    "color" text NOT NULL,
    PRIMARY KEY ("id")
)
CREATE UNIQUE INDEX IF NOT EXISTS "badge_person_id_uidx" ON "public"."badge" ("person_id")
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'badge' AND c.conname = 'badge_person_id_fkey') THEN
        ALTER TABLE "public"."badge" ADD CONSTRAINT "badge_person_id_fkey" FOREIGN KEY ("person_id") REFERENCES "public"."person" ("id") ON DELETE CASCADE;
    END IF;
END
$freshet$
WITH w1 AS (INSERT INTO "person" AS t1 ("id", "name") VALUES ('a0000000000040008000000000000001'::uuid, 'Ann'::text) RETURNING t1.*), w2 AS (INSERT INTO "badge" AS t2 ("person_id", "id", "color") SELECT w1."id", $1::uuid, 'red'::text FROM w1 RETURNING t2.*) SELECT (SELECT concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}') FROM w1 t1)
WITH w1 AS (INSERT INTO "person" AS t1 ("id", "name") VALUES ('a0000000000040008000000000000002'::uuid, 'Bob'::text) RETURNING t1.*), w2 AS (INSERT INTO "badge" AS t2 ("person_id", "id", "color") SELECT w1."id", $1::uuid, $2::text FROM w1 RETURNING t2.*) SELECT (SELECT concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}') FROM w1 t1)
WITH w1 AS (INSERT INTO "person" AS t1 ("id", "name") VALUES ('a0000000000040008000000000000003'::uuid, 'Cid'::text) RETURNING t1.*) SELECT (SELECT concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}') FROM w1 t1)
WITH w1 AS (INSERT INTO "person" AS t1 ("id", "name") VALUES ($1::uuid, $2::text) RETURNING t1.*), w2 AS (INSERT INTO "badge" AS t2 ("person_id", "id", "color") SELECT w1."id", $3::uuid, $4::text FROM w1 RETURNING t2.*) SELECT (SELECT concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}') FROM w1 t1)
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"people":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), ',"badge_on_person":', coalesce((SELECT concat('{"color":', coalesce(to_json(t2."color")::text, 'null'), '}') FROM "badge" t2 WHERE t2."person_id" = t1."id" LIMIT 1), 'null'), '}') AS j FROM "person" t1 ORDER BY t1."name", t1."id" LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b

-- padded text
CREATE TABLE IF NOT EXISTS "public"."country" (
    "code" character(3) NOT NULL,
    "name" text NOT NULL,
    "aliases" character(3)[],
    PRIMARY KEY ("code")
)
CREATE TABLE IF NOT EXISTS "public"."city" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "country_code" character(3) NOT NULL,
    "name" text NOT NULL,
    PRIMARY KEY ("id")
)
CREATE INDEX IF NOT EXISTS "city_country_code_idx" ON "public"."city" USING btree ("country_code")
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'city' AND c.conname = 'city_country_code_fkey') THEN
        ALTER TABLE "public"."city" ADD CONSTRAINT "city_country_code_fkey" FOREIGN KEY ("country_code") REFERENCES "public"."country" ("code") ON DELETE CASCADE;
    END IF;
END
$freshet$
INSERT INTO "country" AS t1 ("code", "name", "aliases") VALUES ('de'::text, 'Germany'::text, '{"d","ger"}'::text[]) RETURNING concat('{"code":', coalesce(to_json(t1."code"::text)::text, 'null'), '}')
INSERT INTO "city" AS t1 ("id", "country_code", "name") VALUES ('a0000000000040008000000000000001'::uuid, 'de'::text, 'Ulm'::text) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"country":', coalesce((SELECT concat('{"code":', coalesce(to_json(t1."code"::text)::text, 'null'), ',"_id":', coalesce(to_json('Country' || json_build_array(t1."code"::text)::text)::text, 'null'), ',"aliases":', coalesce(to_json(t1."aliases"::text[])::text, 'null'), ',"cities_on_country":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"countryCode":', coalesce(to_json(t2."country_code"::text)::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t2.*, tableoid AS "~table", ctid AS "~place" FROM "city" t2 WHERE t2."country_code" = t1."code" ORDER BY t2."id" LIMIT 100) t2 ORDER BY t2."~table", t2."~place", t2."id") r), '[]'), '}') FROM "country" t1 WHERE t1."code" = $1::text), 'null'), ',"countries":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"code":', coalesce(to_json(t3."code"::text)::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t3.*, tableoid AS "~table", ctid AS "~place" FROM "country" t3 WHERE t3."code" = $1::text ORDER BY t3."code" LIMIT 100) t3 ORDER BY t3."~table", t3."~place", t3."code") r), '[]'), ',"listed":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"code":', coalesce(to_json(t4."code"::text)::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t4.*, tableoid AS "~table", ctid AS "~place" FROM "country" t4 WHERE (t4."code" = ANY ($2::text[]) AND t4."aliases"::text[] @> ARRAY['d'::text]) ORDER BY t4."code" LIMIT 100) t4 ORDER BY t4."~table", t4."~place", t4."code") r), '[]'), ',"cities":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"countryCode":', coalesce(to_json(t5."country_code"::text)::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t5.*, tableoid AS "~table", ctid AS "~place" FROM "city" t5 WHERE EXISTS (SELECT 1 FROM "country" t6 WHERE t5."country_code" = t6."code" AND t6."code" = $1::text) ORDER BY t5."id" LIMIT 100) t5 ORDER BY t5."~table", t5."~place", t5."id") r), '[]'), ',"least":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT row_to_json(g.*)::text AS j FROM (SELECT min(t7."code")::text AS "code_min" FROM "country" t7) g LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b

-- query format by a variable
CREATE TABLE IF NOT EXISTS "public"."note" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "text" text NOT NULL,
    PRIMARY KEY ("id")
)
CREATE INDEX IF NOT EXISTS "note_search_idx" ON "public"."note" USING gin (to_tsvector('english'::regconfig, coalesce("text", '')))
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"notes_search":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"text":', coalesce(to_json(t1."text")::text, 'null'), '}') AS j FROM "note" t1 WHERE to_tsvector('english'::regconfig, coalesce(t1."text", '')) @@ phraseto_tsquery('english'::regconfig, 'rainy city'::text) ORDER BY ts_rank(to_tsvector('english'::regconfig, coalesce(t1."text", '')), phraseto_tsquery('english'::regconfig, 'rainy city'::text))::double precision DESC, t1."id" LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"notes_search":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"text":', coalesce(to_json(t1."text")::text, 'null'), '}') AS j FROM "note" t1 WHERE to_tsvector('english'::regconfig, coalesce(t1."text", '')) @@ to_tsquery('english'::regconfig, 'rainy & !of'::text) ORDER BY ts_rank(to_tsvector('english'::regconfig, coalesce(t1."text", '')), to_tsquery('english'::regconfig, 'rainy & !of'::text))::double precision DESC, t1."id" LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"notes_search":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"text":', coalesce(to_json(t1."text")::text, 'null'), '}') AS j FROM "note" t1 WHERE to_tsvector('english'::regconfig, coalesce(t1."text", '')) @@ websearch_to_tsquery('english'::regconfig, 'rainy -of'::text) ORDER BY ts_rank(to_tsvector('english'::regconfig, coalesce(t1."text", '')), websearch_to_tsquery('english'::regconfig, 'rainy -of'::text))::double precision DESC, t1."id" LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b

-- required references in a cycle
CREATE TABLE IF NOT EXISTS "public"."node" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "parent_id" uuid NOT NULL,
    "name" text NOT NULL,
    PRIMARY KEY ("id")
)
CREATE TABLE IF NOT EXISTS "public"."team" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "captain_id" uuid NOT NULL,
    "name" text NOT NULL,
    PRIMARY KEY ("id")
)
CREATE TABLE IF NOT EXISTS "public"."player" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "team_id" uuid NOT NULL,
    "name" text NOT NULL,
    PRIMARY KEY ("id")
)
CREATE INDEX IF NOT EXISTS "node_parent_id_idx" ON "public"."node" USING btree ("parent_id")
CREATE INDEX IF NOT EXISTS "team_captain_id_idx" ON "public"."team" USING btree ("captain_id")
CREATE INDEX IF NOT EXISTS "player_team_id_idx" ON "public"."player" USING btree ("team_id")
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'node' AND c.conname = 'node_parent_id_fkey') THEN
        ALTER TABLE "public"."node" ADD CONSTRAINT "node_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "public"."node" ("id") ON DELETE CASCADE;
    END IF;
END
$freshet$
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'team' AND c.conname = 'team_captain_id_fkey') THEN
        ALTER TABLE "public"."team" ADD CONSTRAINT "team_captain_id_fkey" FOREIGN KEY ("captain_id") REFERENCES "public"."player" ("id") ON DELETE CASCADE;
    END IF;
END
$freshet$
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'player' AND c.conname = 'player_team_id_fkey') THEN
        ALTER TABLE "public"."player" ADD CONSTRAINT "player_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "public"."team" ("id") ON DELETE CASCADE;
    END IF;
END
$freshet$
INSERT INTO "node" AS t1 ("id", "parent_id", "name") VALUES ('a0000000000040008000000000000001'::uuid, 'a0000000000040008000000000000001'::uuid, 'root'::text) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
INSERT INTO "team" AS t1 ("id", "captain_id", "name") VALUES ('a0000000000040008000000000000002'::uuid, 'a0000000000040008000000000000003'::uuid, 'Reds'::text) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
WITH w1 AS (INSERT INTO "team" AS t1 ("id", "captain_id", "name") VALUES ('a0000000000040008000000000000002'::uuid, 'a0000000000040008000000000000003'::uuid, 'Reds'::text) RETURNING t1.*), w2 AS (INSERT INTO "player" AS t2 ("team_id", "id", "name") SELECT w1."id", 'a0000000000040008000000000000003'::uuid, 'Ann'::text FROM w1 RETURNING t2.*) SELECT (SELECT concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}') FROM w1 t1)
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"nodes":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"parent":', coalesce((SELECT concat('{"name":', coalesce(to_json(t2."name")::text, 'null'), '}') FROM "node" t2 WHERE t1."parent_id" = t2."id"), 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "node" t1 ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), ',"teams":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"captain":', coalesce((SELECT concat('{"name":', coalesce(to_json(t4."name")::text, 'null'), ',"team":', coalesce((SELECT concat('{"name":', coalesce(to_json(t5."name")::text, 'null'), '}') FROM "team" t5 WHERE t4."team_id" = t5."id"), 'null'), '}') FROM "player" t4 WHERE t3."captain_id" = t4."id"), 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t3.*, tableoid AS "~table", ctid AS "~place" FROM "team" t3 ORDER BY t3."id" LIMIT 100) t3 ORDER BY t3."~table", t3."~place", t3."id") r), '[]'), '}') AS body OFFSET 0) b

-- singulars
CREATE TABLE IF NOT EXISTS "public"."seo" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "page" text NOT NULL,
    PRIMARY KEY ("id")
)
CREATE TABLE IF NOT EXISTS "public"."uuid_variants" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "of_id" uuid NOT NULL,
    "label" text NOT NULL,
    PRIMARY KEY ("id")
)
CREATE TABLE IF NOT EXISTS "public"."ai_preset" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "title" text NOT NULL,
    PRIMARY KEY ("id")
)
CREATE INDEX IF NOT EXISTS "uuid_variants_of_id_idx" ON "public"."uuid_variants" USING btree ("of_id")
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'uuid_variants' AND c.conname = 'uuid_variants_of_id_fkey') THEN
        ALTER TABLE "public"."uuid_variants" ADD CONSTRAINT "uuid_variants_of_id_fkey" FOREIGN KEY ("of_id") REFERENCES "public"."seo" ("id") ON DELETE CASCADE;
    END IF;
END
$freshet$
INSERT INTO "seo" AS t1 ("id", "page") VALUES ('a0000000000040008000000000000001'::uuid, 'home'::text) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
INSERT INTO "uuid_variants" AS t1 ("id", "of_id", "label") VALUES ($1::uuid, 'a0000000000040008000000000000001'::uuid, 'v4'::text) RETURNING concat('{"label":', coalesce(to_json(t1."label")::text, 'null'), '}')
INSERT INTO "ai_preset" AS t1 ("id", "title") VALUES ($1::uuid, 'warm'::text) RETURNING concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"sEO":', coalesce((SELECT concat('{"page":', coalesce(to_json(t1."page")::text, 'null'), ',"uUIDVariantss_on_of":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"label":', coalesce(to_json(t2."label")::text, 'null'), ',"of":', coalesce((SELECT concat('{"page":', coalesce(to_json(t3."page")::text, 'null'), '}') FROM "seo" t3 WHERE t2."of_id" = t3."id"), 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t2.*, tableoid AS "~table", ctid AS "~place" FROM "uuid_variants" t2 WHERE t2."of_id" = t1."id" ORDER BY t2."id" LIMIT 100) t2 ORDER BY t2."~table", t2."~place", t2."id") r), '[]'), '}') FROM "seo" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid), 'null'), ',"sEOS":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"page":', coalesce(to_json(t4."page")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t4.*, tableoid AS "~table", ctid AS "~place" FROM "seo" t4 ORDER BY t4."id" LIMIT 100) t4 ORDER BY t4."~table", t4."~place", t4."id") r), '[]'), ',"aIPresets":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t5."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t5.*, tableoid AS "~table", ctid AS "~place" FROM "ai_preset" t5 ORDER BY t5."id" LIMIT 100) t5 ORDER BY t5."~table", t5."~place", t5."id") r), '[]'), ',"tables":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT row_to_json(r.*)::text AS j FROM (SELECT relname FROM pg_class WHERE relname ~ '^(seo|uuid_variants|ai_preset)$' ORDER BY 1) r) r), '[]'), '}') AS body OFFSET 0) b

-- variables inside Any
CREATE TABLE IF NOT EXISTS "public"."event" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "name" text NOT NULL,
    "details" jsonb,
    "at" timestamp with time zone,
    PRIMARY KEY ("id")
)
INSERT INTO "event" AS t1 ("id", "name", "details") VALUES ('a0000000000040008000000000000001'::uuid, $1::text, $2::jsonb) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"events":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"details":', coalesce(to_json(t1."details")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "event" t1 WHERE t1."details" <> $1::jsonb ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b
