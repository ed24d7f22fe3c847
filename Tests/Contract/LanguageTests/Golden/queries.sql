-- aggregate of a view
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novelStatss":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT count(*) AS "_count", sum(t1."remark_count")::text AS "remarkCount_sum" FROM (SELECT novel_id, count(*) AS remark_count, avg(stars)::double precision AS average_stars
FROM remark GROUP BY novel_id) t1 LIMIT 100) r), '[]') || '}' AS body OFFSET 0) b

-- composite key
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novelMaker":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."role" AS "role" FROM "novel_maker" t1 WHERE t1."novel_id" = 'a0000000000040008000000000000001'::uuid AND t1."maker_id" = 'b0000000000040008000000000000002'::uuid) r), 'null') || ',' || '"b":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t2."role" AS "role" FROM "novel_maker" t2 WHERE t2."novel_id" = 'a0000000000040008000000000000002'::uuid AND t2."maker_id" = 'b0000000000040008000000000000002'::uuid) r), 'null') || '}' AS body OFFSET 0) b

-- distinct
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novels":' || coalesce((SELECT '[' || string_agg(g.j, ',' ORDER BY g.o) || ']' FROM (SELECT d.j, min(d.o) AS o FROM (SELECT row_to_json(r.*)::text AS j, row_number() OVER () AS o FROM (SELECT t1."printed_year" AS "printedYear" FROM "novel" t1 ORDER BY t1."printed_year" DESC, t1."id") r) d GROUP BY d.j ORDER BY 2 LIMIT 100) g), '[]') || '}' AS body OFFSET 0) b

-- distinct variable and relations
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"remarks":' || coalesce((SELECT '[' || string_agg(g.j, ',' ORDER BY g.o) || ']' FROM (SELECT d.j, min(d.o) AS o FROM (SELECT row_to_json(r.*)::text AS j, row_number() OVER () AS o FROM (SELECT t1."stars" AS "stars", (SELECT row_to_json(r.*) FROM (SELECT t2."id" AS "id" FROM "user" t2 WHERE t1."author_id" = t2."id") r) AS "author" FROM "remark" t1 ORDER BY t1."stars", t1."id") r) d GROUP BY d.j ORDER BY 2 LIMIT 2) g), '[]') || ',' || '"a":' || coalesce((SELECT '[' || string_agg(g.j, ',' ORDER BY g.o) || ']' FROM (SELECT d.j, min(d.o) AS o FROM (SELECT row_to_json(r.*)::text AS j, row_number() OVER () AS o FROM (SELECT t3."stars" AS "stars" FROM "remark" t3 ORDER BY t3."id") r) d GROUP BY d.j ORDER BY 2 LIMIT 1 OFFSET 1) g), '[]') || '}' AS body OFFSET 0) b

-- fragments
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."title" AS "title", t1."genre" AS "genre" FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid) r), 'null') || '}' AS body OFFSET 0) b

-- global id
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT 'Novel' || json_build_array(replace(t1."id"::text, '-', ''))::text AS "_id" FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid) r), 'null') || ',' || '"novelMaker":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT 'NovelMaker' || json_build_array(replace(t2."novel_id"::text, '-', ''), replace(t2."maker_id"::text, '-', ''))::text AS "_id" FROM "novel_maker" t2 WHERE t2."novel_id" = 'a0000000000040008000000000000001'::uuid AND t2."maker_id" = 'b0000000000040008000000000000001'::uuid) r), 'null') || '}' AS body OFFSET 0) b

-- limit variable
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"people":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."name" AS "name" FROM "person" t1 ORDER BY t1."id" LIMIT $1::integer) r), '[]') || '}' AS body OFFSET 0) b

-- lookup absent
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."title" AS "title" FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000005'::uuid) r), 'null') || '}' AS body OFFSET 0) b

-- lookup by id
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT replace(t1."id"::text, '-', '') AS "id", t1."title" AS "title" FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid) r), 'null') || '}' AS body OFFSET 0) b

-- lookup by id_expr
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"user":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."name" AS "name" FROM "user" t1 WHERE t1."id" = $1::text) r), 'null') || ',' || '"u":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t2."id" AS "id" FROM "user" t2 WHERE t2."id" = $2::text) r), 'null') || '}' AS body OFFSET 0) b

-- lookup by key variable
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."title" AS "title" FROM "novel" t1 WHERE t1."id" = $1::uuid) r), 'null') || '}' AS body OFFSET 0) b

