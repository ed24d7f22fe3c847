import Catalog
import JSON
import LiveModel
import QuerySQL
import Testing

/// Variables that hold whole filters and orders: one statement for each form of their value.
@Suite struct DynamicSQLTests {
    private let text = "query Q($f: Novel_Filter, $o: [Novel_Order!]) { novels(where: $f, orderBy: $o) { id } }"

    @Test func formsShareStatements() throws {
        let operation = try CatalogHarness.operation(text)
        let first = try operation.query(#"{"f": {"title": {"eq": "a"}}}"#)
        let second = try operation.query(#"{"f": {"title": {"eq": "b"}}}"#)
        #expect(first.statement == second.statement)
        #expect(first.parameters == ["a"] && second.parameters == ["b"])
        #expect(first.statement.single.contains(#"WHERE t1."title" = $1::text ORDER BY t1."id""#))
        let other = try operation.query(#"{"f": {"title": {"ne": "b"}}, "o": [{"title": "DESC"}]}"#)
        #expect(other.statement != first.statement)
        #expect(other.statement.single.contains(#"WHERE t1."title" <> $1::text ORDER BY t1."title" DESC, t1."id""#))
        let lists = try operation.query(#"{"f": {"printedYear": {"in": [1, 2]}}}"#)
        #expect(try lists.statement == operation.query(#"{"f": {"printedYear": {"in": [3]}}}"#).statement)
        #expect(lists.parameters == [#"{"1","2"}"#])
    }

    /// Patterns and rows to take: what is asked decides the text, what it is compared with does not. Times, durations
    /// and their amounts are parameters.
    @Test func formsOfPartsShareStatements() throws {
        let patterns = try CatalogHarness.operation(
            "query Q($p: String_Pattern) { novels(where: {title: {pattern: $p}}) { id } }")
        let like = try patterns.query(#"{"p": {"like": "a%"}}"#)
        #expect(like.parameters == ["a%"] && like.statement.single.contains(#"t1."title" LIKE $1::text"#))
        #expect(try patterns.query(#"{"p": {"like": "b"}}"#).statement == like.statement)
        let regex = try patterns.query(#"{"p": {"regex": "b", "invert": true, "ignoreCase": true}}"#)
        #expect(regex.statement.single.contains(#"NOT t1."title" ~* $1::text"#))
        #expect(try !patterns.query(#"{"p": null}"#).statement.single.contains("WHERE t1"))

        let rows = try CatalogHarness.operation("query Q($f: Novel_FirstRow!) { novel(first: $f) { id } }")
        let first = try rows.query(#"{"f": {"where": {"title": {"eq": "a"}}, "orderBy": [{"title": "DESC"}]}}"#)
        let second = try rows.query(#"{"f": {"where": {"title": {"eq": "b"}}, "orderBy": {"title": "DESC"}}}"#)
        #expect(first.statement == second.statement && first.parameters == ["a"])
        #expect(try rows.query(#"{"f": {"orderBy": {"title": "DESC"}}}"#).statement != first.statement)
        #expect(rows.lookups.isEmpty)

        let times = try CatalogHarness.operation(
            """
            query Q($t: Timestamp_Relative!, $d: Timestamp_Duration) {
              novels(where: {createdAt: {gt_time: $t, lt_time: {now: true, add: $d}}}) { id }
            }
            """
        )
        let one = try times.query(#"{"t": {"now": true}}"#)
        let other = try times.query(#"{"t": {"at": "2024-02-28T12:00:00Z", "truncateTo": "DAY"}, "d": {"days": 1}}"#)
        #expect(one.statement == other.statement)
        #expect(other.parameters.first == "2024-02-28T00:00:00.000000Z")

        let updates = try CatalogHarness.operation(
            """
            mutation M($id: UUID!, $u: [Int_Update!], $d: Date_Duration) {
              novel_update(id: $id, data: {printedYear_update: $u, launched_update: [{inc: $d}]})
            }
            """
        )
        func sql(_ rest: String) throws -> String {
            let id = "00000000000040008000000000000000"
            return try #require(updates.mutation("{\"id\": \"\(id)\"\(rest)}").steps.first).sql
        }
        #expect(try sql(#", "u": [{"inc": 1}]"#) == sql(#", "u": [{"inc": 2}], "d": {"years": 2}"#))
        #expect(try sql(#", "u": [{"dec": 1}]"#).contains(#""printed_year" = t1."printed_year" - $"#))
        #expect(try sql(#", "u": []"#) == sql(""))
        #expect(try !sql("").contains("printed_year"))
        #expect(updates.tablesWrittenByKey == ["novel"])
    }

    /// Rows of the same form have one statement; the number of nested rows and what they bring are the form.
    @Test func formsOfRowsShareStatements() throws {
        let operation = try CatalogHarness.operation(
            """
            mutation M($d: Novel_Data! @allow(fields: "title printedYear remarks_on_novel { stars }")) {
              novel_insert(data: $d)
            }
            """
        )
        func step(_ data: String) throws -> MutationStep {
            try #require(try operation.mutation("{\"d\": \(data)}").steps.first)
        }
        let first = try step(#"{"title": "a", "remarks_on_novel": [{"stars": 1}, {"stars": 2}]}"#)
        let second = try step(#"{"title": "b", "remarks_on_novel": [{"stars": 3}, {"stars": null}]}"#)
        #expect(first.statement === second.statement)
        #expect(first.parameters != second.parameters)
        let third = try step(#"{"title": "c", "remarks_on_novel": [{"stars": 1}]}"#)
        #expect(third.statement !== first.statement)
        #expect(try step(#"{"title": "c"}"#).sql.contains("VALUES"))
        #expect(operation.tablesWrittenByKey == ["novel", "remark"])
        #expect(first.keysWritten.map(\.table) == ["novel", "remark", "remark"])
        #expect(Set(first.keysWritten).count == 3)
    }

    /// Keys are unique whatever the tables, and however many columns these have.
    @Test func everyRowHasItsOwnGeneratedKey() throws {
        let operation = try CatalogHarness.operation(
            """
            mutation M(
              $d: [Novel_Data!]! @allow(fields: "title remarks_on_novel { stars } novelPrinting_on_novel { binder }")
            ) { novel_insertMany(data: $d) }
            """
        )
        let row = #"{"title": "a", "remarks_on_novel": [{}, {}, {}], "novelPrinting_on_novel": [{}]}"#
        let rows = Array(repeating: row, count: 20).joined(separator: ",")
        let step = try #require(try operation.mutation("{\"d\": [\(rows)]}").steps.first)
        #expect(step.keysWritten.count == 100)
        #expect(Set(step.keysWritten.map(\.values)).count == 100)
    }

    @Test(arguments: [
        (
            #"{"title": "a", "remarks_on_novel": [{"novelId": "x"}]}"#,
            ".remarks_on_novel[0]\": Remark_Data has no field"
        ),
        (#"{"title": "a", "remarks_on_novel": [null]}"#, ".remarks_on_novel[0]\" is null: a value is required"),
        (#"{"title": "a", "launched": "2024-01-01", "launched_date": {"today": true}}"#, "sets the same column"),
        (#"{"launched_date": {"today": true, "on": "2024-01-01"}}"#, ".launched_date\": expected either today or on"),
        (#"{"novelPrinting_on_novel": [{}, {}]}"#, ".novelPrinting_on_novel\": expected at most 1"),
        (#"{"remarks_on_novel": [\#(Array(repeating: "{}", count: 100).joined(separator: ","))]}"#, "at most 100 rows"),
    ])
    func rowsBeyondTheirAllowlistAreRefused(_ data: String, _ part: String) throws {
        let operation = try CatalogHarness.operation(
            """
            mutation M(
              $d: Novel_Data! @allow(
                fields: "title, launched launched_date remarks_on_novel { stars } novelPrinting_on_novel { binder }"
              )
            ) { novel_insert(data: $d) }
            """
        )
        let error = try #require(throws: RequestError.self) {
            try operation.coerce(try CatalogHarness.object("{\"d\": \(data)}"))
        }
        #expect(error.code == .invalidVariable && error.message.contains(part), "\(error.message)")
    }

    private static let events = """
        type Event @table {
          id: String!
          event_date: Date
          x_date: Date
          n_update: Any
          based_on_x: Any
          tags_update: [String!]
        }
        type Ticket @table { id: String! event: Event seat: String }
        """

    /// Names that look like fields made from another column, or like nested rows, mean the columns of these names.
    @Test func columnsNamedLikeGeneratedFieldsAreColumns() throws {
        let insert = try CatalogHarness.operation(
            """
            mutation M(
              $d: Event_Data! @allow(
                fields: "id event_date x_date n_update based_on_x tags_update event_date_date tickets_on_event { id }"
              )
            ) { event_insert(data: $d) { id } }
            """,
            schema: Self.events)
        func step(_ data: String) throws -> MutationStep {
            try #require(try insert.mutation("{\"d\": \(data)}").steps.first)
        }
        let first = try step(
            #"{"id": "a", "event_date": "2026-01-01", "x_date": "2026-01-02", "n_update": [{"inc": 1}]}"#)
        #expect(first.sql.contains(#"("id", "event_date", "x_date", "n_update") VALUES"#), "\(first.sql)")
        #expect(first.parameters.prefix(3) == ["a", "2026-01-01", "2026-01-02"])
        let other = try step(#"{"id": "a", "event_date_date": {"on": "2026-01-01", "add": {"days": 1}}}"#)
        #expect(other.sql.contains(#"("id", "event_date") VALUES"#) && other.parameters == ["a", "2026-01-02"])
        // The value of such a column is a parameter, whatever its form.
        let plain = try step(#"{"id": "a", "based_on_x": {"y": 1}, "tags_update": ["a"]}"#)
        let longer = try step(#"{"id": "a", "based_on_x": [{"y": 1, "z": [{}]}, {}], "tags_update": ["b", "c"]}"#)
        #expect(plain.statement === longer.statement)
        let objects = Array(repeating: "{}", count: 200).joined(separator: ",")
        #expect(
            try step(#"{"id": "a", "based_on_x": [\#(objects)], "tags_update": ["b"]}"#).statement === plain.statement)
        #expect(throws: RequestError.self) { try step(#"{"id": "a", "event": "e"}"#) }
        #expect(
            CatalogHarness.errors(
                "mutation M($d: Event_Data! @allow(fields: \"id event_expr\")) { event_insert(data: $d) { id } }",
                schema: Self.events
            ).contains { $0.contains("event_expr") })
    }

    /// The rows of all variables of one statement, and of every list as its directive says.
    @Test func rowsAreBoundedTogether() throws {
        let operation = try CatalogHarness.operation(
            """
            mutation M($a: [Remark_Data!] @allow(fields: "stars")) {
              novel_insertMany(data: [{title: "x", remarks_on_novel: $a}, {title: "y", remarks_on_novel: $a}]) { id }
            }
            """
        )
        func run(_ count: Int) throws -> MutationCall {
            let rows = Array(repeating: "{}", count: count).joined(separator: ",")
            return try operation.mutation("{\"a\": [\(rows)]}")
        }
        #expect(try run(49).steps[0].keysWritten.count == 100)
        let error = try #require(throws: RequestError.self) { try run(50) }
        #expect(error.code == .invalidVariable && error.message.contains("at most 100 rows"), "\(error.message)")

        let deep = try CatalogHarness.operation(
            """
            mutation M($d: A_Data! @allow(fields: "id bs_on_a { id cs_on_b { id } }", maxCount: 2)) {
              a_insert(data: $d) { id }
            }
            """,
            schema:
                "type A @table { id: String! } type B @table { id: String! a: A } type C @table { id: String! b: B }")
        func coerce(_ count: Int) throws {
            let rows = (0..<count).map { "{\"id\": \"\($0)\"}" }.joined(separator: ",")
            _ = try deep.coerce(
                try CatalogHarness.object(#"{"d": {"id": "a", "bs_on_a": [{"id": "b", "cs_on_b": [\#(rows)]}]}}"#))
        }
        try coerce(2)
        let tooMany = try #require(throws: RequestError.self) { try coerce(3) }
        #expect(tooMany.message.contains("cs_on_b\": expected at most 2"), "\(tooMany.message)")
    }

    /// A count without a test asks for some row.
    @Test func countsWithoutATestAskForSomeRow() throws {
        let operation = try CatalogHarness.operation(
            "query Q($n: Int) { novels(where: {remarks_on_novel: {exist: {stars: {ge: 3}}, count: {ge: $n}}}) { id } }")
        let some = try operation.query().statement.single
        #expect(some.contains(#"WHERE EXISTS (SELECT 1 FROM "remark" t2 WHERE"#), "\(some)")
        #expect(try operation.query(#"{"n": 2}"#).statement.single.contains("WHERE (SELECT count(*) FROM"))
        for count in ["{}", "null", #"{"ge": null}"#] {
            let filter = "{\"f\": {\"remarks_on_novel\": {\"count\": \(count)}}}"
            let call = try CatalogHarness.operation(text).query(filter)
            #expect(call.statement.single.contains(#"WHERE EXISTS (SELECT 1 FROM "remark" t2"#), "\(count)")
        }
    }

    @Test func variablesOfOneFormShareABatch() throws {
        let operation = try CatalogHarness.operation(text)
        let sent = [#"{"f": {"title": {"eq": "a"}}}"#, "{}", #"{"f": {"title": {"eq": "b"}}}"#]
        let variables = try sent.map { try operation.coerce(try CatalogHarness.object($0)) }
        let (batches, failures) = try operation.queryBatches(count: 3, nowMs: 0) { (variables[$0], nil) }
        #expect(failures.isEmpty)
        #expect(batches.map(\.members) == [[0, 2], [1]])
        #expect(batches[0].columns == [["a", "b"]])
    }

    @Test func formsAreBounded() throws {
        let operation = try CatalogHarness.operation(text)
        func statement(_ count: Int) throws -> QueryStatement {
            let tests = Array(repeating: #"{"printedYear": {"eq": 1}}"#, count: count).joined(separator: ",")
            return try operation.query(#"{"f": {"_or": [\#(tests)]}}"#).statement
        }
        let first = try statement(1)
        for count in 2...64 { _ = try statement(count) }
        #expect(try statement(1) == first)
        _ = try statement(65)
        #expect(try statement(1) != first, "the cache was emptied")
    }

    @Test(arguments: [
        (#"{"f": {"titel": {"eq": "a"}}}"#, ".titel"), (#"{"f": {"title": {"eqq": "a"}}}"#, ".title.eqq"),
        (#"{"f": {"title": {"eq_expr": "auth.uid"}}}"#, ".title.eq_expr"),
        (#"{"f": {"createdAt": {"gt_time": {"now": false}}}}"#, ".createdAt.gt_time.now\": expected true"),
        (
            #"{"f": {"createdAt": {"gt_time": {"add": {"days": 1}}}}}"#,
            ".createdAt.gt_time\": expected either now or at"
        ),
        (#"{"f": {"createdAt": {"gt_time": {"now": true, "add": {"day": 1}}}}}"#, ".gt_time.add.day"),
        (#"{"f": {"launched": {"gt_date": {"today": true, "truncateTo": "HOUR"}}}}"#, "expected WEEK, MONTH, YEAR"),
        (#"{"f": {"remarks_on_novel": {"count": {"gt": "a"}}}}"#, ".remarks_on_novel.count.gt"),
        (#"{"f": {"printedYear": {"eq": "a"}}}"#, ".printedYear.eq\": expected a 32-bit integer"),
        (#"{"f": {"printedYear": {"in": [null]}}}"#, ".printedYear.in"),
        (#"{"f": {"title": {"pattern": {"like": "a", "regex": "b"}}}}"#, ".title.pattern"),
        (#"{"f": {"remarks_on_novel": {"some": {}}}}"#, ".remarks_on_novel.some"),
        (#"{"f": []}"#, "an object of type Novel_Filter"),
        (#"{"o": [{"title": "UP"}]}"#, "[0].title\": expected ASC or DESC"),
        (#"{"o": [{"_count": "ASC"}]}"#, "._count"), (#"{"o": [null]}"#, "[0]"),
        (#"{"o": [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}]}"#, "at most 16"),
        (
            """
            {
              "f": {
                "_not": {"_not": {"_not": {"_not": {"_not": {"_not": {"_not": {"_not": {"_not": {"_not": {}}}}}}}}}}
              }
            }
            """,
            "8 levels"
        ),
    ])
    func unknownFieldsAndOperatorsAreRefused(_ variables: String, _ part: String) throws {
        let operation = try CatalogHarness.operation(text)
        let error = try #require(throws: RequestError.self) {
            try operation.coerce(try CatalogHarness.object(variables))
        }
        #expect(error.code == .invalidVariable && error.message.contains(part), "\(error.message)")
    }

    /// A field of data that looks like an order does not change the form by its words.
    @Test func canonicalValuesAreBound() throws {
        let operation = try CatalogHarness.operation("query Q($f: Novel_Filter!) { novels(where: $f) { id } }")
        let call = try operation.query(#"{"f": {"id": {"eq": "{6F1C2D3E-0000-4000-8000-00000000000A}"}}}"#)
        #expect(call.parameters == [CatalogHarness.uuidA])
    }
}
