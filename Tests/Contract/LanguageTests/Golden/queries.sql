-- aggregate of a view
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novelStatss":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT row_to_json(g.*)::text AS j FROM (SELECT count(*) AS "_count", sum(t1."remark_count")::text AS "remarkCount_sum" FROM (SELECT novel_id, count(*) AS remark_count, avg(stars)::double precision AS average_stars
FROM remark GROUP BY novel_id) t1) g LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b

-- composite key
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novelMaker":', coalesce((SELECT concat('{"role":', coalesce(to_json(t1."role")::text, 'null'), '}') FROM "novel_maker" t1 WHERE t1."novel_id" = 'a0000000000040008000000000000001'::uuid AND t1."maker_id" = 'b0000000000040008000000000000002'::uuid), 'null'), ',"b":', coalesce((SELECT concat('{"role":', coalesce(to_json(t2."role")::text, 'null'), '}') FROM "novel_maker" t2 WHERE t2."novel_id" = 'a0000000000040008000000000000002'::uuid AND t2."maker_id" = 'b0000000000040008000000000000002'::uuid), 'null'), '}') AS body OFFSET 0) b

-- distinct
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(g.j, ',' ORDER BY g.o) || ']' FROM (SELECT d.j, min(d.o) AS o FROM (SELECT r.j, row_number() OVER () AS o FROM (SELECT concat('{"printedYear":', coalesce(t1."printed_year"::text, 'null'), '}') AS j FROM "novel" t1 ORDER BY t1."printed_year" DESC, t1."id") r) d GROUP BY d.j ORDER BY 2 LIMIT 100) g), '[]'), '}') AS body OFFSET 0) b

-- distinct variable and relations
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"remarks":', coalesce((SELECT '[' || string_agg(g.j, ',' ORDER BY g.o) || ']' FROM (SELECT d.j, min(d.o) AS o FROM (SELECT r.j, row_number() OVER () AS o FROM (SELECT concat('{"stars":', coalesce(t1."stars"::text, 'null'), ',"author":', coalesce((SELECT concat('{"id":', coalesce(to_json(t2."id")::text, 'null'), '}') FROM "user" t2 WHERE t1."author_id" = t2."id"), 'null'), '}') AS j FROM "remark" t1 ORDER BY t1."stars", t1."id") r) d GROUP BY d.j ORDER BY 2 LIMIT 2) g), '[]'), ',"a":', coalesce((SELECT '[' || string_agg(g.j, ',' ORDER BY g.o) || ']' FROM (SELECT d.j, min(d.o) AS o FROM (SELECT r.j, row_number() OVER () AS o FROM (SELECT concat('{"stars":', coalesce(t3."stars"::text, 'null'), '}') AS j FROM "remark" t3 ORDER BY t3."id") r) d GROUP BY d.j ORDER BY 2 LIMIT 1 OFFSET 1) g), '[]'), '}') AS body OFFSET 0) b

-- fragments
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novel":', coalesce((SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), ',"genre":', coalesce('"' || t1."genre"::text || '"', 'null'), '}') FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid), 'null'), '}') AS body OFFSET 0) b

-- global id
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novel":', coalesce((SELECT concat('{"_id":', coalesce(to_json('Novel' || json_build_array(replace(t1."id"::text, '-', ''))::text)::text, 'null'), '}') FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid), 'null'), ',"novelMaker":', coalesce((SELECT concat('{"_id":', coalesce(to_json('NovelMaker' || json_build_array(replace(t2."novel_id"::text, '-', ''), replace(t2."maker_id"::text, '-', ''))::text)::text, 'null'), '}') FROM "novel_maker" t2 WHERE t2."novel_id" = 'a0000000000040008000000000000001'::uuid AND t2."maker_id" = 'b0000000000040008000000000000001'::uuid), 'null'), '}') AS body OFFSET 0) b

-- limit variable
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"people":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), '}') AS j FROM "person" t1 ORDER BY t1."id" LIMIT $1::integer) r), '[]'), '}') AS body OFFSET 0) b

-- lookup absent
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novel":', coalesce((SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000005'::uuid), 'null'), '}') AS body OFFSET 0) b

-- lookup by id
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novel":', coalesce((SELECT concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), ',"title":', coalesce(to_json(t1."title")::text, 'null'), '}') FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid), 'null'), '}') AS body OFFSET 0) b

-- lookup by id_expr
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"user":', coalesce((SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), '}') FROM "user" t1 WHERE t1."id" = $1::text), 'null'), ',"u":', coalesce((SELECT concat('{"id":', coalesce(to_json(t2."id")::text, 'null'), '}') FROM "user" t2 WHERE t2."id" = $2::text), 'null'), '}') AS body OFFSET 0) b

-- lookup by key variable
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novel":', coalesce((SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') FROM "novel" t1 WHERE t1."id" = $1::uuid), 'null'), '}') AS body OFFSET 0) b