-- lookup by keys of references
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"a":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."role" AS "role" FROM "novel_maker" t1 WHERE t1."novel_id" = $1::uuid AND t1."maker_id" = $2::uuid) r), 'null') || ',' || '"b":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t2."role" AS "role" FROM "novel_maker" t2 WHERE t2."novel_id" = $1::uuid AND t2."maker_id" = $3::uuid) r), 'null') || '}' AS body OFFSET 0) b

-- lookup first
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."title" AS "title" FROM "novel" t1 WHERE t1."genre" = 'NOIR'::"genre" ORDER BY t1."printed_year" DESC, t1."id" LIMIT 1) r), 'null') || '}' AS body OFFSET 0) b

-- lookup first variable
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."title" AS "title" FROM "novel" t1 WHERE t1."genre" = $1::"genre" ORDER BY t1."printed_year" DESC, t1."id" LIMIT 1) r), 'null') || '}' AS body OFFSET 0) b

-- lookup first variable default
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."title" AS "title" FROM "novel" t1 WHERE t1."title" = $1::text ORDER BY t1."id" LIMIT 1) r), 'null') || '}' AS body OFFSET 0) b

-- lookup first variable of an order alone
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."title" AS "title" FROM "novel" t1 ORDER BY t1."rating", t1."id" LIMIT 1) r), 'null') || '}' AS body OFFSET 0) b

-- lookup first with variables inside
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."title" AS "title" FROM "novel" t1 WHERE (t1."title" <> $1::text AND t1."printed_year" < $2::integer) ORDER BY t1."title" DESC, t1."id" LIMIT 1) r), 'null') || '}' AS body OFFSET 0) b

-- metadata without search
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT NULL::double precision AS "distance", NULL::double precision AS "relevance", '_Metadata'::text AS "__typename") r) AS "_metadata" FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid) r), 'null') || '}' AS body OFFSET 0) b

-- native select
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"_select":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT r.* FROM (SELECT title, printed_year FROM novel WHERE printed_year >= $1::integer ORDER BY title) r) r), '[]') || ',' || '"one":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT name FROM "user" WHERE id = $2::text) r LIMIT 1), 'null') || '}' AS body OFFSET 0) b

-- order by one-to-one
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novels":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."title" AS "title" FROM "novel" t1 ORDER BY (SELECT t2."binder" FROM "novel_printing" t2 WHERE t2."novel_id" = t1."id" LIMIT 1), t1."title", t1."id" LIMIT 100) r), '[]') || '}' AS body OFFSET 0) b

-- order by reference
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novels":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."title" AS "title" FROM "novel" t1 ORDER BY (SELECT t3."name" FROM "person" t3 WHERE t1."narrator_id" = t3."id") DESC, t1."title" DESC, t1."id" LIMIT 100) r), '[]') || '}' AS body OFFSET 0) b

-- order by reference of reference
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"remarks":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."stars" AS "stars" FROM "remark" t1 ORDER BY (SELECT (SELECT t3."name" FROM "person" t3 WHERE t2."narrator_id" = t3."id") FROM "novel" t2 WHERE t1."novel_id" = t2."id") DESC, t1."stars", t1."id" LIMIT 100) r), '[]') || '}' AS body OFFSET 0) b

-- order by variable direction
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novels":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."title" AS "title" FROM "novel" t1 ORDER BY t1."title" DESC, t1."id" LIMIT 1) r), '[]') || '}' AS body OFFSET 0) b

-- order limit offset
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novels":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."title" AS "title" FROM "novel" t1 ORDER BY t1."printed_year" DESC, t1."title", t1."id" LIMIT 2 OFFSET 1) r), '[]') || '}' AS body OFFSET 0) b

-- order variable
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novels":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."title" AS "title" FROM "novel" t1 ORDER BY (SELECT t2."name" FROM "person" t2 WHERE t1."narrator_id" = t2."id"), t1."rating", t1."id" LIMIT 2) r), '[]') || '}' AS body OFFSET 0) b

-- order variable absent
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novels":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."title" AS "title" FROM "novel" t1 ORDER BY t1."id" LIMIT 1) r), '[]') || '}' AS body OFFSET 0) b

-- order variable default
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novels":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."title" AS "title" FROM "novel" t1 ORDER BY t1."genre", t1."title" DESC, t1."id" LIMIT 2) r), '[]') || '}' AS body OFFSET 0) b

