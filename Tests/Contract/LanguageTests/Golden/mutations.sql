-- a moved key beside a field that fails
INSERT INTO "user" AS t1 ("id") VALUES ('ann'::text) RETURNING concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), '}')
UPDATE "ticket" t1 SET "number" = t1."number" + '1'::integer WHERE t1."number" = '1'::integer RETURNING concat('{"label":', coalesce(to_json(t1."label")::text, 'null'), '}'), json_build_array(t1."number")::text

-- a null default counts as sent
WITH w AS (DELETE FROM "remark" t1 WHERE t1."text" IS NULL RETURNING 1) SELECT count(*)::text FROM w

-- a null does not reach further
WITH w AS (DELETE FROM "remark" t1 WHERE (NULL::boolean AND EXISTS (SELECT 1 FROM "novel" t2 WHERE t1."novel_id" = t2."id" AND t2."genre" = 'NOIR'::"genre")) RETURNING 1) SELECT count(*)::text FROM w

-- a transaction that moves a key and then fails
UPDATE "ticket" t1 SET "number" = t1."number" + '1'::integer WHERE t1."number" = '1'::integer RETURNING concat('{"label":', coalesce(to_json(t1."label")::text, 'null'), '}'), json_build_array(t1."number")::text
INSERT INTO "user" AS t1 ("id") VALUES ('ann'::text) RETURNING concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), '}')
INSERT INTO "user" AS t1 ("id") VALUES ('v'::text) RETURNING concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), '}')

-- changes from variables
UPDATE "novel" t1 SET "printed_year" = t1."printed_year" - $1::integer, "tags" = $2::text[] || coalesce(t1."tags", '{}'), "launched" = (t1."launched" + make_interval(days => coalesce($3::integer, 0), months => coalesce($4::integer, 0)))::date, "created_at" = ((t1."created_at" AT TIME ZONE 'UTC') + make_interval(mins => coalesce($5::integer, 0), hours => coalesce($6::integer, 0), days => coalesce($7::integer, 0), weeks => coalesce($8::integer, 0), months => coalesce($9::integer, 0), years => coalesce($10::integer, 0), secs => (coalesce($11::integer, 0) / 1000.0 + coalesce($12::integer, 0))::double precision)) AT TIME ZONE 'UTC' WHERE t1."id" = 'a0000000000040008000000000000001'::uuid RETURNING concat('{"printedYear":', coalesce(t1."printed_year"::text, 'null'), ',"tags":', coalesce(to_json(t1."tags")::text, 'null'), '}')

-- changes that no variable asks for
UPDATE "novel" t1 SET "id" = t1."id" WHERE t1."id" = 'a0000000000040008000000000000001'::uuid RETURNING concat('{"printedYear":', coalesce(t1."printed_year"::text, 'null'), ',"tags":', coalesce(to_json(t1."tags")::text, 'null'), '}')
WITH w AS (UPDATE "novel" t1 SET "title" = 'Best'::text WHERE t1."title" = 'Beta'::text RETURNING 1) SELECT count(*)::text FROM w

-- delete and its rules
DELETE FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
DELETE FROM "person" t1 WHERE t1."id" = 'b0000000000040008000000000000002'::uuid RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
DELETE FROM "novel_maker" t1 WHERE t1."novel_id" = 'a0000000000040008000000000000002'::uuid AND t1."maker_id" = 'b0000000000040008000000000000002'::uuid RETURNING concat('{"novelId":', coalesce('"' || replace(t1."novel_id"::text, '-', '') || '"', 'null'), ',"makerId":', coalesce('"' || replace(t1."maker_id"::text, '-', '') || '"', 'null'), '}')

-- delete first
DELETE FROM "remark" t1 WHERE (t1."id") = (SELECT t2."id" FROM "remark" t2 WHERE t2."stars" <= $1::integer ORDER BY t2."stars" DESC, t2."at", t2."id" LIMIT 1 FOR UPDATE) RETURNING concat('{"stars":', coalesce(t1."stars"::text, 'null'), ',"text":', coalesce(to_json(t1."text")::text, 'null'), '}')
DELETE FROM "remark" t1 WHERE (t1."id") = (SELECT t2."id" FROM "remark" t2 WHERE t2."stars" > '9'::integer ORDER BY t2."id" LIMIT 1 FOR UPDATE) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')

-- delete first by the default of a variable
DELETE FROM "remark" t1 WHERE (t1."id") = (SELECT t2."id" FROM "remark" t2 WHERE t2."stars" = $1::integer ORDER BY t2."id" LIMIT 1 FOR UPDATE) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')

-- delete first from a variable
DELETE FROM "remark" t1 WHERE (t1."id") = (SELECT t2."id" FROM "remark" t2 WHERE t2."stars" <= $1::integer ORDER BY t2."stars" DESC, t2."at", t2."id" LIMIT 1 FOR UPDATE) RETURNING concat('{"stars":', coalesce(t1."stars"::text, 'null'), ',"text":', coalesce(to_json(t1."text")::text, 'null'), '}')

-- deleteMany all
WITH w AS (DELETE FROM "remark" t1 RETURNING 1) SELECT count(*)::text FROM w

-- deleteMany where
WITH w AS (DELETE FROM "remark" t1 WHERE (EXISTS (SELECT 1 FROM "user" t2 WHERE t1."author_id" = t2."id" AND t2."name" = $1::text) AND EXISTS (SELECT 1 FROM "novel" t3 WHERE t1."novel_id" = t3."id" AND t3."genre" = 'NOIR'::"genre")) RETURNING 1) SELECT count(*)::text FROM w