-- lookup by keys of references
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"a":', coalesce((SELECT concat('{"role":', coalesce(to_json(t1."role")::text, 'null'), '}') FROM "novel_maker" t1 WHERE t1."novel_id" = $1::uuid AND t1."maker_id" = $2::uuid), 'null'), ',"b":', coalesce((SELECT concat('{"role":', coalesce(to_json(t2."role")::text, 'null'), '}') FROM "novel_maker" t2 WHERE t2."novel_id" = $1::uuid AND t2."maker_id" = $3::uuid), 'null'), '}') AS body OFFSET 0) b

-- lookup first
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novel":', coalesce((SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') FROM "novel" t1 WHERE t1."genre" = 'NOIR'::"genre" ORDER BY t1."printed_year" DESC, t1."id" LIMIT 1), 'null'), '}') AS body OFFSET 0) b

-- lookup first variable
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novel":', coalesce((SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') FROM "novel" t1 WHERE t1."genre" = $1::"genre" ORDER BY t1."printed_year" DESC, t1."id" LIMIT 1), 'null'), '}') AS body OFFSET 0) b

-- lookup first variable default
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novel":', coalesce((SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') FROM "novel" t1 WHERE t1."title" = $1::text ORDER BY t1."id" LIMIT 1), 'null'), '}') AS body OFFSET 0) b

-- lookup first variable of an order alone
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novel":', coalesce((SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') FROM "novel" t1 ORDER BY t1."rating", t1."id" LIMIT 1), 'null'), '}') AS body OFFSET 0) b

-- lookup first with variables inside
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novel":', coalesce((SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') FROM "novel" t1 WHERE (t1."title" <> $1::text AND t1."printed_year" < $2::integer) ORDER BY t1."title" DESC, t1."id" LIMIT 1), 'null'), '}') AS body OFFSET 0) b

-- metadata without search
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novel":', coalesce((SELECT concat('{"_metadata":', concat('{"distance":', coalesce(to_json(NULL::double precision)::text, 'null'), ',"relevance":', coalesce(to_json(NULL::double precision)::text, 'null'), ',"__typename":"_Metadata"', '}'), '}') FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid), 'null'), '}') AS body OFFSET 0) b

-- native select
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"_select":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT row_to_json(r.*)::text AS j FROM (SELECT title, printed_year FROM novel WHERE printed_year >= $1::integer ORDER BY title) r) r), '[]'), ',"one":', coalesce((SELECT row_to_json(r.*)::text FROM (SELECT name FROM "user" WHERE id = $2::text) r LIMIT 1), 'null'), '}') AS body OFFSET 0) b

-- order by one-to-one
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM "novel" t1 ORDER BY (SELECT t2."binder" FROM "novel_printing" t2 WHERE t2."novel_id" = t1."id" LIMIT 1), t1."title", t1."id" LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b

-- order by reference
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM "novel" t1 ORDER BY (SELECT t3."name" FROM "person" t3 WHERE t1."narrator_id" = t3."id") DESC, t1."title" DESC, t1."id" LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b

-- order by reference of reference
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"remarks":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"stars":', coalesce(t1."stars"::text, 'null'), '}') AS j FROM "remark" t1 ORDER BY (SELECT (SELECT t3."name" FROM "person" t3 WHERE t2."narrator_id" = t3."id") FROM "novel" t2 WHERE t1."novel_id" = t2."id") DESC, t1."stars", t1."id" LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b

-- order by variable direction
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM "novel" t1 ORDER BY t1."title" DESC, t1."id" LIMIT 1) r), '[]'), '}') AS body OFFSET 0) b

-- order limit offset
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM "novel" t1 ORDER BY t1."printed_year" DESC, t1."title", t1."id" LIMIT 2 OFFSET 1) r), '[]'), '}') AS body OFFSET 0) b

-- order variable
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM "novel" t1 ORDER BY (SELECT t2."name" FROM "person" t2 WHERE t1."narrator_id" = t2."id"), t1."rating", t1."id" LIMIT 2) r), '[]'), '}') AS body OFFSET 0) b

-- order variable absent
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM "novel" t1 ORDER BY t1."id" LIMIT 1) r), '[]'), '}') AS body OFFSET 0) b

-- order variable default
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novels":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), '}') AS j FROM "novel" t1 ORDER BY t1."genre", t1."title" DESC, t1."id" LIMIT 2) r), '[]'), '}') AS body OFFSET 0) b

