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
                "lookup by id", "query Q { movie(id: \"<m1>\") { id title } }",
                #"{"movie":{"id":"<m1>","title":"Alpha"}}"#),
            QueryRow("lookup absent", "query Q { movie(id: \"<m5>\") { title } }", #"{"movie":null}"#),
            QueryRow(
                "lookup by key variable", "query Q($k: Movie_Key!) { movie(key: $k) { title } }",
                #"{"k": {"id": "<m2>"}}"#,
                #"{"movie":{"title":"Beta"}}"#),
            QueryRow(
                "lookup by keys of references",
                #"query Q($m: UUID!, $a: Person_Key!) { a: movieActor(key: {movie: {id: $m}, actor: $a}) { role } b: movieActor(key: {movieId: $m, actor: {id_expr: "vars.a.id"}}) { role } }"#,
                #"{"m": "<m1>", "a": {"id": "<p2>"}}"#,
                #"{"a":{"role":"extra"},"b":{"role":"extra"}}"#),
            QueryRow(
                "lookup by id_expr",
                #"query Q { user(id_expr: "auth.uid") { name } u: user(key: {id_expr: "request.auth.uid"}) { id } }"#,
                auth: signedIn("ann"), #"{"user":{"name":"Ann"},"u":{"id":"ann"}}"#),
            QueryRow(
                "lookup first",
                "query Q { movie(first: {where: {genre: {eq: NOIR}}, orderBy: [{releaseYear: DESC}]}) { title } }",
                #"{"movie":{"title":"Gamma"}}"#),
            QueryRow(
                "lookup first variable", "query Q($f: Movie_FirstRow!) { movie(first: $f) { title } }",
                #"{"f": {"where": {"genre": {"eq": "NOIR"}}, "orderBy": [{"releaseYear": "DESC"}]}}"#,
                #"{"movie":{"title":"Gamma"}}"#),
            QueryRow(
                "lookup first variable of an order alone",
                "query Q($f: Movie_FirstRow!) { movie(first: $f) { title } }",
                #"{"f": {"where": null, "orderBy": {"rating": "ASC"}}}"#, #"{"movie":{"title":"Delta 50%_"}}"#),
            QueryRow(
                "lookup first variable default",
                #"query Q($f: Movie_FirstRow! = {where: {title: {eq: "Beta"}}}) { movie(first: $f) { title } }"#,
                #"{"movie":{"title":"Beta"}}"#),
            QueryRow(
                "lookup first with variables inside",
                "query Q($w: Movie_Filter!, $o: [Movie_Order!], $y: Int) { movie(first: {where: {_and: [$w, {releaseYear: {lt: $y}}]}, orderBy: $o}) { title } }",
                #"{"w": {"title": {"ne": "Beta"}}, "o": [{"title": "DESC"}], "y": 1970}"#,
                #"{"movie":{"title":"Alpha"}}"#),
            QueryRow(
                "composite key",
                #"query Q { movieActor(key: {movieId: "<m1>", actorId: "<p2>"}) { role } b: movieActor(movieId: "<m2>", actorId: "<p2>") { role } }"#,
                #"{"movieActor":{"role":"extra"},"b":{"role":"lead"}}"#),
            QueryRow(
                "order limit offset",
                "query Q { movies(orderBy: [{releaseYear: DESC}, {title: ASC}], limit: 2, offset: 1) { title } }",
                #"{"movies":[{"title":"Gamma"},{"title":"Beta"}]}"#),
            QueryRow(
                "order by variable direction",
                "query Q($d: OrderDirection) { movies(orderBy: [{title: $d}], limit: 1) { title } }",
                #"{"d": "DESC"}"#, #"{"movies":[{"title":"Gamma"}]}"#),
            QueryRow(
                "order by reference",
                "query Q { movies(where: {director: {}}, orderBy: [{director: {name: DESC}}, {title: DESC}]) { title } }",
                #"{"movies":[{"title":"Gamma"},{"title":"Beta"},{"title":"Delta 50%_"},{"title":"Alpha"}]}"#),
            QueryRow(
                "order by reference of reference",
                "query Q { reviews(orderBy: [{movie: {director: {name: DESC}}}, {stars: ASC}]) { stars } }",
                #"{"reviews":[{"stars":3},{"stars":1},{"stars":3},{"stars":5}]}"#),
            QueryRow(
                "order by one-to-one",
                "query Q { movies(orderBy: [{movieMetadata_on_movie: {studio: ASC}}, {title: ASC}]) { title } }",
                #"{"movies":[{"title":"Beta"},{"title":"Alpha"},{"title":"Delta 50%_"},{"title":"Gamma"}]}"#),
            QueryRow(
                "order variable", "query Q($o: [Movie_Order!]) { movies(orderBy: $o, limit: 2) { title } }",
                #"{"o": [{"director": {"name": "ASC"}}, {"rating": "ASC"}]}"#,
                #"{"movies":[{"title":"Delta 50%_"},{"title":"Alpha"}]}"#),
            QueryRow(
                "order variable absent", "query Q($o: [Movie_Order!]) { movies(orderBy: $o, limit: 1) { title } }",
                #"{"movies":[{"title":"Alpha"}]}"#),
            QueryRow(
                "order variable default",
                "query Q($o: [Movie_Order!] = [{genre: ASC}, {title: DESC}]) { movies(orderBy: $o, limit: 2) { title } }",
                #"{"movies":[{"title":"Gamma"},{"title":"Alpha"}]}"#),
            QueryRow(
                "distinct", "query Q { movies(distinct: true, orderBy: [{releaseYear: DESC}]) { releaseYear } }",
                #"{"movies":[{"releaseYear":1970},{"releaseYear":1960},{"releaseYear":1950}]}"#),
            QueryRow(
                "distinct variable and relations",
                "query Q($d: Boolean) { reviews(distinct: $d, orderBy: [{stars: ASC}], limit: 2) { stars author { id } } a: reviews(distinct: $d, limit: 1, offset: 1) { stars } }",
                #"{"d": true}"#,
                #"{"reviews":[{"stars":1,"author":null},{"stars":3,"author":{"id":"bob"}}],"a":[{"stars":3}]}"#),
            QueryRow(
                "limit variable", "query Q($n: Int) { people(limit: $n) { name } }", #"{"n": 1}"#,
                #"{"people":[{"name":"Ada"}]}"#),
            QueryRow(
                "relations",
                #"query Q { movie(id: "<m1>") { reviews_on_movie(where: {stars: {gt: 3}}) { text author { name } } people_via_MovieActor(orderBy: [{role: ASC}]) { name } movieMetadata_on_movie { studio budget } director { name people_on_mentor { name } } } }"#,
                #"{"movie":{"reviews_on_movie":[{"text":"great","author":{"name":"Ann"}}],"people_via_MovieActor":[{"name":"Ben"},{"name":"Ada"}],"movieMetadata_on_movie":{"studio":"Zenith","budget":"500"},"director":{"name":"Ada","people_on_mentor":[{"name":"Ben"}]}}}"#
            ),
            QueryRow(
                "via with distinct and limit",
                #"query Q { people { name movies_via_MovieActor(limit: 1, offset: 1, distinct: true) { title } } }"#,
                #"{"people":[{"name":"Ada","movies_via_MovieActor":[]},{"name":"Ben","movies_via_MovieActor":[{"title":"Beta"}]},{"name":"Cleo","movies_via_MovieActor":[]}]}"#
            ),
            QueryRow(
                "type names", #"query Q { __typename movie(id: "<m1>") { __typename } }"#,
                #"{"__typename":"Query","movie":{"__typename":"Movie"}}"#),
            QueryRow(
                "global id",
                #"query Q { movie(id: "<m1>") { _id } movieActor(movieId: "<m1>", actorId: "<p1>") { _id } }"#,
                #"{"movie":{"_id":"Movie[\"<m1>\"]"},"movieActor":{"_id":"MovieActor[\"<m1>\", \"<p1>\"]"}}"#),
            QueryRow(
                "metadata without search",
                #"query Q { movie(id: "<m1>") { _metadata { distance relevance __typename } } }"#,
                #"{"movie":{"_metadata":{"distance":null,"relevance":null,"__typename":"_Metadata"}}}"#),
            QueryRow(
                "skip include",
                #"query Q($s: Boolean!) { movie(id: "<m1>") { title @skip(if: $s) ... @include(if: $s) { genre } } }"#,
                #"{"s": true}"#, #"{"movie":{"genre":"NOIR"}}"#),
            QueryRow(
                "view",
                "query Q { movieStatss(orderBy: [{averageStars: DESC}]) { reviewCount averageStars movie { title } } }",
                #"{"movieStatss":[{"reviewCount":"2","averageStars":4,"movie":{"title":"Alpha"}},{"reviewCount":"1","averageStars":3,"movie":{"title":"Beta"}},{"reviewCount":"1","averageStars":1,"movie":{"title":"Delta 50%_"}}]}"#
            ),
            QueryRow(
                "view by name", "query Q { longTitles(where: {letters: {gt: 5}}) { title letters } }",
                #"{"longTitles":[{"title":"Delta 50%_","letters":10}]}"#),
            QueryRow(
                "view as a relation",
                #"query Q { movie(id: "<m3>") { movieStats_on_movie { reviewCount } } m: movie(id: "<m1>") { movieStats_on_movie { reviewCount } } }"#,
                #"{"movie":{"movieStats_on_movie":null},"m":{"movieStats_on_movie":{"reviewCount":"2"}}}"#),
            QueryRow(
                "aggregate of a view", "query Q { movieStatss { _count reviewCount_sum } }",
                #"{"movieStatss":[{"_count":3,"reviewCount_sum":"4"}]}"#),
            QueryRow(
                "native select",
                #"query Q($y: Int!) { _select(sql: "SELECT title, release_year FROM movie WHERE release_year >= $1 ORDER BY title", params: [$y]) one: _selectFirst(sql: "SELECT name FROM \"user\" WHERE id = $1", params: [{_expr: "auth.uid"}]) }"#,
                #"{"y": 1970}"#, auth: signedIn("bob"),
                #"{"_select":[{"title":"Delta 50%_","release_year":1970},{"title":"Gamma","release_year":1970}],"one":{"name":"Bob"}}"#
            ),
            QueryRow(
                "fragments",
                #"query Q { movie(id: "<m1>") { ...F } } fragment F on Movie { title ... on Movie { genre } }"#,
                #"{"movie":{"title":"Alpha","genre":"NOIR"}}"#),
            QueryRow(
                "retired",
                #"query Q($old: Int @retired(reason: "unused")) @retired(reason: "use R") { people(limit: $old) { name @retired } }"#,
                #"{"old": 1}"#, #"{"people":[{"name":"Ada"}]}"#),
        ]

        @Test(arguments: rows) func row(_ row: QueryRow) async throws { try await row.check("queries") }

        /// Planning would take longer than the lookup.
        @Test func theStatementForManyIsNotPlannedAnewForAFew() async throws {
            let pool = try #require(LanguageServer.current).pool
            let stored = try LanguageSchema.operation("query Q($id: UUID!) { movie(id: $id) { title views } }")
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
                "query Q { movies { _count rating_count rating_sum rating_avg rating_min rating_max views_max title_min genre_count(distinct: true) premiere_max createdAt_min } }",
                #"{"movies":[{"_count":4,"rating_count":3,"rating_sum":21.75,"rating_avg":7.25,"rating_min":6.25,"rating_max":8.5,"views_max":"9007199254740993","title_min":"Alpha","genre_count":2,"premiere_max":"2024-02-29","createdAt_min":"2020-01-01T00:00:00.000000Z"}]}"#
            ),
            QueryRow(
                "grouped by a column", "query Q { movies { genre _count rating_avg } }",
                #"{"movies":[{"genre":"NOIR","_count":2,"rating_avg":8.5},{"genre":"FARCE","_count":1,"rating_avg":7},{"genre":null,"_count":1,"rating_avg":6.25}]}"#
            ),
            QueryRow(
                "grouped by two", "query Q { reviews(where: {stars: {ge: 3}}) { stars authorId _count } }",
                #"{"reviews":[{"stars":3,"authorId":"ann","_count":1},{"stars":3,"authorId":"bob","_count":1},{"stars":5,"authorId":"ann","_count":1}]}"#
            ),
            QueryRow(
                "grouped by a reference",
                "query Q { reviews(orderBy: [{_count: DESC}, {movie: {title: ASC}}]) { movie { title } _count stars_avg } }",
                #"{"reviews":[{"movie":{"title":"Alpha"},"_count":2,"stars_avg":4},{"movie":{"title":"Beta"},"_count":1,"stars_avg":3},{"movie":{"title":"Delta 50%_"},"_count":1,"stars_avg":1}]}"#
            ),
            QueryRow(
                "having",
                "query Q($n: Int) { movies(having: {_count: {ge: $n}, _not: {rating_avg: {lt: 1}}}) { genre _count } }",
                #"{"n": 2}"#, #"{"movies":[{"genre":"NOIR","_count":2}]}"#),
            QueryRow(
                "having absent", "query Q($n: Int) { movies(having: {_count: {ge: $n}}, limit: 1) { genre _count } }",
                #"{"movies":[{"genre":"NOIR","_count":2}]}"#),
            QueryRow(
                "having or",
                "query Q { movies(having: {_or: [{views_max: {gt: \"9007199254740992\"}}, {title_max: {eq: \"Beta\"}}]}) { genre _count } }",
                #"{"movies":[{"genre":"NOIR","_count":2},{"genre":"FARCE","_count":1}]}"#),
            QueryRow(
                "having distinct",
                "query Q { reviews(having: {stars_count: {ge: 2}}) { movieId _count } d: reviews(having: {_distinct: true, stars_count: {ge: 2}}) { authorId _count } all: reviews(having: {_not: {_distinct: true, stars_sum: {ne: 9}}}) { stars_sum } }",
                #"{"reviews":[{"movieId":"<m1>","_count":2}],"d":[{"authorId":"ann","_count":2}],"all":[{"stars_sum":12}]}"#
            ),
            QueryRow(
                "having variable",
                "query Q($h: Movie_Having, $l: [Movie_Having!], $n: Int_Filter) { movies(having: $h) { genre _count } b: movies(having: {_or: $l, _count: $n}) { genre title_min } }",
                #"{"h": {"_count": {"ge": 2}, "_or": [{"rating_avg": {"gt": 8}}], "_not": {"_distinct": true, "releaseYear_count": {"eq": 1}}}, "l": [{"title_min": {"eq": "Beta"}}, {"rating_max": {"lt": 7}}], "n": {"eq": 1}}"#,
                #"{"movies":[{"genre":"NOIR","_count":2}],"b":[{"genre":"FARCE","title_min":"Beta"},{"genre":null,"title_min":"Delta 50%_"}]}"#
            ),
            QueryRow(
                "groups of a join table",
                #"query Q { people { name movies_via_MovieActor(having: {role_min: {ne: "nobody"}, _count: {ge: 1}}, orderBy: [{role_max: DESC}]) { genre _count } } }"#,
                #"{"people":[{"name":"Ada","movies_via_MovieActor":[{"genre":"NOIR","_count":1}]},{"name":"Ben","movies_via_MovieActor":[{"genre":"FARCE","_count":1},{"genre":"NOIR","_count":1}]},{"name":"Cleo","movies_via_MovieActor":[]}]}"#
            ),
            QueryRow(
                "order by aggregate", "query Q { movies(orderBy: [{rating_max: ASC}], limit: 2) { genre rating_max } }",
                #"{"movies":[{"genre":null,"rating_max":6.25},{"genre":"FARCE","rating_max":7}]}"#),
            QueryRow(
                "below a relation",
                #"query Q { movie(id: "<m1>") { reviews_on_movie { _count stars_sum } people_via_MovieActor { _count name_max } } }"#,
                #"{"movie":{"reviews_on_movie":[{"_count":2,"stars_sum":8}],"people_via_MovieActor":[{"_count":2,"name_max":"Ben"}]}}"#
            ),
            QueryRow(
                "grouped below a relation",
                #"query Q { movie(id: "<m1>") { reviews_on_movie { authorId _count } people_via_MovieActor { name _count } } }"#,
                #"{"movie":{"reviews_on_movie":[{"authorId":"ann","_count":1},{"authorId":"bob","_count":1}],"people_via_MovieActor":[{"name":"Ada","_count":1},{"name":"Ben","_count":1}]}}"#
            ),
            QueryRow(
                "no rows",
                #"query Q { movies(where: {title: {eq: "none"}}) { _count rating_sum } g: movies(where: {title: {eq: "none"}}) { genre _count } }"#,
                #"{"movies":[{"_count":0,"rating_sum":null}],"g":[]}"#),
            QueryRow(
                "conditional grouping", "query Q($g: Boolean!) { movies { genre @include(if: $g) _count } }",
                #"{"g": false}"#,
                #"{"movies":[{"_count":4}]}"#),
            QueryRow(
                "distinct groups",
                "query Q { movies(distinct: true) { genre @skip(if: true) releaseYear @include(if: true) isClassic_count } }",
                #"{"movies":[{"releaseYear":1950,"isClassic_count":1},{"releaseYear":1960,"isClassic_count":1},{"releaseYear":1970,"isClassic_count":1}]}"#
            ),
        ]

        @Test(arguments: rows) func row(_ row: QueryRow) async throws { try await row.check("aggregates") }
    }

    /// Full-text search and how scalars look on the wire.
    @Suite struct SearchAndScalars {
        static let rows = [
            QueryRow(
                "search", #"query Q { movies_search(query: "detective") { title } }"#,
                #"{"movies_search":[{"title":"Alpha"},{"title":"Delta 50%_"}]}"#),
            QueryRow(
                "search in several fields by relevance", #"query Q($q: String) { movies_search(query: $q) { title } }"#,
                #"{"q": "rain beta"}"#,
                #"{"movies_search":[{"title":"Beta"}]}"#),
            QueryRow(
                "search filtered and ordered",
                #"query Q { movies_search(query: "detectives", where: {releaseYear: {gt: 1960}}, orderBy: [{title: DESC}], limit: 1) { title } }"#,
                #"{"movies_search":[{"title":"Delta 50%_"}]}"#),
            QueryRow(
                "search formats",
                #"query Q { a: movies_search(query: "detective -rainy", queryFormat: QUERY) { title } b: movies_search(query: "the detective", queryFormat: PLAIN) { title } c: movies_search(query: "rainy city", queryFormat: PHRASE) { title } d: movies_search(query: "rain & !laughter", queryFormat: ADVANCED) { title } }"#,
                #"{"a":[{"title":"Delta 50%_"}],"b":[{"title":"Alpha"},{"title":"Delta 50%_"}],"c":[{"title":"Alpha"}],"d":[]}"#
            ),
            QueryRow(
                "search relevance threshold",
                #"query Q($r: Float) { movies_search(query: "detective", relevanceThreshold: $r) { title _metadata { distance } } all: movies_search(query: "detective") { _count } }"#,
                #"{"r": 0.9}"#, #"{"movies_search":[],"all":[{"_count":2}]}"#),
            QueryRow(
                "search for null", "query Q($q: String) { movies_search(query: $q) { title } }",
                #"{"movies_search":[]}"#),
            QueryRow(
                "scalars",
                #"query Q { movie(id: "<m1>") { id externalId views rating isClassic tags extras premiere createdAt awardDates genre } m: movie(id: "<m3>") { createdAt extras tags premiere views } }"#,
                #"{"movie":{"id":"<m1>","externalId":"<d1>","views":"9007199254740993","rating":8.5,"isClassic":true,"tags":["dark","rain"],"extras":{"a": 1},"premiere":"1950-03-01","createdAt":"2024-02-28T12:00:00.000000Z","awardDates":["2024-02-29","1951-01-01"],"genre":"NOIR"},"m":{"createdAt":"2023-12-31T23:59:59.123456Z","extras":[1, "x"],"tags":null,"premiere":null,"views":"30"}}"#
            ),
        ]

        @Test(arguments: rows) func row(_ row: QueryRow) async throws { try await row.check("search") }
    }
}