-- embedded query
INSERT INTO "user" AS t1 ("id") VALUES ('eve'::text) RETURNING concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), '}')
SELECT concat('{"users":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "user" t1 ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body

-- eq null asks for rows without a value
WITH w AS (DELETE FROM "remark" t1 WHERE t1."text" IS NULL RETURNING 1) SELECT count(*)::text FROM w

-- expressions
UPDATE "novel" t1 SET "title" = $1::text, "printed_year" = $2::integer, "created_at" = $3::timestamp with time zone WHERE t1."id" = 'a0000000000040008000000000000002'::uuid RETURNING concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), ',"printedYear":', coalesce(t1."printed_year"::text, 'null'), ',"createdAt":', coalesce(to_json(coalesce(to_char(t1."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN t1."created_at" < '0001-01-01Z' THEN ' BC' ELSE '' END), t1."created_at"::text))::text, 'null'), '}')

-- insert nested
WITH w1 AS (INSERT INTO "novel" AS t1 ("id", "title", "views", "created_at") VALUES ($1::uuid, 'Tree'::text, '0'::bigint, $2::timestamp with time zone) RETURNING t1.*), w2 AS (INSERT INTO "remark" AS t2 ("novel_id", "id", "author_id", "stars", "at") SELECT w1."id", $3::uuid, 'ann'::text, $4::integer, $2::timestamp with time zone FROM w1 RETURNING t2.*), w3 AS (INSERT INTO "remark" AS t3 ("novel_id", "id", "stars", "at") SELECT w1."id", 'c0000000000040008000000000000005'::uuid, '2'::integer, $2::timestamp with time zone FROM w1 RETURNING t3.*), w4 AS (INSERT INTO "novel_printing" AS t4 ("novel_id", "id", "binder") SELECT w1."id", 'd0000000000040008000000000000005'::uuid, 'Nest'::text FROM w1 RETURNING t4.*), w5 AS (INSERT INTO "novel_maker" AS t5 ("novel_id", "maker_id", "role") SELECT w1."id", 'b0000000000040008000000000000001'::uuid, 'lead'::text FROM w1 RETURNING t5.*) SELECT (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') FROM w1 t1)

-- insert nested below a key of Postgres
WITH w1 AS (INSERT INTO "ticket" AS t1 ("label") VALUES ('two'::text) RETURNING t1.*), w2 AS (INSERT INTO "part" AS t2 ("ticket_number", "letter", "note") SELECT w1."number", 'a'::text, 'n'::text FROM w1 RETURNING t2.*), w3 AS (INSERT INTO "part" AS t3 ("ticket_number", "letter") SELECT w1."number", 'b'::text FROM w1 RETURNING t3.*) SELECT (SELECT concat('{"number":', coalesce(to_json(t1."number")::text, 'null'), '}') FROM w1 t1)

-- insert nested from a variable
WITH w1 AS (INSERT INTO "novel" AS t1 ("id", "title", "views", "launched", "created_at", "narrator_id") VALUES ($1::uuid, $2::text, '0'::bigint, $3::date, $4::timestamp with time zone, $5::uuid) RETURNING t1.*), w2 AS (INSERT INTO "novel_maker" AS t2 ("novel_id", "maker_id", "role") SELECT w1."id", $6::uuid, $7::text FROM w1 RETURNING t2.*), w3 AS (INSERT INTO "remark" AS t3 ("novel_id", "id", "author_id", "text", "stars", "at") SELECT w1."id", $8::uuid, $9::text, $10::text, $11::integer, $12::timestamp with time zone FROM w1 RETURNING t3.*), w4 AS (INSERT INTO "remark" AS t4 ("novel_id", "id", "stars", "at") SELECT w1."id", $13::uuid, $14::integer, $12::timestamp with time zone FROM w1 RETURNING t4.*) SELECT (SELECT concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}') FROM w1 t1)

-- insert with defaults
INSERT INTO "novel" AS t1 ("id", "title", "genre", "views", "created_at") VALUES ($1::uuid, $2::text, 'NOIR'::"genre", '0'::bigint, $3::timestamp with time zone) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')

-- insertMany
WITH w1 AS (INSERT INTO "user" AS t ("id", "name") SELECT u.c1, u.c2 FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS u(c1, c2, o) ORDER BY u.o RETURNING concat('{"id":', coalesce(to_json(t."id")::text, 'null'), '}') AS j), w2 AS (INSERT INTO "user" AS t ("id") SELECT u.c1 FROM unnest($4::text[]) WITH ORDINALITY AS u(c1, o) ORDER BY u.o RETURNING concat('{"id":', coalesce(to_json(t."id")::text, 'null'), '}') AS j) SELECT coalesce('[' || string_agg(x.j, ',' ORDER BY x.o) || ']', '[]') FROM (SELECT j, ($3::bigint[])[row_number() OVER ()] AS o FROM w1 UNION ALL SELECT j, ($5::bigint[])[row_number() OVER ()] AS o FROM w2) x

-- insertMany nested
WITH w1 AS (INSERT INTO "person" AS t1 ("id", "name") VALUES ('b0000000000040008000000000000004'::uuid, 'Dora'::text) RETURNING t1.*), w2 AS (INSERT INTO "person" AS t2 ("mentor_id", "id", "name") SELECT w1."id", 'b0000000000040008000000000000005'::uuid, 'Eli'::text FROM w1 RETURNING t2.*), w3 AS (INSERT INTO "person" AS t3 ("id", "name") VALUES ($1::uuid, 'Finn'::text) RETURNING t3.*) SELECT '[' || concat_ws(',', (SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), '}') FROM w1 t1), (SELECT concat('{"name":', coalesce(to_json(t3."name")::text, 'null'), '}') FROM w3 t3)) || ']'

-- insertMany nested from a variable
WITH w1 AS (INSERT INTO "person" AS t1 ("id", "name") VALUES ($1::uuid, $2::text) RETURNING t1.*), w2 AS (INSERT INTO "person" AS t2 ("mentor_id", "id", "name") SELECT w1."id", $3::uuid, $4::text FROM w1 RETURNING t2.*), w3 AS (INSERT INTO "person" AS t3 ("mentor_id", "id", "name") SELECT w2."id", $5::uuid, $6::text FROM w2 RETURNING t3.*), w4 AS (INSERT INTO "person" AS t4 ("id", "name") VALUES ($7::uuid, $8::text) RETURNING t4.*) SELECT '[' || concat_ws(',', (SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), '}') FROM w1 t1), (SELECT concat('{"name":', coalesce(to_json(t4."name")::text, 'null'), '}') FROM w4 t4)) || ']'

-- insertMany with times from a variable
WITH w1 AS (INSERT INTO "novel" AS t ("id", "title", "views", "launched", "created_at") SELECT u.c1, u.c2, u.c3, u.c4, u.c5 FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::date[], $5::timestamp with time zone[]) WITH ORDINALITY AS u(c1, c2, c3, c4, c5, o) ORDER BY u.o RETURNING concat('{"title":', coalesce(to_json(t."title")::text, 'null'), ',"launched":', coalesce(to_json(t."launched")::text, 'null'), '}') AS j), w2 AS (INSERT INTO "novel" AS t ("id", "title", "views", "launched", "created_at") SELECT u.c1, u.c2, u.c3, u.c4, u.c5 FROM unnest($7::uuid[], $8::text[], $9::bigint[], $10::date[], $11::timestamp with time zone[]) WITH ORDINALITY AS u(c1, c2, c3, c4, c5, o) ORDER BY u.o RETURNING concat('{"title":', coalesce(to_json(t."title")::text, 'null'), ',"launched":', coalesce(to_json(t."launched")::text, 'null'), '}') AS j) SELECT coalesce('[' || string_agg(x.j, ',' ORDER BY x.o) || ']', '[]') FROM (SELECT j, ($6::bigint[])[row_number() OVER ()] AS o FROM w1 UNION ALL SELECT j, ($12::bigint[])[row_number() OVER ()] AS o FROM w2) x