-- relations
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novel":', coalesce((SELECT concat('{"remarks_on_novel":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"text":', coalesce(to_json(t2."text")::text, 'null'), ',"author":', coalesce((SELECT concat('{"name":', coalesce(to_json(t3."name")::text, 'null'), '}') FROM "user" t3 WHERE t2."author_id" = t3."id"), 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t2.*, tableoid AS "~table", ctid AS "~place" FROM "remark" t2 WHERE t2."novel_id" = t1."id" AND t2."stars" > '3'::integer ORDER BY t2."id" LIMIT 100) t2 ORDER BY t2."~table", t2."~place", t2."id") r), '[]'), ',"people_via_NovelMaker":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"name":', coalesce(to_json(t5."name")::text, 'null'), '}') AS j FROM "novel_maker" t4 JOIN "person" t5 ON t4."maker_id" = t5."id" WHERE t4."novel_id" = t1."id" ORDER BY t4."role", t4."novel_id", t4."maker_id" LIMIT 100) r), '[]'), ',"novelPrinting_on_novel":', coalesce((SELECT concat('{"binder":', coalesce(to_json(t6."binder")::text, 'null'), ',"copies":', coalesce('"' || t6."copies"::text || '"', 'null'), '}') FROM "novel_printing" t6 WHERE t6."novel_id" = t1."id" LIMIT 1), 'null'), ',"narrator":', coalesce((SELECT concat('{"name":', coalesce(to_json(t7."name")::text, 'null'), ',"people_on_mentor":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"name":', coalesce(to_json(t8."name")::text, 'null'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t8.*, tableoid AS "~table", ctid AS "~place" FROM "person" t8 WHERE t8."mentor_id" = t7."id" ORDER BY t8."id" LIMIT 100) t8 ORDER BY t8."~table", t8."~place", t8."id") r), '[]'), '}') FROM "person" t7 WHERE t1."narrator_id" = t7."id"), 'null'), '}') FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid), 'null'), '}') AS body OFFSET 0) b

-- retired
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"people":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), '}') AS j FROM "person" t1 ORDER BY t1."id" LIMIT $1::integer) r), '[]'), '}') AS body OFFSET 0) b

-- skip include
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novel":', coalesce((SELECT concat('{', concat('"genre":', coalesce('"' || t1."genre"::text || '"', 'null')), '}') FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid), 'null'), '}') AS body OFFSET 0) b

-- type names
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"__typename":"Query"', ',"novel":', coalesce((SELECT concat('{"__typename":"Novel"', '}') FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid), 'null'), '}') AS body OFFSET 0) b

-- via with distinct and limit
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"people":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"name":', coalesce(to_json(t1."name")::text, 'null'), ',"novels_via_NovelMaker":', coalesce((SELECT '[' || string_agg(g.j, ',' ORDER BY g.o) || ']' FROM (SELECT d.j, min(d.o) AS o FROM (SELECT r.j, row_number() OVER () AS o FROM (SELECT concat('{"title":', coalesce(to_json(t3."title")::text, 'null'), '}') AS j FROM "novel_maker" t2 JOIN "novel" t3 ON t2."novel_id" = t3."id" WHERE t2."maker_id" = t1."id" ORDER BY t2."novel_id", t2."maker_id") r) d GROUP BY d.j ORDER BY 2 LIMIT 1 OFFSET 1) g), '[]'), '}') AS j FROM (SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL (SELECT t1.*, tableoid AS "~table", ctid AS "~place" FROM "person" t1 ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id") r), '[]'), '}') AS body OFFSET 0) b

-- view
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novelStatss":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"remarkCount":', coalesce('"' || t1."remark_count"::text || '"', 'null'), ',"averageStars":', coalesce(to_json(t1."average_stars")::text, 'null'), ',"novel":', coalesce((SELECT concat('{"title":', coalesce(to_json(t2."title")::text, 'null'), '}') FROM "novel" t2 WHERE t1."novel_id" = t2."id"), 'null'), '}') AS j FROM (SELECT novel_id, count(*) AS remark_count, avg(stars)::double precision AS average_stars
FROM remark GROUP BY novel_id) t1 ORDER BY t1."average_stars" DESC, t1."novel_id", t1."remark_count" LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b

-- view as a relation
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"novel":', coalesce((SELECT concat('{"novelStats_on_novel":', coalesce((SELECT concat('{"remarkCount":', coalesce('"' || t2."remark_count"::text || '"', 'null'), '}') FROM (SELECT novel_id, count(*) AS remark_count, avg(stars)::double precision AS average_stars
FROM remark GROUP BY novel_id) t2 WHERE t2."novel_id" = t1."id" LIMIT 1), 'null'), '}') FROM "novel" t1 WHERE t1."id" = 'a0000000000040008000000000000003'::uuid), 'null'), ',"m":', coalesce((SELECT concat('{"novelStats_on_novel":', coalesce((SELECT concat('{"remarkCount":', coalesce('"' || t4."remark_count"::text || '"', 'null'), '}') FROM (SELECT novel_id, count(*) AS remark_count, avg(stars)::double precision AS average_stars
FROM remark GROUP BY novel_id) t4 WHERE t4."novel_id" = t3."id" LIMIT 1), 'null'), '}') FROM "novel" t3 WHERE t3."id" = 'a0000000000040008000000000000001'::uuid), 'null'), '}') AS body OFFSET 0) b

-- view by name
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat('{"longTitles":', coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (SELECT concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), ',"letters":', coalesce(t1."letters"::text, 'null'), '}') AS j FROM "long_title" t1 WHERE t1."letters" > '5'::integer ORDER BY t1."title", t1."letters" LIMIT 100) r), '[]'), '}') AS body OFFSET 0) b
