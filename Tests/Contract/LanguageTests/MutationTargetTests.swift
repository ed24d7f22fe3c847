import Testing

extension Language {
    /// Which rows a mutation touches.
    @Suite struct Targets {
        /// The variables of the filter ask nothing: no row is touched, not every row.
        private static func withoutFilter(
            _ name: String, _ text: String, _ variables: String, of field: String = "remark_delete"
        ) -> MutationRow {
            MutationRow(
                name, text, variables, data: "",
                errors: [
                    """
                    : INVALID_VARIABLE no variable in the filter of "\(field)" has a value, so it would match every \
                    row
                    """
                ],
                afterwards: ("SELECT string_agg(stars::text, ' ' ORDER BY stars) FROM remark", "1 3 3 5"),
                isCommitted: false)
        }

        /// Variables with the key of the one slot.
        private static func slot(_ further: String) -> String {
            #"""
            {
              "k": {
                "day": "2024-01-31", "at": "2024-02-28T12:00:00Z", "price": 1.5, "number": "9007199254740993"
              }\#(further)
            }
            """#
        }

        private static let former = #"slot["2024-01-31","2024-02-28T12:00:00.000000Z",1.5,9007199254740993]"#
        private static let slots =
            "SELECT concat_ws(' ', day, at AT TIME ZONE 'UTC' || '+00', price, number) FROM slot"

        static let rows = [
            MutationRow(
                "update by key variable",
                #"mutation M($k: NovelMaker_Key!) { novelMaker_update(key: $k, data: {role: "star"}) { role } }"#,
                #"{"k": {"novelId": "<m1>", "makerId": "<p1>"}}"#, data: #"{"novelMaker_update":{"role":"star"}}"#,
                afterwards: ("SELECT string_agg(role, ' ' ORDER BY role) FROM novel_maker", "extra lead star"),
                keys: ["novel_maker[\"<m1>\",\"<p1>\"]"]),
            MutationRow(
                "update that adds to the key",
                #"mutation M { ticket_update(key: {number: 1}, data: {number_update: [{inc: 4}]}) { label } }"#,
                data: #"{"ticket_update":{"label":"one"}}"#,
                afterwards: ("SELECT string_agg(number::text, ' ') FROM ticket", "5"),
                keys: ["ticket[1]", "ticket[5]"]),
            MutationRow(
                "update that takes from the key by a variable",
                """
                mutation M($k: Ticket_Key!, $u: [Int_Update!]) {
                  ticket_update(key: $k, data: {number_update: $u}) { label }
                }
                """,
                #"{"k": {"number": 1}, "u": [{"dec": 3}]}"#, data: #"{"ticket_update":{"label":"one"}}"#,
                afterwards: ("SELECT string_agg(number::text, ' ') FROM ticket", "-2"),
                keys: ["ticket[1]", "ticket[-2]"]),
            MutationRow(
                "update that moves times and numbers of the key",
                """
                mutation M($k: Slot_Key!, $n: Int64) {
                  slot_update(
                    key: $k,
                    data: {
                      day_update: {inc: {months: 1}},
                      at_update: {dec: {hours: 13}},
                      price_update: {inc: 0.25},
                      number_update: {inc: $n},
                      note: "moved"
                    }
                  ) { note day }
                }
                """,
                slot(#", "n": "2""#), data: #"{"slot_update":{"note":"moved","day":"2024-02-29"}}"#,
                afterwards: (slots, "2024-02-29 2024-02-27 23:00:00+00 1.75 9007199254740995"),
                keys: [
                    former, #"slot["2024-02-29","2024-02-27T23:00:00.000000Z",1.75,9007199254740995]"#,
                ]),
            MutationRow(
                "update whose data moves a part of the key",
                """
                mutation M($k: Slot_Key!, $d: Slot_Data! @allow(fields: "day_update number note")) @transaction {
                  _: ticket_update(key: {number: 1}, data: {label: "two"}) { label }
                  slot_update(key: $k, data: $d) { number }
                }
                """,
                slot(#", "d": {"day_update": [{"inc": {"years": 1}}], "number": "7"}"#),
                data: #"{"_":{"label":"two"},"slot_update":{"number":"7"}}"#,
                afterwards: (slots, "2025-01-31 2024-02-28 12:00:00+00 1.5 7"),
                keys: ["ticket[1]", former, #"slot["2025-01-31","2024-02-28T12:00:00.000000Z",1.5,7]"#]),
            MutationRow(
                "update that leaves the key as it is",
                """
                mutation M($k: Slot_Key!, $n: Int64) {
                  slot_update(key: $k, data: {number_update: {inc: $n}}) { price }
                }
                """,
                slot(""), data: #"{"slot_update":{"price":1.5}}"#,
                afterwards: (slots, "2024-01-31 2024-02-28 12:00:00+00 1.5 9007199254740993"), keys: [former]),
            MutationRow(
                "update that moves the key of no row",
                #"mutation M { ticket_update(key: {number: 9}, data: {number_update: {inc: 1}}) { label } }"#,
                data: #"{"ticket_update":null}"#, afterwards: ("SELECT number::text FROM ticket", "1"),
                keys: ["ticket[9]"]),
            MutationRow(
                "a transaction that moves a key and then fails",
                """
                mutation M @transaction {
                  t: ticket_update(key: {number: 1}, data: {number_update: {inc: 1}}) { label }
                  u: user_insert(data: {id: "ann"})
                  v: user_insert(data: {id: "v"})
                }
                """,
                data: #"{"t":null,"u":null,"v":null}"#,
                errors: [
                    "t: CONSTRAINT_VIOLATION (rolled back)",
                    "u: CONSTRAINT_VIOLATION a row with the same unique values already exists",
                    "v: CONSTRAINT_VIOLATION (aborted)",
                ], afterwards: ("SELECT number::text FROM ticket", "1"), keys: [], isCommitted: false),
            MutationRow(
                "a moved key beside a field that fails",
                """
                mutation M {
                  u: user_insert(data: {id: "ann"})
                  t: ticket_update(key: {number: 1}, data: {number_update: {inc: 1}}) { label }
                }
                """,
                data: #"{"u":null,"t":{"label":"one"}}"#,
                errors: ["u: CONSTRAINT_VIOLATION a row with the same unique values already exists"],
                afterwards: ("SELECT number::text FROM ticket", "2"), keys: ["ticket[1]", "ticket[2]"]),
            withoutFilter(
                "a filter that asks nothing beside a moved key",
                """
                mutation M($x: String) {
                  ticket_update(key: {number: 1}, data: {number_update: {inc: 1}}) { label }
                  remark_deleteMany(where: {text: {eq: $x}})
                }
                """,
                "{}", of: "remark_deleteMany"),
            MutationRow(
                "updateMany all", #"mutation M { remark_updateMany(all: true, data: {stars_update: {inc: 1}}) }"#,
                data: #"{"remark_updateMany":4}"#,
                afterwards: ("SELECT string_agg(stars::text, ' ' ORDER BY stars) FROM remark", "2 4 4 6"), keys: []),
            MutationRow(
                "delete first",
                """
                mutation M($s: Int) {
                  remark_delete(first: {where: {stars: {le: $s}}, orderBy: [{stars: DESC}, {at: ASC}]}) { stars text }
                  none: remark_delete(first: {where: {stars: {gt: 9}}})
                }
                """,
                #"{"s": 3}"#, data: #"{"remark_delete":{"stars":3,"text":null},"none":null}"#,
                afterwards: ("SELECT string_agg(stars::text, ' ' ORDER BY stars) FROM remark", "1 3 5"), keys: []),
            MutationRow(
                "delete first from a variable",
                #"mutation M($f: Remark_FirstRow!) { remark_delete(first: $f) { stars text } }"#,
                #"{"f": {"where": {"stars": {"le": 3}}, "orderBy": [{"stars": "DESC"}, {"at": "ASC"}]}}"#,
                data: #"{"remark_delete":{"stars":3,"text":null}}"#,
                afterwards: ("SELECT string_agg(stars::text, ' ' ORDER BY stars) FROM remark", "1 3 5"), keys: []),
            withoutFilter(
                "a first variable that asks nothing is no filter",
                #"mutation M($f: Remark_FirstRow!) { remark_delete(first: $f) }"#,
                #"{"f": {"where": {"stars": null}}}"#),
            withoutFilter(
                "an empty first variable is no filter",
                #"mutation M($f: Remark_FirstRow!) { remark_delete(first: $f) }"#,
                #"{"f": {}}"#),
            withoutFilter(
                "a first variable without a filter is no filter",
                #"mutation M($f: Remark_FirstRow!) { remark_delete(first: $f) }"#,
                #"{"f": {"where": null}}"#),
            withoutFilter(
                "a first variable of an order alone is no filter",
                """
                mutation M($f: Remark_FirstRow!, $u: [Int_Update!]!) {
                  remark_update(first: $f, data: {stars_update: $u}) { stars }
                }
                """,
                #"{"f": {"orderBy": {"stars": "DESC"}}, "u": [{"inc": 4}]}"#, of: "remark_update"),
            withoutFilter(
                "an empty first variable is not its default",
                #"mutation M($f: Remark_FirstRow! = {where: {stars: {eq: 5}}}) { remark_delete(first: $f) }"#,
                #"{"f": {}}"#),
            MutationRow(
                "delete first by the default of a variable",
                #"mutation M($f: Remark_FirstRow! = {where: {stars: {eq: 5}}}) { remark_delete(first: $f) }"#,
                "{}", data: #"{"remark_delete":{"id":"<r1>"}}"#,
                afterwards: ("SELECT string_agg(stars::text, ' ' ORDER BY stars) FROM remark", "1 3 3"), keys: []),
            MutationRow(
                "changes from variables",
                """
                mutation M(
                  $y: [Int_Update!],
                  $t: [String_ListUpdate!],
                  $p: [Date_Update!],
                  $c: Timestamp_Duration,
                  $v: [Int64_Update!]
                ) {
                  novel_update(
                    id: "<m1>",
                    data: {
                      printedYear_update: $y, tags_update: $t, launched_update: $p,
                      createdAt_update: [{inc: $c}],
                      views_update: $v
                    }
                  ) { printedYear tags }
                }
                """,
                """
                {
                  "y": [{"dec": 10}],
                  "t": [{"prepend": ["x"]}],
                  "p": [{"inc": {"days": 1, "months": 1}}],
                  "c": {"minutes": 30, "milliseconds": 500},
                  "v": []
                }
                """,
                data: #"{"novel_update":{"printedYear":1940,"tags":["x","dark","rain"]}}"#,
                afterwards: (
                    """
                    SELECT concat_ws(' ', launched, created_at AT TIME ZONE 'UTC', views) FROM novel WHERE id = '<m1>'
                    """,
                    "1950-04-02 2024-02-28 12:30:00.5 9007199254740993"
                ), keys: ["novel[\"<m1>\"]"]),
            MutationRow(
                "changes that no variable asks for",
                """
                mutation M($y: [Int_Update!], $t: [String_ListUpdate!]) {
                  novel_update(id: "<m1>", data: {printedYear_update: $y, tags_update: $t}) { printedYear tags }
                  novel_updateMany(where: {title: {eq: "Beta"}}, data: {title: "Best", printedYear_update: $y})
                }
                """,
                #"{"y": null}"#,
                data: #"{"novel_update":{"printedYear":1950,"tags":["dark","rain"]},"novel_updateMany":1}"#,
                afterwards: ("SELECT title || printed_year FROM novel WHERE id = '<m2>'", "Best1960"),
                keys: ["novel[\"<m1>\"]"]),
            MutationRow(
                "relative values from variables",
                """
                mutation M($d: Date_Relative, $t: Timestamp_Relative!, $u: Date_Duration) {
                  novel_update(id: "<m1>", data: {launched_date: $d, createdAt_time: $t}) { launched createdAt }
                  novel_insert(data: {title: "New", launched_date: {today: true, sub: $u}, createdAt_time: $t}) {
                    launched createdAt
                  }
                }
                """,
                #"{"t": {"now": true, "truncateTo": "HOUR"}, "u": {"years": 4}}"#,
                data:
                    """
                    {"novel_update":{"launched":"1950-03-01","createdAt":"2024-02-29T12:00:00.000000Z"},\
                    "novel_insert":{"launched":"2020-02-29","createdAt":"2024-02-29T12:00:00.000000Z"}}
                    """,
                afterwards: ("SELECT count(*)::text FROM novel", "5")),
            MutationRow(
                "deleteMany where",
                """
                mutation M($a: String) {
                  remark_deleteMany(where: {author: {name: {eq: $a}}, novel: {genre: {eq: NOIR}}})
                }
                """,
                #"{"a": "Ann"}"#, data: #"{"remark_deleteMany":1}"#,
                afterwards: ("SELECT string_agg(id::text, ' ' ORDER BY id) FROM remark WHERE id = '<r1>'", nil),
                keys: []),
        ]

        @Test(arguments: rows) func row(_ row: MutationRow) async throws { try await row.check() }
    }
}
