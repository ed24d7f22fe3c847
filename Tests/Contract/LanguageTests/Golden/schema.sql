-- col
CREATE TABLE IF NOT EXISTS "public"."item" (
    "item_no" serial NOT NULL,
    "the_label" character varying(3),
    "price" numeric(6,2),
    "code" character(2),
    PRIMARY KEY ("item_no")
)
INSERT INTO "item" AS t1 ("the_label", "price", "code") VALUES ('abc'::text, '1.5'::double precision, 'xy'::text) RETURNING concat('{"id":', coalesce(to_json(t1."item_no")::text, 'null'), ',"label":', coalesce(to_json(t1."the_label")::text, 'null'), '}')
INSERT INTO "item" AS t1 ("the_label") VALUES ('abcd'::text) RETURNING concat('{"id":', coalesce(to_json(t1."item_no")::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"items":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"id":', coalesce(to_json(t1."item_no")::text, 'null'), ',"price":', coalesce(to_json(t1."price")::text, 'null'), ',"code":', coalesce(to_json(t1."code"::text)::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "item" t1 WHERE (t1."the_label" = 'abc'::text AND t1."price" < '2.0'::double precision) ORDER BY t1."item_no" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."item_no") r), '[]'), '}') AS body OFFSET 0) b

-- data types of lists
CREATE TABLE IF NOT EXISTS "public"."article" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "keywords" text[] NOT NULL,
    "codes" character varying(3)[],
    "ranks" smallint[],
    "weights" real[],
    PRIMARY KEY ("id")
)
CREATE INDEX IF NOT EXISTS "article_keywords_idx" ON "public"."article" USING gin ("keywords")
INSERT INTO "article" AS t1 ("id", "keywords", "codes", "ranks", "weights") VALUES ($1::uuid, '{"a","b"}'::text[], '{"abc"}'::text[], '{"1"}'::integer[], '{"0.1"}'::double precision[]) RETURNING concat('{"keywords":', coalesce(to_json(t1."keywords")::text, 'null'), ',"codes":', coalesce(to_json(t1."codes")::text, 'null'), ',"ranks":', coalesce(to_json(t1."ranks")::text, 'null'), '}')
WITH w AS (UPDATE "article" t1 SET "keywords" = coalesce(t1."keywords", '{}') || '{"c"}'::text[], "codes" = coalesce(t1."codes", '{}') || ARRAY(SELECT e FROM unnest('{"abc","xyz"}'::text[]) WITH ORDINALITY AS u(e, o) WHERE e <> ALL (coalesce(t1."codes", '{}')) ORDER BY o), "ranks" = '{"7"}'::integer[] || coalesce(t1."ranks", '{}') RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (UPDATE "article" t1 SET "keywords" = ARRAY(SELECT e FROM unnest(coalesce(t1."keywords", '{}')) WITH ORDINALITY AS u(e, o) WHERE e <> ALL ('{"c"}'::text[]) ORDER BY o), "codes" = ARRAY(SELECT e FROM unnest(coalesce(t1."codes", '{}')) WITH ORDINALITY AS u(e, o) WHERE e <> ALL ('{"abc"}'::text[]) ORDER BY o), "ranks" = coalesce(t1."ranks", '{}') || ARRAY(SELECT e FROM unnest('{"1","8"}'::integer[]) WITH ORDINALITY AS u(e, o) WHERE e <> ALL (coalesce(t1."ranks", '{}')) ORDER BY o) RETURNING 1) SELECT count(*)::text FROM w
INSERT INTO "article" AS t1 ("id", "keywords", "codes") VALUES ($1::uuid, '{}'::text[], '{"abcd"}'::text[]) RETURNING concat('{"codes":', coalesce(to_json(t1."codes")::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"articles":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"keywords":', coalesce(to_json(t1."keywords")::text, 'null'), ',"codes":', coalesce(to_json(t1."codes")::text, 'null'), ',"ranks":', coalesce(to_json(t1."ranks")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "article" t1 WHERE (t1."keywords" @> ARRAY['b'::text] AND t1."codes"::text[] @> '{"xyz"}'::text[] AND NOT coalesce(t1."ranks"::integer[] @> ARRAY['100000'::integer], FALSE) AND t1."weights"::text[]::double precision[] @> ARRAY['0.1'::double precision]) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), ',"none":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"codes":', coalesce(to_json(t2."codes")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t2.*, tableoid AS "~table", ctid AS "~place" FROM "article" t2 WHERE t2."codes"::text[] @> ARRAY['xyz…'::text] ORDER BY t2."id" LIMIT 100) t2 ORDER BY t2."~table", t2."~place", t2."id") r), '[]'), ',"heavy":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"codes":', coalesce(to_json(t3."codes")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t3.*, tableoid AS "~table", ctid AS "~place" FROM "article" t3 WHERE NOT coalesce(t3."weights"::text[]::double precision[] @> ARRAY['0.1'::double precision], FALSE) ORDER BY t3."id" LIMIT 100) t3 ORDER BY t3."~table", t3."~place", t3."id") r), '[]'), '}') AS body OFFSET 0) b

-- default
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname = 'public' AND t.typname = 'mood') THEN
        CREATE TYPE "public"."mood" AS ENUM ('GOOD', 'BAD');
    END IF;
END
$freshet$
CREATE TABLE IF NOT EXISTS "public"."note" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "owner" text NOT NULL,
    "at" timestamp with time zone NOT NULL DEFAULT now(),
    "day" date NOT NULL DEFAULT CURRENT_DATE,
    "mood" "public"."mood" NOT NULL DEFAULT 'GOOD'::"public"."mood",
    "stars" integer NOT NULL DEFAULT '3'::integer,
    "tags" text[] NOT NULL DEFAULT '{"a"}'::text[],
    "serial" bigint NOT NULL DEFAULT (41 + 1),
    PRIMARY KEY ("id")
)
INSERT INTO "note" AS t1 ("id", "owner", "at", "day", "mood", "stars", "tags") VALUES ($1::uuid, $2::text, $3::timestamp with time zone, $4::date, 'GOOD'::"mood", '3'::integer, '{"a"}'::text[]) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), ',"owner":', coalesce(to_json(t1."owner")::text, 'null'), ',"at":', coalesce(to_json(coalesce(to_char(t1."at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN t1."at" < '0001-01-01Z' THEN ' BC' ELSE '' END), t1."at"::text))::text, 'null'), ',"day":', coalesce(to_json(t1."day")::text, 'null'), ',"mood":', coalesce('"' || t1."mood"::text || '"', 'null'), ',"stars":', coalesce(t1."stars"::text, 'null'), ',"tags":', coalesce(to_json(t1."tags")::text, 'null'), ',"serial":', coalesce('"' || t1."serial"::text || '"', 'null'), '}')

-- default limit
CREATE TABLE IF NOT EXISTS "public"."root" (
    "no" integer NOT NULL,
    PRIMARY KEY ("no")
)
CREATE TABLE IF NOT EXISTS "public"."leaf" (
    "no" integer NOT NULL,
    "root_no" integer NOT NULL,
    PRIMARY KEY ("no")
)
CREATE INDEX IF NOT EXISTS "leaf_root_no_idx" ON "public"."leaf" USING btree ("root_no")
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'leaf' AND c.conname = 'leaf_root_no_fkey') THEN
        ALTER TABLE "public"."leaf" ADD CONSTRAINT "leaf_root_no_fkey" FOREIGN KEY ("root_no") REFERENCES "public"."root" ("no") ON DELETE CASCADE;
    END IF;
END
$freshet$
INSERT INTO "root" AS t1 ("no") VALUES ('1'::integer) RETURNING concat('{"no":', coalesce(t1."no"::text, 'null'), '}')
WITH w1 AS (INSERT INTO "leaf" AS t ("no", "root_no") SELECT u.c1, u.c2 FROM unnest($1::integer[], $2::integer[]) WITH ORDINALITY AS u(c1, c2, o) ORDER BY u.o RETURNING concat('{"__typename":"Leaf"', '}') AS j) SELECT coalesce('[' || string_agg(x.j, ',' ORDER BY x.o) || ']', '[]') FROM (SELECT j, ($3::bigint[])[row_number() OVER ()] AS o FROM w1) x
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"leafs":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t1."no"::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "leaf" t1 ORDER BY t1."no" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."no") r), '[]'), ',"root":', coalesce((SELECT concat('{"leafs_on_root":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t3."no"::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t3.*, tableoid AS "~table", ctid AS "~place" FROM "leaf" t3 WHERE t3."root_no" = t2."no" ORDER BY t3."no" LIMIT 100) t3 ORDER BY t3."~table", t3."~place", t3."no") r), '[]'), '}') FROM "root" t2 WHERE t2."no" = '1'::integer), 'null'), ',"all":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t4."no"::text, 'null'), '}') AS j FROM "leaf" t4 ORDER BY t4."no" LIMIT 101 OFFSET 99) r), '[]'), ',"n":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT row_to_json(g.*)::text AS j FROM (SELECT count(*) AS "_count" FROM "leaf" t5) g LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b

