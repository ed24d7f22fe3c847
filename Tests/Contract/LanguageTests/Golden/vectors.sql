-- embeddings of inserts
CREATE EXTENSION IF NOT EXISTS vector
CREATE TABLE IF NOT EXISTS "public"."doc" (
    "no" integer NOT NULL,
    "v" vector(3),
    PRIMARY KEY ("no")
)
INSERT INTO "doc" AS t1 ("no", "v") VALUES ('1'::integer, $1::vector) RETURNING concat('{"no":', coalesce(t1."no"::text, 'null'), '}')
INSERT INTO "doc" AS t1 ("no", "v") VALUES ('1'::integer, $1::vector) ON CONFLICT ("no") DO UPDATE SET "v" = EXCLUDED."v" RETURNING concat('{"no":', coalesce(t1."no"::text, 'null'), '}')
WITH w1 AS (INSERT INTO "doc" AS t ("no", "v") SELECT u.c1, u.c2 FROM unnest($1::integer[], $2::vector[]) WITH ORDINALITY AS u(c1, c2, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j), w2 AS (INSERT INTO "doc" AS t ("no") SELECT u.c1 FROM unnest($4::integer[]) WITH ORDINALITY AS u(c1, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j) SELECT coalesce('[' || string_agg(x.j, ',' ORDER BY x.o) || ']', '[]') FROM (SELECT j, ($3::bigint[])[row_number() OVER ()] AS o FROM w1 UNION ALL SELECT j, ($5::bigint[])[row_number() OVER ()] AS o FROM w2) x
WITH w1 AS (INSERT INTO "doc" AS t ("no", "v") SELECT u.c1, u.c2 FROM unnest($1::integer[], $2::vector[]) WITH ORDINALITY AS u(c1, c2, o) ORDER BY u.o ON CONFLICT ("no") DO UPDATE SET "v" = EXCLUDED."v" RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j) SELECT coalesce('[' || string_agg(x.j, ',' ORDER BY x.o) || ']', '[]') FROM (SELECT j, ($3::bigint[])[row_number() OVER ()] AS o FROM w1) x
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"docs":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t1."no"::text, 'null'), ',"v":', coalesce(to_json(t1."v"::text::json)::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "doc" t1 ORDER BY t1."no" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."no") r), '[]'), '}') AS body OFFSET 0) b

-- embeddings of nested rows
CREATE EXTENSION IF NOT EXISTS vector
CREATE TABLE IF NOT EXISTS "public"."doc" (
    "no" integer NOT NULL,
    "v" vector(3),
    PRIMARY KEY ("no")
)
CREATE TABLE IF NOT EXISTS "public"."note" (
    "no" integer NOT NULL,
    "doc_no" integer NOT NULL,
    "w" vector(3),
    PRIMARY KEY ("no")
)
CREATE INDEX IF NOT EXISTS "note_doc_no_idx" ON "public"."note" USING btree ("doc_no")
DO $freshet$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE n.nspname = 'public' AND r.relname = 'note' AND c.conname = 'note_doc_no_fkey') THEN
        ALTER TABLE "public"."note" ADD CONSTRAINT "note_doc_no_fkey" FOREIGN KEY ("doc_no") REFERENCES "public"."doc" ("no") ON DELETE CASCADE;
    END IF;
END
$freshet$
WITH w1 AS (INSERT INTO "doc" AS t1 ("no", "v") VALUES ('1'::integer, $1::vector) RETURNING t1.*), w2 AS (INSERT INTO "note" AS t2 ("doc_no", "no", "w") SELECT w1."no", '7'::integer, $2::vector FROM w1 RETURNING t2.*), w3 AS (INSERT INTO "note" AS t3 ("doc_no", "no") SELECT w1."no", '8'::integer FROM w1 RETURNING t3.*) SELECT (SELECT concat('{"no":', coalesce(t1."no"::text, 'null'), '}') FROM w1 t1)
SELECT concat('{"notes_w_similarity":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t1."no"::text, 'null'), ',"w":', coalesce(to_json(t1."w"::text::json)::text, 'null'), ',"doc":', coalesce((SELECT concat('{"v":', coalesce(to_json(t2."v"::text::json)::text, 'null'), '}') FROM "doc" t2 WHERE t1."doc_no" = t2."no"), 'null'), '}') AS j FROM "note" t1 WHERE t1."w" IS NOT NULL ORDER BY (t1."w" <#> $1::vector), t1."no" LIMIT 100) r), '[]'), '}') AS body

