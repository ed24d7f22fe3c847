import Catalog
import Execution
import JSON
import LiveModel
import Synchronization
import Testing

extension Language {
    /// The generated mutations and the ways to give data.
    @Suite struct Mutations {
        private static let fresh = "f000000000004000800000000000000f"

        static let rows = [
            MutationRow(
                "insert with defaults", #"mutation M($t: String!) { novel_insert(data: {title: $t, genre: NOIR}) }"#,
                #"{"t": "New"}"#,
                data: "{\"novel_insert\":{\"id\":\"\(fresh)\"}}",
                afterwards: (
                    """
                    SELECT concat_ws(' ', title, genre, views, created_at AT TIME ZONE 'UTC') FROM novel
                    WHERE title = 'New'
                    """,
                    "New NOIR 0 2024-02-29 12:34:56.789"
                ), keys: ["novel[\"\(fresh)\"]"]),
            MutationRow(
                "insert nested",
                """
                mutation M($s: Int!, $a: String) {
                  novel_insert(
                    data: {
                      title: "Tree",
                      remarks_on_novel: [{stars: $s, author: {id: "ann"}, text: $a}, {id: "<r5>", stars: 2}],
                      novelPrinting_on_novel: {id: "<d5>", binder: "Nest"},
                      novelMakers_on_novel: [{maker: {id: "<p1>"}, role: "lead"}]
                    }
                  ) { title }
                }
                """,
                #"{"s": 4}"#, data: #"{"novel_insert":{"title":"Tree"}}"#,
                afterwards: (
                    """
                    SELECT (SELECT string_agg(concat_ws('/', r.stars, r.author_id, r.text), ' ' ORDER BY r.stars)
                    FROM remark r WHERE r.novel_id = m.id) || ' ' || (SELECT binder FROM novel_printing d
                    WHERE d.novel_id = m.id) || ' ' || (SELECT role FROM novel_maker x WHERE x.novel_id = m.id)
                    FROM novel m WHERE title = 'Tree'
                    """,
                    "2 4/ann Nest lead"
                ),
                keys: [
                    "novel[\"\(fresh)\"]", "remark[\"\(fresh)\"]", "remark[\"<r5>\"]", "novel_printing[\"<d5>\"]",
                    "novel_maker[\"\(fresh)\",\"<p1>\"]",
                ]),
            MutationRow(
                "insert nested below a key of Postgres",
                """
                mutation M {
                  ticket_insert(data: {label: "two", parts_on_ticket: [{letter: "a", note: "n"}, {letter: "b"}]})
                }
                """,
                data: #"{"ticket_insert":{"number":2}}"#,
                afterwards: ("SELECT string_agg(ticket_number || letter, ' ' ORDER BY letter) FROM part", "2a 2b"),
                keys: []),
            MutationRow(
                "insertMany nested",
                """
                mutation M {
                  person_insertMany(
                    data: [{id: "<p4>", name: "Dora", people_on_mentor: [{id: "<p5>", name: "Eli"}]}, {name: "Finn"}]
                  ) { name }
                }
                """,
                data: #"{"person_insertMany":[{"name":"Dora"},{"name":"Finn"}]}"#,
                afterwards: ("SELECT name FROM person WHERE mentor_id = '<p4>'", "Eli")),
            MutationRow(
                "insert nested from a variable",
                """
                mutation M(
                  $d: Novel_Data! @allow(
                    fields: "title launched_date createdAt_time narrator tags remarks_on_novel { id stars author text \
                } novelMakers_on_novel { maker role }"
                  )
                ) { novel_insert(data: $d) }
                """,
                """
                {
                  "d": {
                    "title": "Tree",
                    "narrator": {"id": "<p3>"},
                    "launched_date": {"today": true, "sub": {"years": 1}},
                    "createdAt_time": {"at": "2024-05-05T05:05:05Z", "truncateTo": "HOUR"},
                    "remarks_on_novel": [
                      {"stars": 4, "author": {"id": "ann"}, "text": "a"},
                      {"id": "<r5>", "stars": 2}
                    ],
                    "novelMakers_on_novel": [{"maker": {"id": "<p1>"}, "role": "lead"}]
                  }
                }
                """,
                data: "{\"novel_insert\":{\"id\":\"\(fresh)\"}}",
                afterwards: (
                    """
                    SELECT concat_ws(' ', launched, created_at AT TIME ZONE 'UTC', (SELECT name FROM person
                    WHERE id = narrator_id), (SELECT string_agg(concat_ws('/', r.stars, r.author_id, r.text), ' '
                    ORDER BY r.stars) FROM remark r WHERE r.novel_id = m.id), (SELECT role FROM novel_maker x
                    WHERE x.novel_id = m.id)) FROM novel m WHERE title = 'Tree'
                    """,
                    "2023-02-28 2024-05-05 05:00:00 Cleo 2 4/ann/a lead"
                ),
                keys: [
                    "novel[\"\(fresh)\"]", "novel_maker[\"\(fresh)\",\"<p1>\"]", "remark[\"\(fresh)\"]",
                    "remark[\"<r5>\"]",
                ]),
            MutationRow(
                "nested rows from a variable of their own",
                """
                mutation M(
                  $r: [Remark_Data!] @allow(fields: "id stars text"),
                  $m: Person_Data! @allow(fields: "id name")
                ) {
                  novel_insert(data: {title: "Own", remarks_on_novel: $r}) { title }
                  person_update(id: "<p1>", data: {name: "Boss"})
                  person_insert(data: {id: "<p4>", name: "Top", people_on_mentor: [$m, {name: "Low"}]}) { name }
                }
                """,
                #"{"r": [{"id": "<r5>", "stars": 1, "text": "x"}, {"stars": 2}], "m": {"id": "<p5>", "name": "Mid"}}"#,
                data: #"{"novel_insert":{"title":"Own"},"person_update":{"id":"<p1>"},"person_insert":{"name":"Top"}}"#,
                afterwards: (
                    """
                    SELECT concat_ws(' ', (SELECT string_agg(stars::text, ',' ORDER BY stars) FROM remark r
                    JOIN novel m ON m.id = r.novel_id WHERE m.title = 'Own'), (SELECT string_agg(name, ','
                    ORDER BY name) FROM person WHERE mentor_id = '<p4>'))
                    """,
                    "1,2 Low,Mid"
                )),
            MutationRow(
                "insertMany nested from a variable",
                """
                mutation M(
                  $d: [Person_Data!]! @allow(
                    fields: "id name people_on_mentor { id name people_on_mentor { id name } }", maxCount: 5
                  )
                ) { person_insertMany(data: $d) { name } }
                """,
                """
                {
                  "d": [
                    {
                      "id": "<p4>", "name": "Dora",
                      "people_on_mentor": [{"name": "Eli", "people_on_mentor": [{"id": "<p5>", "name": "Fay"}]}]
                    },
                    {"id": "<d5>", "name": "Gus"}
                  ]
                }
                """,
                data: #"{"person_insertMany":[{"name":"Dora"},{"name":"Gus"}]}"#,
                afterwards: (
                    """
                    SELECT string_agg(a.name || '>' || b.name, ' ' ORDER BY a.name) FROM person a
                    JOIN person b ON b.mentor_id = a.id WHERE a.name IN ('Dora', 'Eli')
                    """,
                    "Dora>Eli Eli>Fay"
                )),
            MutationRow(
                "insertMany with times from a variable",
                """
                mutation M($d: [Novel_Data!]! @allow(fields: "id title launched launched_date")) {
                  novel_insertMany(data: $d) { title launched }
                }
                """,
                """
                {
                  "d": [
                    {"id": "<m5>", "title": "A", "launched_date": {"today": true}},
                    {"title": "B", "launched": "2000-01-01"}
                  ]
                }
                """,
                data:
                    """
                    {"novel_insertMany":[{"title":"A","launched":"2024-02-29"},{"title":"B","launched":"2000-01-01"}]}
                    """,
                afterwards: ("SELECT count(*)::text FROM novel", "6")),
            MutationRow(
                "upsert nested",
                """
                mutation M {
                  novel_upsert(
                    data: {
                      id: "<m1>", title: "Alpha 2",
                      remarks_on_novel: [{id: "<r1>", stars: 4}, {id: "<r4>", stars: 2}, {id: "<r5>", stars: 1}],
                      novelMakers_on_novel: [{makerId: "<p1>", role: "star"}]
                    }
                  ) { title genre }
                }
                """,
                data: #"{"novel_upsert":{"title":"Alpha 2","genre":"NOIR"}}"#,
                afterwards: (
                    """
                    SELECT string_agg(concat_ws('/', stars, text), ' ' ORDER BY stars) || (SELECT ' ' || role
                    FROM novel_maker WHERE novel_id = '<m1>' AND maker_id = '<p1>') FROM remark WHERE novel_id = '<m1>'
                    """,
                    "1 2/meh 3/fine 4/great star"
                ),
                keys: [
                    "novel[\"<m1>\"]", "remark[\"<r1>\"]", "remark[\"<r4>\"]", "remark[\"<r5>\"]",
                    "novel_maker[\"<m1>\",\"<p1>\"]",
                ]),
            MutationRow(
                "upsertMany nested from a variable",
                """
                mutation M($d: [User_Data!]! @allow(fields: "id name remarks_on_author { id stars novel }")) {
                  user_upsertMany(data: $d)
                }
                """,
                """
                {
                  "d": [
                    {
                      "id": "ann", "name": "Anna",
                      "remarks_on_author": [{"id": "<r4>", "novel": {"id": "<m4>"}, "stars": 5}]
                    },
                    {"id": "new"}
                  ]
                }
                """,
                data: #"{"user_upsertMany":[{"id":"ann"},{"id":"new"}]}"#,
                afterwards: (
                    """
                    SELECT concat_ws(' ', (SELECT name || role FROM "user" WHERE id = 'ann'), (SELECT author_id
                    || stars FROM remark WHERE id = '<r4>'))
                    """,
                    "Annaadmin ann5"
                ), keys: ["user[\"ann\"]", "remark[\"<r4>\"]", "user[\"new\"]"]),
            MutationRow(
                "update from a variable",
                """
                mutation M(
                  $d: Novel_Data! @allow(
                    fields: "title views_update tags_update launched_update createdAt_time rating_update"
                  )
                ) {
                  novel_update(id: "<m1>", data: $d) { title views launched }
                  novel_updateMany(where: {title: {eq: "Beta"}}, data: $d)
                }
                """,
                """
                {
                  "d": {
                    "title": "Late",
                    "views_update": [{"inc": "3"}],
                    "tags_update": {"add": ["new"]},
                    "launched_update": [{"dec": {"days": 1, "years": 1}}],
                    "createdAt_time": {"now": true}
                  }
                }
                """,
                data:
                    """
                    {"novel_update":{"title":"Late","views":"9007199254740996","launched":"1949-02-28"},\
                    "novel_updateMany":1}
                    """,
                afterwards: (
                    """
                    SELECT string_agg(concat_ws('/', views, tags, launched), ' ' ORDER BY views) FROM novel
                    WHERE title = 'Late' AND created_at > '2024-02-29'
                    """,
                    "23/{fun,new}/1959-07-14 9007199254740996/{dark,rain,new}/1949-02-28"
                ), keys: ["novel[\"<m1>\"]"]),
            MutationRow(
                "insertMany",
                #"mutation M($d: [User_Data!]! @allow(fields: "id name", maxCount: 3)) { user_insertMany(data: $d) }"#,
                #"{"d": [{"id": "x", "name": "X"}, {"id": "y"}]}"#,
                data: #"{"user_insertMany":[{"id":"x"},{"id":"y"}]}"#,
                afterwards: (#"SELECT count(*)::text FROM "user""#, "4"), keys: ["user[\"x\"]", "user[\"y\"]"]),
            MutationRow(
                "upsert",
                #"mutation M($n: String) { user_upsert(data: {id_expr: "auth.uid", name: $n}) { id name role } }"#,
                #"{"n": "Anna"}"#,
                auth: signedIn("ann"), data: #"{"user_upsert":{"id":"ann","name":"Anna","role":"admin"}}"#,
                afterwards: (#"SELECT name FROM "user" WHERE id = 'ann'"#, "Anna"), keys: ["user[\"ann\"]"]),
            MutationRow(
                "upsertMany",
                #"mutation M { user_upsertMany(data: [{id: "ann", role: "r"}, {id: "zoe", name: "Zoe"}]) }"#,
                data: #"{"user_upsertMany":[{"id":"ann"},{"id":"zoe"}]}"#,
                afterwards: (
                    #"SELECT string_agg(id || ':' || coalesce(role, '-'), ' ' ORDER BY id) FROM "user""#,
                    "ann:r bob:- zoe:-"
                )),
            MutationRow(
                "update with changes",
                """
                mutation M($by: Int) {
                  novel_update(
                    id: "<m1>",
                    data: {
                      printedYear_update: [{inc: $by}],
                      views_update: {dec: 3},
                      rating_update: {inc: 0.5},
                      tags_update: [{add: ["rain", "new"]}]
                    }
                  )
                }
                """,
                #"{"by": 5}"#, data: #"{"novel_update":{"id":"<m1>"}}"#,
                afterwards: (
                    "SELECT concat_ws(' ', printed_year, views, rating, tags) FROM novel WHERE id = '<m1>'",
                    "1955 9007199254740990 9 {dark,rain,new}"
                ),
                keys: ["novel[\"<m1>\"]"]),
            MutationRow(
                "update lists",
                """
                mutation M {
                  a: novel_update(id: "<m1>", data: {tags_update: {append: ["z"]}})
                  b: novel_update(id: "<m2>", data: {tags_update: {prepend: ["y"]}})
                  c: novel_update(id: "<m4>", data: {tags_update: {remove: ["dark"]}})
                }
                """,
                data: #"{"a":{"id":"<m1>"},"b":{"id":"<m2>"},"c":{"id":"<m4>"}}"#,
                afterwards: (
                    "SELECT string_agg(tags::text, ' ' ORDER BY title) FROM novel WHERE tags IS NOT NULL",
                    "{dark,rain,z} {y,fun} {fun}"
                )),
            MutationRow(
                "update times",
                """
                mutation M($d: Int) {
                  novel_update(
                    id: "<m1>",
                    data: {
                      launched_update: [{dec: {days: 1, years: $d}}],
                      createdAt_update: [{inc: {months: 1, minutes: 30, seconds: 1, milliseconds: 500}}]
                    }
                  )
                }
                """,
                #"{"d": 2}"#, data: #"{"novel_update":{"id":"<m1>"}}"#,
                afterwards: (
                    "SELECT concat_ws(' ', launched, created_at AT TIME ZONE 'UTC') FROM novel WHERE id = '<m1>'",
                    "1948-02-29 2024-03-28 12:30:01.5"
                )),
            MutationRow(
                "relative values",
                """
                mutation M {
                  novel_update(
                    id: "<m2>",
                    data: {
                      launched_date: {today: true, sub: {months: 1}},
                      createdAt_time: {now: true, truncateTo: HOUR, add: {hours: 1}}
                    }
                  )
                }
                """,
                data: #"{"novel_update":{"id":"<m2>"}}"#,
                afterwards: (
                    "SELECT concat_ws(' ', launched, created_at AT TIME ZONE 'UTC') FROM novel WHERE id = '<m2>'",
                    "2024-01-29 2024-02-29 13:00:00"
                )),
            MutationRow(
                "expressions",
                """
                mutation M($n: String!) {
                  novel_update(
                    id: "<m2>",
                    data: {
                      title_expr: "vars.n + ' of ' + auth.uid", createdAt_expr: "request.time",
                      printedYear_expr: "size(vars.n)"
                    }
                  ) { title printedYear createdAt }
                }
                """,
                #"{"n": "Song"}"#, auth: signedIn("ann"),
                data:
                    """
                    {"novel_update":{"title":"Song of ann","printedYear":4,"createdAt":"2024-02-29T12:34:56.789000Z"}}
                    """,
                afterwards: ("SELECT title FROM novel WHERE id = '<m2>'", "Song of ann")),
            MutationRow(
                "update first",
                """
                mutation M {
                  novel_update(
                    first: {where: {genre: {eq: NOIR}}, orderBy: [{printedYear: DESC}]},
                    data: {title: "First"}
                  ) { id }
                }
                """,
                data: #"{"novel_update":{"id":"<m3>"}}"#,
                afterwards: ("SELECT title FROM novel WHERE id = '<m3>'", "First"), keys: []),
            MutationRow(
                "update absent", #"mutation M { novel_update(id: "<m5>", data: {title: "x"}) }"#,
                data: #"{"novel_update":null}"#,
                afterwards: ("SELECT count(*)::text FROM novel WHERE title = 'x'", "0")),
            MutationRow(
                "updateMany with a filter variable",
                #"mutation M($f: Novel_Filter!) { novel_updateMany(where: $f, data: {isClassic: false}) }"#,
                #"{"f": {"printedYear": {"ge": 1970}}}"#, data: #"{"novel_updateMany":2}"#,
                afterwards: ("SELECT count(*)::text FROM novel WHERE NOT is_classic", "3"), keys: []),
            MutationRow(
                "an empty filter variable is no filter",
                #"mutation M($f: Novel_Filter!) { novel_deleteMany(where: $f) }"#, #"{"f": {}}"#, data: "",
                errors: [
                    """
                    : INVALID_VARIABLE no variable in the filter of "novel_deleteMany" has a value, so it would \
                    match every row
                    """
                ],
                afterwards: ("SELECT count(*)::text FROM novel", "4"), isCommitted: false),
            MutationRow(
                "delete and its rules",
                """
                mutation M {
                  novel_delete(key: {id: "<m1>"})
                  person_delete(id: "<p2>")
                  novelMaker_delete(novelId: "<m2>", makerId: "<p2>")
                }
                """,
                data: #"{"novel_delete":{"id":"<m1>"},"person_delete":{"id":"<p2>"},"novelMaker_delete":null}"#,
                afterwards: (
                    """
                    SELECT concat_ws(' ', (SELECT count(*) FROM remark), (SELECT count(*) FROM novel_maker),
                    (SELECT narrator_id FROM novel WHERE id = '<m2>'))
                    """,
                    "2 0"
                ),
                keys: ["novel[\"<m1>\"]", "person[\"<p2>\"]", "novel_maker[\"<m2>\",\"<p2>\"]"]),
            MutationRow(
                "deleteMany all", "mutation M { remark_deleteMany(all: true) }", data: #"{"remark_deleteMany":4}"#,
                afterwards: ("SELECT count(*)::text FROM remark", "0"), keys: []),
            MutationRow(
                "native",
                """
                mutation M($y: Int!) {
                  _execute(sql: "UPDATE novel SET rating = 1 WHERE printed_year = $1", params: [$y])
                  r: _executeReturning(
                    sql: "DELETE FROM remark WHERE author_id = $1 RETURNING stars",
                    params: [{_expr: "auth.uid"}]
                  )
                  f: _executeReturningFirst(sql: "SELECT count(*) AS n FROM remark")
                }
                """,
                #"{"y": 1970}"#, auth: signedIn("bob"), data: #"{"_execute":2,"r":[{"stars":3}],"f":{"n":3}}"#,
                afterwards: ("SELECT count(*)::text FROM novel WHERE rating = 1", "2"), keys: []),
            MutationRow(
                "embedded query", #"mutation M { user_insert(data: {id: "eve"}) query { users { id } } }"#,
                data: #"{"user_insert":{"id":"eve"},"query":{"users":[{"id":"ann"},{"id":"bob"},{"id":"eve"}]}}"#,
                afterwards: (#"SELECT count(*)::text FROM "user""#, "3")),
            MutationRow(
                "partial errors",
                """
                mutation M {
                  a: user_insert(data: {id: "a"})
                  b: user_insert(data: {id: "ann"})
                  c: user_insert(data: {id: "c"})
                }
                """,
                data: #"{"a":{"id":"a"},"b":null,"c":{"id":"c"}}"#,
                errors: ["b: CONSTRAINT_VIOLATION a row with the same unique values already exists"],
                afterwards: (#"SELECT count(*)::text FROM "user""#, "4"), keys: ["user[\"a\"]", "user[\"c\"]"]),
            MutationRow(
                "transaction",
                """
                mutation M @transaction {
                  a: user_insert(data: {id: "a"})
                  b: user_insert(data: {id: "ann"})
                  c: user_insert(data: {id: "c"})
                }
                """,
                data: #"{"a":null,"b":null,"c":null}"#,
                errors: [
                    "a: CONSTRAINT_VIOLATION (rolled back)",
                    "b: CONSTRAINT_VIOLATION a row with the same unique values already exists",
                    "c: CONSTRAINT_VIOLATION (aborted)",
                ], afterwards: (#"SELECT count(*)::text FROM "user""#, "2"), isCommitted: false),
        ]

        @Test(arguments: rows) func row(_ row: MutationRow) async throws { try await row.check() }

        @Test(arguments: rows) func retry(_ row: MutationRow) async throws { try await row.checkRetry() }
    }

    /// `@check`, `@redact` and `response` in mutations.
    @Suite struct Steps {
        static let guarded = #"""
            mutation M($id: UUID!) {
              query @redact { user(key: {id_expr: "auth.uid"}) @check(expr: "this != null", message: "no such user") {
                role @check(expr: "this == 'admin'", message: "only admins") } }
              novel_update(id: $id, data: {title: "Guarded"})
              user_update(id: "bob", data: {role: "seen"})
            }
            """#

        static let rows = [
            MutationRow(
                "check passes", guarded, #"{"id": "<m1>"}"#, auth: signedIn("ann"),
                data: #"{"novel_update":{"id":"<m1>"},"user_update":{"id":"bob"}}"#,
                afterwards: ("SELECT title FROM novel WHERE id = '<m1>'", "Guarded"),
                keys: ["novel[\"<m1>\"]", "user[\"bob\"]"]),
            MutationRow(
                "check fails and the rest does not run", guarded, #"{"id": "<m1>"}"#, auth: signedIn("bob"),
                data: #"{"novel_update":null,"user_update":null}"#,
                errors: [
                    "query.user.role: PERMISSION_DENIED only admins", "novel_update: PERMISSION_DENIED (aborted)",
                    "user_update: PERMISSION_DENIED (aborted)",
                ], afterwards: ("SELECT title FROM novel WHERE id = '<m1>'", "Alpha"), keys: [], isCommitted: false),
            MutationRow(
                "check of an absent row", guarded, #"{"id": "<m1>"}"#, auth: signedIn("nobody"),
                data: #"{"novel_update":null,"user_update":null}"#,
                errors: [
                    "query.user: PERMISSION_DENIED no such user", "novel_update: PERMISSION_DENIED (aborted)",
                    "user_update: PERMISSION_DENIED (aborted)",
                ], afterwards: ("SELECT count(*)::text FROM novel WHERE title = 'Guarded'", "0"), isCommitted: false),
            MutationRow(
                "earlier fields stay",
                """
                mutation M {
                  a: user_insert(data: {id: "a"})
                  b: novel_update(id: "<m5>", data: {title: "x"}) @check(message: "no novel")
                  c: user_insert(data: {id: "c"})
                }
                """,
                data: #"{"a":{"id":"a"},"b":null,"c":null}"#,
                errors: ["b: PERMISSION_DENIED no novel", "c: PERMISSION_DENIED (aborted)"],
                afterwards: (#"SELECT string_agg(id, ' ' ORDER BY id) FROM "user""#, "a ann bob"), keys: ["user[\"a\"]"]
            ),
            MutationRow(
                "check in a transaction",
                """
                mutation M @transaction {
                  a: user_insert(data: {id: "a"})
                  b: novel_update(id: "<m1>", data: {rating: 1}) { rating @check(expr: "this > 5.0") }
                  c: user_insert(data: {id: "c"})
                }
                """,
                data: #"{"a":null,"b":null,"c":null}"#,
                errors: [
                    "a: PERMISSION_DENIED (rolled back)", "b.rating: PERMISSION_DENIED permission denied",
                    "c: PERMISSION_DENIED (aborted)",
                ], afterwards: (#"SELECT string_agg(id, ' ' ORDER BY id) FROM "user""#, "ann bob"), isCommitted: false),
            MutationRow(
                "redacted fields stay hidden when they fail",
                """
                mutation M @transaction {
                  q: query @redact { _select(sql: "SELECT 1 / 0 AS n") }
                  u: user_insert(data: {id: "a"})
                }
                """,
                data: #"{"u":null}"#,
                errors: ["q: INVALID_VARIABLE a value is out of range or malformed", "u: INVALID_VARIABLE (aborted)"],
                afterwards: (#"SELECT count(*)::text FROM "user""#, "2"), isCommitted: false),
            MutationRow(
                "response of earlier fields",
                """
                mutation M {
                  novel: novel_insert(data: {title: "Linked"})
                  query { users(limit: 1) { name } }
                  r: remark_insert(
                    data: {novelId_expr: "response.novel.id", stars: 5, text_expr: "response.query.users[0].name"}
                  ) { text }
                }
                """,
                data:
                    """
                    {"novel":{"id":"f000000000004000800000000000000f"},"query":{"users":[{"name":"Ann"}]},\
                    "r":{"text":"Ann"}}
                    """,
                afterwards: (
                    "SELECT novel_id::text FROM remark WHERE text = 'Ann'", "f0000000-0000-4000-8000-00000000000f"
                ),
                keys: ["novel[\"f000000000004000800000000000000f\"]", "remark[\"f000000000004000800000000000000f\"]"]),
            MutationRow(
                "a value without response is the field's error",
                """
                mutation M {
                  a: user_insert(data: {id: "a"})
                  b: user_insert(data: {id_expr: "response.a.nothing"})
                  c: user_insert(data: {id_expr: "response.a.id + 'c'"})
                }
                """,
                data: #"{"a":{"id":"a"},"b":null,"c":{"id":"ac"}}"#,
                errors: ["b: INVALID_VARIABLE the expression 'response.a.nothing' failed (noSuchKey)"],
                afterwards: (#"SELECT string_agg(id, ' ' ORDER BY id) FROM "user""#, "a ac ann bob")),
            MutationRow(
                "check of every element and optional",
                """
                mutation M {
                  query {
                    remarks(where: {stars: {gt: 2}}) { stars @check(expr: "this >= 3") }
                    none: remarks(where: {stars: {gt: 9}}) { stars @check(expr: "false", optional: true) }
                  }
                  user_insert(data: {id: "ok"})
                }
                """,
                data:
                    #"{"query":{"remarks":[{"stars":5},{"stars":3},{"stars":3}],"none":[]},"user_insert":{"id":"ok"}}"#,
                afterwards: (#"SELECT count(*)::text FROM "user""#, "3")),
            MutationRow(
                "check without any element fails",
                """
                mutation M {
                  query { remarks(where: {stars: {gt: 9}}) { stars @check(expr: "true", message: "none") } }
                }
                """,
                data: #"{"query":null}"#, errors: ["query.remarks.stars: PERMISSION_DENIED none"],
                afterwards: ("SELECT 1::text", "1"), isCommitted: false),
            MutationRow(
                "check of the whole mutation",
                """
                mutation M @check(expr: "size(this.query.users) == 2", message: "too many") {
                  user_insert(data: {id: "z"})
                  query { users { id } }
                }
                """,
                data: "null", errors: [": PERMISSION_DENIED too many"],
                afterwards: (#"SELECT count(*)::text FROM "user""#, "2"), isCommitted: false),
        ]

        @Test(arguments: rows) func row(_ row: MutationRow) async throws { try await row.check() }

        @Test(arguments: rows) func retry(_ row: MutationRow) async throws { try await row.checkRetry() }
    }

    /// `@check` and `@redact` in queries.
    @Suite struct Policies {
        static let rows = [
            QueryRow(
                "check of the result",
                """
                query Q($r: String!) {
                  user(id: "ann") @check { name role @check(expr: "this == vars.r", message: "not yours") }
                }
                """,
                #"{"r": "admin"}"#, #"{"user":{"name":"Ann","role":"admin"}}"#),
            QueryRow(
                "check fails",
                """
                query Q($r: String!) {
                  user(id: "ann") { name role @check(expr: "this == vars.r", message: "not yours") }
                }
                """,
                #"{"r": "x"}"#, "!not yours"),
            QueryRow(
                "what stands before a failed check is shown",
                """
                query Q {
                  ann: user(id: "ann") { name }
                  bob: user(id: "bob") { name role @check(message: "no role") }
                  novel(id: "<m1>") { title }
                  __typename
                }
                """,
                """
                {"ann":{"name":"Ann"},"bob":null,"novel":null,\
                "__typename":"Query"} !bob.role: no role !novel: (aborted)
                """
            ),
            QueryRow(
                "the first failed check counts",
                """
                query Q {
                  ann: user(id: "ann") { name }
                  bob: user(id: "bob") @check(expr: "false", message: "first") { name }
                  novel(id: "<m1>") @check(expr: "false", message: "second") { title }
                }
                """,
                #"{"ann":{"name":"Ann"},"bob":null,"novel":null} !bob: first !novel: (aborted)"#),
            QueryRow(
                "a failed check before all",
                """
                query Q {
                  bob: user(id: "bob") @redact { role @check(message: "no role") }
                  ann: user(id: "ann") { name }
                }
                """,
                "!no role"),
            QueryRow(
                "a failed check among what is redacted",
                """
                query Q {
                  ann: user(id: "ann") { name }
                  bob: user(id: "bob") @redact { role @check(message: "no role") }
                  novel(id: "<m1>") { title }
                  users @redact @check { id }
                }
                """,
                #"{"ann":{"name":"Ann"},"novel":null} !bob.role: no role !novel: (aborted) !users: (aborted)"#),
            QueryRow(
                "a failed check of what may not be null",
                """
                query Q { ann: user(id: "ann") { name } users(limit: 1) { id @check(expr: "false", message: "no") } }
                """,
                "!no"),
            QueryRow(
                "a failed check before what may not be null",
                """
                query Q {
                  ann: user(id: "ann") { name }
                  bob: user(id: "bob") { role @check(message: "no") }
                  users(limit: 1) { id }
                }
                """,
                "!no"),
            QueryRow(
                "a failed check and fields that are left out",
                """
                query Q($yes: Boolean!) {
                  users(limit: 1) @include(if: $yes) { id }
                  ann: user(id: "ann") { name }
                  bob: user(id: "bob") { role @check(message: "no") }
                  rest: users(limit: 1) @include(if: $yes) { id }
                }
                """,
                #"{"yes": false}"#, #"{"ann":{"name":"Ann"},"bob":null} !bob.role: no"#),
            QueryRow(
                "check default", #"query Q { users(where: {id: {eq: "none"}}) @check { id } }"#, "!permission denied"),
            QueryRow(
                "redacted and checked",
                """
                query Q {
                  user(id: "ann") { name role @redact @check(expr: "this == 'admin'") }
                  novel(id: "<m1>") @redact { title }
                  novels(limit: 2) {
                    title
                    remarks_on_novel { stars @redact @check(expr: "this > 0", optional: true) text }
                  }
                }
                """,
                """
                {"user":{"name":"Ann"},"novels":[{"title":"Alpha","remarks_on_novel":[{"text":"great"},\
                {"text":"fine"}]},{"title":"Beta","remarks_on_novel":[{"text":null}]}]}
                """
            ),
            QueryRow(
                "check of the query",
                #"query Q @check(expr: "size(this.users) == 2 && response.users[0].id == 'ann'") { users { id } }"#,
                #"{"users":[{"id":"ann"},{"id":"bob"}]}"#),
            QueryRow(
                "a check around sees what is redacted",
                #"query Q { user(id: "ann") @check(expr: "this.role == 'admin'") { name role @redact } }"#,
                #"{"user":{"name":"Ann"}}"#),
            QueryRow(
                "a check of the query sees what is redacted",
                """
                query Q @check(expr: "this.user.role == 'admin'") {
                  user(id: "ann") @redact { role }
                  users(limit: 1) { id }
                }
                """,
                #"{"users":[{"id":"ann"}]}"#),
            QueryRow(
                "checks of fragments",
                """
                query Q {
                  user(id: "bob") {
                    ...F @check(expr: "this.name == 'Bob'")
                    ... @check(expr: "this.id == 'bob'") { id }
                  }
                }
                fragment F on User @check(expr: "this.role == null") { name role }
                """,
                #"{"user":{"name":"Bob","role":null,"id":"bob"}}"#),
            QueryRow(
                "redacted fragment",
                """
                query Q { user(id: "bob") { id ...F @redact } }
                fragment F on User { name role @check(expr: "this == null") }
                """,
                #"{"user":{"id":"bob"}}"#),
            QueryRow(
                "check reads claims", #"query Q { users(limit: 1) @check(expr: "auth.token.level > 3") { id } }"#,
                auth: signedIn("x", #"{"level": 4}"#), #"{"users":[{"id":"ann"}]}"#),
        ]

        @Test(arguments: rows) func row(_ row: QueryRow) async throws { try await row.check("policies") }

        /// The result is the same, but its time is over.
        @Test func checksOfTimeHoldAtEveryRefresh() async throws {
            let running = try #require(LanguageServer.current)
            let stored = try LanguageSchema.operation(
                """
                query Q {
                  users @check(expr: "request.time < timestamp('2024-03-01T00:00:00Z')", message: "over") { id }
                }
                """
            )
            let now = Mutex(requestMs)
            let executor = QueryExecutor(pool: running.pool, clock: ServiceClock { now.withLock { $0 } })
            let first = try await executor.run(stored, variables: JSONObject(), auth: nil)
            let item = QueryExecutor.Item(variables: JSONObject(), auth: nil, knownDigest: first.digest)
            guard case .unchanged = await executor.run(stored, items: [item])[0] else {
                Issue.record("it has not changed")
                return
            }
            now.withLock { $0 += 86_400_000 }
            guard case .failed(let error) = await executor.run(stored, items: [item])[0] else {
                Issue.record("it may no longer be shown")
                return
            }
            #expect(error.code == .permissionDenied && error.message == "over")
        }

        /// Claims that a check reads decide what is seen, so they are part of the live query.
        @Test func claimsOfChecksAreInTheKey() throws {
            let query = try LanguageSchema.operation(
                #"query Q { users @check(expr: "auth.token.level > 3 || request.auth.uid == 'x'") { id } }"#)
            #expect(query.authReads.claims == ["level"] && query.authReads.uid)
        }
    }
}
