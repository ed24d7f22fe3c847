-- a check around sees what is redacted
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT t1."name" AS "name", t1."role" AS "role" FROM "user" t1 WHERE t1."id" = 'ann'::text) r) AS "user") r OFFSET 0) b

-- a check of the query sees what is redacted
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT t1."role" AS "role" FROM "user" t1 WHERE t1."id" = 'ann'::text) r) AS "user", coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t2."id" AS "id" FROM "user" t2 ORDER BY t2."id" LIMIT 1) r), '[]')::json AS "users") r OFFSET 0) b

-- a failed check among what is redacted
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT t1."name" AS "name" FROM "user" t1 WHERE t1."id" = 'ann'::text) r) AS "ann", (SELECT row_to_json(r.*) FROM (SELECT t2."role" AS "role" FROM "user" t2 WHERE t2."id" = 'bob'::text) r) AS "bob", (SELECT row_to_json(r.*) FROM (SELECT t3."title" AS "title" FROM "novel" t3 WHERE t3."id" = 'a0000000000040008000000000000001'::uuid) r) AS "novel", coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t4."id" AS "id" FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t4."id", t4."name", t4."role", tableoid AS "~table", ctid AS "~place" FROM "user" t4 ORDER BY t4."id" LIMIT 100) t4 ORDER BY t4."~table", t4."~place", t4."id") r), '[]')::json AS "users") r OFFSET 0) b

-- a failed check and fields that are left out
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT t2."name" AS "name" FROM "user" t2 WHERE t2."id" = 'ann'::text) r) AS "ann", (SELECT row_to_json(r.*) FROM (SELECT t3."role" AS "role" FROM "user" t3 WHERE t3."id" = 'bob'::text) r) AS "bob") r OFFSET 0) b

-- a failed check before all
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT t1."role" AS "role" FROM "user" t1 WHERE t1."id" = 'bob'::text) r) AS "bob", (SELECT row_to_json(r.*) FROM (SELECT t2."name" AS "name" FROM "user" t2 WHERE t2."id" = 'ann'::text) r) AS "ann") r OFFSET 0) b

-- a failed check before what may not be null
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT t1."name" AS "name" FROM "user" t1 WHERE t1."id" = 'ann'::text) r) AS "ann", (SELECT row_to_json(r.*) FROM (SELECT t2."role" AS "role" FROM "user" t2 WHERE t2."id" = 'bob'::text) r) AS "bob", coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t3."id" AS "id" FROM "user" t3 ORDER BY t3."id" LIMIT 1) r), '[]')::json AS "users") r OFFSET 0) b

-- a failed check of what may not be null
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT t1."name" AS "name" FROM "user" t1 WHERE t1."id" = 'ann'::text) r) AS "ann", coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t2."id" AS "id" FROM "user" t2 ORDER BY t2."id" LIMIT 1) r), '[]')::json AS "users") r OFFSET 0) b

-- check default
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."id" AS "id" FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1."id", t1."name", t1."role", tableoid AS "~table", ctid AS "~place" FROM "user" t1 WHERE t1."id" = 'none'::text ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]')::json AS "users") r OFFSET 0) b

-- check fails
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT t1."name" AS "name", t1."role" AS "role" FROM "user" t1 WHERE t1."id" = 'ann'::text) r) AS "user") r OFFSET 0) b

-- check of the query
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."id" AS "id" FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1."id", t1."name", t1."role", tableoid AS "~table", ctid AS "~place" FROM "user" t1 ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]')::json AS "users") r OFFSET 0) b

-- check of the result
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT t1."name" AS "name", t1."role" AS "role" FROM "user" t1 WHERE t1."id" = 'ann'::text) r) AS "user") r OFFSET 0) b

-- check reads claims
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."id" AS "id" FROM "user" t1 ORDER BY t1."id" LIMIT 1) r), '[]')::json AS "users") r OFFSET 0) b

-- checks of fragments
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT t1."name" AS "name", t1."role" AS "role", t1."id" AS "id" FROM "user" t1 WHERE t1."id" = 'bob'::text) r) AS "user") r OFFSET 0) b

-- redacted and checked
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT t1."name" AS "name", t1."role" AS "role" FROM "user" t1 WHERE t1."id" = 'ann'::text) r) AS "user", coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t2."title" AS "title", coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t3."stars" AS "stars", t3."text" AS "text" FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t3."id", t3."novel_id", t3."author_id", t3."text", t3."stars", t3."at", tableoid AS "~table", ctid AS "~place" FROM "remark" t3 WHERE t3."novel_id" = t2."id" ORDER BY t3."id" LIMIT 100) t3 ORDER BY t3."~table", t3."~place", t3."id") r), '[]')::json AS "remarks_on_novel" FROM "novel" t2 ORDER BY t2."id" LIMIT 2) r), '[]')::json AS "novels") r OFFSET 0) b

-- redacted fragment
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT t1."id" AS "id", t1."role" AS "role" FROM "user" t1 WHERE t1."id" = 'bob'::text) r) AS "user") r OFFSET 0) b

-- the first failed check counts
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT t1."name" AS "name" FROM "user" t1 WHERE t1."id" = 'ann'::text) r) AS "ann", (SELECT row_to_json(r.*) FROM (SELECT t2."name" AS "name" FROM "user" t2 WHERE t2."id" = 'bob'::text) r) AS "bob", (SELECT row_to_json(r.*) FROM (SELECT t3."title" AS "title" FROM "novel" t3 WHERE t3."id" = 'a0000000000040008000000000000001'::uuid) r) AS "novel") r OFFSET 0) b

-- what stands before a failed check is shown
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT t1."name" AS "name" FROM "user" t1 WHERE t1."id" = 'ann'::text) r) AS "ann", (SELECT row_to_json(r.*) FROM (SELECT t2."name" AS "name", t2."role" AS "role" FROM "user" t2 WHERE t2."id" = 'bob'::text) r) AS "bob", (SELECT row_to_json(r.*) FROM (SELECT t3."title" AS "title" FROM "novel" t3 WHERE t3."id" = 'a0000000000040008000000000000001'::uuid) r) AS "novel", 'Query'::text AS "__typename") r OFFSET 0) b
