-- Any
CREATE TABLE IF NOT EXISTS "public"."thing" (
    "no" integer NOT NULL,
    "v" jsonb,
    PRIMARY KEY ("no")
)
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('0'::integer, $1::jsonb) RETURNING concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}') FROM "thing" t1 WHERE t1."no" = '0'::integer), 'null'), '}') AS body OFFSET 0) b
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('1'::integer, $1::jsonb) RETURNING concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}') FROM "thing" t1 WHERE t1."no" = '1'::integer), 'null'), '}') AS body OFFSET 0) b

-- Boolean
CREATE TABLE IF NOT EXISTS "public"."thing" (
    "no" integer NOT NULL,
    "v" boolean,
    PRIMARY KEY ("no")
)
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('0'::integer, $1::boolean) RETURNING concat('{"v":', coalesce(t1."v"::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce(t1."v"::text, 'null'), '}') FROM "thing" t1 WHERE t1."no" = '0'::integer), 'null'), '}') AS body OFFSET 0) b

-- Date
CREATE TABLE IF NOT EXISTS "public"."thing" (
    "no" integer NOT NULL,
    "v" date,
    PRIMARY KEY ("no")
)
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('0'::integer, $1::date) RETURNING concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}') FROM "thing" t1 WHERE t1."no" = '0'::integer), 'null'), '}') AS body OFFSET 0) b
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('1'::integer, $1::date) RETURNING concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}') FROM "thing" t1 WHERE t1."no" = '1'::integer), 'null'), '}') AS body OFFSET 0) b

-- Float
CREATE TABLE IF NOT EXISTS "public"."thing" (
    "no" integer NOT NULL,
    "v" double precision,
    PRIMARY KEY ("no")
)
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('0'::integer, $1::double precision) RETURNING concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}') FROM "thing" t1 WHERE t1."no" = '0'::integer), 'null'), '}') AS body OFFSET 0) b
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('1'::integer, $1::double precision) RETURNING concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}') FROM "thing" t1 WHERE t1."no" = '1'::integer), 'null'), '}') AS body OFFSET 0) b

-- Int
CREATE TABLE IF NOT EXISTS "public"."thing" (
    "no" integer NOT NULL,
    "v" integer,
    PRIMARY KEY ("no")
)
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('0'::integer, $1::integer) RETURNING concat('{"v":', coalesce(t1."v"::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce(t1."v"::text, 'null'), '}') FROM "thing" t1 WHERE t1."no" = '0'::integer), 'null'), '}') AS body OFFSET 0) b
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('1'::integer, $1::integer) RETURNING concat('{"v":', coalesce(t1."v"::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce(t1."v"::text, 'null'), '}') FROM "thing" t1 WHERE t1."no" = '1'::integer), 'null'), '}') AS body OFFSET 0) b

-- Int64
CREATE TABLE IF NOT EXISTS "public"."thing" (
    "no" integer NOT NULL,
    "v" bigint,
    PRIMARY KEY ("no")
)
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('0'::integer, $1::bigint) RETURNING concat('{"v":', coalesce('"' || t1."v"::text || '"', 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce('"' || t1."v"::text || '"', 'null'), '}') FROM "thing" t1 WHERE t1."no" = '0'::integer), 'null'), '}') AS body OFFSET 0) b
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('1'::integer, $1::bigint) RETURNING concat('{"v":', coalesce('"' || t1."v"::text || '"', 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce('"' || t1."v"::text || '"', 'null'), '}') FROM "thing" t1 WHERE t1."no" = '1'::integer), 'null'), '}') AS body OFFSET 0) b
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('2'::integer, $1::bigint) RETURNING concat('{"v":', coalesce('"' || t1."v"::text || '"', 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce('"' || t1."v"::text || '"', 'null'), '}') FROM "thing" t1 WHERE t1."no" = '2'::integer), 'null'), '}') AS body OFFSET 0) b

-- String
CREATE TABLE IF NOT EXISTS "public"."thing" (
    "no" integer NOT NULL,
    "v" text,
    PRIMARY KEY ("no")
)
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('0'::integer, $1::text) RETURNING concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}') FROM "thing" t1 WHERE t1."no" = '0'::integer), 'null'), '}') AS body OFFSET 0) b