-- native
UPDATE novel SET rating = 1 WHERE printed_year = $1::integer
WITH w AS (DELETE FROM remark WHERE author_id = $1::text RETURNING stars) SELECT coalesce('[' || string_agg(row_to_json(w.*)::text, ',') || ']', '[]') FROM w
WITH w AS (SELECT count(*) AS n FROM remark) SELECT row_to_json(w.*)::text FROM w LIMIT 1

-- ne null asks for rows with a value
WITH w AS (UPDATE "remark" t1 SET "stars" = t1."stars" + '10'::integer WHERE t1."text" IS NOT NULL RETURNING 1) SELECT count(*)::text FROM w

-- nested rows from a variable of their own
WITH w1 AS (INSERT INTO "novel" AS t1 ("id", "title", "views", "created_at") VALUES ($1::uuid, 'Own'::text, '0'::bigint, $2::timestamp with time zone) RETURNING t1.*), w2 AS (INSERT INTO "remark" AS t2 ("novel_id", "id", "text", "stars", "at") SELECT w1."id", $3::uuid, $4::text, $5::integer, $2::timestamp with time zone FROM w1 RETURNING t2.*), w3 AS (INSERT INTO "remark" AS t3 ("novel_id", "id", "stars", "at") SELECT w1."id", $6::uuid, $7::integer, $2::timestamp with time zone FROM w1 RETURNING t3.*) SELECT (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') FROM w1 t1)
UPDATE "person" t1 SET "name" = 'Boss'::text WHERE t1."id" = 'b0000000000040008000000000000001'::uuid RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
WITH w1 AS (INSERT INTO "person" AS t1 ("id", "name") VALUES ('b0000000000040008000000000000004'::uuid, 'Top'::text) RETURNING t1.*), w2 AS (INSERT INTO "person" AS t2 ("mentor_id", "id", "name") SELECT w1."id", $1::uuid, $2::text FROM w1 RETURNING t2.*), w3 AS (INSERT INTO "person" AS t3 ("mentor_id", "id", "name") SELECT w1."id", $3::uuid, 'Low'::text FROM w1 RETURNING t3.*) SELECT (SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), '}') FROM w1 t1)

-- null below a relation reaches no further when it is negated or counted
WITH w AS (DELETE FROM "remark" t1 WHERE NOT (NULL::boolean) RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "novel" t1 WHERE NOT (NULL::boolean) RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "novel" t1 WHERE NULL::boolean RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "novel" t1 WHERE NOT (NULL::boolean) RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "novel" t1 WHERE NOT (NULL::boolean) RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "remark" t1 WHERE EXISTS (SELECT 1 FROM "novel" t2 WHERE t1."novel_id" = t2."id" AND NULL::boolean) RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "novel" t1 WHERE NOT (EXISTS (SELECT 1 FROM "remark" t2 WHERE t2."novel_id" = t1."id" AND t2."text" IS NOT NULL)) RETURNING 1) SELECT count(*)::text FROM w

-- null for other operators matches no row
WITH w AS (DELETE FROM "remark" t1 WHERE NULL::boolean RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "remark" t1 WHERE NULL::boolean RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "remark" t1 WHERE NULL::boolean RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "remark" t1 WHERE NULL::boolean RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "remark" t1 WHERE NOT (NULL::boolean) RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "remark" t1 WHERE NULL::boolean RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "remark" t1 WHERE NULL::boolean RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "remark" t1 WHERE NULL::boolean RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "novel" t1 WHERE NULL::boolean RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "novel" t1 WHERE NULL::boolean RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "remark" t1 WHERE (NULL::boolean OR t1."stars" = '5'::integer) RETURNING 1) SELECT count(*)::text FROM w

