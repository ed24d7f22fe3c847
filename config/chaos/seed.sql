INSERT INTO public.counter (number, team, value)
SELECT number, number % 10, 0 FROM generate_series(0, 99) AS number
ON CONFLICT DO NOTHING;