-- Timestamp
CREATE TABLE IF NOT EXISTS "public"."thing" (
    "no" integer NOT NULL,
    "v" timestamp with time zone,
    PRIMARY KEY ("no")
)
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('0'::integer, $1::timestamp with time zone) RETURNING concat('{"v":', coalesce(to_json(coalesce(to_char(t1."v" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN t1."v" < '0001-01-01Z' THEN ' BC' ELSE '' END), t1."v"::text))::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce(to_json(coalesce(to_char(t1."v" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN t1."v" < '0001-01-01Z' THEN ' BC' ELSE '' END), t1."v"::text))::text, 'null'), '}') FROM "thing" t1 WHERE t1."no" = '0'::integer), 'null'), '}') AS body OFFSET 0) b
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('1'::integer, $1::timestamp with time zone) RETURNING concat('{"v":', coalesce(to_json(coalesce(to_char(t1."v" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN t1."v" < '0001-01-01Z' THEN ' BC' ELSE '' END), t1."v"::text))::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce(to_json(coalesce(to_char(t1."v" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN t1."v" < '0001-01-01Z' THEN ' BC' ELSE '' END), t1."v"::text))::text, 'null'), '}') FROM "thing" t1 WHERE t1."no" = '1'::integer), 'null'), '}') AS body OFFSET 0) b
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('2'::integer, $1::timestamp with time zone) RETURNING concat('{"v":', coalesce(to_json(coalesce(to_char(t1."v" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN t1."v" < '0001-01-01Z' THEN ' BC' ELSE '' END), t1."v"::text))::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce(to_json(coalesce(to_char(t1."v" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN t1."v" < '0001-01-01Z' THEN ' BC' ELSE '' END), t1."v"::text))::text, 'null'), '}') FROM "thing" t1 WHERE t1."no" = '2'::integer), 'null'), '}') AS body OFFSET 0) b

-- UUID
CREATE TABLE IF NOT EXISTS "public"."thing" (
    "no" integer NOT NULL,
    "v" uuid,
    PRIMARY KEY ("no")
)
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('0'::integer, $1::uuid) RETURNING concat('{"v":', coalesce('"' || replace(t1."v"::text, '-', '') || '"', 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce('"' || replace(t1."v"::text, '-', '') || '"', 'null'), '}') FROM "thing" t1 WHERE t1."no" = '0'::integer), 'null'), '}') AS body OFFSET 0) b
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('1'::integer, $1::uuid) RETURNING concat('{"v":', coalesce('"' || replace(t1."v"::text, '-', '') || '"', 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce('"' || replace(t1."v"::text, '-', '') || '"', 'null'), '}') FROM "thing" t1 WHERE t1."no" = '1'::integer), 'null'), '}') AS body OFFSET 0) b
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('2'::integer, $1::uuid) RETURNING concat('{"v":', coalesce('"' || replace(t1."v"::text, '-', '') || '"', 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce('"' || replace(t1."v"::text, '-', '') || '"', 'null'), '}') FROM "thing" t1 WHERE t1."no" = '2'::integer), 'null'), '}') AS body OFFSET 0) b
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('3'::integer, $1::uuid) RETURNING concat('{"v":', coalesce('"' || replace(t1."v"::text, '-', '') || '"', 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce('"' || replace(t1."v"::text, '-', '') || '"', 'null'), '}') FROM "thing" t1 WHERE t1."no" = '3'::integer), 'null'), '}') AS body OFFSET 0) b
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('4'::integer, $1::uuid) RETURNING concat('{"v":', coalesce('"' || replace(t1."v"::text, '-', '') || '"', 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce('"' || replace(t1."v"::text, '-', '') || '"', 'null'), '}') FROM "thing" t1 WHERE t1."no" = '4'::integer), 'null'), '}') AS body OFFSET 0) b

-- enum
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname = 'public' AND t.typname = 'mood') THEN
        CREATE TYPE "public"."mood" AS ENUM ('GOOD', 'BAD');
    END IF;
END
$freshet$
CREATE TABLE IF NOT EXISTS "public"."thing" (
    "no" integer NOT NULL,
    "v" "public"."mood",
    PRIMARY KEY ("no")
)
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('0'::integer, $1::"mood") RETURNING concat('{"v":', coalesce('"' || t1."v"::text || '"', 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce('"' || t1."v"::text || '"', 'null'), '}') FROM "thing" t1 WHERE t1."no" = '0'::integer), 'null'), '}') AS body OFFSET 0) b

-- lists
CREATE TABLE IF NOT EXISTS "public"."thing" (
    "no" integer NOT NULL,
    "v" integer[],
    PRIMARY KEY ("no")
)
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('0'::integer, $1::integer[]) RETURNING concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}') FROM "thing" t1 WHERE t1."no" = '0'::integer), 'null'), '}') AS body OFFSET 0) b
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('1'::integer, $1::integer[]) RETURNING concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}') FROM "thing" t1 WHERE t1."no" = '1'::integer), 'null'), '}') AS body OFFSET 0) b
INSERT INTO "thing" AS t1 ("no", "v") VALUES ('2'::integer, $1::integer[]) RETURNING concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}')
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"thing":', coalesce((SELECT concat('{"v":', coalesce(to_json(t1."v")::text, 'null'), '}') FROM "thing" t1 WHERE t1."no" = '2'::integer), 'null'), '}') AS body OFFSET 0) b
