import Testing

extension Language {
    /// A null that a mutation's filter compares with.
    @Suite struct Nulls {
        private static let stars = "SELECT string_agg(stars::text, ' ' ORDER BY stars) FROM remark"

        static let rows = [
            MutationRow(
                "eq null asks for rows without a value",
                #"mutation M($t: String) { remark_deleteMany(where: {text: {eq: $t}}) }"#,
                #"{"t": null}"#, data: #"{"remark_deleteMany":1}"#, afterwards: (stars, "1 3 5")),
            MutationRow(
                "a null does not reach further",
                #"mutation M($s: Int) { remark_deleteMany(where: {stars: {eq: $s}, novel: {genre: {eq: NOIR}}}) }"#,
                #"{"s": null}"#, data: #"{"remark_deleteMany":0}"#, afterwards: (stars, "1 3 3 5")),
            MutationRow(
                "what was not sent is left out",
                #"mutation M($s: Int) { remark_deleteMany(where: {stars: {eq: $s}, novel: {genre: {eq: NOIR}}}) }"#,
                data: #"{"remark_deleteMany":2}"#, afterwards: (stars, "1 3")),
            MutationRow(
                "a null default counts as sent",
                #"mutation M($t: String = null) { remark_deleteMany(where: {text: {eq: $t}}) }"#,
                data: #"{"remark_deleteMany":1}"#, afterwards: (stars, "1 3 5")),
            MutationRow(
                "ne null asks for rows with a value",
                """
                mutation M($t: String) { remark_updateMany(where: {text: {ne: $t}}, data: {stars_update: {inc: 10}}) }
                """,
                #"{"t": null}"#, data: #"{"remark_updateMany":3}"#, afterwards: (stars, "3 11 13 15")),
            MutationRow(
                "null for other operators matches no row",
                """
                mutation M($s: Int, $l: [Int!], $t: String, $b: Boolean, $w: Timestamp_Relative, $p: String_Pattern) {
                  gt: remark_deleteMany(where: {stars: {gt: $s}})
                  in: remark_deleteMany(where: {stars: {in: $l}})
                  nin: remark_deleteMany(where: {stars: {nin: $l}})
                  startsWith: remark_deleteMany(where: {text: {startsWith: $t}})
                  not: remark_deleteMany(where: {_not: {stars: {gt: $s}}})
                  isNull: remark_deleteMany(where: {text: {isNull: $b}})
                  time: remark_deleteMany(where: {at: {gt_time: $w}})
                  pattern: remark_deleteMany(where: {text: {pattern: $p}})
                  includes: novel_deleteMany(where: {tags: {includes: $t}})
                  excludes: novel_deleteMany(where: {tags: {excludes: $t}})
                  some: remark_deleteMany(where: {_or: [{stars: {gt: $s}}, {stars: {eq: 5}}]})
                }
                """,
                #"{"s": null, "l": null, "t": null, "b": null, "w": null, "p": null}"#,
                data:
                    """
                    {"gt":0,"in":0,"nin":0,"startsWith":0,"not":0,"isNull":0,"time":0,"pattern":0,"includes":0,\
                    "excludes":0,"some":1}
                    """,
                afterwards: (stars, "1 3 3")),
            MutationRow(
                "null below a relation reaches no further when it is negated or counted",
                """
                mutation M($s: Int, $t: String, $f: Novel_Filter!) {
                  reference: remark_deleteMany(where: {_not: {novel: {printedYear: {gt: $s}}}})
                  exist: novel_deleteMany(where: {_not: {remarks_on_novel: {exist: {stars: {gt: $s}}}}})
                  count: novel_deleteMany(where: {remarks_on_novel: {count: {eq: 0}, exist: {stars: {gt: $s}}}})
                  variable: novel_deleteMany(where: $f)
                  single: novel_deleteMany(where: {_not: {novelPrinting_on_novel: {binder: {contains: $t}}}})
                  rest: remark_deleteMany(where: {novel: {printedYear: {gt: $s}}})
                  there: novel_deleteMany(where: {_not: {remarks_on_novel: {exist: {text: {ne: $t}}}}})
                }
                """,
                #"{"s": null, "t": null, "f": {"_not": {"remarks_on_novel": {"exist": {"stars": {"gt": null}}}}}}"#,
                data:
                    #"{"reference":0,"exist":0,"count":0,"variable":0,"single":0,"rest":0,"there":2}"#,
                afterwards: (stars, "1 3 5")),
            MutationRow(
                "null in the filter of first",
                """
                mutation M($s: Int, $t: String) {
                  remark_delete(first: {where: {stars: {eq: $s}}})
                  remark_update(first: {where: {text: {eq: $t}}}, data: {stars: 9}) { id }
                }
                """,
                #"{"s": null, "t": null}"#, data: #"{"remark_delete":null,"remark_update":{"id":"<r3>"}}"#,
                afterwards: (stars, "1 3 5 9")),
            MutationRow(
                "null inside a filter variable",
                """
                mutation M($f: Remark_Filter!, $g: Remark_Filter!, $h: Remark_Filter!, $s: Int_Filter) {
                  eq: remark_deleteMany(where: $f)
                  gt: remark_deleteMany(where: $g)
                  field: remark_deleteMany(where: $h)
                  tests: remark_deleteMany(where: {stars: $s})
                }
                """,
                """
                {
                  "f": {"text": {"eq": null}},
                  "g": {"stars": {"gt": null}},
                  "h": {"stars": null, "text": {"eq": "meh"}},
                  "s": {"le": null}
                }
                """,
                data: #"{"eq":1,"gt":0,"field":1,"tests":0}"#, afterwards: (stars, "3 5")),
            MutationRow(
                "null inside a first variable",
                #"mutation M($f: Remark_FirstRow!) { remark_delete(first: $f) }"#,
                #"{"f": {"where": {"stars": {"gt": null}}}}"#, data: #"{"remark_delete":null}"#,
                afterwards: (stars, "1 3 3 5")),
            MutationRow(
                "null for what is never null",
                """
                mutation M($n: Int, $id: UUID, $f: Novel_Filter!, $g: Remark_Filter!) {
                  count: novel_deleteMany(where: {remarks_on_novel: {count: {ne: $n}}})
                  notCount: novel_deleteMany(where: {_not: {remarks_on_novel: {count: {eq: $n}}}})
                  countVariable: novel_deleteMany(where: $f)
                  key: remark_deleteMany(where: {id: {ne: $id}})
                  notKey: remark_deleteMany(where: {_not: {id: {eq: $id}}})
                  keyVariable: remark_deleteMany(where: $g)
                }
                """,
                """
                {"n": null, "id": null, "f": {"remarks_on_novel": {"count": {"ne": null}}}, "g": {"id": {"ne": null}}}
                """,
                data: #"{"count":0,"notCount":0,"countVariable":0,"key":0,"notKey":0,"keyVariable":0}"#,
                afterwards: (stars, "1 3 3 5")),
            MutationRow(
                "null of an expression or in a list",
                """
                mutation M($t: String, $s: Int = 3) {
                  excludes: novel_deleteMany(where: {tags: {excludes_expr: "vars.t"}})
                  not: novel_deleteMany(where: {_not: {remarks_on_novel: {exist: {stars: {eq_expr: "vars.s"}}}}})
                  list: novel_deleteMany(where: {remarks_on_novel: {count: {eq: 0}, exist: {stars: {in: [$s]}}}})
                }
                """,
                #"{"t": null, "s": null}"#, data: #"{"excludes":0,"not":0,"list":0}"#, afterwards: (stars, "1 3 3 5")),
            MutationRow(
                "null in an embedded query is left out",
                """
                mutation M($t: String, $f: Remark_Filter) {
                  query { a: remarks(where: {text: {eq: $t}}) { stars } b: remarks(where: $f, limit: 1) { stars } }
                }
                """,
                #"{"t": null, "f": {"stars": {"gt": null}}}"#,
                data: #"{"query":{"a":[{"stars":5},{"stars":3},{"stars":3},{"stars":1}],"b":[{"stars":5}]}}"#,
                afterwards: (stars, "1 3 3 5")),
        ]

        @Test(arguments: rows) func row(_ row: MutationRow) async throws { try await row.check() }
    }
}