-- extend
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname = 'public' AND t.typname = 'mood') THEN
        CREATE TYPE "public"."mood" AS ENUM ('GLAD', 'SAD');
    END IF;
END
$freshet$
CREATE TABLE IF NOT EXISTS "public"."novel" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "title" text NOT NULL,
    "sequel_to_id" uuid,
    "mood" "public"."mood" NOT NULL DEFAULT 'GLAD'::"public"."mood",
    PRIMARY KEY ("id")
)
CREATE UNIQUE INDEX IF NOT EXISTS "novel_title_uidx" ON "public"."novel" ("title")
CREATE INDEX IF NOT EXISTS "novels_by_mood" ON "public"."novel" USING btree ("mood")
CREATE INDEX IF NOT EXISTS "novel_sequel_to_id_idx" ON "public"."novel" USING btree ("sequel_to_id")
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'novel' AND c.conname = 'novel_sequel_to_id_fkey') THEN
        ALTER TABLE "public"."novel" ADD CONSTRAINT "novel_sequel_to_id_fkey" FOREIGN KEY ("sequel_to_id") REFERENCES "public"."novel" ("id") ON DELETE SET NULL;
    END IF;
END
$freshet$
INSERT INTO "novel" AS t1 ("id", "title", "mood") VALUES ('00000000000040008000000000000001'::uuid, 'A'::text, 'GLAD'::"mood") RETURNING concat('{"mood":', coalesce('"' || t1."mood"::text || '"', 'null'), '}')
INSERT INTO "novel" AS t1 ("id", "title", "sequel_to_id", "mood") VALUES ($1::uuid, 'B'::text, '00000000000040008000000000000001'::uuid, 'SAD'::"mood") RETURNING concat('{"mood":', coalesce('"' || t1."mood"::text || '"', 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), ',"sequelTo":', coalesce((SELECT concat('{"title":', coalesce(to_json(t2."title")::text, 'null'), ',"novels_on_sequelTo":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t3."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t3.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t3 WHERE t3."sequel_to_id" = t2."id" ORDER BY t3."id" LIMIT 100) t3 ORDER BY t3."~table", t3."~place", t3."id") r), '[]'), '}') FROM "novel" t2 WHERE t1."sequel_to_id" = t2."id"), 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."mood" = 'SAD'::"mood" ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- index
CREATE TABLE IF NOT EXISTS "public"."log" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "source" text NOT NULL,
    "at" timestamp with time zone NOT NULL,
    "tags" text[],
    "data" jsonb,
    PRIMARY KEY ("id")
)
CREATE INDEX IF NOT EXISTS "log_recent" ON "public"."log" USING btree ("source", "at" DESC)
CREATE INDEX IF NOT EXISTS "log_source_idx" ON "public"."log" USING btree ("source")
CREATE INDEX IF NOT EXISTS "log_tags_idx" ON "public"."log" USING gin ("tags")
CREATE INDEX IF NOT EXISTS "log_data" ON "public"."log" USING gin ("data")
INSERT INTO "log" AS t1 ("id", "source", "at", "tags", "data") VALUES ($1::uuid, 's'::text, '2024-01-01T00:00:00.000000Z'::timestamp with time zone, '{"x"}'::text[], '{"a":1}'::jsonb) RETURNING concat('{"source":', coalesce(to_json(t1."source")::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"logs":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"data":', coalesce(to_json(t1."data")::text, 'null'), '}') AS j FROM "log" t1 WHERE t1."tags" @> ARRAY['x'::text] ORDER BY t1."source", t1."at" DESC, t1."id" LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b

-- plurals
CREATE TABLE IF NOT EXISTS "public"."gate_a" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "n" integer NOT NULL,
    PRIMARY KEY ("id")
)
CREATE TABLE IF NOT EXISTS "public"."gate_b" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "n" integer NOT NULL,
    PRIMARY KEY ("id")
)
CREATE TABLE IF NOT EXISTS "public"."tunnel" (
    "a_id" uuid NOT NULL,
    "b_id" uuid NOT NULL,
    PRIMARY KEY ("a_id", "b_id")
)
CREATE TABLE IF NOT EXISTS "public"."signal_settings" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "gate_id" uuid NOT NULL,
    "color" text,
    PRIMARY KEY ("id")
)
CREATE INDEX IF NOT EXISTS "tunnel_b_id_idx" ON "public"."tunnel" USING btree ("b_id")
CREATE INDEX IF NOT EXISTS "signal_settings_gate_id_idx" ON "public"."signal_settings" USING btree ("gate_id")
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'tunnel' AND c.conname = 'tunnel_a_id_fkey') THEN
        ALTER TABLE "public"."tunnel" ADD CONSTRAINT "tunnel_a_id_fkey" FOREIGN KEY ("a_id") REFERENCES "public"."gate_a" ("id") ON DELETE CASCADE;
    END IF;