-- embeddings of steps
CREATE EXTENSION IF NOT EXISTS vector
CREATE TABLE IF NOT EXISTS "public"."doc" (
    "no" integer NOT NULL,
    "v" vector(3),
    PRIMARY KEY ("no")
)

-- embeddings of updates
CREATE EXTENSION IF NOT EXISTS vector
CREATE TABLE IF NOT EXISTS "public"."doc" (
    "no" integer NOT NULL,
    "v" vector(3),
    PRIMARY KEY ("no")
)
WITH w1 AS (INSERT INTO "doc" AS t ("no", "v") SELECT u.c1, u.c2 FROM unnest($1::integer[], $2::vector[]) WITH ORDINALITY AS u(c1, c2, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j), w2 AS (INSERT INTO "doc" AS t ("no") SELECT u.c1 FROM unnest($4::integer[]) WITH ORDINALITY AS u(c1, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j) SELECT coalesce('[' || string_agg(x.j, ',' ORDER BY x.o) || ']', '[]') FROM (SELECT j, ($3::bigint[])[row_number() OVER ()] AS o FROM w1 UNION ALL SELECT j, ($5::bigint[])[row_number() OVER ()] AS o FROM w2) x
UPDATE "doc" t1 SET "v" = $1::vector WHERE t1."no" = '4'::integer RETURNING concat('{"no":', coalesce(t1."no"::text, 'null'), '}')
WITH w AS (UPDATE "doc" t1 SET "v" = $1::vector WHERE t1."no" < '3'::integer RETURNING 1) SELECT count(*)::text FROM w
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"docs":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t1."no"::text, 'null'), ',"v":', coalesce(to_json(t1."v"::text::json)::text, 'null'), '}') AS j FROM "doc" t1 ORDER BY t1."no" LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"doc":', coalesce((SELECT concat('{"v":', coalesce(to_json(t1."v"::text::json)::text, 'null'), '}') FROM "doc" t1 WHERE t1."no" = '4'::integer), 'null'), '}') AS body OFFSET 0) b

