import Catalog
import Execution
import Postgres
import QuerySQL
import Testing

extension Language {
    /// Lookups, lists, relations and their arguments.
    @Suite struct Queries {
        static let rows = [
            QueryRow(
                "lookup by id", "query Q { novel(id: \"<m1>\") { id title } }",
                #"{"novel":{"id":"<m1>","title":"Alpha"}}"#),
            QueryRow("lookup absent", "query Q { novel(id: \"<m5>\") { title } }", #"{"novel":null}"#),
            QueryRow(
                "lookup by key variable", "query Q($k: Novel_Key!) { novel(key: $k) { title } }",
                #"{"k": {"id": "<m2>"}}"#,
                #"{"novel":{"title":"Beta"}}"#),
            QueryRow(
                "lookup by keys of references",
                """
                query Q($m: UUID!, $a: Person_Key!) {
                  a: novelMaker(key: {novel: {id: $m}, maker: $a}) { role }
                  b: novelMaker(key: {novelId: $m, maker: {id_expr: "vars.a.id"}}) { role }
                }
                """,
                #"{"m": "<m1>", "a": {"id": "<p2>"}}"#,
                #"{"a":{"role":"extra"},"b":{"role":"extra"}}"#),
            QueryRow(
                "lookup by id_expr",
                #"query Q { user(id_expr: "auth.uid") { name } u: user(key: {id_expr: "request.auth.uid"}) { id } }"#,
                auth: signedIn("ann"), #"{"user":{"name":"Ann"},"u":{"id":"ann"}}"#),
            QueryRow(
                "lookup first",
                "query Q { novel(first: {where: {genre: {eq: NOIR}}, orderBy: [{printedYear: DESC}]}) { title } }",
                #"{"novel":{"title":"Gamma"}}"#),
            QueryRow(
                "lookup first variable", "query Q($f: Novel_FirstRow!) { novel(first: $f) { title } }",
                #"{"f": {"where": {"genre": {"eq": "NOIR"}}, "orderBy": [{"printedYear": "DESC"}]}}"#,
                #"{"novel":{"title":"Gamma"}}"#),
            QueryRow(
                "lookup first variable of an order alone",
                "query Q($f: Novel_FirstRow!) { novel(first: $f) { title } }",
                #"{"f": {"where": null, "orderBy": {"rating": "ASC"}}}"#, #"{"novel":{"title":"Delta 50%_"}}"#),
            QueryRow(
                "lookup first variable default",
                #"query Q($f: Novel_FirstRow! = {where: {title: {eq: "Beta"}}}) { novel(first: $f) { title } }"#,
                #"{"novel":{"title":"Beta"}}"#),
            QueryRow(
                "lookup first with variables inside",
                """
                query Q($w: Novel_Filter!, $o: [Novel_Order!], $y: Int) {
                  novel(first: {where: {_and: [$w, {printedYear: {lt: $y}}]}, orderBy: $o}) { title }
                }
                """,
                #"{"w": {"title": {"ne": "Beta"}}, "o": [{"title": "DESC"}], "y": 1970}"#,
                #"{"novel":{"title":"Alpha"}}"#),
            QueryRow(
                "composite key",
                """
                query Q {
                  novelMaker(key: {novelId: "<m1>", makerId: "<p2>"}) { role }
                  b: novelMaker(novelId: "<m2>", makerId: "<p2>") { role }
                }
                """,
                #"{"novelMaker":{"role":"extra"},"b":{"role":"lead"}}"#),
            QueryRow(
                "order limit offset",
                "query Q { novels(orderBy: [{printedYear: DESC}, {title: ASC}], limit: 2, offset: 1) { title } }",
                #"{"novels":[{"title":"Gamma"},{"title":"Beta"}]}"#),
            QueryRow(
                "order by variable direction",
                "query Q($d: OrderDirection) { novels(orderBy: [{title: $d}], limit: 1) { title } }",
                #"{"d": "DESC"}"#, #"{"novels":[{"title":"Gamma"}]}"#),
            QueryRow(
                "order by reference",
                """
                query Q { novels(where: {narrator: {}}, orderBy: [{narrator: {name: DESC}}, {title: DESC}]) { title } }
                """,
                #"{"novels":[{"title":"Gamma"},{"title":"Beta"},{"title":"Delta 50%_"},{"title":"Alpha"}]}"#),
            QueryRow(
                "order by reference of reference",
                "query Q { remarks(orderBy: [{novel: {narrator: {name: DESC}}}, {stars: ASC}]) { stars } }",
                #"{"remarks":[{"stars":3},{"stars":1},{"stars":3},{"stars":5}]}"#),
            QueryRow(
                "order by one-to-one",
                "query Q { novels(orderBy: [{novelPrinting_on_novel: {binder: ASC}}, {title: ASC}]) { title } }",
                #"{"novels":[{"title":"Beta"},{"title":"Alpha"},{"title":"Delta 50%_"},{"title":"Gamma"}]}"#),
            QueryRow(
                "order variable", "query Q($o: [Novel_Order!]) { novels(orderBy: $o, limit: 2) { title } }",
                #"{"o": [{"narrator": {"name": "ASC"}}, {"rating": "ASC"}]}"#,
                #"{"novels":[{"title":"Delta 50%_"},{"title":"Alpha"}]}"#),
            QueryRow(
                "order variable absent", "query Q($o: [Novel_Order!]) { novels(orderBy: $o, limit: 1) { title } }",
                #"{"novels":[{"title":"Alpha"}]}"#),
            QueryRow(
                "order variable default",
                """
                query Q($o: [Novel_Order!] = [{genre: ASC}, {title: DESC}]) { novels(orderBy: $o, limit: 2) { title } }
                """,
                #"{"novels":[{"title":"Gamma"},{"title":"Alpha"}]}"#),
            QueryRow(
                "distinct", "query Q { novels(distinct: true, orderBy: [{printedYear: DESC}]) { printedYear } }",
                #"{"novels":[{"printedYear":1970},{"printedYear":1960},{"printedYear":1950}]}"#),
            QueryRow(
                "distinct variable and relations",
                """
                query Q($d: Boolean) {
                  remarks(distinct: $d, orderBy: [{stars: ASC}], limit: 2) { stars author { id } }
                  a: remarks(distinct: $d, limit: 1, offset: 1) { stars }
                }
                """,
                #"{"d": true}"#,
                #"{"remarks":[{"stars":1,"author":null},{"stars":3,"author":{"id":"bob"}}],"a":[{"stars":3}]}"#),
            QueryRow(
                "limit variable", "query Q($n: Int) { people(limit: $n) { name } }", #"{"n": 1}"#,
                #"{"people":[{"name":"Ada"}]}"#),
            QueryRow(
                "relations",
                """
                query Q {
                  novel(id: "<m1>") {
                    remarks_on_novel(where: {stars: {gt: 3}}) { text author { name } }
                    people_via_NovelMaker(orderBy: [{role: ASC}]) { name }
                    novelPrinting_on_novel { binder copies }
                    narrator { name people_on_mentor { name } }
                  }
                }
                """,
                """
                {"novel":{"remarks_on_novel":[{"text":"great","author":{"name":"Ann"}}],\
                "people_via_NovelMaker":[{"name":"Ben"},{"name":"Ada"}],\
                "novelPrinting_on_novel":{"binder":"Zenith","copies":"500"},\
                "narrator":{"name":"Ada","people_on_mentor":[{"name":"Ben"}]}}}
                """
            ),
            QueryRow(
                "via with distinct and limit",
                #"query Q { people { name novels_via_NovelMaker(limit: 1, offset: 1, distinct: true) { title } } }"#,
                """
                {"people":[{"name":"Ada","novels_via_NovelMaker":[]},\
                {"name":"Ben","novels_via_NovelMaker":[{"title":"Beta"}]},{"name":"Cleo","novels_via_NovelMaker":[]}]}
                """
            ),
            QueryRow(
                "type names", #"query Q { __typename novel(id: "<m1>") { __typename } }"#,
                #"{"__typename":"Query","novel":{"__typename":"Novel"}}"#),
            QueryRow(
                "global id",
                #"query Q { novel(id: "<m1>") { _id } novelMaker(novelId: "<m1>", makerId: "<p1>") { _id } }"#,
                #"{"novel":{"_id":"Novel[\"<m1>\"]"},"novelMaker":{"_id":"NovelMaker[\"<m1>\", \"<p1>\"]"}}"#),
            QueryRow(
                "metadata without search",
                #"query Q { novel(id: "<m1>") { _metadata { distance relevance __typename } } }"#,
                #"{"novel":{"_metadata":{"distance":null,"relevance":null,"__typename":"_Metadata"}}}"#),
            QueryRow(
                "skip include",
                #"query Q($s: Boolean!) { novel(id: "<m1>") { title @skip(if: $s) ... @include(if: $s) { genre } } }"#,
                #"{"s": true}"#, #"{"novel":{"genre":"NOIR"}}"#),
            QueryRow(
                "view",
                "query Q { novelStatss(orderBy: [{averageStars: DESC}]) { remarkCount averageStars novel { title } } }",
                """
                {"novelStatss":[{"remarkCount":"2","averageStars":4,"novel":{"title":"Alpha"}},\
                {"remarkCount":"1","averageStars":3,"novel":{"title":"Beta"}},\
                {"remarkCount":"1","averageStars":1,"novel":{"title":"Delta 50%_"}}]}
                """
            ),
            QueryRow(
                "view by name", "query Q { longTitles(where: {letters: {gt: 5}}) { title letters } }",
                #"{"longTitles":[{"title":"Delta 50%_","letters":10}]}"#),
            QueryRow(
                "view as a relation",
                """
                query Q {
                  novel(id: "<m3>") { novelStats_on_novel { remarkCount } }
                  m: novel(id: "<m1>") { novelStats_on_novel { remarkCount } }
                }
                """,
                #"{"novel":{"novelStats_on_novel":null},"m":{"novelStats_on_novel":{"remarkCount":"2"}}}"#),
            QueryRow(
                "aggregate of a view", "query Q { novelStatss { _count remarkCount_sum } }",
                #"{"novelStatss":[{"_count":3,"remarkCount_sum":"4"}]}"#),
            QueryRow(
                "native select",
                #"""
                query Q($y: Int!) {
                  _select(
                    sql: "SELECT title, printed_year FROM novel WHERE printed_year >= $1 ORDER BY title",
                    params: [$y]
                  )
                  one: _selectFirst(sql: "SELECT name FROM \"user\" WHERE id = $1", params: [{_expr: "auth.uid"}])
                }
                """#,
                #"{"y": 1970}"#, auth: signedIn("bob"),
                """
                {"_select":[{"title":"Delta 50%_","printed_year":1970},{"title":"Gamma","printed_year":1970}],\
                "one":{"name":"Bob"}}
                """
            ),
            QueryRow(
                "fragments",
                #"query Q { novel(id: "<m1>") { ...F } } fragment F on Novel { title ... on Novel { genre } }"#,
                #"{"novel":{"title":"Alpha","genre":"NOIR"}}"#),
            QueryRow(
                "retired",
                """
                query Q($old: Int @retired(reason: "unused")) @retired(reason: "use R") {
                  people(limit: $old) { name @retired }
                }
                """,
                #"{"old": 1}"#, #"{"people":[{"name":"Ada"}]}"#),
        ]

        @Test(arguments: rows) func row(_ row: QueryRow) async throws { try await row.check("queries") }

        /// Planning would take longer than the lookup.
        @Test func theStatementForManyIsNotPlannedAgainForAFew() async throws {
            let pool = try #require(LanguageServer.current).pool
            let stored = try LanguageSchema.operation("query Q($id: UUID!) { novel(id: $id) { title views } }")
            let variables = try stored.coerced(LanguageSchema.expand(#"{"id": "<m1>"}"#))
            let executor = QueryExecutor(pool: pool, clock: fixedClock)
            let item = QueryExecutor.Item(variables: variables, auth: nil, knownDigest: nil)
            for _ in 1...20 { _ = await executor.run(stored, items: [item]) }
            let call = try stored.queryCall(variables: variables, auth: nil, nowMs: requestMs)
            // One call after the other stays on one connection.
            let plans = try await pool.query(
                Statement("SELECT custom_plans, generic_plans FROM pg_prepared_statements WHERE statement = $1::text"),
                [.text(call.statement.multiplexed)])
            let row = try #require(plans.rows.first)
            // Postgres looks at five before it decides.
            #expect(row.string(0) == "5" && row.string(1) == "15")
        }
    }

    /// Aggregates, grouping and `having`.
    @Suite struct Aggregates {
        static let rows = [
            QueryRow(
                "over all rows",
                """
                query Q {
                  novels {
                    _count rating_count rating_sum rating_avg rating_min rating_max views_max title_min
                    genre_count(distinct: true)
                    launched_max createdAt_min
                  }
                }
                """,
                """
                {"novels":[{"_count":4,"rating_count":3,"rating_sum":21.75,"rating_avg":7.25,"rating_min":6.25,\
                "rating_max":8.5,"views_max":"9007199254740993","title_min":"Alpha","genre_count":2,\
                "launched_max":"2024-02-29","createdAt_min":"2020-01-01T00:00:00.000000Z"}]}
                """
            ),
            QueryRow(
                "grouped by a column", "query Q { novels { genre _count rating_avg } }",
                """
                {"novels":[{"genre":"NOIR","_count":2,"rating_avg":8.5},{"genre":"FARCE","_count":1,"rating_avg":7},\
                {"genre":null,"_count":1,"rating_avg":6.25}]}
                """
            ),
            QueryRow(
                "grouped by two", "query Q { remarks(where: {stars: {ge: 3}}) { stars authorId _count } }",
                """
                {"remarks":[{"stars":3,"authorId":"ann","_count":1},{"stars":3,"authorId":"bob","_count":1},\
                {"stars":5,"authorId":"ann","_count":1}]}
                """
            ),
            QueryRow(
                "grouped by a reference",
                """
                query Q {
                  remarks(orderBy: [{_count: DESC}, {novel: {title: ASC}}]) { novel { title } _count stars_avg }
                }
                """,
                """
                {"remarks":[{"novel":{"title":"Alpha"},"_count":2,"stars_avg":4},{"novel":{"title":"Beta"},\
                "_count":1,"stars_avg":3},{"novel":{"title":"Delta 50%_"},"_count":1,"stars_avg":1}]}
                """
            ),
            QueryRow(
                "having",
                "query Q($n: Int) { novels(having: {_count: {ge: $n}, _not: {rating_avg: {lt: 1}}}) { genre _count } }",
                #"{"n": 2}"#, #"{"novels":[{"genre":"NOIR","_count":2}]}"#),
            QueryRow(
                "having absent", "query Q($n: Int) { novels(having: {_count: {ge: $n}}, limit: 1) { genre _count } }",
                #"{"novels":[{"genre":"NOIR","_count":2}]}"#),
            QueryRow(
                "having or",
                """
                query Q {
                  novels(having: {_or: [{views_max: {gt: "9007199254740992"}}, {title_max: {eq: "Beta"}}]}) {
                    genre _count
                  }
                }
                """,
                #"{"novels":[{"genre":"NOIR","_count":2},{"genre":"FARCE","_count":1}]}"#),
            QueryRow(
                "having distinct",
                """
                query Q {
                  remarks(having: {stars_count: {ge: 2}}) { novelId _count }
                  d: remarks(having: {_distinct: true, stars_count: {ge: 2}}) { authorId _count }
                  all: remarks(having: {_not: {_distinct: true, stars_sum: {ne: 9}}}) { stars_sum }
                }
                """,
                """
                {"remarks":[{"novelId":"<m1>","_count":2}],"d":[{"authorId":"ann","_count":2}],\
                "all":[{"stars_sum":12}]}
                """
            ),
            QueryRow(
                "having variable",
                """
                query Q($h: Novel_Having, $l: [Novel_Having!], $n: Int_Filter) {
                  novels(having: $h) { genre _count }
                  b: novels(having: {_or: $l, _count: $n}) { genre title_min }
                }
                """,
                """
                {
                  "h": {
                    "_count": {"ge": 2},
                    "_or": [{"rating_avg": {"gt": 8}}],
                    "_not": {"_distinct": true, "printedYear_count": {"eq": 1}}
                  },
                  "l": [{"title_min": {"eq": "Beta"}}, {"rating_max": {"lt": 7}}],
                  "n": {"eq": 1}
                }
                """,
                """
                {"novels":[{"genre":"NOIR","_count":2}],"b":[{"genre":"FARCE","title_min":"Beta"},\
                {"genre":null,"title_min":"Delta 50%_"}]}
                """
            ),
            QueryRow(
                "groups of a join table",
                """
                query Q {
                  people {
                    name
                    novels_via_NovelMaker(
                      having: {role_min: {ne: "nobody"}, _count: {ge: 1}},
                      orderBy: [{role_max: DESC}]
                    ) { genre _count }
                  }
                }
                """,
                """
                {"people":[{"name":"Ada","novels_via_NovelMaker":[{"genre":"NOIR","_count":1}]},\
                {"name":"Ben","novels_via_NovelMaker":[{"genre":"FARCE","_count":1},{"genre":"NOIR","_count":1}]},\
                {"name":"Cleo","novels_via_NovelMaker":[]}]}
                """
            ),
            QueryRow(
                "order by aggregate", "query Q { novels(orderBy: [{rating_max: ASC}], limit: 2) { genre rating_max } }",
                #"{"novels":[{"genre":null,"rating_max":6.25},{"genre":"FARCE","rating_max":7}]}"#),
            QueryRow(
                "below a relation",
                """
                query Q {
                  novel(id: "<m1>") { remarks_on_novel { _count stars_sum } people_via_NovelMaker { _count name_max } }
                }
                """,
                """
                {"novel":{"remarks_on_novel":[{"_count":2,"stars_sum":8}],\
                "people_via_NovelMaker":[{"_count":2,"name_max":"Ben"}]}}
                """
            ),
            QueryRow(
                "grouped below a relation",
                """
                query Q {
                  novel(id: "<m1>") { remarks_on_novel { authorId _count } people_via_NovelMaker { name _count } }
                }
                """,
                """
                {"novel":{"remarks_on_novel":[{"authorId":"ann","_count":1},{"authorId":"bob","_count":1}],\
                "people_via_NovelMaker":[{"name":"Ada","_count":1},{"name":"Ben","_count":1}]}}
                """
            ),
            QueryRow(
                "no rows",
                """
                query Q {
                  novels(where: {title: {eq: "none"}}) { _count rating_sum }
                  g: novels(where: {title: {eq: "none"}}) { genre _count }
                }
                """,
                #"{"novels":[{"_count":0,"rating_sum":null}],"g":[]}"#),
            QueryRow(
                "conditional grouping", "query Q($g: Boolean!) { novels { genre @include(if: $g) _count } }",
                #"{"g": false}"#,
                #"{"novels":[{"_count":4}]}"#),
            QueryRow(
                "distinct groups",
                """
                query Q {
                  novels(distinct: true) { genre @skip(if: true) printedYear @include(if: true) isClassic_count }
                }
                """,
                """
                {"novels":[{"printedYear":1950,"isClassic_count":1},{"printedYear":1960,"isClassic_count":1},\
                {"printedYear":1970,"isClassic_count":1}]}
                """
            ),
        ]

        @Test(arguments: rows) func row(_ row: QueryRow) async throws { try await row.check("aggregates") }
    }

    /// Full-text search and how scalars look on the wire.
    @Suite struct SearchAndScalars {
        static let rows = [
            QueryRow(
                "search", #"query Q { novels_search(query: "detective") { title } }"#,
                #"{"novels_search":[{"title":"Alpha"},{"title":"Delta 50%_"}]}"#),
            QueryRow(
                "search in several fields by relevance", #"query Q($q: String) { novels_search(query: $q) { title } }"#,
                #"{"q": "rain beta"}"#,
                #"{"novels_search":[{"title":"Beta"}]}"#),
            QueryRow(
                "search filtered and ordered",
                """
                query Q {
                  novels_search(
                    query: "detectives",
                    where: {printedYear: {gt: 1960}},
                    orderBy: [{title: DESC}],
                    limit: 1
                  ) { title }
                }
                """,
                #"{"novels_search":[{"title":"Delta 50%_"}]}"#),
            QueryRow(
                "search formats",
                """
                query Q {
                  a: novels_search(query: "detective -rainy", queryFormat: QUERY) { title }
                  b: novels_search(query: "the detective", queryFormat: PLAIN) { title }
                  c: novels_search(query: "rainy city", queryFormat: PHRASE) { title }
                  d: novels_search(query: "rain & !laughter", queryFormat: ADVANCED) { title }
                }
                """,
                """
                {"a":[{"title":"Delta 50%_"}],"b":[{"title":"Alpha"},{"title":"Delta 50%_"}],"c":[{"title":"Alpha"}],\
                "d":[]}
                """
            ),
            QueryRow(
                "search relevance threshold",
                """
                query Q($r: Float) {
                  novels_search(query: "detective", relevanceThreshold: $r) { title _metadata { distance } }
                  all: novels_search(query: "detective") { _count }
                }
                """,
                #"{"r": 0.9}"#, #"{"novels_search":[],"all":[{"_count":2}]}"#),
            QueryRow(
                "search for null", "query Q($q: String) { novels_search(query: $q) { title } }",
                #"{"novels_search":[]}"#),
            QueryRow(
                "scalars",
                """
                query Q {
                  novel(id: "<m1>") {
                    id externalId views rating isClassic tags extras launched createdAt awardDates genre
                  }
                  m: novel(id: "<m3>") { createdAt extras tags launched views }
                }
                """,
                """
                {"novel":{"id":"<m1>","externalId":"<d1>","views":"9007199254740993","rating":8.5,"isClassic":true,\
                "tags":["dark","rain"],"extras":{"a": 1},"launched":"1950-03-01",\
                "createdAt":"2024-02-28T12:00:00.000000Z","awardDates":["2024-02-29","1951-01-01"],"genre":"NOIR"},\
                "m":{"createdAt":"2023-12-31T23:59:59.123456Z","extras":[1, "x"],\
                "tags":null,"launched":null,"views":"30"}}
                """
            ),
        ]

        @Test(arguments: rows) func row(_ row: QueryRow) async throws { try await row.check("search") }
    }
}
