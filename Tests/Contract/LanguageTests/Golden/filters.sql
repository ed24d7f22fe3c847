-- absent variable drops
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- absent variable of a relative time drops
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (t1."launched" = $1::date) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- and or not
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE ((t1."genre" = 'NOIR'::"genre" AND NOT (t1."title" = 'Gamma'::text)) AND (t1."rating" > '8.0'::double precision OR t1."rating" < '1.0'::double precision)) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- any eq
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."extras" = '{"a":1}'::jsonb ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- any in
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."extras" = ANY (E'{"\\"text\\"","[1,\\"x\\"]"}'::jsonb[]) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- boolean
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."is_classic" = 'true'::boolean ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- boolean ne_expr
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."is_classic" <> $1::boolean ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- count
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (SELECT count(*) FROM "remark" t2 WHERE t2."novel_id" = t1."id") = $1::integer ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- count of none that match
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (SELECT count(*) FROM "remark" t2 WHERE t2."novel_id" = t1."id" AND t2."stars" > '3'::integer) = '0'::integer ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- count of those that match
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (SELECT count(*) FROM "remark" t2 WHERE t2."novel_id" = t1."id" AND t2."stars" >= '3'::integer) >= '2'::integer ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- date
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."launched" < '1960-07-15'::date ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- date expr
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."launched" = $1::date ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- date on add truncate
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."launched" >= $1::date ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- date sub years
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."launched" > $1::date ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- date today
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."launched" = $1::date ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- default of a duration
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."launched" > $1::date ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- default of a filter variable
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (t1."genre" = ANY ($1::"genre"[]) AND t1."printed_year" > $2::integer) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- default of a relative time
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."created_at" > $1::timestamp with time zone ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- enum
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (t1."genre" = ANY ('{"NOIR"}'::"genre"[]) AND t1."genre" <> $1::"genre") ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- eq null written
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."description" IS NULL ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- exist
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE EXISTS (SELECT 1 FROM "remark" t2 WHERE t2."novel_id" = t1."id" AND t2."stars" >= '5'::integer) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- filter variable eq null
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."description" IS NULL ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- filter variable inside
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE ((t1."title" ILIKE $1::text OR t1."views" = ANY ($2::bigint[])) OR t1."title" = 'Beta'::text) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- filter variable null
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- filter variable relations
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (EXISTS (SELECT 1 FROM "remark" t2 WHERE t2."novel_id" = t1."id" AND EXISTS (SELECT 1 FROM "user" t3 WHERE t2."author_id" = t3."id" AND t3."name" LIKE $1::text)) AND EXISTS (SELECT 1 FROM "person" t4 WHERE t1."narrator_id" = t4."id" AND EXISTS (SELECT 1 FROM "person" t5 WHERE t4."mentor_id" = t5."id" AND t5."name" IS NOT NULL))) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- filter variable with counts
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE ((SELECT count(*) FROM "remark" t2 WHERE t2."novel_id" = t1."id" AND t2."stars" >= $1::integer) < $2::integer AND NOT ((SELECT count(*) FROM "remark" t3 WHERE t3."novel_id" = t1."id") = $3::integer)) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- filter variable with times
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (t1."created_at" > $1::timestamp with time zone AND t1."launched" <= $2::date AND t1."award_dates" @> ARRAY[$3::date]) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- float
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (t1."rating" >= '6.25'::double precision AND t1."rating" < '8.0'::double precision) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- float expr
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."rating" > $1::double precision ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- int
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (t1."printed_year" > '1950'::integer AND t1."printed_year" < '1970'::integer) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- int expr
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."printed_year" >= $1::integer ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- int64 beyond 2^53
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."views" = $1::bigint ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- int64 in
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (t1."views" = ANY ('{"20","30"}'::bigint[]) AND t1."views" <> '30'::bigint) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- isNull absent
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- isNull true
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."description" IS NULL ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- isNull variable
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."description" IS NOT NULL ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- list all
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."tags" @> '{"dark","fun"}'::text[] ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- list date
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."award_dates" @> ARRAY[$1::date] ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- list excludes null list
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE NOT coalesce(t1."tags" @> ARRAY['dark'::text], FALSE) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- list expr
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."tags" @> ARRAY[$1::text] ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- list filter empty
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE EXISTS (SELECT 1 FROM "remark" t2 WHERE t2."novel_id" = t1."id") ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- list includes
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (t1."tags" @> ARRAY['dark'::text] AND NOT coalesce(t1."tags" @> ARRAY['fun'::text], FALSE)) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- list isNull
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."tags" IS NULL ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- list none
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE NOT coalesce(t1."tags" && $1::text[], FALSE) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- list of filters
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE ((t1."genre" = $1::"genre" OR t1."rating" > $2::double precision) AND t1."title" <> $3::text) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- list of filters empty
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- ne null written
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."description" IS NOT NULL ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- null variable drops
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- null variable of a pattern drops
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (t1."title" LIKE 'A%'::text) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- one-to-one
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE EXISTS (SELECT 1 FROM "novel_printing" t2 WHERE t2."novel_id" = t1."id" AND t2."binder" = 'Zenith'::text) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- pattern like
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."title" LIKE '%a'::text ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- pattern regex
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE NOT t1."title" ~* '^[ab]'::text ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- reference
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE EXISTS (SELECT 1 FROM "person" t2 WHERE t1."narrator_id" = t2."id" AND t2."name" = 'Ada'::text) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- reference of reference
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE EXISTS (SELECT 1 FROM "person" t2 WHERE t1."narrator_id" = t2."id" AND EXISTS (SELECT 1 FROM "person" t3 WHERE t2."mentor_id" = t3."id" AND t3."name" = 'Ada'::text)) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- string contains
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."title" LIKE E'%50\\%\\_%'::text ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- string endsWith
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."title" LIKE $1::text ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- string eq
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."title" = 'Beta'::text ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- string eq_expr
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."title" = $1::text ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- string ge lt
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (t1."title" >= 'Alpha'::text AND t1."title" < 'Beta'::text) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- string in nin
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (t1."title" = ANY ('{"Beta","Gamma"}'::text[]) AND t1."title" <> ALL ('{"Gamma"}'::text[])) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- string ne
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."title" <> 'Beta'::text ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- string order
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (t1."title" > 'Alpha'::text AND t1."title" <= 'Delta'::text) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- string order_expr
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (t1."title" > $1::text AND t1."title" < $2::text) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- string startsWith
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."title" LIKE 'Ga%'::text ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- time absent base drops
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- time at add
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."created_at" = $1::timestamp with time zone ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- time now
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."created_at" > $1::timestamp with time zone ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- time truncate week
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."created_at" >= $1::timestamp with time zone ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- timestamp microseconds
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."created_at" = '2023-12-31T23:59:59.123456Z'::timestamp with time zone ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- uuid eq any spelling
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."external_id" = $1::uuid ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- uuid eq_expr
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."external_id" = $1::uuid ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- uuid in
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."external_id" = ANY ('{"d0000000000040008000000000000002"}'::uuid[]) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- variable of a duration
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE t1."created_at" >= $1::timestamp with time zone ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- variable of a pattern
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE NOT t1."title" ~* $1::text ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- variable of a pattern with like
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (t1."title" LIKE $1::text AND t1."title" <> $2::text) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- variable of a relative time
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (t1."created_at" > $1::timestamp with time zone AND t1."launched" < $2::date) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- variable of filter type
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (t1."genre" = $1::"genre" AND NOT (t1."rating" IS NULL)) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- variable of operators
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE (t1."title" LIKE $1::text AND t1."title" <> $2::text AND t1."printed_year" = ANY ($3::integer[]) AND (SELECT count(*) FROM "remark" t2 WHERE t2."novel_id" = t1."id") >= $4::integer) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- via exist
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE EXISTS (SELECT 1 FROM "novel_maker" t3 JOIN "person" t2 ON t3."maker_id" = t2."id" WHERE t3."novel_id" = t1."id" AND t2."name" = 'Ben'::text) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- view filter
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "novel" t1 WHERE EXISTS (SELECT 1 FROM (SELECT novel_id, count(*) AS remark_count, avg(stars)::double precision AS average_stars
FROM remark GROUP BY novel_id) t2 WHERE t2."novel_id" = t1."id" AND t2."average_stars" >= '3.5'::double precision) ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b
