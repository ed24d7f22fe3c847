import Catalog
import JSON
import LiveModel
import QuerySQL
import SchemaModel
import Testing

/// The exact text of the main forms. Each was run against Postgres 15; a change here should be run again.
@Suite struct QuerySQLTests {
    /// The text between the fixed beginning and end of a single statement.
    private func body(_ operation: String, _ variables: String = "{}", auth: Auth? = nil) throws -> String {
        let sql = try CatalogHarness.operation(operation).query(variables, auth: auth).statement.single
        let start =
            "SELECT b.body, encode(sha256(convert_to(b.body, 'UTF8')), 'hex') AS digest FROM (SELECT concat("
        let end = ", '}') AS body OFFSET 0) b"
        #expect(sql.hasPrefix(start) && sql.hasSuffix(end))
        return String(sql.dropFirst(start.count).dropLast(end.count))
    }

    /// A list of objects.
    private func list(_ object: String, _ rows: String) -> String { texts("SELECT \(object) AS j FROM \(rows)") }

    /// A list of texts that a `SELECT … AS j` yields.
    private func texts(_ rows: String) -> String {
        "coalesce((SELECT '[' || string_agg(r.j, ',') || ']' FROM (\(rows)) r), '[]')"
    }

    private func one(_ object: String, _ rows: String) -> String {
        "coalesce((SELECT \(object) FROM \(rows)), 'null')"
    }

    private func uuid(_ column: String) -> String {
        "coalesce('\"' || replace(\(column)::text, '-', '') || '\"', 'null')"
    }
    private func json(_ column: String) -> String { "coalesce(to_json(\(column))::text, 'null')" }
    private func text(_ column: String) -> String { "coalesce(\(column)::text, 'null')" }