END
$freshet$
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'tunnel' AND c.conname = 'tunnel_b_id_fkey') THEN
        ALTER TABLE "public"."tunnel" ADD CONSTRAINT "tunnel_b_id_fkey" FOREIGN KEY ("b_id") REFERENCES "public"."gate_b" ("id") ON DELETE CASCADE;
    END IF;
END
$freshet$
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'signal_settings' AND c.conname = 'signal_settings_gate_id_fkey') THEN
        ALTER TABLE "public"."signal_settings" ADD CONSTRAINT "signal_settings_gate_id_fkey" FOREIGN KEY ("gate_id") REFERENCES "public"."gate_a" ("id") ON DELETE CASCADE;
    END IF;
END
$freshet$
INSERT INTO "gate_b" AS t1 ("id", "n") VALUES ('00000000000040008000000000000002'::uuid, '2'::integer) RETURNING concat('{"n":', coalesce(t1."n"::text, 'null'), '}')
WITH w1 AS (INSERT INTO "gate_a" AS t1 ("id", "n") VALUES ('00000000000040008000000000000001'::uuid, '1'::integer) RETURNING t1.*), w2 AS (INSERT INTO "signal_settings" AS t2 ("gate_id", "id", "color") SELECT w1."id", $1::uuid, 'red'::text FROM w1 RETURNING t2.*) SELECT (SELECT concat('{"n":', coalesce(t1."n"::text, 'null'), '}') FROM w1 t1)
INSERT INTO "tunnel" AS t1 ("a_id", "b_id") VALUES ('00000000000040008000000000000001'::uuid, '00000000000040008000000000000002'::uuid) RETURNING concat('{"aId":', coalesce('"' || replace(t1."a_id"::text, '-', '') || '"', 'null'), ',"bId":', coalesce('"' || replace(t1."b_id"::text, '-', '') || '"', 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"gateAS":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"n":', coalesce(t1."n"::text, 'null'), ',"gateBS_via_Tunnel":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"n":', coalesce(t3."n"::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t2.*, tableoid AS "~table", ctid AS "~place" FROM "tunnel" t2 WHERE t2."a_id" = t1."id" ORDER BY t2."a_id", t2."b_id" LIMIT 100) t2 JOIN "gate_b" t3 ON t2."b_id" = t3."id" ORDER BY t2."~table", t2."~place", t2."a_id", t2."b_id") r), '[]'), ',"signalSettingss_on_gate":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"color":', coalesce(to_json(t4."color")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t4.*, tableoid AS "~table", ctid AS "~place" FROM "signal_settings" t4 WHERE t4."gate_id" = t1."id" ORDER BY t4."id" LIMIT 100) t4 ORDER BY t4."~table", t4."~place", t4."id") r), '[]'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "gate_a" t1 ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), ',"signalSettingss":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"color":', coalesce(to_json(t5."color")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t5.*, tableoid AS "~table", ctid AS "~place" FROM "signal_settings" t5 ORDER BY t5."id" LIMIT 100) t5 ORDER BY t5."~table", t5."~place", t5."id") r), '[]'), '}') AS body OFFSET 0) b

-- ref
CREATE TABLE IF NOT EXISTS "public"."country" (
    "code" text NOT NULL,
    PRIMARY KEY ("code")
)
CREATE TABLE IF NOT EXISTS "public"."person" (
    "nick" text NOT NULL,
    PRIMARY KEY ("nick")
)
CREATE TABLE IF NOT EXISTS "public"."home" (
    "no" integer NOT NULL,
    "country_code" text NOT NULL,
    "keeper_nick" text,
    PRIMARY KEY ("no")
)
CREATE INDEX IF NOT EXISTS "home_country_code_idx" ON "public"."home" USING btree ("country_code")
CREATE INDEX IF NOT EXISTS "home_keeper_nick_idx" ON "public"."home" USING btree ("keeper_nick")
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'home' AND c.conname = 'home_country') THEN
        ALTER TABLE "public"."home" ADD CONSTRAINT "home_country" FOREIGN KEY ("country_code") REFERENCES "public"."country" ("code") ON DELETE CASCADE;
    END IF;
