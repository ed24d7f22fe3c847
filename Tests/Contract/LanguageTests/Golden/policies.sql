-- a check around sees what is redacted
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"user":', coalesce((SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), ',"role":', coalesce(to_json(t1."role")::text, 'null'), '}') FROM "user" t1 WHERE t1."id" = 'ann'::text), 'null'), '}') AS body OFFSET 0) b

-- a check of the query sees what is redacted
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"user":', coalesce((SELECT concat('{"role":', coalesce(to_json(t1."role")::text, 'null'), '}') FROM "user" t1 WHERE t1."id" = 'ann'::text), 'null'), ',"users":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"id":', coalesce(to_json(t2."id")::text, 'null'), '}') AS j FROM "user" t2 ORDER BY t2."id" LIMIT 1) r), '[]'), '}') AS body OFFSET 0) b

-- a failed check among what is redacted
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"ann":', coalesce((SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), '}') FROM "user" t1 WHERE t1."id" = 'ann'::text), 'null'), ',"bob":', coalesce((SELECT concat('{"role":', coalesce(to_json(t2."role")::text, 'null'), '}') FROM "user" t2 WHERE t2."id" = 'bob'::text), 'null'), ',"novel":', coalesce((SELECT concat('{"title":', coalesce(to_json(t3."title")::text, 'null'), '}') FROM "novel" t3 WHERE t3."id" = 'a0000000000040008000000000000001'::uuid), 'null'), ',"users":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"id":', coalesce(to_json(t4."id")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t4.*, tableoid AS "~table", ctid AS "~place" FROM "user" t4 ORDER BY t4."id" LIMIT 100) t4 ORDER BY t4."~table", t4."~place", t4."id") r), '[]'), '}') AS body OFFSET 0) b

-- a failed check and fields that are left out
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{', concat('"ann":', coalesce((SELECT concat('{"name":', coalesce(to_json(t2."name")::text, 'null'), '}') FROM "user" t2 WHERE t2."id" = 'ann'::text), 'null'), ',', '"bob":', coalesce((SELECT concat('{"role":', coalesce(to_json(t3."role")::text, 'null'), '}') FROM "user" t3 WHERE t3."id" = 'bob'::text), 'null')), '}') AS body OFFSET 0) b

-- a failed check before all
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"bob":', coalesce((SELECT concat('{"role":', coalesce(to_json(t1."role")::text, 'null'), '}') FROM "user" t1 WHERE t1."id" = 'bob'::text), 'null'), ',"ann":', coalesce((SELECT concat('{"name":', coalesce(to_json(t2."name")::text, 'null'), '}') FROM "user" t2 WHERE t2."id" = 'ann'::text), 'null'), '}') AS body OFFSET 0) b

-- a failed check before what may not be null
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"ann":', coalesce((SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), '}') FROM "user" t1 WHERE t1."id" = 'ann'::text), 'null'), ',"bob":', coalesce((SELECT concat('{"role":', coalesce(to_json(t2."role")::text, 'null'), '}') FROM "user" t2 WHERE t2."id" = 'bob'::text), 'null'), ',"users":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"id":', coalesce(to_json(t3."id")::text, 'null'), '}') AS j FROM "user" t3 ORDER BY t3."id" LIMIT 1) r), '[]'), '}') AS body OFFSET 0) b

-- a failed check of what may not be null
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"ann":', coalesce((SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), '}') FROM "user" t1 WHERE t1."id" = 'ann'::text), 'null'), ',"users":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"id":', coalesce(to_json(t2."id")::text, 'null'), '}') AS j FROM "user" t2 ORDER BY t2."id" LIMIT 1) r), '[]'), '}') AS body OFFSET 0) b

-- check default
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"users":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "user" t1 WHERE t1."id" = 'none'::text ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- check fails
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"user":', coalesce((SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), ',"role":', coalesce(to_json(t1."role")::text, 'null'), '}') FROM "user" t1 WHERE t1."id" = 'ann'::text), 'null'), '}') AS body OFFSET 0) b

-- check of the query
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"users":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "user" t1 ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- check of the result
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"user":', coalesce((SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), ',"role":', coalesce(to_json(t1."role")::text, 'null'), '}') FROM "user" t1 WHERE t1."id" = 'ann'::text), 'null'), '}') AS body OFFSET 0) b

-- check reads claims
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"users":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), '}') AS j FROM "user" t1 ORDER BY t1."id" LIMIT 1) r), '[]'), '}') AS body OFFSET 0) b

-- checks of fragments
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"user":', coalesce((SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), ',"role":', coalesce(to_json(t1."role")::text, 'null'), ',"id":', coalesce(to_json(t1."id")::text, 'null'), '}') FROM "user" t1 WHERE t1."id" = 'bob'::text), 'null'), '}') AS body OFFSET 0) b

-- redacted and checked
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"user":', coalesce((SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), ',"role":', coalesce(to_json(t1."role")::text, 'null'), '}') FROM "user" t1 WHERE t1."id" = 'ann'::text), 'null'), ',"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t2."title")::text, 'null'), ',"remarks_on_novel":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"stars":', coalesce(t3."stars"::text, 'null'), ',"text":', coalesce(to_json(t3."text")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t3.*, tableoid AS "~table", ctid AS "~place" FROM "remark" t3 WHERE t3."novel_id" = t2."id" ORDER BY t3."id" LIMIT 100) t3 ORDER BY t3."~table", t3."~place", t3."id") r), '[]'), '}') AS j FROM "novel" t2 ORDER BY t2."id" LIMIT 2) r), '[]'), '}') AS body OFFSET 0) b

-- redacted fragment
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"user":', coalesce((SELECT concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), ',"role":', coalesce(to_json(t1."role")::text, 'null'), '}') FROM "user" t1 WHERE t1."id" = 'bob'::text), 'null'), '}') AS body OFFSET 0) b

-- the first failed check counts
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"ann":', coalesce((SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), '}') FROM "user" t1 WHERE t1."id" = 'ann'::text), 'null'), ',"bob":', coalesce((SELECT concat('{"name":', coalesce(to_json(t2."name")::text, 'null'), '}') FROM "user" t2 WHERE t2."id" = 'bob'::text), 'null'), ',"novel":', coalesce((SELECT concat('{"title":', coalesce(to_json(t3."title")::text, 'null'), '}') FROM "novel" t3 WHERE t3."id" = 'a0000000000040008000000000000001'::uuid), 'null'), '}') AS body OFFSET 0) b

-- what stands before a failed check is shown
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"ann":', coalesce((SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), '}') FROM "user" t1 WHERE t1."id" = 'ann'::text), 'null'), ',"bob":', coalesce((SELECT concat('{"name":', coalesce(to_json(t2."name")::text, 'null'), ',"role":', coalesce(to_json(t2."role")::text, 'null'), '}') FROM "user" t2 WHERE t2."id" = 'bob'::text), 'null'), ',"novel":', coalesce((SELECT concat('{"title":', coalesce(to_json(t3."title")::text, 'null'), '}') FROM "novel" t3 WHERE t3."id" = 'a0000000000040008000000000000001'::uuid), 'null'), ',"__typename":"Query"', '}') AS body OFFSET 0) b