-- null for what is never null
WITH w AS (DELETE FROM "novel" t1 WHERE NULL::boolean RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "novel" t1 WHERE NOT (NULL::boolean) RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "novel" t1 WHERE NULL::boolean RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "remark" t1 WHERE NULL::boolean RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "remark" t1 WHERE NOT (NULL::boolean) RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "remark" t1 WHERE NULL::boolean RETURNING 1) SELECT count(*)::text FROM w

-- null in an embedded query is left out
SELECT concat('{"a":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"stars":', coalesce(t1."stars"::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "remark" t1 ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), ',"b":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"stars":', coalesce(t2."stars"::text, 'null'), '}') AS j FROM "remark" t2 ORDER BY t2."id" LIMIT 1) r), '[]'), '}') AS body

-- null in the filter of first
DELETE FROM "remark" t1 WHERE (t1."id") = (SELECT t2."id" FROM "remark" t2 WHERE NULL::boolean ORDER BY t2."id" LIMIT 1 FOR UPDATE) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
UPDATE "remark" t1 SET "stars" = '9'::integer WHERE (t1."id") = (SELECT t2."id" FROM "remark" t2 WHERE t2."text" IS NULL ORDER BY t2."id" LIMIT 1 FOR UPDATE) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')

-- null inside a filter variable
WITH w AS (DELETE FROM "remark" t1 WHERE t1."text" IS NULL RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "remark" t1 WHERE NULL::boolean RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "remark" t1 WHERE t1."text" = $1::text RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "remark" t1 WHERE NULL::boolean RETURNING 1) SELECT count(*)::text FROM w

-- null inside a first variable
DELETE FROM "remark" t1 WHERE (t1."id") = (SELECT t2."id" FROM "remark" t2 WHERE NULL::boolean ORDER BY t2."id" LIMIT 1 FOR UPDATE) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')

-- null of an expression or in a list
WITH w AS (DELETE FROM "novel" t1 WHERE CASE WHEN $1::text IS NOT NULL THEN NOT coalesce(t1."tags" @> ARRAY[$1::text], FALSE) END RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "novel" t1 WHERE NOT (CASE WHEN $1::integer IS NOT NULL THEN EXISTS (SELECT 1 FROM "remark" t2 WHERE t2."novel_id" = t1."id" AND t2."stars" = $1::integer) END) RETURNING 1) SELECT count(*)::text FROM w
WITH w AS (DELETE FROM "novel" t1 WHERE CASE WHEN $1::integer[] IS NOT NULL AND array_position($1::integer[], NULL) IS NULL THEN (SELECT count(*) FROM "remark" t2 WHERE t2."novel_id" = t1."id" AND t2."stars" = ANY ($1::integer[])) = '0'::integer END RETURNING 1) SELECT count(*)::text FROM w

-- partial errors
INSERT INTO "user" AS t1 ("id") VALUES ('a'::text) RETURNING concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), '}')
INSERT INTO "user" AS t1 ("id") VALUES ('ann'::text) RETURNING concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), '}')
INSERT INTO "user" AS t1 ("id") VALUES ('c'::text) RETURNING concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), '}')

-- relative values
UPDATE "novel" t1 SET "launched" = $1::date, "created_at" = $2::timestamp with time zone WHERE t1."id" = 'a0000000000040008000000000000002'::uuid RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')