END
$freshet$
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'home' AND c.conname = 'home_keeper_nick_fkey') THEN
        ALTER TABLE "public"."home" ADD CONSTRAINT "home_keeper_nick_fkey" FOREIGN KEY ("keeper_nick") REFERENCES "public"."person" ("nick") ON DELETE SET NULL;
    END IF;
END
$freshet$
INSERT INTO "country" AS t1 ("code") VALUES ('x'::text) RETURNING concat('{"code":', coalesce(to_json(t1."code")::text, 'null'), '}')
INSERT INTO "person" AS t1 ("nick") VALUES ('p'::text) RETURNING concat('{"nick":', coalesce(to_json(t1."nick")::text, 'null'), '}')
INSERT INTO "home" AS t1 ("no", "country_code", "keeper_nick") VALUES ('1'::integer, 'x'::text, 'p'::text) RETURNING concat('{"no":', coalesce(t1."no"::text, 'null'), '}')
INSERT INTO "home" AS t1 ("no", "country_code", "keeper_nick") VALUES ('2'::integer, 'x'::text, 'p'::text) RETURNING concat('{"keeperNick":', coalesce(to_json(t1."keeper_nick")::text, 'null'), '}')
INSERT INTO "home" AS t1 ("no", "country_code") VALUES ('3'::integer, 'none'::text) RETURNING concat('{"no":', coalesce(t1."no"::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"country":', coalesce((SELECT concat('{"homes_on_where":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t2."no"::text, 'null'), ',"keeper":', coalesce((SELECT concat('{"nick":', coalesce(to_json(t3."nick")::text, 'null'), '}') FROM "person" t3 WHERE t2."keeper_nick" = t3."nick"), 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t2.*, tableoid AS "~table", ctid AS "~place" FROM "home" t2 WHERE t2."country_code" = t1."code" ORDER BY t2."no" LIMIT 100) t2 ORDER BY t2."~table", t2."~place", t2."no") r), '[]'), '}') FROM "country" t1 WHERE t1."code" = 'x'::text), 'null'), ',"person":', coalesce((SELECT concat('{"homes_on_keeper":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT row_to_json(g.*)::text AS j FROM (SELECT count(*) AS "_count" FROM "home" t5 WHERE t5."keeper_nick" = t4."nick") g LIMIT 100) r), '[]'), '}') FROM "person" t4 WHERE t4."nick" = 'p'::text), 'null'), '}') AS body OFFSET 0) b
DELETE FROM "person" t1 WHERE t1."nick" = 'p'::text RETURNING concat('{"nick":', coalesce(to_json(t1."nick")::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"homes":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t1."no"::text, 'null'), ',"keeperNick":', coalesce(to_json(t1."keeper_nick")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "home" t1 ORDER BY t1."no" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."no") r), '[]'), '}') AS body OFFSET 0) b
DELETE FROM "country" t1 WHERE t1."code" = 'x'::text RETURNING concat('{"code":', coalesce(to_json(t1."code")::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"homes":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t1."no"::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "home" t1 ORDER BY t1."no" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."no") r), '[]'), '}') AS body OFFSET 0) b

