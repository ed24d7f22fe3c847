import Testing

extension Language {
    /// A null that a mutation's filter compares with.
    @Suite struct Nulls {
        private static let stars = "SELECT string_agg(stars::text, ' ' ORDER BY stars) FROM review"

        static let rows = [
            MutationRow(
                "eq null asks for rows without a value",
                #"mutation M($t: String) { review_deleteMany(where: {text: {eq: $t}}) }"#,
                #"{"t": null}"#, data: #"{"review_deleteMany":1}"#, afterwards: (stars, "1 3 5")),
            MutationRow(
                "a null does not reach further",
                #"mutation M($s: Int) { review_deleteMany(where: {stars: {eq: $s}, movie: {genre: {eq: NOIR}}}) }"#,
                #"{"s": null}"#, data: #"{"review_deleteMany":0}"#, afterwards: (stars, "1 3 3 5")),
            MutationRow(
                "what was not sent is left out",
                #"mutation M($s: Int) { review_deleteMany(where: {stars: {eq: $s}, movie: {genre: {eq: NOIR}}}) }"#,
                data: #"{"review_deleteMany":2}"#, afterwards: (stars, "1 3")),
            MutationRow(
                "a null default counts as sent",
                #"mutation M($t: String = null) { review_deleteMany(where: {text: {eq: $t}}) }"#,
                data: #"{"review_deleteMany":1}"#, afterwards: (stars, "1 3 5")),
            MutationRow(
                "ne null asks for rows with a value",
                #"mutation M($t: String) { review_updateMany(where: {text: {ne: $t}}, data: {stars_update: {inc: 10}}) }"#,
                #"{"t": null}"#, data: #"{"review_updateMany":3}"#, afterwards: (stars, "3 11 13 15")),
            MutationRow(
                "null for other operators matches no row",
                #"mutation M($s: Int, $l: [Int!], $t: String, $b: Boolean, $w: Timestamp_Relative, $p: String_Pattern) { gt: review_deleteMany(where: {stars: {gt: $s}}) in: review_deleteMany(where: {stars: {in: $l}}) nin: review_deleteMany(where: {stars: {nin: $l}}) startsWith: review_deleteMany(where: {text: {startsWith: $t}}) not: review_deleteMany(where: {_not: {stars: {gt: $s}}}) isNull: review_deleteMany(where: {text: {isNull: $b}}) time: review_deleteMany(where: {at: {gt_time: $w}}) pattern: review_deleteMany(where: {text: {pattern: $p}}) includes: movie_deleteMany(where: {tags: {includes: $t}}) excludes: movie_deleteMany(where: {tags: {excludes: $t}}) some: review_deleteMany(where: {_or: [{stars: {gt: $s}}, {stars: {eq: 5}}]}) }"#,
                #"{"s": null, "l": null, "t": null, "b": null, "w": null, "p": null}"#,
                data:
                    #"{"gt":0,"in":0,"nin":0,"startsWith":0,"not":0,"isNull":0,"time":0,"pattern":0,"includes":0,"excludes":0,"some":1}"#,
                afterwards: (stars, "1 3 3")),
            MutationRow(
                "null below a relation reaches no further when it is negated or counted",
                #"mutation M($s: Int, $t: String, $f: Movie_Filter!) { reference: review_deleteMany(where: {_not: {movie: {releaseYear: {gt: $s}}}}) exist: movie_deleteMany(where: {_not: {reviews_on_movie: {exist: {stars: {gt: $s}}}}}) count: movie_deleteMany(where: {reviews_on_movie: {count: {eq: 0}, exist: {stars: {gt: $s}}}}) variable: movie_deleteMany(where: $f) single: movie_deleteMany(where: {_not: {movieMetadata_on_movie: {studio: {contains: $t}}}}) rest: review_deleteMany(where: {movie: {releaseYear: {gt: $s}}}) there: movie_deleteMany(where: {_not: {reviews_on_movie: {exist: {text: {ne: $t}}}}}) }"#,
                #"{"s": null, "t": null, "f": {"_not": {"reviews_on_movie": {"exist": {"stars": {"gt": null}}}}}}"#,
                data:
                    #"{"reference":0,"exist":0,"count":0,"variable":0,"single":0,"rest":0,"there":2}"#,
                afterwards: (stars, "1 3 5")),
            MutationRow(
                "null in the filter of first",
                #"mutation M($s: Int, $t: String) { review_delete(first: {where: {stars: {eq: $s}}}) review_update(first: {where: {text: {eq: $t}}}, data: {stars: 9}) { id } }"#,
                #"{"s": null, "t": null}"#, data: #"{"review_delete":null,"review_update":{"id":"<r3>"}}"#,
                afterwards: (stars, "1 3 5 9")),
            MutationRow(
                "null inside a filter variable",
                #"mutation M($f: Review_Filter!, $g: Review_Filter!, $h: Review_Filter!, $s: Int_Filter) { eq: review_deleteMany(where: $f) gt: review_deleteMany(where: $g) field: review_deleteMany(where: $h) tests: review_deleteMany(where: {stars: $s}) }"#,
                #"{"f": {"text": {"eq": null}}, "g": {"stars": {"gt": null}}, "h": {"stars": null, "text": {"eq": "meh"}}, "s": {"le": null}}"#,
                data: #"{"eq":1,"gt":0,"field":1,"tests":0}"#, afterwards: (stars, "3 5")),
            MutationRow(
                "null inside a first variable",
                #"mutation M($f: Review_FirstRow!) { review_delete(first: $f) }"#,
                #"{"f": {"where": {"stars": {"gt": null}}}}"#, data: #"{"review_delete":null}"#,
                afterwards: (stars, "1 3 3 5")),
            MutationRow(
                "null for what is never null",
                #"mutation M($n: Int, $id: UUID, $f: Movie_Filter!, $g: Review_Filter!) { count: movie_deleteMany(where: {reviews_on_movie: {count: {ne: $n}}}) notCount: movie_deleteMany(where: {_not: {reviews_on_movie: {count: {eq: $n}}}}) countVariable: movie_deleteMany(where: $f) key: review_deleteMany(where: {id: {ne: $id}}) notKey: review_deleteMany(where: {_not: {id: {eq: $id}}}) keyVariable: review_deleteMany(where: $g) }"#,
                #"{"n": null, "id": null, "f": {"reviews_on_movie": {"count": {"ne": null}}}, "g": {"id": {"ne": null}}}"#,
                data: #"{"count":0,"notCount":0,"countVariable":0,"key":0,"notKey":0,"keyVariable":0}"#,
                afterwards: (stars, "1 3 3 5")),
            MutationRow(
                "null of an expression or in a list",
                #"mutation M($t: String, $s: Int = 3) { excludes: movie_deleteMany(where: {tags: {excludes_expr: "vars.t"}}) not: movie_deleteMany(where: {_not: {reviews_on_movie: {exist: {stars: {eq_expr: "vars.s"}}}}}) list: movie_deleteMany(where: {reviews_on_movie: {count: {eq: 0}, exist: {stars: {in: [$s]}}}}) }"#,
                #"{"t": null, "s": null}"#, data: #"{"excludes":0,"not":0,"list":0}"#, afterwards: (stars, "1 3 3 5")),
            MutationRow(
                "null in an embedded query is left out",
                #"mutation M($t: String, $f: Review_Filter) { query { a: reviews(where: {text: {eq: $t}}) { stars } b: reviews(where: $f, limit: 1) { stars } } }"#,
                #"{"t": null, "f": {"stars": {"gt": null}}}"#,
                data: #"{"query":{"a":[{"stars":5},{"stars":3},{"stars":3},{"stars":1}],"b":[{"stars":5}]}}"#,
                afterwards: (stars, "1 3 3 5")),
        ]

        @Test(arguments: rows) func row(_ row: MutationRow) async throws { try await row.check() }
    }
}
