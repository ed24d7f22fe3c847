-- below a relation
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT count(*) AS "_count", sum(t2."stars") AS "stars_sum" FROM "review" t2 WHERE t2."movie_id" = t1."id" LIMIT 100) r), '[]')::json AS "reviews_on_movie", coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT count(*) AS "_count", max(t4."name") AS "name_max" FROM "movie_actor" t3 JOIN "person" t4 ON t3."actor_id" = t4."id" WHERE t3."movie_id" = t1."id" LIMIT 100) r), '[]')::json AS "people_via_MovieActor" FROM "movie" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid) r) AS "movie") r OFFSET 0) b

-- conditional grouping
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT count(*) AS "_count" FROM "movie" t1 LIMIT 100) r), '[]')::json AS "movies") r OFFSET 0) b

-- distinct groups
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT coalesce((SELECT '[' || string_agg(g.j, ',' ORDER BY g.o) || ']' FROM (SELECT d.j, min(d.o) AS o FROM (SELECT row_to_json(r.*)::text AS j, row_number() OVER () AS o FROM (SELECT t1."release_year" AS "releaseYear", count(t1."is_classic") AS "isClassic_count" FROM "movie" t1 GROUP BY t1."release_year" ORDER BY t1."release_year") r) d GROUP BY d.j ORDER BY 2 LIMIT 100) g), '[]')::json AS "movies") r OFFSET 0) b

-- grouped below a relation
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t2."author_id" AS "authorId", count(*) AS "_count" FROM "review" t2 WHERE t2."movie_id" = t1."id" GROUP BY t2."author_id" ORDER BY t2."author_id" LIMIT 100) r), '[]')::json AS "reviews_on_movie", coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t4."name" AS "name", count(*) AS "_count" FROM "movie_actor" t3 JOIN "person" t4 ON t3."actor_id" = t4."id" WHERE t3."movie_id" = t1."id" GROUP BY t4."name" ORDER BY t4."name" LIMIT 100) r), '[]')::json AS "people_via_MovieActor" FROM "movie" t1 WHERE t1."id" = 'a0000000000040008000000000000001'::uuid) r) AS "movie") r OFFSET 0) b

-- grouped by a column
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."genre" AS "genre", count(*) AS "_count", avg(t1."rating")::double precision AS "rating_avg" FROM "movie" t1 GROUP BY t1."genre" ORDER BY t1."genre" LIMIT 100) r), '[]')::json AS "movies") r OFFSET 0) b

-- grouped by a reference
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT (SELECT row_to_json(r.*) FROM (SELECT t2."title" AS "title" FROM "movie" t2 WHERE t1."movie_id" = t2."id") r) AS "movie", count(*) AS "_count", avg(t1."stars")::double precision AS "stars_avg" FROM "review" t1 GROUP BY t1."movie_id" ORDER BY count(*) DESC, (SELECT t3."title" FROM "movie" t3 WHERE t1."movie_id" = t3."id"), t1."movie_id" LIMIT 100) r), '[]')::json AS "reviews") r OFFSET 0) b

-- grouped by two
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."stars" AS "stars", t1."author_id" AS "authorId", count(*) AS "_count" FROM "review" t1 WHERE t1."stars" >= '3'::integer GROUP BY t1."stars", t1."author_id" ORDER BY t1."stars", t1."author_id" LIMIT 100) r), '[]')::json AS "reviews") r OFFSET 0) b

-- having
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."genre" AS "genre", count(*) AS "_count" FROM "movie" t1 GROUP BY t1."genre" HAVING (count(*) >= $1::integer AND NOT (avg(t1."rating") < '1.0'::double precision)) ORDER BY t1."genre" LIMIT 100) r), '[]')::json AS "movies") r OFFSET 0) b

-- having absent
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."genre" AS "genre", count(*) AS "_count" FROM "movie" t1 GROUP BY t1."genre" ORDER BY t1."genre" LIMIT 1) r), '[]')::json AS "movies") r OFFSET 0) b

-- having or
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."genre" AS "genre", count(*) AS "_count" FROM "movie" t1 GROUP BY t1."genre" HAVING (max(t1."views") > '9007199254740992'::bigint OR max(t1."title") = 'Beta'::text) ORDER BY t1."genre" LIMIT 100) r), '[]')::json AS "movies") r OFFSET 0) b

-- no rows
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT count(*) AS "_count", sum(t1."rating") AS "rating_sum" FROM "movie" t1 WHERE t1."title" = 'none'::text LIMIT 100) r), '[]')::json AS "movies", coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t2."genre" AS "genre", count(*) AS "_count" FROM "movie" t2 WHERE t2."title" = 'none'::text GROUP BY t2."genre" ORDER BY t2."genre" LIMIT 100) r), '[]')::json AS "g") r OFFSET 0) b

-- order by aggregate
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT t1."genre" AS "genre", max(t1."rating") AS "rating_max" FROM "movie" t1 GROUP BY t1."genre" ORDER BY max(t1."rating"), t1."genre" LIMIT 2) r), '[]')::json AS "movies") r OFFSET 0) b

-- over all rows
SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT row_to_json(r.*)::text AS body FROM (SELECT coalesce((SELECT '[' || string_agg(row_to_json(r.*)::text, ',') || ']' FROM (SELECT count(*) AS "_count", count(t1."rating") AS "rating_count", sum(t1."rating") AS "rating_sum", avg(t1."rating")::double precision AS "rating_avg", min(t1."rating") AS "rating_min", max(t1."rating") AS "rating_max", max(t1."views")::text AS "views_max", min(t1."title") AS "title_min", count(DISTINCT t1."genre") AS "genre_count", max(t1."premiere") AS "premiere_max", to_char(min(t1."created_at") AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "createdAt_min" FROM "movie" t1 LIMIT 100) r), '[]')::json AS "movies") r OFFSET 0) b