-- searchable
CREATE TABLE IF NOT EXISTS "public"."book" (
    "no" integer NOT NULL,
    "title" text NOT NULL,
    "blurb" text,
    PRIMARY KEY ("no")
)
CREATE INDEX IF NOT EXISTS "book_search_idx" ON "public"."book" USING gin (to_tsvector('german'::regconfig, coalesce("title", '') || ' ' || coalesce("blurb", '')))
WITH w1 AS (INSERT INTO "book" AS t ("no", "title") SELECT u.c1, u.c2 FROM unnest($1::integer[], $2::text[]) WITH ORDINALITY AS u(c1, c2, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j), w2 AS (INSERT INTO "book" AS t ("no", "title", "blurb") SELECT u.c1, u.c2, u.c3 FROM unnest($4::integer[], $5::text[], $6::text[]) WITH ORDINALITY AS u(c1, c2, c3, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j) SELECT coalesce('[' || string_agg(x.j, ',' ORDER BY x.o) || ']', '[]') FROM (SELECT j, ($3::bigint[])[row_number() OVER ()] AS o FROM w1 UNION ALL SELECT j, ($7::bigint[])[row_number() OVER ()] AS o FROM w2) x
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"books_search":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t1."no"::text, 'null'), '}') AS j FROM "book" t1 WHERE to_tsvector('german'::regconfig, coalesce(t1."title", '') || ' ' || coalesce(t1."blurb", '')) @@ websearch_to_tsquery('german'::regconfig, 'Haus'::text) ORDER BY t1."no" LIMIT 100) r), '[]'), ',"one":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t2."no"::text, 'null'), '}') AS j FROM "book" t2 WHERE to_tsvector('german'::regconfig, coalesce(t2."title", '') || ' ' || coalesce(t2."blurb", '')) @@ websearch_to_tsquery('german'::regconfig, 'Garten Haus'::text) ORDER BY ts_rank(to_tsvector('german'::regconfig, coalesce(t2."title", '') || ' ' || coalesce(t2."blurb", '')), websearch_to_tsquery('german'::regconfig, 'Garten Haus'::text))::double precision DESC, t2."no" LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b

