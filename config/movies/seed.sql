-- Rows for development: 1,000 movies, 200 actors, 50 users, about 3,000 reviews.
-- Every value follows from the row's number, so each database gets the same; running it again changes nothing.

-- A number from 0 to n - 1 that looks random: pick('year', 17, 80).
CREATE OR REPLACE FUNCTION pg_temp.pick(salt text, number bigint, n int) RETURNS int
LANGUAGE sql IMMUTABLE AS $$
  SELECT (('x' || substr(md5(salt || ':' || number), 1, 7))::bit(28)::int % n)
$$;

CREATE OR REPLACE FUNCTION pg_temp.pick(salt text, number bigint, words text[]) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT words[1 + pg_temp.pick(salt, number, cardinality(words))]
$$;

INSERT INTO public.movie
  (id, title, release_year, genre, description, average_rating, rating, image_url, aspectratio, tags)
WITH words AS (
  SELECT
    ARRAY['Silent', 'Crimson', 'Last', 'Hidden', 'Golden', 'Broken', 'Distant', 'Midnight', 'Burning', 'Frozen',
          'Forgotten', 'Electric', 'Endless', 'Wandering', 'Secret', 'Bitter', 'Perfect', 'Invisible', 'Restless',
          'Second'] AS adjectives,
    ARRAY['River', 'Garden', 'Signal', 'Voyage', 'Harbor', 'Mirror', 'Orchard', 'Letter', 'Engine', 'Shadow',
          'Horizon', 'Machine', 'Summer', 'Clockmaker', 'Lighthouse', 'Stranger', 'Winter', 'Empire', 'Promise',
          'Detective', 'Comet', 'Archive', 'Carnival', 'Tide', 'Island'] AS nouns,
    ARRAY['Lisbon', 'Mars', 'the North', 'Havana', 'the Moon', 'Kyoto', 'Vienna', 'the Valley', 'Europa', 'Oslo',
          'Marrakesh', 'the Deep', 'Chicago', 'the Border', 'Naples'] AS places,
    ARRAY['Sci-Fi', 'Drama', 'Comedy', 'Action', 'Thriller', 'Horror', 'Romance', 'Animation', 'Documentary',
          'Fantasy', 'Mystery', 'Western'] AS genres,
    ARRAY['A retired pilot', 'A young cellist', 'A lighthouse keeper', 'A disgraced detective', 'An unlikely crew',
          'A village baker', 'A night-shift engineer', 'A lost child', 'A forger', 'The last archivist'] AS heroes,
    ARRAY['finds a message that should not exist', 'returns to a town that has forgotten everything',
          'has one night to put things right', 'crosses a border that is no longer there',
          'learns who built the machine', 'wagers everything on a stranger', 'follows a song across the sea',
          'uncovers a fifty-year-old lie', 'must choose whom to believe', 'starts over for the third time'] AS plots,
    ARRAY['slow-burn', 'feel-good', 'award-winner', 'cult', 'based-on-a-book', 'ensemble', 'debut',
          'black-and-white', 'sequel', 'family'] AS tags
),
numbered AS (
  SELECT
    i,
    CASE pg_temp.pick('form', i, 6)
      WHEN 0 THEN 'The ' || pg_temp.pick('adjective', i, adjectives) || ' ' || pg_temp.pick('noun', i, nouns)
      WHEN 1 THEN pg_temp.pick('noun', i, nouns) || ' of ' || pg_temp.pick('place', i, places)
      WHEN 2 THEN pg_temp.pick('adjective', i, adjectives) || ' ' || pg_temp.pick('noun', i, nouns)
      WHEN 3 THEN 'The ' || pg_temp.pick('noun', i, nouns) || ' and the ' || pg_temp.pick('other', i, nouns)
      WHEN 4 THEN 'A ' || pg_temp.pick('adjective', i, ARRAY['Silent', 'Crimson', 'Hidden', 'Golden', 'Broken',
                  'Distant', 'Burning', 'Frozen', 'Bitter', 'Perfect']) || ' ' || pg_temp.pick('noun', i, nouns)
                  || ' in ' || pg_temp.pick('place', i, places)
      ELSE 'Beyond ' || pg_temp.pick('place', i, places)
    END AS stem,
    pg_temp.pick('genre', i, genres) AS genre,
    pg_temp.pick('hero', i, heroes) || ' ' || pg_temp.pick('plot', i, plots) || '.' AS description,
    ARRAY[pg_temp.pick('tag', i, tags[1:5]), pg_temp.pick('tag', i, tags[6:10])] AS tags
  FROM generate_series(1, 1000) AS i, words
)
SELECT
  md5('movie:' || i)::uuid,
  -- A title that comes up again is a sequel.
  stem || CASE row_number() OVER (PARTITION BY stem ORDER BY i)
    WHEN 1 THEN '' ELSE ' ' || row_number() OVER (PARTITION BY stem ORDER BY i) END,
  1950 + pg_temp.pick('year', i, 76),
  genre,
  description,
  1.5 + pg_temp.pick('average', i, 36) / 10.0,
  1 + pg_temp.pick('rating', i, 5),
  'https://images.example.com/movies/' || i || '.jpg',
  (ARRAY['ACADEMY', 'WIDESCREEN', 'ANAMORPHIC'])[1 + pg_temp.pick('aspect', i, 3)]::public.aspect_ratio,
  tags
