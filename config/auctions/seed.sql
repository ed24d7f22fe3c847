-- Rows for development: 1,000 lots in twelve categories, 60 users, about 2,900 bids, some questions and watched lots.
-- Every value follows from the row's number, so each database gets the same; only the times count from the loading.
-- Running it again changes nothing.

-- A number from 0 to n - 1 that looks random: pick('price', 17, 80).
CREATE OR REPLACE FUNCTION pg_temp.pick(salt text, number bigint, n int) RETURNS int
LANGUAGE sql IMMUTABLE AS $$
  SELECT (('x' || substr(md5(salt || ':' || number), 1, 7))::bit(28)::int % n)
$$;

CREATE OR REPLACE FUNCTION pg_temp.pick(salt text, number bigint, words text[]) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT words[1 + pg_temp.pick(salt, number, cardinality(words))]
$$;

-- Every 20th lot was closed before its time.
CREATE OR REPLACE FUNCTION pg_temp.is_open(lot bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$ SELECT lot % 20 <> 0 $$;

CREATE OR REPLACE FUNCTION pg_temp.start_price(lot bigint) RETURNS int
LANGUAGE sql IMMUTABLE AS $$ SELECT 5 + 5 * pg_temp.pick('price', lot, 60) $$;

-- The uid of user 1 to 60: "ada01", "ben02", …
CREATE OR REPLACE FUNCTION pg_temp.uid(number int) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT (ARRAY['ada', 'ben', 'clara', 'dario', 'elif', 'femi', 'greta', 'hugo', 'ines', 'jonas'])[1 + (number - 1) % 10]
    || lpad(number::text, 2, '0')
$$;

INSERT INTO public."user" (uid, name, city, about, created_at)
SELECT
  pg_temp.uid(i),
  initcap(rtrim(pg_temp.uid(i), '0123456789')) || ' ' || (ARRAY['Adler', 'Bianchi', 'Castillo', 'Dufour', 'Eriksen',
    'Fontaine'])[1 + (i - 1) / 10],
  pg_temp.pick('city', i, ARRAY['Lisbon', 'Oslo', 'Vienna', 'Naples', 'Ghent', 'Kraków', 'Porto', 'Graz']),
  pg_temp.pick('about', i, ARRAY['Collects for the grandchildren', 'Sells what the attic gives', 'Here for the clocks',
    'Repairs before reselling']),
  timestamptz '2025-01-01 00:00:00+00' + i * interval '3 days'
FROM generate_series(1, 60) AS i
ON CONFLICT DO NOTHING;

-- None of the open lots ends within the first hour; from then on some do every day for about a year.
INSERT INTO public.lot
  (id, title, category, description, grade, image_url, tags, seller_uid, start_price, open, closes_at, created_at)
WITH words AS (
  SELECT
    ARRAY['Hi-Fi', 'Books', 'Toys', 'Cameras', 'Clocks', 'Ceramics', 'Jewellery', 'Posters', 'Instruments', 'Coins',
          'Furniture', 'Maps'] AS categories,
    ARRAY['Early', 'Signed', 'Boxed', 'Restored', 'Rare', 'Small', 'Travelling', 'Unrestored', 'Prototype', 'Inlaid',
          'Blue', 'Well-used'] AS qualities,
    ARRAY['1912', '1924', '1931', '1938', '1947', '1953', '1959', '1964', '1968', '1972', '1977', '1983'] AS years,
    ARRAY['from a house clearance', 'from a closed museum', 'from one careful owner', 'found behind a shelf',
          'from the estate of an engineer', 'last shown at a fair', 'bought at its first sale'] AS origins,
    ARRAY['All parts are original.', 'The case has a scratch.', 'Works, but was not tested for long.',
          'Comes with its papers.', 'One part was replaced.', 'Stored dry and dark.'] AS remarks
),
numbered AS (
  SELECT i, categories[1 + i % 12] AS category, words.* FROM generate_series(1, 1000) AS i, words
),
named AS (
  SELECT
    *,
    pg_temp.pick('quality', i, qualities) || ' ' || pg_temp.pick('thing', i, CASE category
      WHEN 'Hi-Fi' THEN ARRAY['turntable', 'valve amplifier', 'tape deck', 'pair of speakers', 'tuner', 'radiogram']
      WHEN 'Books' THEN ARRAY['atlas', 'cookbook', 'herbal', 'diary', 'volume of letters', 'pocket guide']
      WHEN 'Toys' THEN ARRAY['tin train', 'puppet theatre', 'rocking horse', 'spinning top', 'doll house', 'kite']
      WHEN 'Cameras' THEN ARRAY['folding camera', 'rangefinder', 'box camera', 'light meter', 'slide projector', 'lens']
      WHEN 'Clocks' THEN ARRAY['wall clock', 'carriage clock', 'alarm clock', 'pocket watch', 'metronome', 'hourglass']
      WHEN 'Ceramics' THEN ARRAY['teapot', 'tile panel', 'salt jar', 'vase', 'coffee set', 'bowl']
      WHEN 'Jewellery' THEN ARRAY['brooch', 'signet ring', 'amber necklace', 'pair of cufflinks', 'locket', 'hatpin']
      WHEN 'Posters' THEN ARRAY['railway poster', 'circus bill', 'exhibition poster', 'safety notice', 'ferry poster',
        'concert bill']
      WHEN 'Instruments' THEN ARRAY['accordion', 'clarinet', 'mandolin', 'music box', 'harmonium', 'violin']
      WHEN 'Coins' THEN ARRAY['silver coin', 'set of tokens', 'medal', 'coin scale', 'banknote', 'copper coin']
      WHEN 'Furniture' THEN ARRAY['writing desk', 'folding chair', 'sea chest', 'standard lamp', 'stool', 'bookcase']
      ELSE ARRAY['town map', 'sea chart', 'wall map', 'star chart', 'canal map', 'globe'] END)
      || ', ' || pg_temp.pick('year', i, years) AS stem
  FROM numbered
)
SELECT
  md5('lot:' || i)::uuid,
  stem || CASE row_number() OVER (PARTITION BY stem ORDER BY i)
    WHEN 1 THEN '' ELSE ' (no. ' || row_number() OVER (PARTITION BY stem ORDER BY i) || ')' END,
  category,
  upper(left(pg_temp.pick('origin', i, origins), 1)) || substr(pg_temp.pick('origin', i, origins), 2) || '. '
    || pg_temp.pick('remark', i, remarks),
  (ARRAY['MINT', 'GOOD', 'WORN'])[1 + pg_temp.pick('grade', i, 3)]::public.grade,
  'https://images.example.com/lots/' || i || '.jpg',
  ARRAY[pg_temp.pick('era', i, ARRAY['pre-war', 'post-war', 'modern']),
        pg_temp.pick('delivery', i, ARRAY['collect', 'parcel', 'freight'])],
  CASE WHEN i % 7 <> 0 THEN pg_temp.uid(1 + pg_temp.pick('seller', i, 60)) END,
  pg_temp.start_price(i),
  pg_temp.is_open(i),
  date_trunc('second', now() + CASE
    WHEN pg_temp.is_open(i) THEN interval '70 minutes' * power(1.009, i)
    ELSE interval '-2 hours' * (i / 20) END),
  date_trunc('minute', now()) - interval '3 days' - pg_temp.pick('listed', i, 40000) * interval '1 minute'
FROM named
ON CONFLICT DO NOTHING;

-- Up to six bids on a lot, each higher than the one before, by users who do not sell it.
WITH placed AS (
  INSERT INTO public.bid (id, lot_id, user_uid, amount, placed_at)
  SELECT
    md5('bid:' || i || ':' || k)::uuid,
    l.id,
    u.uid,
    l.start_price + 5 * (4 * k + pg_temp.pick('raise', i * 10 + k, 3)),
    l.created_at + (k + 1) * interval '7 hours'
  FROM generate_series(1, 1000) AS i
  CROSS JOIN LATERAL generate_series(0, pg_temp.pick('bids', i, 7) - 1) AS k
  JOIN public.lot AS l ON l.id = md5('lot:' || i)::uuid
  JOIN public."user" AS u ON u.uid = pg_temp.uid(1 + (pg_temp.pick('bidder', i, 60) + k * 7) % 60)
  WHERE u.uid IS DISTINCT FROM l.seller_uid
  ON CONFLICT DO NOTHING
  RETURNING lot_id, amount
)
UPDATE public.lot AS l
SET highest_bid = b.highest, bid_count = b.count
FROM (SELECT lot_id, max(amount) AS highest, count(*) AS count FROM placed GROUP BY lot_id) AS b
WHERE l.id = b.lot_id;

INSERT INTO public.question (id, lot_id, name, text, asked_at)
SELECT
  md5('question:' || i)::uuid,
  l.id,
  pg_temp.pick('asker', i, ARRAY['Kaya', 'Liam', 'Mei', 'Noor', 'Otto', 'Priya']),
  pg_temp.pick('question', i, ARRAY['Can it be collected on a Sunday?', 'How much does it weigh?',
    'Is there a picture of the back?', 'Was it ever repaired?', 'Would you send it abroad?']),
  l.created_at + interval '5 hours'
FROM generate_series(1, 1000, 5) AS i
JOIN public.lot AS l ON l.id = md5('lot:' || i)::uuid
ON CONFLICT DO NOTHING;

INSERT INTO public.watch (user_uid, lot_id, note)
SELECT
  pg_temp.uid(1 + (pg_temp.pick('watcher', i, 60) + k * 11) % 60),
  md5('lot:' || i)::uuid,
  CASE k WHEN 0 THEN 'For the hall' ELSE '' END
FROM generate_series(1, 1000, 4) AS i, generate_series(0, 2) AS k
ON CONFLICT DO NOTHING;
