-- a check around sees what is redacted
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"user":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."name" AS "name", t1."role" AS "role" FROM "user" t1 WHERE t1."id" = 'ann'::text) r), 'null') || '}' AS body OFFSET 0) b

-- a check of the query sees what is redacted
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"user":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."role" AS "role" FROM "user" t1 WHERE t1."id" = 'ann'::text) r), 'null') || ',' || '"users":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t2."id" AS "id" FROM "user" t2 ORDER BY t2."id" LIMIT 1) r), '[]') || '}' AS body OFFSET 0) b

-- a failed check among what is redacted
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"ann":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."name" AS "name" FROM "user" t1 WHERE t1."id" = 'ann'::text) r), 'null') || ',' || '"bob":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t2."role" AS "role" FROM "user" t2 WHERE t2."id" = 'bob'::text) r), 'null') || ',' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t3."title" AS "title" FROM "novel" t3 WHERE t3."id" = 'a0000000000040008000000000000001'::uuid) r), 'null') || ',' || '"users":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t4."id" AS "id" FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t4.*, tableoid AS "~table", ctid AS "~place" FROM "user" t4 ORDER BY t4."id" LIMIT 100) t4 ORDER BY t4."~table", t4."~place", t4."id") r), '[]') || '}' AS body OFFSET 0) b

-- a failed check and fields that are left out
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"ann":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t2."name" AS "name" FROM "user" t2 WHERE t2."id" = 'ann'::text) r), 'null') || ',' || '"bob":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t3."role" AS "role" FROM "user" t3 WHERE t3."id" = 'bob'::text) r), 'null') || '}' AS body OFFSET 0) b

-- a failed check before all
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"bob":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."role" AS "role" FROM "user" t1 WHERE t1."id" = 'bob'::text) r), 'null') || ',' || '"ann":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t2."name" AS "name" FROM "user" t2 WHERE t2."id" = 'ann'::text) r), 'null') || '}' AS body OFFSET 0) b

-- a failed check before what may not be null
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"ann":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."name" AS "name" FROM "user" t1 WHERE t1."id" = 'ann'::text) r), 'null') || ',' || '"bob":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t2."role" AS "role" FROM "user" t2 WHERE t2."id" = 'bob'::text) r), 'null') || ',' || '"users":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t3."id" AS "id" FROM "user" t3 ORDER BY t3."id" LIMIT 1) r), '[]') || '}' AS body OFFSET 0) b

-- a failed check of what may not be null
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"ann":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."name" AS "name" FROM "user" t1 WHERE t1."id" = 'ann'::text) r), 'null') || ',' || '"users":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t2."id" AS "id" FROM "user" t2 ORDER BY t2."id" LIMIT 1) r), '[]') || '}' AS body OFFSET 0) b

-- check default
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"users":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."id" AS "id" FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "user" t1 WHERE t1."id" = 'none'::text ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]') || '}' AS body OFFSET 0) b

-- check fails
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"user":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."name" AS "name", t1."role" AS "role" FROM "user" t1 WHERE t1."id" = 'ann'::text) r), 'null') || '}' AS body OFFSET 0) b

-- check of the query
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"users":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."id" AS "id" FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "user" t1 ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]') || '}' AS body OFFSET 0) b

-- check of the result
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"user":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."name" AS "name", t1."role" AS "role" FROM "user" t1 WHERE t1."id" = 'ann'::text) r), 'null') || '}' AS body OFFSET 0) b

-- check reads claims
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"users":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."id" AS "id" FROM "user" t1 ORDER BY t1."id" LIMIT 1) r), '[]') || '}' AS body OFFSET 0) b

-- checks of fragments
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"user":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."name" AS "name", t1."role" AS "role", t1."id" AS "id" FROM "user" t1 WHERE t1."id" = 'bob'::text) r), 'null') || '}' AS body OFFSET 0) b

-- redacted and checked
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"user":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."name" AS "name", t1."role" AS "role" FROM "user" t1 WHERE t1."id" = 'ann'::text) r), 'null') || ',' || '"novels":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t2."title" AS "title", coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t3."stars" AS "stars", t3."text" AS "text" FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t3.*, tableoid AS "~table", ctid AS "~place" FROM "remark" t3 WHERE t3."novel_id" = t2."id" ORDER BY t3."id" LIMIT 100) t3 ORDER BY t3."~table", t3."~place", t3."id") r), '[]')::json AS "remarks_on_novel" FROM "novel" t2 ORDER BY t2."id" LIMIT 2) r), '[]') || '}' AS body OFFSET 0) b

-- redacted fragment
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"user":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."id" AS "id", t1."role" AS "role" FROM "user" t1 WHERE t1."id" = 'bob'::text) r), 'null') || '}' AS body OFFSET 0) b

-- the first failed check counts
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"ann":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."name" AS "name" FROM "user" t1 WHERE t1."id" = 'ann'::text) r), 'null') || ',' || '"bob":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t2."name" AS "name" FROM "user" t2 WHERE t2."id" = 'bob'::text) r), 'null') || ',' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t3."title" AS "title" FROM "novel" t3 WHERE t3."id" = 'a0000000000040008000000000000001'::uuid) r), 'null') || '}' AS body OFFSET 0) b

-- what stands before a failed check is shown
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"ann":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."name" AS "name" FROM "user" t1 WHERE t1."id" = 'ann'::text) r), 'null') || ',' || '"bob":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t2."name" AS "name", t2."role" AS "role" FROM "user" t2 WHERE t2."id" = 'bob'::text) r), 'null') || ',' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t3."title" AS "title" FROM "novel" t3 WHERE t3."id" = 'a0000000000040008000000000000001'::uuid) r), 'null') || ',' || '"__typename":' || '"Query"' || '}' AS body OFFSET 0) b