-- table
CREATE TABLE IF NOT EXISTS "public"."films_tbl" (
    "code" text NOT NULL,
    "title" text,
    PRIMARY KEY ("code")
)
CREATE TABLE IF NOT EXISTS "public"."copy" (
    "film_code" text NOT NULL,
    "number" integer NOT NULL,
    "note" text,
    PRIMARY KEY ("film_code", "number")
)
CREATE TABLE IF NOT EXISTS "public"."plain" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "name" text,
    PRIMARY KEY ("id")
)
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'copy' AND c.conname = 'copy_film_code_fkey') THEN
        ALTER TABLE "public"."copy" ADD CONSTRAINT "copy_film_code_fkey" FOREIGN KEY ("film_code") REFERENCES "public"."films_tbl" ("code") ON DELETE CASCADE;
    END IF;
END
$freshet$
INSERT INTO "films_tbl" AS t1 ("code", "title") VALUES ('a'::text, 'A'::text) RETURNING concat('{"code":', coalesce(to_json(t1."code")::text, 'null'), '}')
INSERT INTO "copy" AS t1 ("film_code", "number") VALUES ($1::text, '1'::integer) RETURNING concat('{"filmCode":', coalesce(to_json(t1."film_code")::text, 'null'), ',"number":', coalesce(t1."number"::text, 'null'), '}')
INSERT INTO "plain" AS t1 ("id", "name") VALUES ($1::uuid, 'x'::text) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"picture":', coalesce((SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), ',"copies_on_film":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"number":', coalesce(t2."number"::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t2.*, tableoid AS "~table", ctid AS "~place" FROM "copy" t2 WHERE t2."film_code" = t1."code" ORDER BY t2."film_code", t2."number" LIMIT 100) t2 ORDER BY t2."~table", t2."~place", t2."film_code", t2."number") r), '[]'), '}') FROM "films_tbl" t1 WHERE t1."code" = 'a'::text), 'null'), ',"pictures":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"code":', coalesce(to_json(t3."code")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t3.*, tableoid AS "~table", ctid AS "~place" FROM "films_tbl" t3 ORDER BY t3."code" LIMIT 100) t3 ORDER BY t3."~table", t3."~place", t3."code") r), '[]'), ',"copy":', coalesce((SELECT concat('{"film":', coalesce((SELECT concat('{"title":', coalesce(to_json(t5."title")::text, 'null'), '}') FROM "films_tbl" t5 WHERE t4."film_code" = t5."code"), 'null'), '}') FROM "copy" t4 WHERE t4."film_code" = 'a'::text AND t4."number" = '1'::integer), 'null'), ',"plain":', coalesce((SELECT concat('{"name":', coalesce(to_json(t6."name")::text, 'null'), '}') FROM "plain" t6 WHERE t6."id" = 'f000000000004000800000000000000f'::uuid), 'null'), '}') AS body OFFSET 0) b

