import Catalog
import SchemaModel
import Testing

/// Each mistake, the rule that finds it, where, and the help it gives.
@Suite struct OperationErrorsTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let text: String
        /// Beginning of each diagnostic, or a part of it after `…`.
        let errors: [String]
        var testDescription: String { text }

        init(_ text: String, _ errors: String...) {
            self.text = text
            self.errors = errors
        }
    }

    static let rows = [
        Row("{ novels { id } }", "1:1 anonymous-operation"),
        Row("subscription S { novels { id } }", "1:14 no-subscriptions…write it as a query"),
        Row("query Q { novels { id } } query Q { seats { number } }", "1:33 unique-operation-name…main.gql:1:7"),
        Row("query Q { novels { id }", "1:1 syntax: query Q is not closed…a \"}\" is missing"),
        Row("query Q { novles { id } }", "1:11 unknown-field…did you mean \"novels\""),
        Row(
            "query Q { novels { titel } }",
            "1:20 unknown-field: \"Novel\" has no field \"titel\"…did you mean \"title\"?"),
        Row("query Q { novels }", "1:11 missing-selection"),
        Row("query Q { novels { title { x } } }", "1:26 unexpected-selection"),
        Row("query Q { novels(lmit: 1) { id } }", "1:18 unknown-argument…did you mean \"limit\"?"),
        Row("query Q { novels(distinct: true) { _id } }", "1:36 distinct"),
        Row("query Q { novels(having: {_count: {gt: 1}}) { id } }", "1:26 aggregate-grouping…no aggregate"),
        Row("query Q { novels(having: {title: {eq: \"x\"}}) { _count } }", "1:27 unknown-input-field: Novel_Having"),
        Row("query Q { novels(orderBy: [{_count: ASC}]) { id } }", "1:29 aggregate-grouping"),
        Row("query Q { novels(orderBy: [{title: ASC}]) { genre _count } }", "1:29 aggregate-grouping…not selected"),
        Row("query Q { novels(limit: -1) { id } }", "1:25 value-type"),
        Row("query Q { novels(limit: \"1\") { id } }", "1:25 value-type"),
        Row("query Q { novel { id } }", "1:11 row-target…give id, key or first"),
        Row("query Q { novel(id: \"x\") { id } }", "1:21 value-type: expected a UUID"),
        Row("query Q($id: UUID!) { novel(id: $id, key: {id: $id}) { id } }", "1:23 row-target"),
        Row(
            "query Q { seat(key: {hallId: \"h\"}) { taken } }",
            """
            1:21 incomplete-key…the key of Seat is hallId, number
            """),
        Row(
            "query Q($i: UUID!) { novelMaker(key: {novel: {id: $i}, novelId: $i, maker: {id: $i}}) { role } }",
            "1:38 incomplete-key: \"novelId\" is given more than once"),
        Row(
            "query Q($i: UUID!) { novelMaker(key: {novel: {}, makerId: $i}) { role } }",
            "1:46 incomplete-key: Novel_Key needs \"id\""),
        Row("query Q($i: String!) { novel(id: $i) { id } }", "1:34 variable-position: \"$i\" of type String!"),
        Row("query Q($ids: [UUID]) { novels(where: {id: {in: $ids}}) { id } }", "1:49 variable-position"),
        Row("query Q { novel(id: $id) { id } }", "1:21 undefined-variable"),
        Row(
            "query Q($genre: String) { novels(where: {title: {eq: $gerne}}) { id } }",
            "1:54 undefined-variable…did you mean \"genre\"?"),
        Row("query Q($a: Int, $a: Int) { novels(limit: $a) { id } }", "1:18 unique-variable-name"),
        Row("query Q($a: Itn) { novels { id } }", "1:13 unknown-type…did you mean"),
        Row("query Q($a: Seat_Filter) { novels(where: $a) { id } }", "1:42 variable-position"),
        Row(
            "query Q($a: [Novel_Filter!]) { novels(where: $a) { id } }",
            "1:46 variable-position: \"$a\" of type [Novel_Filter!] cannot be used where Novel_Filter"),
        Row("query Q($a: Novel_Having) { novels(having: $a) { id } }", "1:44 aggregate-grouping…no aggregate"),
        Row("query Q($a: Seat_Having) { novels(having: $a) { _count } }", "1:43 variable-position"),
        Row("query Q($a: Int_Filter) { novels(where: {title: $a}) { id } }", "1:49 variable-position"),
        Row("query Q { novels @check(message: \"a\", message: \"b\") { id } }", "1:39 unique-argument"),
        Row("query Q @auth(level: USER, level: PUBLIC) { novels { id } }", "1:28 unique-argument"),
        Row("query Q @refresh(every: {seconds: 10}, every: {seconds: 20}) { novels { id } }", "1:40 unique-argument"),
        Row(
            "mutation M($d: Novel_Data! @allow(fields: \"title\", fields: \"rating\")) { novel_insert(data: $d) }",
            "1:52 unique-argument"),
        Row(
            "query Q { novels { ...F } } fragment F on Novel @check(expr: \"true\", expr: \"false\") { id }",
            "1:70 unique-argument"),
        Row(
            "query Q { novels @skip(if: true) @skip(if: false) { id } }", "1:18 directive-arguments…once",
            "1:34 directive-arguments"),
        Row(
            """
            query Q @auth(expr: "auth.userId == 'x'") { novels { id } }
            """, "1:21 expression: there is no auth.userId"),
        Row("query Q @auth(expr: \"request.auth.tokn.x\") { novels { id } }", "1:21 expression…did you mean \"token\""),
        Row(
            """
            query Q @refresh(onMutationExecuted: {operation: "M", condition: "mutation.auth.role == 'x'"}) {
              novels { id }
            }
            mutation M { novel_deleteMany(all: true) }
            """,
            "1:66 refresh-condition: a condition cannot read mutation.auth.role"),
        Row(
            "mutation M { novel_insert(data: {title: \"x\", printedYear_expr: \"'x'\"}) }",
            "1:64 expression: the expression yields string, expected Int"),
        Row(
            "query Q { novels(where: {printedYear: {eq_expr: \"'x'\"}}) { id } }",
            "1:49 expression: the expression yields string, expected Int"),
        Row("query Q @refresh(onMutationExecuted: []) { novels { id } }", "1:38 refresh…must name a mutation"),
        Row("query Q { novels(where: {title: {in: null}}) { id } }", "1:38 value-type: in cannot compare with null"),
        Row("query Q { novels(where: {title: {contains: null}}) { id } }", "1:44 value-type: contains cannot"),
        Row("query Q { novels(where: {title: {isNull: null}}) { id } }", "1:42 value-type: isNull cannot"),
        Row("query Q { novels(where: {tags: {includes: null}}) { id } }", "1:43 value-type: includes cannot"),
        Row("query Q { novels(where: {title: {pattern: null}}) { id } }", "1:43 value-type: pattern cannot"),
        Row("query Q { novels(where: {title: {pattern: {like: null}}}) { id } }", "1:50 value-type: like cannot"),
        Row(
            "query Q { novels(where: {createdAt: {gt_time: {at: null}}}) { id } }",
            "1:52 relative-time: \"at\" cannot be null"),
        Row(
            """
            mutation M {
              novel_update(id: "00000000000040008000000000000000", data: {printedYear_update: [{inc: null}]})
            }
            """,
            "2:90 data-update: \"inc\" cannot be null"),
        Row(
            """
            mutation M { novel_update(id: "00000000000040008000000000000000", data: {launched_update: [{dec: null}]}) }
            """,
            "1:98 data-update: \"dec\" cannot be null"),
        Row("mutation M { novel_deleteMany(where: null) }", "1:38 every-row"),
        Row("mutation M { novel_delete(first: {where: {title: null}}) }", "1:42 every-row: the filter is empty"),
        Row(
            "mutation M($f: Novel_FirstRow! = {where: null}) { novel_delete(first: $f) }",
            "1:34 every-row: the default of \"$f\" has an empty filter"),
        Row(
            """
            mutation M($f: Novel_FirstRow! = {orderBy: {title: ASC}}) { novel_update(first: $f, data: {title: "x"}) }
            """,
            "1:34 every-row"),
        Row(
            "query Q { novels @check(expr: \"response.novel != null\") { id } }",
            "1:31 expression…did you mean \"novels\""),
        Row(
            "query Q { ...F } fragment F on Query { a: novels @check(expr: \"response.b != null\") { id } }",
            "1:63 expression: \"response\" has no \"b\""),
        Row(
            "query Q($a: Novel_FirstRow) { novel(first: $a) { id } }",
            "1:44 variable-position: \"$a\" of type Novel_FirstRow cannot be used where Novel_FirstRow! is expected"),
        Row("query Q($a: Seat_FirstRow!) { novel(first: $a) { id } }", "1:44 variable-position"),
        Row("query Q($a: String_Expr) { novels { id } }", "1:13 variable-type…leaves"),
        Row(
            "query Q($a: Date_Relative) { novels(where: {createdAt: {gt_time: $a}}) { id } }",
            "1:66 variable-position: \"$a\" of type Date_Relative cannot be used where Timestamp_Relative is expected"),
        Row(
            "query Q($a: Date_Duration) { novels(where: {createdAt: {gt_time: {now: true, add: $a}}}) { id } }",
            "1:83 variable-position…Timestamp_Duration"),
        Row(
            "query Q($a: String_Filter) { novels(where: {title: {pattern: $a}}) { id } }",
            "1:62 variable-position…String_Pattern"),
        Row(
            "query Q($a: Date_Relative = {today: true, truncateTo: HOUR}) { novels { id } }",
            "1:29 value-type: Date_Relative.truncateTo: expected WEEK, MONTH, YEAR"),
        Row(
            "query Q($a: String_Pattern = {like: \"a\", regex: \"b\"}) { novels { id } }", "1:30 value-type"),
        Row(
            """
            mutation M($a: [Int64_Update!]) {
              novel_update(id: "00000000000040008000000000000000", data: {printedYear_update: $a})
            }
            """,
            "2:83 variable-position…[Int_Update!]"),
        Row(
            """
            mutation M($a: [Int_Update!]) { novel_update(id: "00000000000040008000000000000000", data: \
            {title_update: $a}) }
            """,
            "1:107 data-update: \"title\" cannot be updated"),
        Row(
            "mutation M($a: [Int_Update!]) { novel_insert(data: {title: \"x\", printedYear_update: $a}) }",
            "1:65 data-update…only allowed in an update"),
        Row(
            "query Q($a: Novel_Filter = {titel: {eq: \"x\"}}) { novels(where: $a) { id } }",
            "1:29 unknown-input-field…did you mean \"title\""),
        Row(
            "query Q($a: Novel_Filter = {title: {eq_expr: \"auth.uid\"}}) { novels(where: $a) { id } }",
            "1:28 value-type: Novel_Filter.title.eq_expr: expected an operator"),
        Row("query Q { novels(having: {_distinct: 1, title_count: {gt: 1}}) { _count } }", "1:38 value-type"),
        Row(
            "query Q { makers { novels_via_NovelMaker(orderBy: [{role: ASC}]) { title _count } } }",
            "1:53 aggregate-grouping…not selected"),
        Row("query Q($a: Novel_Order) { novels(orderBy: $a) { _count } }", "1:44 aggregate-grouping"),
        Row("query Q($a: Seat_Order) { novels(orderBy: [$a]) { id } }", "1:44 variable-position"),
        Row(
            "query Q { novels(where: {createdAt: {gt_time: {sub: {days: 1}}}}) { id } }",
            "1:47 relative-time: Timestamp_Relative needs exactly one of \"now\" and \"at\""),
        Row("query Q { novels(where: {createdAt: {gt_time: {now: false}}}) { id } }", "1:53 relative-time"),
        Row(
            "query Q { novels(where: {launched: {gt_date: {today: true, truncateTo: HOUR}}}) { id } }",
            "1:72 relative-time: expected one of WEEK, MONTH, YEAR"),
        Row(
            "query Q { novels(where: {launched: {gt_date: {today: true, add: {hours: 1}}}}) { id } }",
            "1:66 unknown-input-field: Date_Duration"),
        Row("query Q { novels(where: {title: {gt_time: {now: true}}}) { id } }", "1:34 unknown-input-field"),
        Row("query Q($a: Novel) { novels { id } }", "1:13 variable-type…Novel_Key or Novel_Data"),
        Row("query Q($a: [[Int]]) { novels { id } }", "1:13 variable-type: lists of lists"),
        Row("query Q($a: Int = \"x\") { novels(limit: $a) { id } }", "1:19 value-type"),
        Row("query Q { novels(where: {genre: {eq: NOIRE}}) { id } }", "1:38 value-type…did you mean \"NOIR\"?"),
        Row("query Q { novels(where: {genre: {eq: \"NOIR\"}}) { id } }", "1:38 value-type…without quotes"),
        Row(
            "query Q { novels(where: {title: {eqq: \"x\"}}) { id } }",
            "1:34 unknown-input-field…it has isNull, in, nin, eq, "),
        Row("query Q { novels(where: {id: {gt: \"x\"}}) { id } }", "1:31 unknown-input-field: UUID_Filter"),
        Row("query Q { novels(where: {title: {gt: null}}) { id } }", "1:38 value-type: gt cannot compare"),
        Row(
            "query Q { novels(where: {title: {eq: \"a\\u0000\"}}) { id } }",
            "1:38 value-type: expected a string without"),
        Row("query Q { novels(orderBy: [{titel: ASC}]) { id } }", "1:29 unknown-input-field"),
        Row("query Q { novels(orderBy: [{title: UP}]) { id } }", "1:36 value-type: expected ASC or DESC"),
        Row("query Q { a: novels { id } a: seats { number } }", "1:28 overlapping-fields"),
        Row("query Q { novels(limit: 1) { id } novels(limit: 2) { id } }", "1:35 overlapping-fields"),
        Row("query Q { novels { id ...F } }", "1:26 unknown-fragment"),
        Row("query Q { novels { ...F } } fragment F on Seat { number }", "1:20 fragment-type"),
        Row("query Q { novels { ...F } } fragment F on Film { number }", "1:20 unknown-type", "1:43 unknown-type"),
        Row(
            "query Q { novels { ...A } } fragment A on Novel { ...B } fragment B on Novel { id ...A }",
            "1:83 fragment-cycle: fragment \"A\" includes itself: A → B → A"),
        Row("query Q { novels { id @skip } }", "1:23 directive-arguments"),
        Row("query Q($a: Boolean) { novels { id @skip(if: $a) } }", "1:46 variable-position"),
        Row("query Q { novels { id @redact(if: true) } }", "1:23 redact"),
        Row("query Q { novels { id } ... { novels { id @redact } } }", "1:40 overlapping-fields…give one"),
        Row("query Q @redact { novels { id } }", "1:9 unknown-directive: @redact belongs on a field"),
        Row("query Q @check(expr: \"1\") { novels { id } }", "1:23 expression"),
        Row("query Q { novels { id @check(exp: \"true\") } }", "1:30 unknown-argument…did you mean \"expr\"?"),
        Row("query Q { novels { id @check(message: 5) } }", "1:39 check"),
        Row("query Q @auth(expr: \"this == 1\") { novels { id } }", "1:21 expression: \"this\""),
        Row("query Q @auth(expr: \"response.x == 1\") { novels { id } }", "1:21 expression: \"response\""),
        Row("query Q { user(id_expr: \"response.x\") { id } }", "1:25 expression: \"response\""),
        Row(
            "mutation M { a: user_insert(data: {id_expr: \"response.b.id\"}) b: user_insert(data: {id: \"x\"}) }",
            "1:45 expression: \"response\" has no \"b\" here"),
        Row(
            "mutation M { one: user_insert(data: {id: \"x\"}) b: user_insert(data: {id_expr: \"response.onne.id\"}) }",
            "1:79 expression: \"response\" has no \"onne\" here…did you mean \"one\"?"),
        Row("query Q { novels { id @deprecated } }", "1:23 unknown-directive: @deprecated is not supported here"),
        Row("query Q @atuh(level: PUBLIC) { novels { id } }", "1:9 unknown-directive…did you mean \"auth\"?"),
        Row("query Q @transaction { novels { id } }", "1:9 transaction"),
        Row("query Q { novels { _count remarks_on_novel { id } } }", "1:27 aggregate-grouping"),
        Row("query Q($id: UUID!) { novel(id: $id) { _count } }", "1:40 aggregate-place"),
        Row("query Q { novels { title_sum } }", "1:20 aggregate-type"),
        Row("query Q { novels_search(query: \"x\") { id } }", "1:11 unknown-field…@searchable"),
        Row("query Q { novels_title_similarity(compare: [1]) { id } }", "1:11 unknown-field…Vector"),
        Row(
            "query Q { novel(id_expr: \"uuidV4()\") { id } }",
            """
            1:26 expression: uuidV4() is only allowed in mutations
            """),
        Row(
            "query Q($n: Int) { user(key: {id_expr: \"vars.m\"}) { id } users(limit: $n) { id } }",
            "1:40 undefined-variable"),
        Row("query Q { user(key: {id_expr: \"auth.\"}) { id } }", "1:37 expression"),
        Row(
            "query Q($e: String!) { user(key: {id_expr: $e}) { id } }",
            "1:44 expression: an expression must be a literal, not a variable"),
        Row("query Q { user(key: {id_expr: \"request.headers.uid\"}) { id } }", "1:31 expression…it can read auth"),
        Row(
            "query Q { _select(sql: \"DELETE FROM novel\") }",
            "1:24 native-sql: the SQL must begin with SELECT, TABLE, WITH"),
        Row("query Q { _select(sql: \"SELECT 1 -- x\") }", "1:24 native-sql: the SQL must not contain -- comments"),
        Row("query Q { _select(sql: \"SELECT 1; SELECT 2\") }", "1:24 native-sql: the SQL must be a single"),
        Row("query Q { _select(sql: \"SELECT 1) x\") }", "1:24 native-sql: the SQL has an unmatched"),
        Row("query Q { _select(sql: \"SELECT $2\", params: [1]) }", "1:24 native-sql: the SQL uses $2"),
        Row("query Q($s: String!) { _select(sql: $s) }", "1:37 native-sql: the SQL must be a string literal"),
        Row(
            "mutation M { novel_insert(data: {titel: \"x\", title: \"y\"}) }",
            "1:34 unknown-input-field…did you mean \"title\""),
        Row("mutation M { novel_insert(data: {title: null}) }", "1:41 value-type: \"title\" cannot be null"),
        Row("mutation M { novel_insert }", "1:14 missing-argument"),
        Row("mutation M { novel_insrt(data: {title: \"x\"}) }", "1:14 unknown-field…did you mean \"novel_insert\""),
        Row("mutation M { novel_insert(data: {title: \"t\", printedYear_update: [{inc: 1}]}) }", "1:46 data-update"),
        Row("mutation M { token_upsert(data: {id_update: {inc: 1}}) }", "1:34 data-update…selects the row"),
        Row(
            "mutation M { novel_upsert(data: {launched_update: {inc: {days: 1}}, title: \"t\"}) }",
            "1:34 data-update: \"launched_update\" needs a default"),
        Row(
            "mutation M($d: Novel_Data! @allow(fields: \"launched_update\")) { novel_upsert(data: $d) }",
            "1:84 data-update: \"launched_update\" needs a default"),
        Row("mutation M { novel_deleteMany }", "1:14 every-row…all: true"),
        Row("mutation M { novel_deleteMany(where: {}) }", "1:38 every-row: the filter is empty"),
        Row("mutation M { novel_deleteMany(where: {title: {eq: \"x\"}}, all: true) }", "1:14 every-row"),
        Row("mutation M { novel_deleteMany(all: false) }", "1:36 every-row"),
        Row("mutation M($d: Novel_Data) { novel_insert(data: $d) }", "1:49 variable-position"),
        Row("mutation M($d: Seat_Data!) { novel_insert(data: $d) }", "1:49 variable-position"),
        Row(
            "mutation M($d: Novel_Data! @allow(fields: \"titel\")) { novel_insert(data: $d) }",
            "1:43 allow…did you mean \"title\""),
        Row("mutation M($d: String! @allow(fields: \"title\")) { novel_insert(data: {title: $d}) }", "1:24 allow"),
        Row(
            "mutation M { novel_insert(data: {title: \"x\"}) @check(expr: \"this.\") }", "1:66 expression"),
        Row(
            "mutation M { novel_update(id: \"\(CatalogHarness.uuidA)\", data: {remarks_on_novel: [{stars: 1}]}) }",
            "1:74 nested-data: \"remarks_on_novel\": nested rows are only allowed in an insert or upsert"),
        Row(
            "mutation M { novel_insert(data: {title: \"x\", remarks_on_novel: [{novel: {id_expr: \"uuidV4()\"}}]}) }",
            "1:65 nested-data: \"novelId\" of a nested row"),
        Row(
            """
            mutation M($r: [Remark_Data!]! @allow(fields: "stars novel")) {
              novel_insert(data: {title: "x", remarks_on_novel: $r})
            }
            """,
            "2:53 nested-data: \"novel\" of a nested row"),
        Row(
            """
            mutation M($r: [Seat_Data!]! @allow(fields: "number")) {
              novel_insert(data: {title: "x", remarks_on_novel: $r})
            }
            """,
            "2:53 variable-position"),
        Row(
            "mutation M { novel_insert(data: {title: \"x\", novelPrinting_on_novel: [{}, {}]}) }",
            "1:46 nested-data…one-to-one"),
        Row(
            "mutation M($d: Novel_Data! @allow(fields: \"title remarks_on_novel\")) { novel_insert(data: $d) }",
            "1:43 allow…name their fields"),
        Row(
            """
            mutation M($d: Novel_Data! @allow(fields: "title remarks_on_novel { stars novelId }")) { \
            novel_insert(data: $d) }
            """,
            "1:43 allow: @allow cannot name \"novelId\"…from the enclosing row"),
        Row(
            "mutation M($d: Novel_Data! @allow(fields: \"remarks_on_novel { stars\")) { novel_insert(data: $d) }",
            "1:43 allow: the \"{\" after \"remarks_on_novel\" is not closed"),
        Row(
            "mutation M($d: Novel_Data! @allow(fields: \"title }\")) { novel_insert(data: $d) }",
            "1:43 allow: unmatched \"}\""),
        Row(
            "mutation M($d: Novel_Data! @allow(fields: \"title { genre }\")) { novel_insert(data: $d) }",
            "1:43 allow: \"{\" must follow", "1:43 allow: unmatched \"}\""),
        Row(
            "mutation M($d: Novel_Data! @allow(fields: \"title_expr\")) { novel_insert(data: $d) }",
            "1:43 allow…expressions must be literals"),
        Row(
            "mutation M($d: Novel_Data! @allow(fields: \"rating_update\")) { novel_insert(data: $d) }",
            "1:82 data-update: \"$d\" may contain \"rating_update\""),
        Row(
            """
            mutation M($d: Novel_Data! @allow(fields: "remarks_on_novel { stars }")) { novel_updateMany(all: true, \
            data: $d) }
            """,
            "1:110 nested-data: \"$d\" may contain \"remarks_on_novel\""),
        Row(
            """
            mutation M($d: [Novel_Data!]! @allow(fields: "launched_date", maxCount: 101)) { novel_insertMany(data: \
            $d) }
            """,
            "1:73 allow: \"maxCount\" may be at most 100 with nested rows"),
        Row(
            """
            mutation M { novel_update(id: "\(CatalogHarness.uuidA)", data: {launched_update: [{inc: {hours: 1}}]}) }
            """,
            "1:99 unknown-input-field: Date_Duration"),
        Row("mutation M @allow { novel_deleteMany(all: true) }", "1:12 unknown-directive: @allow belongs"),
        Row("mutation M { novel_insert(data: {title: \"x\"}) { titel } }", "1:49 unknown-field…did you mean \"title\""),
        Row("type X { a: Int } query Q { novels { id } }", "1:1 executable-definitions"),
    ]

    @Test(arguments: rows) func mistakesHavePositionsAndMessages(_ row: Row) {
        let errors = CatalogHarness.errors(row.text)
        #expect(errors.count == row.errors.count, "\(errors)")
        for (found, expected) in zip(errors, row.errors) {
            let parts = expected.split(separator: "…", maxSplits: 1)
            #expect(found.hasPrefix(parts[0]), "found \(found)")
            if parts.count > 1 { #expect(found.contains(parts[1]), "found \(found)") }
        }
    }

    @Test func allProblemsAreCollected() {
        let errors = CatalogHarness.errors(
            """
            query A($x: Itn) @auth(level: PUBLC) { novles { id } novels(limit: "a") { titel } }
            mutation B { novel_insert(data: {title: null}) { nope } }
            """)
        #expect(errors.count == 7, "\(errors)")
    }

    @Test func responseKeysFitPostgres() {
        let long = String(repeating: "a", count: 64)
        #expect(CatalogHarness.errors("query Q { \(long): novels { id } }").first?.contains("name-too-long") == true)
        #expect(CatalogHarness.errors("query Q { \(long.dropLast()): novels { id } }").isEmpty)
    }

    @Test func fragmentsCannotMultiplyWithoutBound() {
        var text = "query Q { novels { ...F0 } } fragment F20 on Novel { title }"
        for level in 0..<20 {
            let inner = "remarks_on_novel { novel { ...F\(level + 1) } }"
            text += " fragment F\(level) on Novel { a: \(inner) b: \(inner) }"
        }
        #expect(CatalogHarness.errors(text).contains { $0.contains("operation-too-large") })
    }

    /// An operation's errors that follow from the schema's own problems are not repeated; all others are reported.
    @Test func aRefusedFieldOrTypeIsReportedOnce() {
        let operations = """
            query Q($t: String) { novels(where: {title: {eq: $t}}, orderBy: [{title: ASC}]) { title ...F rating } }
            mutation M($t: String!) { novel_insert(data: {title: $t}) }
            query P($k: Gone_Key!, $u: Int) { gone(key: $k) { id } gones { id } novels { gones_on_novel { id } } }
            fragment F on Novel { title remarks { x } }
            """
        let schema = """
            type Novel @table @index(fields: ["title"]) { title: Strin! rating: Int }
            type Gone { id: UUID! novel: Novel! }
            """
        let found = CatalogHarness.errors(operations, schema: schema).map { error in
            error.split(separator: " ").prefix(2).joined(separator: " ")
        }
        #expect(found == ["4:29 unknown-field:", "1:54 unknown-type:", "2:6 missing-table:"])
    }

    @Test(arguments: ["", " \n,\t\r\n", "# nothing yet", "\u{FEFF}# one\n\n  # two\r# three\n"])
    func filesOfCommentsOnlyArePassedOver(_ text: String) throws {
        func catalog(_ texts: [String]) throws -> Catalog {
            let files = texts.enumerated().map { SourceFile(path: "\($0.offset).gql", text: $0.element) }
            return try Catalog.compile(
                Project(
                    serviceID: "test",
                    schemaFiles: [SourceFile(path: "schema.gql", text: CatalogHarness.schema)] + files.prefix(1),
                    connectors: [ConnectorSource(id: "main", files: files)]))
        }
        let beside = try catalog([text, "query Q @auth(level: USER) { novel(id: \"\(CatalogHarness.uuidA)\") { id } }"])
        #expect(beside.connectors["main"]?.operations.keys.sorted() == ["Q"])
        #expect(beside.warnings.isEmpty)
        let alone = try catalog([text])
        #expect(alone.connectors["main"]?.operations.isEmpty == true)
        #expect(alone.warnings.map { "\($0.severity) \($0.rule) \($0.file)" } == ["warning no-operations 0.gql"])
    }

    @Test func doubtsAreWarnings() throws {
        #expect(
            try CatalogHarness.warnings("query Q($a: Int) { novels { id } } fragment F on Novel { id }").map {
                $0.split(separator: " ")[1]
            } == ["unused-variable:", "unused-fragment:"])
        #expect(
            try CatalogHarness.warnings("query Q($a: String) { users(where: {id: {eq_expr: \"vars.a\"}}) { id } }")
                .isEmpty)
        #expect(
            try CatalogHarness.warnings("mutation M($t: String = \"x\") { novel_insert(data: {title: $t}) }").allSatisfy
            {
                !$0.contains("missing-data")
            })
        let allow = try CatalogHarness.warnings("mutation M($d: Novel_Data!) { novel_upsert(data: $d) }")
        #expect(allow.count == 1 && allow[0].contains("allow"))
    }
}
