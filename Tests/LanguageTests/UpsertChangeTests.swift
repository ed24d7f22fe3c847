import Testing

extension Language {
    /// `f_update` in upserts: a change of the row that is there, or of what a new row begins with.
    @Suite struct UpsertChanges {
        private static let stars = "SELECT string_agg(stars::text, ' ' ORDER BY stars) FROM review"

        static let rows = [
            MutationRow(
                "upsert with changes",
                #"mutation M($by: Int!) { there: review_upsert(data: {id: "<r1>", movie: {id: "<m1>"}, stars_update: {inc: $by}}) { stars } new: review_upsert(data: {id: "<r5>", movie: {id: "<m1>"}, stars_update: [{dec: $by}]}) { stars } }"#,
                #"{"by": 2}"#, data: #"{"there":{"stars":7},"new":{"stars":-2}}"#,
                afterwards: (stars, "-2 1 3 3 7"), keys: ["review[\"<r1>\"]", "review[\"<r5>\"]"]),
            MutationRow(
                "upsert with changes of defaults, lists and times",
                #"mutation M { there: movie_upsert(data: {id: "<m1>", title: "Old", views_update: {dec: 3}, tags_update: {add: ["rain", "x"]}, rating_update: {inc: 1.5}, createdAt_update: {inc: {days: 1}}}) { views tags rating createdAt } new: movie_upsert(data: {id: "<m5>", title: "New", views_update: {dec: 3}, tags_update: {add: ["rain", "x"]}, rating_update: {inc: 1.5}, createdAt_update: {inc: {days: 1}}}) { views tags rating createdAt } }"#,
                data:
                    #"{"there":{"views":"9007199254740990","tags":["dark","rain","x"],"rating":10,"createdAt":"2024-02-29T12:00:00.000000Z"},"new":{"views":"-3","tags":["rain","x"],"rating":1.5,"createdAt":"2024-03-01T12:34:56.789000Z"}}"#,
                afterwards: (
                    "SELECT string_agg(title, ' ' ORDER BY title) FROM movie WHERE 'x' = ANY (tags)", "New Old"
                )),
            MutationRow(
                "upsert with every change of a new list",
                #"mutation M { a: movie_upsert(data: {id: "<m5>", title: "A", tags_update: {append: ["x"]}}) { tags } b: movie_upsert(data: {id: "<d4>", title: "B", tags_update: {prepend: ["x"]}}) { tags } c: movie_upsert(data: {id: "<d5>", title: "C", tags_update: {remove: ["x"]}}) { tags } }"#,
                data: #"{"a":{"tags":["x"]},"b":{"tags":["x"]},"c":{"tags":[]}}"#,
                afterwards: ("SELECT count(*)::text FROM movie", "7")),
            MutationRow(
                "upsertMany with changes",
                #"mutation M { review_upsertMany(data: [{id: "<r1>", movieId: "<m1>", stars_update: {inc: 1}}, {id: "<r5>", movieId: "<m1>", stars_update: {dec: 1}}]) { stars } }"#,
                data: #"{"review_upsertMany":[{"stars":6},{"stars":-1}]}"#, afterwards: (stars, "-1 1 3 3 6")),
            MutationRow(
                "upsert nested with changes",
                #"mutation M { movie_upsert(data: {id: "<m1>", title: "Alpha", reviews_on_movie: [{id: "<r1>", stars_update: {inc: 1}}, {id: "<r5>", stars_update: {inc: 1}}]}) { title } }"#,
                data: #"{"movie_upsert":{"title":"Alpha"}}"#, afterwards: (stars, "1 1 3 3 6")),
            MutationRow(
                "upsert with changes from variables",
                #"mutation M($u: [Int_Update!], $n: Int, $d: Review_Data! @allow(fields: "id movie stars_update"), $e: [Review_Data!]! @allow(fields: "id movie stars_update")) { a: review_upsert(data: {id: "<r1>", movie: {id: "<m1>"}, stars_update: $u}) { stars } b: review_upsert(data: {id: "<r5>", movie: {id: "<m1>"}, stars_update: {inc: $n}}) { stars } c: review_upsert(data: $d) { stars } d: review_upsertMany(data: $e) { stars } }"#,
                #"{"u": [{"inc": 2}], "d": {"id": "<r2>", "movie": {"id": "<m1>"}, "stars_update": [{"dec": 1}]}, "e": [{"id": "<r3>", "movie": {"id": "<m2>"}, "stars_update": {"inc": 1}}, {"id": "<d5>", "movie": {"id": "<m2>"}, "stars_update": {"inc": 9}}]}"#,
                data:
                    #"{"a":{"stars":7},"b":{"stars":0},"c":{"stars":2},"d":[{"stars":4},{"stars":9}]}"#,
                afterwards: (stars, "0 1 2 4 7 9")),
            MutationRow(
                "upserts with changes count from 0 whatever came first",
                #"mutation M($n: [Float_Update!], $d: Review_Data! @allow(fields: "id movie stars_update"), $e: Review_Data! @allow(fields: "id movie stars_update")) { first: movie_upsert(data: {id: "<m5>", title: "New", rating_update: $n}) { rating } then: movie_upsert(data: {id: "<m5>", title: "New", rating_update: {inc: 2.5}}) { rating } there: review_upsert(data: $d) { stars } new: review_upsert(data: $e) { stars } }"#,
                #"{"n": null, "d": {"id": "<r1>", "movie": {"id": "<m1>"}, "stars_update": null}, "e": {"id": "<r5>", "movie": {"id": "<m1>"}, "stars_update": null}}"#,
                data: #"{"first":{"rating":null},"then":{"rating":2.5},"there":{"stars":5},"new":{"stars":0}}"#,
                afterwards: (stars, "0 1 3 3 5")),
        ]

        @Test(arguments: rows) func row(_ row: MutationRow) async throws { try await row.check() }
    }
}