-- relative values from variables
UPDATE "novel" t1 SET "created_at" = $1::timestamp with time zone WHERE t1."id" = 'a0000000000040008000000000000001'::uuid RETURNING concat('{"launched":', coalesce(to_json(t1."launched")::text, 'null'), ',"createdAt":', coalesce(to_json(coalesce(to_char(t1."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN t1."created_at" < '0001-01-01Z' THEN ' BC' ELSE '' END), t1."created_at"::text))::text, 'null'), '}')
INSERT INTO "novel" AS t1 ("id", "title", "views", "launched", "created_at") VALUES ($1::uuid, 'New'::text, '0'::bigint, $2::date, $3::timestamp with time zone) RETURNING concat('{"launched":', coalesce(to_json(t1."launched")::text, 'null'), ',"createdAt":', coalesce(to_json(coalesce(to_char(t1."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN t1."created_at" < '0001-01-01Z' THEN ' BC' ELSE '' END), t1."created_at"::text))::text, 'null'), '}')

-- transaction
INSERT INTO "user" AS t1 ("id") VALUES ('a'::text) RETURNING concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), '}')
INSERT INTO "user" AS t1 ("id") VALUES ('ann'::text) RETURNING concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), '}')
INSERT INTO "user" AS t1 ("id") VALUES ('c'::text) RETURNING concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), '}')

-- update absent
UPDATE "novel" t1 SET "title" = 'x'::text WHERE t1."id" = 'a0000000000040008000000000000005'::uuid RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')

-- update by key variable
UPDATE "novel_maker" t1 SET "role" = 'star'::text WHERE t1."novel_id" = $1::uuid AND t1."maker_id" = $2::uuid RETURNING concat('{"role":', coalesce(to_json(t1."role")::text, 'null'), '}')

-- update first
UPDATE "novel" t1 SET "title" = 'First'::text WHERE (t1."id") = (SELECT t2."id" FROM "novel" t2 WHERE t2."genre" = 'NOIR'::"genre" ORDER BY t2."printed_year" DESC, t2."id" LIMIT 1 FOR UPDATE) RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')

-- update from a variable
UPDATE "novel" t1 SET "title" = $1::text, "views" = t1."views" + $2::bigint, "tags" = coalesce(t1."tags", '{}') || ARRAY(SELECT e FROM unnest($3::text[]) WITH ORDINALITY AS u(e, o) WHERE e <> ALL (coalesce(t1."tags", '{}')) ORDER BY o), "launched" = (t1."launched" - make_interval(days => coalesce($4::integer, 0), years => coalesce($5::integer, 0)))::date, "created_at" = $6::timestamp with time zone WHERE t1."id" = 'a0000000000040008000000000000001'::uuid RETURNING concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), ',"views":', coalesce('"' || t1."views"::text || '"', 'null'), ',"launched":', coalesce(to_json(t1."launched")::text, 'null'), '}')
WITH w AS (UPDATE "novel" t1 SET "title" = $1::text, "views" = t1."views" + $2::bigint, "tags" = coalesce(t1."tags", '{}') || ARRAY(SELECT e FROM unnest($3::text[]) WITH ORDINALITY AS u(e, o) WHERE e <> ALL (coalesce(t1."tags", '{}')) ORDER BY o), "launched" = (t1."launched" - make_interval(days => coalesce($4::integer, 0), years => coalesce($5::integer, 0)))::date, "created_at" = $6::timestamp with time zone WHERE t1."title" = 'Beta'::text RETURNING 1) SELECT count(*)::text FROM w

-- update lists
UPDATE "novel" t1 SET "tags" = coalesce(t1."tags", '{}') || '{"z"}'::text[] WHERE t1."id" = 'a0000000000040008000000000000001'::uuid RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
UPDATE "novel" t1 SET "tags" = '{"y"}'::text[] || coalesce(t1."tags", '{}') WHERE t1."id" = 'a0000000000040008000000000000002'::uuid RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
UPDATE "novel" t1 SET "tags" = ARRAY(SELECT e FROM unnest(coalesce(t1."tags", '{}')) WITH ORDINALITY AS u(e, o) WHERE e <> ALL ('{"dark"}'::text[]) ORDER BY o) WHERE t1."id" = 'a0000000000040008000000000000004'::uuid RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')

-- update that adds to the key
UPDATE "ticket" t1 SET "number" = t1."number" + '4'::integer WHERE t1."number" = '1'::integer RETURNING concat('{"label":', coalesce(to_json(t1."label")::text, 'null'), '}'), json_build_array(t1."number")::text

-- update that leaves the key as it is
UPDATE "slot" t1 SET "day" = t1."day" WHERE t1."day" = $1::date AND t1."at" = $2::timestamp with time zone AND t1."price" = $3::double precision AND t1."number" = $4::bigint RETURNING concat('{"price":', coalesce(to_json(t1."price")::text, 'null'), '}'), json_build_array(t1."day", coalesce(to_char(t1."at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN t1."at" < '0001-01-01Z' THEN ' BC' ELSE '' END), t1."at"::text), t1."price", t1."number"::text)::text

-- update that moves the key of no row
UPDATE "ticket" t1 SET "number" = t1."number" + '1'::integer WHERE t1."number" = '9'::integer RETURNING concat('{"label":', coalesce(to_json(t1."label")::text, 'null'), '}'), json_build_array(t1."number")::text

-- update that moves times and numbers of the key
UPDATE "slot" t1 SET "day" = (t1."day" + make_interval(months => coalesce('1'::integer, 0)))::date, "at" = ((t1."at" AT TIME ZONE 'UTC') - make_interval(hours => coalesce('13'::integer, 0))) AT TIME ZONE 'UTC', "price" = t1."price" + '0.25'::double precision, "number" = t1."number" + $1::bigint, "note" = 'moved'::text WHERE t1."day" = $2::date AND t1."at" = $3::timestamp with time zone AND t1."price" = $4::double precision AND t1."number" = $5::bigint RETURNING concat('{"note":', coalesce(to_json(t1."note")::text, 'null'), ',"day":', coalesce(to_json(t1."day")::text, 'null'), '}'), json_build_array(t1."day", coalesce(to_char(t1."at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN t1."at" < '0001-01-01Z' THEN ' BC' ELSE '' END), t1."at"::text), t1."price", t1."number"::text)::text

-- update that takes from the key by a variable
UPDATE "ticket" t1 SET "number" = t1."number" - $1::integer WHERE t1."number" = $2::integer RETURNING concat('{"label":', coalesce(to_json(t1."label")::text, 'null'), '}'), json_build_array(t1."number")::text

-- update times
UPDATE "novel" t1 SET "launched" = (t1."launched" - make_interval(days => coalesce('1'::integer, 0), years => coalesce($1::integer, 0)))::date, "created_at" = ((t1."created_at" AT TIME ZONE 'UTC') + make_interval(months => coalesce('1'::integer, 0), mins => coalesce('30'::integer, 0), secs => (coalesce('1'::integer, 0) + coalesce('500'::integer, 0) / 1000.0)::double precision)) AT TIME ZONE 'UTC' WHERE t1."id" = 'a0000000000040008000000000000001'::uuid RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')

-- update whose data moves a part of the key
UPDATE "ticket" t1 SET "label" = 'two'::text WHERE t1."number" = '1'::integer RETURNING concat('{"label":', coalesce(to_json(t1."label")::text, 'null'), '}')
UPDATE "slot" t1 SET "day" = (t1."day" + make_interval(years => coalesce($1::integer, 0)))::date, "number" = $2::bigint WHERE t1."day" = $3::date AND t1."at" = $4::timestamp with time zone AND t1."price" = $5::double precision AND t1."number" = $6::bigint RETURNING concat('{"number":', coalesce('"' || t1."number"::text || '"', 'null'), '}'), json_build_array(t1."day", coalesce(to_char(t1."at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN t1."at" < '0001-01-01Z' THEN ' BC' ELSE '' END), t1."at"::text), t1."price", t1."number"::text)::text

-- update with changes
UPDATE "novel" t1 SET "printed_year" = t1."printed_year" + $1::integer, "rating" = t1."rating" + '0.5'::double precision, "views" = t1."views" - '3'::bigint, "tags" = coalesce(t1."tags", '{}') || ARRAY(SELECT e FROM unnest('{"rain","new"}'::text[]) WITH ORDINALITY AS u(e, o) WHERE e <> ALL (coalesce(t1."tags", '{}')) ORDER BY o) WHERE t1."id" = 'a0000000000040008000000000000001'::uuid RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')

-- updateMany all
WITH w AS (UPDATE "remark" t1 SET "stars" = t1."stars" + '1'::integer RETURNING 1) SELECT count(*)::text FROM w

-- updateMany with a filter variable
WITH w AS (UPDATE "novel" t1 SET "is_classic" = 'false'::boolean WHERE t1."printed_year" >= $1::integer RETURNING 1) SELECT count(*)::text FROM w

-- upsert
INSERT INTO "user" AS t1 ("id", "name") VALUES ($1::text, $2::text) ON CONFLICT ("id") DO UPDATE SET "name" = EXCLUDED."name" RETURNING concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), ',"name":', coalesce(to_json(t1."name")::text, 'null'), ',"role":', coalesce(to_json(t1."role")::text, 'null'), '}')

-- upsert nested
WITH w1 AS (INSERT INTO "novel" AS t1 ("id", "title", "views", "created_at") VALUES ('a0000000000040008000000000000001'::uuid, 'Alpha 2'::text, '0'::bigint, $1::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "title" = EXCLUDED."title" RETURNING t1.*), w2 AS (INSERT INTO "remark" AS t2 ("novel_id", "id", "stars", "at") SELECT w1."id", 'c0000000000040008000000000000001'::uuid, '4'::integer, $1::timestamp with time zone FROM w1 ON CONFLICT ("id") DO UPDATE SET "novel_id" = EXCLUDED."novel_id", "stars" = EXCLUDED."stars" RETURNING t2.*), w3 AS (INSERT INTO "remark" AS t3 ("novel_id", "id", "stars", "at") SELECT w1."id", 'c0000000000040008000000000000004'::uuid, '2'::integer, $1::timestamp with time zone FROM w1 ON CONFLICT ("id") DO UPDATE SET "novel_id" = EXCLUDED."novel_id", "stars" = EXCLUDED."stars" RETURNING t3.*), w4 AS (INSERT INTO "remark" AS t4 ("novel_id", "id", "stars", "at") SELECT w1."id", 'c0000000000040008000000000000005'::uuid, '1'::integer, $1::timestamp with time zone FROM w1 ON CONFLICT ("id") DO UPDATE SET "novel_id" = EXCLUDED."novel_id", "stars" = EXCLUDED."stars" RETURNING t4.*), w5 AS (INSERT INTO "novel_maker" AS t5 ("novel_id", "maker_id", "role") SELECT w1."id", 'b0000000000040008000000000000001'::uuid, 'star'::text FROM w1 ON CONFLICT ("novel_id", "maker_id") DO UPDATE SET "role" = EXCLUDED."role" RETURNING t5.*) SELECT (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), ',"genre":', coalesce('"' || t1."genre"::text || '"', 'null'), '}') FROM w1 t1)

-- upsert nested with changes
WITH w1 AS (INSERT INTO "novel" AS t1 ("id", "title", "views", "created_at") VALUES ('a0000000000040008000000000000001'::uuid, 'Alpha'::text, '0'::bigint, $1::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "title" = EXCLUDED."title" RETURNING t1.*), w2 AS (INSERT INTO "remark" AS t2 ("novel_id", "id", "stars", "at") SELECT w1."id", 'c0000000000040008000000000000001'::uuid, '0'::integer + '1'::integer, $1::timestamp with time zone FROM w1 ON CONFLICT ("id") DO UPDATE SET "novel_id" = EXCLUDED."novel_id", "stars" = t2."stars" + '1'::integer RETURNING t2.*), w3 AS (INSERT INTO "remark" AS t3 ("novel_id", "id", "stars", "at") SELECT w1."id", 'c0000000000040008000000000000005'::uuid, '0'::integer + '1'::integer, $1::timestamp with time zone FROM w1 ON CONFLICT ("id") DO UPDATE SET "novel_id" = EXCLUDED."novel_id", "stars" = t3."stars" + '1'::integer RETURNING t3.*) SELECT (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') FROM w1 t1)

-- upsert with changes
INSERT INTO "remark" AS t1 ("id", "novel_id", "stars", "at") VALUES ('c0000000000040008000000000000001'::uuid, 'a0000000000040008000000000000001'::uuid, '0'::integer + $1::integer, $2::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "novel_id" = EXCLUDED."novel_id", "stars" = t1."stars" + $1::integer RETURNING concat('{"stars":', coalesce(t1."stars"::text, 'null'), '}')
INSERT INTO "remark" AS t1 ("id", "novel_id", "stars", "at") VALUES ('c0000000000040008000000000000005'::uuid, 'a0000000000040008000000000000001'::uuid, '0'::integer - $1::integer, $2::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "novel_id" = EXCLUDED."novel_id", "stars" = t1."stars" - $1::integer RETURNING concat('{"stars":', coalesce(t1."stars"::text, 'null'), '}')

-- upsert with changes from variables
INSERT INTO "remark" AS t1 ("id", "novel_id", "stars", "at") VALUES ('c0000000000040008000000000000001'::uuid, 'a0000000000040008000000000000001'::uuid, '0'::integer + $1::integer, $2::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "novel_id" = EXCLUDED."novel_id", "stars" = t1."stars" + $1::integer RETURNING concat('{"stars":', coalesce(t1."stars"::text, 'null'), '}')
INSERT INTO "remark" AS t1 ("id", "novel_id", "stars", "at") VALUES ('c0000000000040008000000000000005'::uuid, 'a0000000000040008000000000000001'::uuid, '0'::integer, $1::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "novel_id" = EXCLUDED."novel_id" RETURNING concat('{"stars":', coalesce(t1."stars"::text, 'null'), '}')
INSERT INTO "remark" AS t1 ("id", "novel_id", "stars", "at") VALUES ($1::uuid, $2::uuid, '0'::integer - $3::integer, $4::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "novel_id" = EXCLUDED."novel_id", "stars" = t1."stars" - $3::integer RETURNING concat('{"stars":', coalesce(t1."stars"::text, 'null'), '}')
WITH w1 AS (INSERT INTO "remark" AS t1 ("id", "novel_id", "stars", "at") VALUES ($1::uuid, $2::uuid, '0'::integer + $3::integer, $4::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "novel_id" = EXCLUDED."novel_id", "stars" = t1."stars" + $3::integer RETURNING t1.*), w2 AS (INSERT INTO "remark" AS t2 ("id", "novel_id", "stars", "at") VALUES ($5::uuid, $6::uuid, '0'::integer + $7::integer, $4::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "novel_id" = EXCLUDED."novel_id", "stars" = t2."stars" + $7::integer RETURNING t2.*) SELECT '[' || concat_ws(',', (SELECT concat('{"stars":', coalesce(t1."stars"::text, 'null'), '}') FROM w1 t1), (SELECT concat('{"stars":', coalesce(t2."stars"::text, 'null'), '}') FROM w2 t2)) || ']'

-- upsert with changes of defaults, lists and times
INSERT INTO "novel" AS t1 ("id", "title", "rating", "views", "tags", "created_at") VALUES ('a0000000000040008000000000000001'::uuid, 'Old'::text, '0.0'::double precision + '1.5'::double precision, '0'::bigint - '3'::bigint, coalesce('{}'::text[], '{}') || ARRAY(SELECT e FROM unnest('{"rain","x"}'::text[]) WITH ORDINALITY AS u(e, o) WHERE e <> ALL (coalesce('{}'::text[], '{}')) ORDER BY o), ((coalesce($1::timestamp with time zone, NULL::timestamp with time zone) AT TIME ZONE 'UTC') + make_interval(days => coalesce('1'::integer, 0))) AT TIME ZONE 'UTC') ON CONFLICT ("id") DO UPDATE SET "title" = EXCLUDED."title", "rating" = coalesce(t1."rating", '0.0') + '1.5'::double precision, "views" = coalesce(t1."views", '0') - '3'::bigint, "tags" = coalesce(t1."tags", '{}') || ARRAY(SELECT e FROM unnest('{"rain","x"}'::text[]) WITH ORDINALITY AS u(e, o) WHERE e <> ALL (coalesce(t1."tags", '{}')) ORDER BY o), "created_at" = ((t1."created_at" AT TIME ZONE 'UTC') + make_interval(days => coalesce('1'::integer, 0))) AT TIME ZONE 'UTC' RETURNING concat('{"views":', coalesce('"' || t1."views"::text || '"', 'null'), ',"tags":', coalesce(to_json(t1."tags")::text, 'null'), ',"rating":', coalesce(to_json(t1."rating")::text, 'null'), ',"createdAt":', coalesce(to_json(coalesce(to_char(t1."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN t1."created_at" < '0001-01-01Z' THEN ' BC' ELSE '' END), t1."created_at"::text))::text, 'null'), '}')
INSERT INTO "novel" AS t1 ("id", "title", "rating", "views", "tags", "created_at") VALUES ('a0000000000040008000000000000005'::uuid, 'New'::text, '0.0'::double precision + '1.5'::double precision, '0'::bigint - '3'::bigint, coalesce('{}'::text[], '{}') || ARRAY(SELECT e FROM unnest('{"rain","x"}'::text[]) WITH ORDINALITY AS u(e, o) WHERE e <> ALL (coalesce('{}'::text[], '{}')) ORDER BY o), ((coalesce($1::timestamp with time zone, NULL::timestamp with time zone) AT TIME ZONE 'UTC') + make_interval(days => coalesce('1'::integer, 0))) AT TIME ZONE 'UTC') ON CONFLICT ("id") DO UPDATE SET "title" = EXCLUDED."title", "rating" = coalesce(t1."rating", '0.0') + '1.5'::double precision, "views" = coalesce(t1."views", '0') - '3'::bigint, "tags" = coalesce(t1."tags", '{}') || ARRAY(SELECT e FROM unnest('{"rain","x"}'::text[]) WITH ORDINALITY AS u(e, o) WHERE e <> ALL (coalesce(t1."tags", '{}')) ORDER BY o), "created_at" = ((t1."created_at" AT TIME ZONE 'UTC') + make_interval(days => coalesce('1'::integer, 0))) AT TIME ZONE 'UTC' RETURNING concat('{"views":', coalesce('"' || t1."views"::text || '"', 'null'), ',"tags":', coalesce(to_json(t1."tags")::text, 'null'), ',"rating":', coalesce(to_json(t1."rating")::text, 'null'), ',"createdAt":', coalesce(to_json(coalesce(to_char(t1."created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' || CASE WHEN t1."created_at" < '0001-01-01Z' THEN ' BC' ELSE '' END), t1."created_at"::text))::text, 'null'), '}')

-- upsert with every change of a new list
INSERT INTO "novel" AS t1 ("id", "title", "views", "tags", "created_at") VALUES ('a0000000000040008000000000000005'::uuid, 'A'::text, '0'::bigint, coalesce('{}'::text[], '{}') || '{"x"}'::text[], $1::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "title" = EXCLUDED."title", "tags" = coalesce(t1."tags", '{}') || '{"x"}'::text[] RETURNING concat('{"tags":', coalesce(to_json(t1."tags")::text, 'null'), '}')
INSERT INTO "novel" AS t1 ("id", "title", "views", "tags", "created_at") VALUES ('d0000000000040008000000000000004'::uuid, 'B'::text, '0'::bigint, '{"x"}'::text[] || coalesce('{}'::text[], '{}'), $1::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "title" = EXCLUDED."title", "tags" = '{"x"}'::text[] || coalesce(t1."tags", '{}') RETURNING concat('{"tags":', coalesce(to_json(t1."tags")::text, 'null'), '}')
INSERT INTO "novel" AS t1 ("id", "title", "views", "tags", "created_at") VALUES ('d0000000000040008000000000000005'::uuid, 'C'::text, '0'::bigint, ARRAY(SELECT e FROM unnest(coalesce('{}'::text[], '{}')) WITH ORDINALITY AS u(e, o) WHERE e <> ALL ('{"x"}'::text[]) ORDER BY o), $1::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "title" = EXCLUDED."title", "tags" = ARRAY(SELECT e FROM unnest(coalesce(t1."tags", '{}')) WITH ORDINALITY AS u(e, o) WHERE e <> ALL ('{"x"}'::text[]) ORDER BY o) RETURNING concat('{"tags":', coalesce(to_json(t1."tags")::text, 'null'), '}')

-- upsertMany
WITH w1 AS (INSERT INTO "user" AS t ("id", "role") SELECT u.c1, u.c2 FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS u(c1, c2, o) ORDER BY u.o ON CONFLICT ("id") DO UPDATE SET "role" = EXCLUDED."role" RETURNING concat('{"id":', coalesce(to_json(t."id")::text, 'null'), '}') AS j), w2 AS (INSERT INTO "user" AS t ("id", "name") SELECT u.c1, u.c2 FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS u(c1, c2, o) ORDER BY u.o ON CONFLICT ("id") DO UPDATE SET "name" = EXCLUDED."name" RETURNING concat('{"id":', coalesce(to_json(t."id")::text, 'null'), '}') AS j) SELECT coalesce('[' || string_agg(x.j, ',' ORDER BY x.o) || ']', '[]') FROM (SELECT j, ($3::bigint[])[row_number() OVER ()] AS o FROM w1 UNION ALL SELECT j, ($6::bigint[])[row_number() OVER ()] AS o FROM w2) x

-- upsertMany nested from a variable
WITH w1 AS (INSERT INTO "user" AS t1 ("id", "name") VALUES ($1::text, $2::text) ON CONFLICT ("id") DO UPDATE SET "name" = EXCLUDED."name" RETURNING t1.*), w2 AS (INSERT INTO "remark" AS t2 ("author_id", "id", "novel_id", "stars", "at") SELECT w1."id", $3::uuid, $4::uuid, $5::integer, $6::timestamp with time zone FROM w1 ON CONFLICT ("id") DO UPDATE SET "novel_id" = EXCLUDED."novel_id", "author_id" = EXCLUDED."author_id", "stars" = EXCLUDED."stars" RETURNING t2.*), w3 AS (INSERT INTO "user" AS t3 ("id") VALUES ($7::text) ON CONFLICT ("id") DO UPDATE SET "id" = EXCLUDED."id" RETURNING t3.*) SELECT '[' || concat_ws(',', (SELECT concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), '}') FROM w1 t1), (SELECT concat('{"id":', coalesce(to_json(t3."id")::text, 'null'), '}') FROM w3 t3)) || ']'

-- upsertMany with changes
WITH w1 AS (INSERT INTO "remark" AS t1 ("id", "novel_id", "stars", "at") VALUES ('c0000000000040008000000000000001'::uuid, 'a0000000000040008000000000000001'::uuid, '0'::integer + '1'::integer, $1::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "novel_id" = EXCLUDED."novel_id", "stars" = t1."stars" + '1'::integer RETURNING t1.*), w2 AS (INSERT INTO "remark" AS t2 ("id", "novel_id", "stars", "at") VALUES ('c0000000000040008000000000000005'::uuid, 'a0000000000040008000000000000001'::uuid, '0'::integer - '1'::integer, $1::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "novel_id" = EXCLUDED."novel_id", "stars" = t2."stars" - '1'::integer RETURNING t2.*) SELECT '[' || concat_ws(',', (SELECT concat('{"stars":', coalesce(t1."stars"::text, 'null'), '}') FROM w1 t1), (SELECT concat('{"stars":', coalesce(t2."stars"::text, 'null'), '}') FROM w2 t2)) || ']'

-- upserts with changes count from 0 whatever came first
INSERT INTO "novel" AS t1 ("id", "title", "views", "created_at") VALUES ('a0000000000040008000000000000005'::uuid, 'New'::text, '0'::bigint, $1::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "title" = EXCLUDED."title" RETURNING concat('{"rating":', coalesce(to_json(t1."rating")::text, 'null'), '}')
INSERT INTO "novel" AS t1 ("id", "title", "rating", "views", "created_at") VALUES ('a0000000000040008000000000000005'::uuid, 'New'::text, '0.0'::double precision + '2.5'::double precision, '0'::bigint, $1::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "title" = EXCLUDED."title", "rating" = coalesce(t1."rating", '0.0') + '2.5'::double precision RETURNING concat('{"rating":', coalesce(to_json(t1."rating")::text, 'null'), '}')
INSERT INTO "remark" AS t1 ("id", "novel_id", "stars", "at") VALUES ($1::uuid, $2::uuid, '0'::integer, $3::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "novel_id" = EXCLUDED."novel_id" RETURNING concat('{"stars":', coalesce(t1."stars"::text, 'null'), '}')
INSERT INTO "remark" AS t1 ("id", "novel_id", "stars", "at") VALUES ($1::uuid, $2::uuid, '0'::integer, $3::timestamp with time zone) ON CONFLICT ("id") DO UPDATE SET "novel_id" = EXCLUDED."novel_id" RETURNING concat('{"stars":', coalesce(t1."stars"::text, 'null'), '}')

-- what was not sent is left out
WITH w AS (DELETE FROM "remark" t1 WHERE (EXISTS (SELECT 1 FROM "novel" t2 WHERE t1."novel_id" = t2."id" AND t2."genre" = 'NOIR'::"genre")) RETURNING 1) SELECT count(*)::text FROM w
