import Testing

extension Language {
    /// `f_update` in upserts: a change of the row that is there, or of what a new row begins with.
    @Suite struct UpsertChanges {
        private static let stars = "SELECT string_agg(stars::text, ' ' ORDER BY stars) FROM remark"

        static let rows = [
            MutationRow(
                "upsert with changes",
                """
                mutation M($by: Int!) {
                  there: remark_upsert(data: {id: "<r1>", novel: {id: "<m1>"}, stars_update: {inc: $by}}) { stars }
                  new: remark_upsert(data: {id: "<r5>", novel: {id: "<m1>"}, stars_update: [{dec: $by}]}) { stars }
                }
                """,
                #"{"by": 2}"#, data: #"{"there":{"stars":7},"new":{"stars":-2}}"#,
                afterwards: (stars, "-2 1 3 3 7"), keys: ["remark[\"<r1>\"]", "remark[\"<r5>\"]"]),
            MutationRow(
                "upsert with changes of defaults, lists and times",
                """
                mutation M {
                  there: novel_upsert(
                    data: {
                      id: "<m1>", title: "Old",
                      views_update: {dec: 3},
                      tags_update: {add: ["rain", "x"]},
                      rating_update: {inc: 1.5},
                      createdAt_update: {inc: {days: 1}}
                    }
                  ) { views tags rating createdAt }
                  new: novel_upsert(
                    data: {
                      id: "<m5>", title: "New",
                      views_update: {dec: 3},
                      tags_update: {add: ["rain", "x"]},
                      rating_update: {inc: 1.5},
                      createdAt_update: {inc: {days: 1}}
                    }
                  ) { views tags rating createdAt }
                }
                """,
                data:
                    """
                    {"there":{"views":"9007199254740990","tags":["dark","rain","x"],\
                    "rating":10,"createdAt":"2024-02-29T12:00:00.000000Z"},"new":{"views":"-3","tags":["rain","x"],\
                    "rating":1.5,"createdAt":"2024-03-01T12:34:56.789000Z"}}
                    """,
                afterwards: (
                    "SELECT string_agg(title, ' ' ORDER BY title) FROM novel WHERE 'x' = ANY (tags)", "New Old"
                )),
            MutationRow(
                "upsert with every change of a new list",
                """
                mutation M {
                  a: novel_upsert(data: {id: "<m5>", title: "A", tags_update: {append: ["x"]}}) { tags }
                  b: novel_upsert(data: {id: "<d4>", title: "B", tags_update: {prepend: ["x"]}}) { tags }
                  c: novel_upsert(data: {id: "<d5>", title: "C", tags_update: {remove: ["x"]}}) { tags }
                }
                """,
                data: #"{"a":{"tags":["x"]},"b":{"tags":["x"]},"c":{"tags":[]}}"#,
                afterwards: ("SELECT count(*)::text FROM novel", "7")),
            MutationRow(
                "upsertMany with changes",
                """
                mutation M {
                  remark_upsertMany(
                    data: [
                      {id: "<r1>", novelId: "<m1>", stars_update: {inc: 1}},
                      {id: "<r5>", novelId: "<m1>", stars_update: {dec: 1}}
                    ]
                  ) { stars }
                }
                """,
                data: #"{"remark_upsertMany":[{"stars":6},{"stars":-1}]}"#, afterwards: (stars, "-1 1 3 3 6")),
            MutationRow(
                "upsert nested with changes",
                """
                mutation M {
                  novel_upsert(
                    data: {
                      id: "<m1>", title: "Alpha",
                      remarks_on_novel: [{id: "<r1>", stars_update: {inc: 1}}, {id: "<r5>", stars_update: {inc: 1}}]
                    }
                  ) { title }
                }
                """,
                data: #"{"novel_upsert":{"title":"Alpha"}}"#, afterwards: (stars, "1 1 3 3 6")),
            MutationRow(
                "upsert with changes from variables",
                """
                mutation M(
                  $u: [Int_Update!],
                  $n: Int,
                  $d: Remark_Data! @allow(fields: "id novel stars_update"),
                  $e: [Remark_Data!]! @allow(fields: "id novel stars_update")
                ) {
                  a: remark_upsert(data: {id: "<r1>", novel: {id: "<m1>"}, stars_update: $u}) { stars }
                  b: remark_upsert(data: {id: "<r5>", novel: {id: "<m1>"}, stars_update: {inc: $n}}) { stars }
                  c: remark_upsert(data: $d) { stars }
                  d: remark_upsertMany(data: $e) { stars }
                }
                """,
                """
                {
                  "u": [{"inc": 2}],
                  "d": {"id": "<r2>", "novel": {"id": "<m1>"}, "stars_update": [{"dec": 1}]},
                  "e": [
                    {"id": "<r3>", "novel": {"id": "<m2>"}, "stars_update": {"inc": 1}},
                    {"id": "<d5>", "novel": {"id": "<m2>"}, "stars_update": {"inc": 9}}
                  ]
                }
                """,
                data:
                    #"{"a":{"stars":7},"b":{"stars":0},"c":{"stars":2},"d":[{"stars":4},{"stars":9}]}"#,
                afterwards: (stars, "0 1 2 4 7 9")),
            MutationRow(
                "upserts with changes count from 0 whatever came first",
                """
                mutation M(
                  $n: [Float_Update!],
                  $d: Remark_Data! @allow(fields: "id novel stars_update"),
                  $e: Remark_Data! @allow(fields: "id novel stars_update")
                ) {
                  first: novel_upsert(data: {id: "<m5>", title: "New", rating_update: $n}) { rating }
                  then: novel_upsert(data: {id: "<m5>", title: "New", rating_update: {inc: 2.5}}) { rating }
                  there: remark_upsert(data: $d) { stars }
                  new: remark_upsert(data: $e) { stars }
                }
                """,
                """
                {
                  "n": null,
                  "d": {"id": "<r1>", "novel": {"id": "<m1>"}, "stars_update": null},
                  "e": {"id": "<r5>", "novel": {"id": "<m1>"}, "stars_update": null}
                }
                """,
                data: #"{"first":{"rating":null},"then":{"rating":2.5},"there":{"stars":5},"new":{"stars":0}}"#,
                afterwards: (stars, "0 1 3 3 5")),
        ]

        @Test(arguments: rows) func row(_ row: MutationRow) async throws { try await row.check() }
    }
}