-- similarity
CREATE EXTENSION IF NOT EXISTS vector
CREATE TABLE IF NOT EXISTS "public"."doc" (
    "no" integer NOT NULL,
    "v" vector(3),
    PRIMARY KEY ("no")
)
CREATE INDEX IF NOT EXISTS "doc_v_idx" ON "public"."doc" USING hnsw ("v" vector_cosine_ops)
WITH w1 AS (INSERT INTO "doc" AS t ("no", "v") SELECT u.c1, u.c2 FROM unnest($1::integer[], $2::vector[]) WITH ORDINALITY AS u(c1, c2, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j), w2 AS (INSERT INTO "doc" AS t ("no") SELECT u.c1 FROM unnest($4::integer[]) WITH ORDINALITY AS u(c1, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j) SELECT coalesce('[' || string_agg(x.j, ',' ORDER BY x.o) || ']', '[]') FROM (SELECT j, ($3::bigint[])[row_number() OVER ()] AS o FROM w1 UNION ALL SELECT j, ($5::bigint[])[row_number() OVER ()] AS o FROM w2) x
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"docs_v_similarity":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t1."no"::text, 'null'), ',"_metadata":', concat('{"distance":', coalesce(to_json((t1."v" <=> $1::vector))::text, 'null'), '}'), '}') AS j FROM "doc" t1 WHERE t1."v" IS NOT NULL ORDER BY (t1."v" <=> $1::vector), t1."no" LIMIT 100) r), '[]'), ',"l2":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t2."no"::text, 'null'), '}') AS j FROM "doc" t2 WHERE t2."v" IS NOT NULL AND (t2."v" <-> $1::vector) <= '1.0'::double precision ORDER BY (t2."v" <-> $1::vector), t2."no" LIMIT 100) r), '[]'), ',"inner":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t3."no"::text, 'null'), '}') AS j FROM "doc" t3 WHERE t3."no" > '1'::integer AND t3."v" IS NOT NULL ORDER BY (t3."v" <#> $1::vector), t3."no" LIMIT 1) r), '[]'), '}') AS body OFFSET 0) b

-- similarity by default
CREATE EXTENSION IF NOT EXISTS vector
CREATE TABLE IF NOT EXISTS "public"."doc" (
    "no" integer NOT NULL,
    "v" vector(3),
    PRIMARY KEY ("no")
)
CREATE INDEX IF NOT EXISTS "doc_v_idx" ON "public"."doc" USING hnsw ("v" vector_ip_ops)
WITH w1 AS (INSERT INTO "doc" AS t ("no", "v") SELECT u.c1, u.c2 FROM unnest($1::integer[], $2::vector[]) WITH ORDINALITY AS u(c1, c2, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j), w2 AS (INSERT INTO "doc" AS t ("no") SELECT u.c1 FROM unnest($4::integer[]) WITH ORDINALITY AS u(c1, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j) SELECT coalesce('[' || string_agg(x.j, ',' ORDER BY x.o) || ']', '[]') FROM (SELECT j, ($3::bigint[])[row_number() OVER ()] AS o FROM w1 UNION ALL SELECT j, ($5::bigint[])[row_number() OVER ()] AS o FROM w2) x
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"docs_v_similarity":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t1."no"::text, 'null'), ',"_metadata":', concat('{"distance":', coalesce(to_json((t1."v" <#> '[2.0,0.0,0.0]'::vector))::text, 'null'), '}'), '}') AS j FROM "doc" t1 WHERE t1."v" IS NOT NULL AND (t1."v" <#> '[2.0,0.0,0.0]'::vector) <= '-1.0'::double precision ORDER BY (t1."v" <#> '[2.0,0.0,0.0]'::vector), t1."no" LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b

-- similarity to a text
CREATE EXTENSION IF NOT EXISTS vector
CREATE TABLE IF NOT EXISTS "public"."doc" (
    "no" integer NOT NULL,
    "v" vector(3),
    PRIMARY KEY ("no")
)
CREATE INDEX IF NOT EXISTS "doc_v_idx" ON "public"."doc" USING hnsw ("v" vector_cosine_ops)
WITH w1 AS (INSERT INTO "doc" AS t ("no", "v") SELECT u.c1, u.c2 FROM unnest($1::integer[], $2::vector[]) WITH ORDINALITY AS u(c1, c2, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j), w2 AS (INSERT INTO "doc" AS t ("no") SELECT u.c1 FROM unnest($4::integer[]) WITH ORDINALITY AS u(c1, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j) SELECT coalesce('[' || string_agg(x.j, ',' ORDER BY x.o) || ']', '[]') FROM (SELECT j, ($3::bigint[])[row_number() OVER ()] AS o FROM w1 UNION ALL SELECT j, ($5::bigint[])[row_number() OVER ()] AS o FROM w2) x
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"docs_v_similarity":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t1."no"::text, 'null'), '}') AS j FROM "doc" t1 WHERE t1."no" < '3'::integer AND t1."v" IS NOT NULL ORDER BY (t1."v" <=> $1::vector), t1."no" LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b

-- similarity with an index of lists
CREATE EXTENSION IF NOT EXISTS vector
CREATE TABLE IF NOT EXISTS "public"."doc" (
    "no" integer NOT NULL,
    "v" vector(3),
    PRIMARY KEY ("no")
)
CREATE INDEX IF NOT EXISTS "doc_v_idx" ON "public"."doc" USING ivfflat ("v" vector_l2_ops)
WITH w1 AS (INSERT INTO "doc" AS t ("no", "v") SELECT u.c1, u.c2 FROM unnest($1::integer[], $2::vector[]) WITH ORDINALITY AS u(c1, c2, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j), w2 AS (INSERT INTO "doc" AS t ("no") SELECT u.c1 FROM unnest($4::integer[]) WITH ORDINALITY AS u(c1, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j) SELECT coalesce('[' || string_agg(x.j, ',' ORDER BY x.o) || ']', '[]') FROM (SELECT j, ($3::bigint[])[row_number() OVER ()] AS o FROM w1 UNION ALL SELECT j, ($5::bigint[])[row_number() OVER ()] AS o FROM w2) x
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"docs_v_similarity":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t1."no"::text, 'null'), '}') AS j FROM "doc" t1 WHERE t1."v" IS NOT NULL AND (t1."v" <-> '[0.0,-1.0,0.5]'::vector) <= '0.8'::double precision ORDER BY (t1."v" <-> '[0.0,-1.0,0.5]'::vector), t1."no" LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b

-- vector column
CREATE EXTENSION IF NOT EXISTS vector
CREATE TABLE IF NOT EXISTS "public"."doc" (
    "no" integer NOT NULL,
    "v" vector(3),
    PRIMARY KEY ("no")
)
WITH w1 AS (INSERT INTO "doc" AS t ("no", "v") SELECT u.c1, u.c2 FROM unnest($1::integer[], $2::vector[]) WITH ORDINALITY AS u(c1, c2, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j), w2 AS (INSERT INTO "doc" AS t ("no") SELECT u.c1 FROM unnest($4::integer[]) WITH ORDINALITY AS u(c1, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j) SELECT coalesce('[' || string_agg(x.j, ',' ORDER BY x.o) || ']', '[]') FROM (SELECT j, ($3::bigint[])[row_number() OVER ()] AS o FROM w1 UNION ALL SELECT j, ($5::bigint[])[row_number() OVER ()] AS o FROM w2) x
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"docs":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t1."no"::text, 'null'), ',"v":', coalesce(to_json(t1."v"::text::json)::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "doc" t1 ORDER BY t1."no" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."no") r), '[]'), '}') AS body OFFSET 0) b
UPDATE "doc" t1 SET "v" = '[1.0,2.0]'::vector WHERE t1."no" = '1'::integer RETURNING concat('{"no":', coalesce(t1."no"::text, 'null'), '}')

-- vector filters
CREATE EXTENSION IF NOT EXISTS vector
CREATE TABLE IF NOT EXISTS "public"."doc" (
    "no" integer NOT NULL,
    "v" vector(3),
    PRIMARY KEY ("no")
)
WITH w1 AS (INSERT INTO "doc" AS t ("no", "v") SELECT u.c1, u.c2 FROM unnest($1::integer[], $2::vector[]) WITH ORDINALITY AS u(c1, c2, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j), w2 AS (INSERT INTO "doc" AS t ("no") SELECT u.c1 FROM unnest($4::integer[]) WITH ORDINALITY AS u(c1, o) ORDER BY u.o RETURNING concat('{"no":', coalesce(t."no"::text, 'null'), '}') AS j) SELECT coalesce('[' || string_agg(x.j, ',' ORDER BY x.o) || ']', '[]') FROM (SELECT j, ($3::bigint[])[row_number() OVER ()] AS o FROM w1 UNION ALL SELECT j, ($5::bigint[])[row_number() OVER ()] AS o FROM w2) x
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"eq":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t1."no"::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "doc" t1 WHERE t1."v" = $1::vector ORDER BY t1."no" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."no") r), '[]'), ',"ne":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t2."no"::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t2.*, tableoid AS "~table", ctid AS "~place" FROM "doc" t2 WHERE t2."v" <> $1::vector ORDER BY t2."no" LIMIT 100) t2 ORDER BY t2."~table", t2."~place", t2."no") r), '[]'), ',"in":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t3."no"::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t3.*, tableoid AS "~table", ctid AS "~place" FROM "doc" t3 WHERE t3."v" = ANY ('{"[0.0,1.0,0.0]"}'::vector[]) ORDER BY t3."no" LIMIT 100) t3 ORDER BY t3."~table", t3."~place", t3."no") r), '[]'), ',"nin":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t4."no"::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t4.*, tableoid AS "~table", ctid AS "~place" FROM "doc" t4 WHERE t4."v" <> ALL ($2::vector[]) ORDER BY t4."no" LIMIT 100) t4 ORDER BY t4."~table", t4."~place", t4."no") r), '[]'), ',"none":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"no":', coalesce(t5."no"::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t5.*, tableoid AS "~table", ctid AS "~place" FROM "doc" t5 WHERE t5."v" IS NULL ORDER BY t5."no" LIMIT 100) t5 ORDER BY t5."~table", t5."~place", t5."no") r), '[]'), '}') AS body OFFSET 0) b