-- relations
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t2."text" AS "text", (SELECT row_to_json(r.*) FROM (SELECT t3."name" AS "name" FROM "user" t3 WHERE t2."author_id" = t3."id") r) AS "author" FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t2.*, tableoid AS "~table", ctid AS "~place" FROM "remark" t2 WHERE t2."novel_id" = t1."id" AND t2."stars" > '3'::integer ORDER BY t2."id" LIMIT 100) t2 ORDER BY t2."~table", t2."~place", t2."id") r), '[]')::json AS "remarks_on_novel", coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t5."name" AS "name" FROM "novel_maker" t4 JOIN "person" t5 ON t4."maker_id" = t5."id" WHERE t4."novel_id" = t1."id" ORDER BY t4."role", t4."novel_id", t4."maker_id" LIMIT 100) r), '[]')::json AS "people_via_NovelMaker", (SELECT row_to_json(r.*) FROM (SELECT t6."binder" AS "binder", t6."copies"::text AS "copies" FROM "novel_printing" t6 WHERE t6."novel_id" = t1."id" LIMIT 1) r) AS "novelPrinting_on_novel", (SELECT row_to_json(r.*) FROM (SELECT t7."name" AS "name", coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t8."name" AS "name" FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t8.*, tableoid AS "~table", ctid AS "~place" FROM "person" t8 WHERE t8."mentor_id" = t7."id" ORDER BY t8."id" LIMIT 100) t8 ORDER BY t8."~table", t8."~place", t8."id") r), '[]')::json AS "people_on_mentor" FROM "person" t7 WHERE t1."narrator_id" = t7."id") r) AS "narrator" FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid) r), 'null') || '}' AS body OFFSET 0) b

-- retired
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"people":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."name" AS "name" FROM "person" t1 ORDER BY t1."id" LIMIT $1::integer) r), '[]') || '}' AS body OFFSET 0) b

-- skip include
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT t1."genre" AS "genre" FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid) r), 'null') || '}' AS body OFFSET 0) b

-- type names
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"__typename":' || '"Query"' || ',' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT 'Novel'::text AS "__typename" FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid) r), 'null') || '}' AS body OFFSET 0) b

-- via with distinct and limit
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"people":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."name" AS "name", coalesce((SELECT '[' || string_agg(g.j, ',' ORDER BY g.o) || ']' FROM (SELECT d.j, min(d.o) AS o FROM (SELECT row_to_json(r.*)::text AS j, row_number() OVER () AS o FROM (SELECT t3."title" AS "title" FROM "novel_maker" t2 JOIN "novel" t3 ON t2."novel_id" = t3."id" WHERE t2."maker_id" = t1."id" ORDER BY t2."novel_id", t2."maker_id") r) d GROUP BY d.j ORDER BY 2 LIMIT 1 OFFSET 1) g), '[]')::json AS "novels_via_NovelMaker" FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "person" t1 ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]') || '}' AS body OFFSET 0) b

-- view
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novelStatss":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."remark_count"::text AS "remarkCount", t1."average_stars" AS "averageStars", (SELECT row_to_json(r.*) FROM (SELECT t2."title" AS "title" FROM "novel" t2 WHERE t1."novel_id" = t2."id") r) AS "novel" FROM (SELECT novel_id, count(*) AS remark_count, avg(stars)::double precision AS average_stars
FROM remark GROUP BY novel_id) t1 ORDER BY t1."average_stars" DESC, t1."novel_id", t1."remark_count" LIMIT 100) r), '[]') || '}' AS body OFFSET 0) b

-- view as a relation
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"novel":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT t2."remark_count"::text AS "remarkCount" FROM (SELECT novel_id, count(*) AS remark_count, avg(stars)::double precision AS average_stars
FROM remark GROUP BY novel_id) t2 WHERE t2."novel_id" = t1."id" LIMIT 1) r) AS "novelStats_on_novel" FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000003'::uuid) r), 'null') || ',' || '"m":' || coalesce((SELECT row_to_json(r.*)::text FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT t4."remark_count"::text AS "remarkCount" FROM (SELECT novel_id, count(*) AS remark_count, avg(stars)::double precision AS average_stars
FROM remark GROUP BY novel_id) t4 WHERE t4."novel_id" = t3."id" LIMIT 1) r) AS "novelStats_on_novel" FROM "novel" t3 WHERE t3."id" = 'a0000000000040008000000000000001'::uuid) r), 'null') || '}' AS body OFFSET 0) b

-- view by name
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT '{' || '"longTitles":' || coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."title" AS "title", t1."letters" AS "letters" FROM "long_title" t1 WHERE t1."letters" > '5'::integer ORDER BY t1."title", t1."letters" LIMIT 100) r), '[]') || '}' AS body OFFSET 0) b