FROM numbered
ON CONFLICT DO NOTHING;

INSERT INTO public.actor (id, name, image_url)
WITH words AS (
  SELECT
    ARRAY['Ada', 'Ben', 'Clara', 'Dario', 'Elif', 'Femi', 'Greta', 'Hugo', 'Ines', 'Jonas', 'Kaya', 'Liam', 'Mei',
          'Noor', 'Otto', 'Priya', 'Rosa', 'Sven', 'Tariq', 'Uma'] AS firsts,
    ARRAY['Adler', 'Bianchi', 'Castillo', 'Dufour', 'Eriksen', 'Fontaine', 'Grant', 'Haddad', 'Ito',
          'Jansen'] AS lasts
)
SELECT
  md5('actor:' || i)::uuid,
  firsts[1 + (i - 1) % 20] || ' ' || lasts[1 + (i - 1) / 20],
  'https://images.example.com/actors/' || i || '.jpg'
FROM generate_series(1, 200) AS i, words
ON CONFLICT DO NOTHING;

-- Four actors a movie, the first in the leading role.
INSERT INTO public.movie_actor (movie_id, actor_id, role)
SELECT
  md5('movie:' || i)::uuid,
  md5('actor:' || 1 + (pg_temp.pick('cast', i, 200) + k * 47) % 200)::uuid,
  CASE k WHEN 0 THEN 'main' ELSE 'supporting' END
FROM generate_series(1, 1000) AS i, generate_series(0, 3) AS k
ON CONFLICT DO NOTHING;

INSERT INTO public."user" (id, username, created_at)
SELECT
  'user-' || lpad(i::text, 2, '0'),
  (ARRAY['ada', 'ben', 'clara', 'dario', 'elif', 'femi', 'greta', 'hugo', 'ines', 'jonas'])[1 + (i - 1) % 10]
    || lpad(i::text, 2, '0'),
  timestamptz '2025-01-01 00:00:00+00' + i * interval '3 days'
FROM generate_series(1, 50) AS i
ON CONFLICT DO NOTHING;

INSERT INTO public.profile (id, status, photo_url, social_link)
SELECT
  'user-' || lpad(i::text, 2, '0'),
  (ARRAY['At the cinema', 'Looking for recommendations', 'Re-watching everything'])[1 + i % 3],
  'https://images.example.com/users/' || i || '.jpg',
  'https://social.example.com/user-' || lpad(i::text, 2, '0')
FROM generate_series(1, 50) AS i
ON CONFLICT DO NOTHING;

-- One to five reviews a movie, each by another user.
INSERT INTO public.review (id, movie_id, user_id, author, stars, text, created_at)
SELECT
  md5('review:' || i || ':' || k)::uuid,
  md5('movie:' || i)::uuid,
  u.id,
  u.username,
  1 + pg_temp.pick('stars', i * 10 + k, 5),
  pg_temp.pick('opinion', i * 10 + k, ARRAY[
    'I would watch it again tomorrow.', 'Too long by half an hour.', 'The ending alone is worth it.',
    'Beautiful pictures, thin story.', 'My whole family loved it.', 'Not for me.',
    'The music stays with you for days.', 'Better than everybody told me.']),
  timestamptz '2025-06-01 00:00:00+00' + pg_temp.pick('when', i * 10 + k, 31536000) * interval '1 second'
FROM generate_series(1, 1000) AS i
CROSS JOIN LATERAL generate_series(0, pg_temp.pick('reviews', i, 5)) AS k
JOIN public."user" AS u ON u.id = 'user-' || lpad((1 + (pg_temp.pick('reviewer', i, 50) + k * 7) % 50)::text, 2, '0')
ON CONFLICT DO NOTHING;