-- unique
CREATE TABLE IF NOT EXISTS "public"."car" (
    "plate" text NOT NULL,
    "chassis" text,
    "make" text,
    "year" integer,
    PRIMARY KEY ("plate")
)
CREATE TABLE IF NOT EXISTS "public"."permit" (
    "no" integer NOT NULL,
    "car_plate" text NOT NULL,
    PRIMARY KEY ("no")
)
CREATE UNIQUE INDEX IF NOT EXISTS "car_make_year" ON "public"."car" ("make", "year")
CREATE UNIQUE INDEX IF NOT EXISTS "car_chassis" ON "public"."car" ("chassis")
CREATE UNIQUE INDEX IF NOT EXISTS "permit_car_plate_uidx" ON "public"."permit" ("car_plate")
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'permit' AND c.conname = 'permit_car_plate_fkey') THEN
        ALTER TABLE "public"."permit" ADD CONSTRAINT "permit_car_plate_fkey" FOREIGN KEY ("car_plate") REFERENCES "public"."car" ("plate") ON DELETE CASCADE;
    END IF;
END
$freshet$
INSERT INTO "car" AS t1 ("plate", "chassis", "make", "year") VALUES ('a'::text, 'c'::text, 'm'::text, '1'::integer) RETURNING concat('{"plate":', coalesce(to_json(t1."plate")::text, 'null'), '}')
INSERT INTO "permit" AS t1 ("no", "car_plate") VALUES ('1'::integer, 'a'::text) RETURNING concat('{"no":', coalesce(t1."no"::text, 'null'), '}')
INSERT INTO "car" AS t1 ("plate", "chassis") VALUES ('b'::text, 'c'::text) RETURNING concat('{"plate":', coalesce(to_json(t1."plate")::text, 'null'), '}')
INSERT INTO "car" AS t1 ("plate", "make", "year") VALUES ('b'::text, 'm'::text, '1'::integer) RETURNING concat('{"plate":', coalesce(to_json(t1."plate")::text, 'null'), '}')
INSERT INTO "permit" AS t1 ("no", "car_plate") VALUES ('2'::integer, 'a'::text) RETURNING concat('{"no":', coalesce(t1."no"::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"car":', coalesce((SELECT concat('{"permit_on_car":', coalesce((SELECT concat('{"no":', coalesce(t2."no"::text, 'null'), '}') FROM "permit" t2 WHERE t2."car_plate" = t1."plate" LIMIT 1), 'null'), '}') FROM "car" t1 WHERE t1."plate" = 'a'::text), 'null'), '}') AS body OFFSET 0) b

-- view
CREATE TABLE IF NOT EXISTS "public"."sale" (
    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
    "shop" text NOT NULL,
    "amount" integer NOT NULL,
    PRIMARY KEY ("id")
)
WITH w1 AS (INSERT INTO "sale" AS t ("id", "shop", "amount") SELECT u.c1, u.c2, u.c3 FROM unnest($1::uuid[], $2::text[], $3::integer[]) WITH ORDINALITY AS u(c1, c2, c3, o) ORDER BY u.o RETURNING concat('{"amount":', coalesce(t."amount"::text, 'null'), '}') AS j) SELECT coalesce('[' || string_agg(x.j, ',' ORDER BY x.o) || ']', '[]') FROM (SELECT j, ($4::bigint[])[row_number() OVER ()] AS o FROM w1) x
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"shopTotals":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"shop":', coalesce(to_json(t1."shop")::text, 'null'), ',"totalAmount":', coalesce('"' || t1."total_amount"::text || '"', 'null'), '}') AS j FROM (SELECT shop, sum(amount) AS total_amount FROM sale GROUP BY shop) t1 WHERE t1."total_amount" > '5'::bigint ORDER BY t1."shop", t1."total_amount" LIMIT 100) r), '[]'), ',"bigOnes":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"amount":', coalesce(t2."amount"::text, 'null'), '}') AS j FROM "big_sale_v" t2 ORDER BY t2."amount" LIMIT 100) r), '[]'), ',"n":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT row_to_json(g.*)::text AS j FROM (SELECT count(*) AS "_count" FROM "big_sale_v" t3) g LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b