    @Test func lookupsByKeySelectOneRow() throws {
        #expect(
            try body(
                "query Q($id: UUID!) { novel(id: $id) { id t: title views } }", #"{"id": "\#(CatalogHarness.uuidA)"}"#)
                == #"'{"novel":', "#
                + one(
                    #"concat('{"id":', \#(uuid(#"t1."id""#)), ',"t":', \#(json(#"t1."title""#)), "#
                        + #"',"views":', coalesce('"' || t1."views"::text || '"', 'null'), '}')"#,
                    #""novel" t1 WHERE t1."id" = $1::uuid"#))
    }

    @Test func compositeKeyAndReservedTableName() throws {
        #expect(
            try body(
                "query Q($n: Int!) { seat(number: $n, hallId: \"h'1\") { taken } user(id: \"a\\\\b\") { id } }",
                #"{"n": 7}"#)
                == #"'{"seat":', "#
                + one(
                    #"concat('{"taken":', \#(text(#"t1."taken""#)), '}')"#,
                    #""seat" t1 WHERE t1."hall_id" = 'h''1'::text AND t1."number" = $1::integer"#)
                + #", ',"user":', "#
                + one(
                    #"concat('{"id":', \#(json(#"t2."id""#)), '}')"#,
                    #""user" t2 WHERE t2."id" = E'a\\b'::text"#))
    }

    @Test func listWithOrderLimitAndTieBreaker() throws {
        #expect(
            try body("query Q { novels(orderBy: [{title: DESC}], limit: 5, offset: 2) { title } seats { number } }")
                == #"'{"novels":', "#
                + list(
                    #"concat('{"title":', \#(json(#"t1."title""#)), '}')"#,
                    #""novel" t1 ORDER BY t1."title" DESC, t1."id" LIMIT 5 OFFSET 2"#)
                + #", ',"seats":', "#
                + texts(
                    #"SELECT concat('{"number":', \#(text(#"t2."number""#)), '}') AS j"#
                        + #" FROM \#(placed("t2")) FROM "seat" t2"#
                        + #" ORDER BY t2."hall_id", t2."number" LIMIT 100) t2"#
                        + #" ORDER BY t2."~table", t2."~place", t2."hall_id", t2."number""#))
    }

    /// More members than `concat` takes arguments.
    @Test func wideObjectsTakeSeveralCalls() throws {
        let fields = (0..<70).map { "a\($0): title" }.joined(separator: " ")
        let sql = try body(
            "query Q($id: UUID!) { novel(id: $id) { \(fields) } }", #"{"id": "\#(CatalogHarness.uuidA)"}"#)
        #expect(sql.ranges(of: "concat(").count == 3 && sql.contains("'}')))"))
    }

    /// The rows of a list in stored order, up to their `FROM`.
    private func placed(_ alias: String) -> String {
        #"(SELECT NULL::oid AS tableoid, NULL::tid AS ctid) "~none" CROSS JOIN LATERAL"#
            + #" (SELECT \#(alias).*, tableoid AS "~table", ctid AS "~place""#
    }

    @Test func operatorsWithoutValueFallOut() throws {
        let text = """
            query Q($g: Genre, $ids: [UUID!]) {
              novels(where: {genre: {eq: $g}, _or: [{id: {in: $ids}}, {title: {eq: null}}], _not: {genre: {ne: $g}}}) {
                id
              }
            }
            """
        let head =
            #"SELECT concat('{"id":', \#(uuid(#"t1."id""#)), '}') AS j FROM \#(placed("t1")) FROM "novel" t1"#
        let tail = #" ORDER BY t1."id" LIMIT 100) t1 ORDER BY t1."~table", t1."~place", t1."id""#
        let key = #"'{"novels":', "#
        #expect(try body(text) == key + texts(head + #" WHERE ((t1."title" IS NULL))"# + tail))
        #expect(
            try body(text, #"{"g": "NOIR", "ids": null}"#)
                == key
                + texts(
                    head
                        + """
                         WHERE (t1."genre" = $1::"genre" AND (t1."title" IS NULL) AND NOT (t1."genre" <> \
                        $1::"genre"))
                        """
                        + tail))
        #expect(
            try body(text, #"{"ids": []}"#)
                == key + texts(head + #" WHERE ((t1."id" = ANY ($1::uuid[]) OR t1."title" IS NULL))"# + tail))
    }

    @Test func relationsAreSubqueries() throws {
        let novel = one(
            #"concat('{"title":', \#(json(#"t3."title""#)), '}')"#, #""novel" t3 WHERE t2."novel_id" = t3."id""#)
        let remarks = list(
            #"concat('{"novel":', \#(novel), '}')"#,
            #""remark" t2 WHERE t2."novel_id" = t1."id" ORDER BY t2."id" LIMIT 1"#)
        #expect(
            try body(
                "query Q($id: UUID!) { novel(id: $id) { remarks_on_novel(limit: 1) { novel { title } } } }",
                #"{"id": "\#(CatalogHarness.uuidA)"}"#)
                == #"'{"novel":', "#
                + one(#"concat('{"remarks_on_novel":', \#(remarks), '}')"#, #""novel" t1 WHERE t1."id" = $1::uuid"#))
        #expect(
            try body("query Q { novels { makers_via_NovelMaker(where: {role: {eq: \"x\"}}) { name } } }").contains(
                texts(
                    #"SELECT concat('{"name":', \#(json(#"t3."name""#)), '}') AS j FROM \#(placed("t2"))"#
                        + #" FROM "novel_maker" t2 WHERE t2."novel_id" = t1."id" AND t2."role" = 'x'::text"#
                        + #" ORDER BY t2."novel_id", t2."maker_id" LIMIT 100) t2"#
                        + #" JOIN "maker" t3 ON t2."maker_id" = t3."id""#
                        + #" ORDER BY t2."~table", t2."~place", t2."novel_id", t2."maker_id""#)))
    }

    @Test func aggregatesCountSumAndAverage() throws {
        #expect(
            try body("query Q { novels { _count views_sum rating_avg genre_count(distinct: true) } }")
                == #"'{"novels":', "#
                + texts(
                    #"SELECT row_to_json(g.*)::text AS j FROM (SELECT count(*) AS "_count","#
                        + #" sum(t1."views")::text AS "views_sum", avg(t1."rating")::double precision AS "rating_avg","#
                        + #" count(DISTINCT t1."genre") AS "genre_count" FROM "novel" t1) g LIMIT 100"#))
    }

    @Test func multiplexedFormHasParametersAsArrays() throws {
        let call = try CatalogHarness.operation(
            """
            query Q($id: UUID!, $tags: [String!]) {
              novel(id: $id) { title }
              novels(where: {tags: {includesAll: $tags}}) { id }
            }
            """
        ).query(#"{"id": "\#(CatalogHarness.uuidA)", "tags": ["a\"b", "c\\d", ""]}"#)
        #expect(call.parameters == [CatalogHarness.uuidA, #"{"a\"b","c\\d",""}"#])
        #expect(call.statement.parameterTypes == [SQLType(name: "uuid"), SQLType(name: "text", isList: true)])
        let sql = call.statement.multiplexed
        #expect(
            sql.contains(
                "FROM unnest((SELECT $1::uuid[]), (SELECT $2::text[]), (SELECT $3::text[]))"
                    + " WITH ORDINALITY AS q(p1, p2, known, i) CROSS JOIN LATERAL"))
        #expect(sql.contains(#"t1."id" = q.p1)"#))
        #expect(sql.contains(#"t2."tags" @> q.p2::text[] ORDER"#))
        #expect(!sql.contains("$4"))
    }

    @Test func statementsAreKeptByShape() throws {
        let operation = try CatalogHarness.operation("query Q($g: Genre) { novels(where: {genre: {eq: $g}}) { id } }")
        let noir = try operation.query(#"{"g": "NOIR"}"#)
        let farce = try operation.query(#"{"g": "FARCE"}"#)
        let all = try operation.query()
        #expect(noir.statement == farce.statement)
        #expect(noir.statement != all.statement)
        #expect(farce.parameters == ["FARCE"])
        #expect(all.parameters == [])
    }

    @Test func shapesAreBounded() throws {
        let names = (0..<7).map { "$v\($0): Int" }.joined(separator: ", ")
        let tests = (0..<7).map { "{printedYear: {eq: $v\($0)}}" }.joined(separator: ", ")
        let operation = try CatalogHarness.operation("query Q(\(names)) { novels(where: {_or: [\(tests)]}) { id } }")
        func statement(_ shape: Int) throws -> QueryStatement {
            let sent = (0..<7).filter { shape >> $0 & 1 == 1 }.map { "\"v\($0)\": 1" }.joined(separator: ", ")
            return try operation.query("{\(sent)}").statement
        }
        let first = try statement(0)
        for shape in 1..<64 { _ = try statement(shape) }
        #expect(try statement(0) == first)
        _ = try statement(64)
        #expect(try statement(0) != first, "the cache was emptied")
    }

    /// More than 64 conditions: the second word of the key counts too.
    @Test func moreThan64ConditionsHaveTheirOwnShapes() throws {
        let names = (0..<70).map { "$v\($0): Int" }.joined(separator: ", ")
        let tests = (0..<70).map { "{printedYear: {eq: $v\($0)}}" }.joined(separator: ", ")
        let operation = try CatalogHarness.operation("query Q(\(names)) { novels(where: {_or: [\(tests)]}) { id } }")
        #expect(try operation.query(#"{"v69": 5}"#).parameters == ["5"])
        #expect(try operation.query(#"{"v3": 1, "v66": 2}"#).parameters == ["1", "2"])
        #expect(try operation.query(#"{"v66": 2}"#).statement != operation.query(#"{"v67": 2}"#).statement)
    }

    @Test func patternsAreEscapedInTheBoundValue() throws {
        let call = try CatalogHarness.operation(
            """
            query Q($t: String) {
              novels(where: {title: {contains: $t}}) { id }
              a: novels(where: {title: {startsWith: $t}}) { id }
            }
            """
        ).query(#"{"t": "50%_\\"}"#)
        #expect(call.parameters == [#"%50\%\_\\%"#, #"50\%\_\\%"#])
    }

    @Test func expressionsAreParameters() throws {
        let operation = try CatalogHarness.operation(
            """
            query Q($x: String) {
              user(key: {id_expr: "auth.uid"}) { id }
              users(where: {name: {eq_expr: "vars.x + '!'"}}) { id }
            }
            """
        )
        let ann = Auth(uid: "ann", token: JSONObject())
        #expect(try operation.query(#"{"x": "a"}"#, auth: ann).parameters == ["ann", "a!"])
        #expect(try operation.query(#"{"x": "a"}"#).parameters == [nil, "a!"])
        #expect(throws: RequestError.self) { try operation.query("{}", auth: ann) }
        #expect(operation.authReads.uid)
    }

    @Test func skippedFieldsAreNotSelected() throws {
        let operation = try CatalogHarness.operation(
            """
            query Q($a: Boolean!, $id: UUID!) {
              ...F @include(if: $a)
              novel(id: $id) { title }
              never: novels @skip(if: true) { id }
            }
            fragment F on Query { novel(id: $id) { rating } seats @skip(if: $a) { number } }
            """)
        let shown = try operation.query(#"{"a": true, "id": "\#(CatalogHarness.uuidA)"}"#).statement.single
        let hidden = try operation.query(#"{"a": false, "id": "\#(CatalogHarness.uuidA)"}"#).statement.single
        #expect(shown.contains("\"rating\"") && shown.contains("\"title\""))
        #expect(!hidden.contains("\"rating\"") && hidden.contains("\"title\""))
        #expect(!shown.contains("seat") && !hidden.contains("seat") && !shown.contains("never"))
    }
}
