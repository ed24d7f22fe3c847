import Catalog
import JSON
import LiveModel
import QuerySQL
import Testing

/// The exact text of the main forms. Each was run against Postgres 15; a change here should be run again.
@Suite struct MutationSQLTests {
    private let a = CatalogHarness.uuidA
    private let b = CatalogHarness.uuidB
    private let ann = Auth(uid: "ann", token: JSONObject())

    private func step(_ text: String, _ variables: String = "{}", auth: Auth? = nil) throws -> MutationStep {
        let call = try CatalogHarness.operation(text).mutation(variables, auth: auth, nowMs: 1_700_000_000_123)
        return try #require(call.steps.first)
    }

    @Test func insertFillsDefaultsInTheNode() throws {
        let step = try step("mutation M($t: String!) { novel_insert(data: {title: $t}) }", #"{"t": "x"}"#)
        #expect(
            step.sql == """
                INSERT INTO "novel" AS t1 ("id", "title", "views", "created_at") VALUES \
                ($1::uuid, $2::text, '0'::bigint, $3::timestamp with time zone) \
                RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
                """)
        #expect(
            step.parameters == ["00000000000040008000000000000001", "x", "2023-11-14T22:13:20.123000Z"])
        #expect(
            step.keysWritten == [EntityKey(table: "novel", values: [.string("00000000000040008000000000000001")])])
        #expect(step.kind == .write && step.resultKind == .json && step.responseKey == "novel_insert")
    }

    @Test func insertByShapeOfVariables() throws {
        let text = "mutation M($v: Int64, $y: Int) { novel_insert(data: {title: \"t\", views: $v, printedYear: $y}) }"
        let none = try step(text)
        #expect(none.sql.contains(#"("id", "title", "views", "created_at") VALUES ($1::uuid, 't'::text, '0'::bigint"#))
        let null = try step(text, #"{"v": null, "y": null}"#)
        #expect(null.sql.contains(#"("id", "title", "printed_year", "views", "created_at")"#))
        #expect(null.parameters.contains(nil))
    }

    @Test func changesOfAnUpsertBeginWithDefaultsOfPostgres() throws {
        let operation = try CatalogHarness.operation(
            "mutation M { stock_upsert(data: {id: \"s\", shares_update: {inc: 2}, names_update: {append: [\"x\"]}}) }",
            schema: """
                type Stock @table {
                  id: String!
                  shares: Int! @default(sql: "1 + 1")
                  names: [String!] @default(value: ["a"])
                }
                """)
        #expect(
            try operation.mutation().steps[0].sql == """
                INSERT INTO "stock" AS t1 ("id", "shares", "names") \
                VALUES ('s'::text, coalesce((1 + 1)::integer, \
                '0'::integer) + '2'::integer, coalesce('{"a"}'::text[], '{}') || '{"x"}'::text[]) ON CONFLICT ("id") \
                DO UPDATE \
                SET "shares" = t1."shares" + '2'::integer, "names" = coalesce(t1."names", '{}') || '{"x"}'::text[] \
                RETURNING concat('{"id":', coalesce(to_json(t1."id")::text, 'null'), '}')
                """)
    }

    @Test func aDeclaredKeyOfUUIDIsFilled() throws {
        let operation = try CatalogHarness.operation(
            "mutation M { thing_insert(data: {title: \"t\"}) things: thing_insertMany(data: [{title: \"u\"}]) }",
            schema: "type Thing @table { id: UUID! title: String }")
        let steps = try operation.mutation().steps
        #expect(steps[0].parameters == ["00000000000040008000000000000001"])
        #expect(steps.map(\.keysWritten.count) == [1, 1])
    }

    /// Texts that Postgres takes for equal find the same row, so the key that refreshes live queries leaves them out.
    @Test func keysOfTypesWithEqualTextsRefreshEveryRow() throws {
        let schema = """
            type Person @table(key: ["mail", "number"]) { mail: String! @col(dataType: "citext") number: Int! }
            """
        let insert = try CatalogHarness.operation(
            "mutation M { person_insert(data: {mail: \"A@x\", number: 1}) }", schema: schema)
        let many = try CatalogHarness.operation(
            "mutation M { person_insertMany(data: [{mail: \"B@x\", number: 1}]) }", schema: schema)
        let query = try CatalogHarness.operation(
            "query Q { person(key: {mail: \"a@x\", number: 1}) { number } }", schema: schema)
        let key = EntityKey(table: "person", values: [.null, .int(1)])
        #expect(try insert.mutation().steps[0].keysWritten == [key])
        #expect(try many.mutation().steps[0].keysWritten == [key])
        #expect(query.lookupKeys(variables: try query.coerce(JSONObject()), auth: nil) == [key])
    }

    @Test func insertsWithoutDataUseDefaultValues() throws {
        let step = try step("mutation M { token_insert(data: {}) }")
        #expect(
            step.sql == """
                INSERT INTO "token" AS t1 DEFAULT VALUES \
                RETURNING concat('{"id":', coalesce('"' || t1."id"::text || '"', 'null'), '}')
                """)
        #expect(step.keysWritten.isEmpty)
    }

    @Test func upsertReplacesOnlyWhatIsGiven() throws {
        let step = try step(
            "mutation M($n: String) { user_upsert(data: {id_expr: \"auth.uid\", name: $n}) { id email } }",
            #"{"n": "Ann"}"#, auth: ann)
        #expect(
            step.sql == """
                INSERT INTO "user" AS t1 ("id", "name") VALUES ($1::text, $2::text) ON CONFLICT ("id") DO \
                UPDATE SET "name" = EXCLUDED."name" RETURNING concat('{"id":', \
                coalesce(to_json(t1."id")::text, 'null'), ',"email":', coalesce(to_json(t1."email")::text, 'null'), '}')
                """)
        #expect(step.keysWritten == [EntityKey(table: "user", values: ["ann"])])
        #expect(
            try self.step("mutation M { user_upsert(data: {id: \"x\"}) }").sql.contains(
                #"DO UPDATE SET "id" = EXCLUDED."id""#))
    }

    @Test func updatesSetOnlyWhatWasSent() throws {
        let text =
            "mutation M($id: UUID!, $t: String, $y: Int) { novel_update(id: $id, data: {title: $t, printedYear: $y}) }"
        let step = try step(text, #"{"id": "\#(a)", "y": null}"#)
        #expect(
            step.sql == """
                UPDATE "novel" t1 SET "printed_year" = $1::integer WHERE t1."id" = $2::uuid \
                RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
                """)
        #expect(step.parameters == [nil, a])
        #expect(try self.step(text, #"{"id": "\#(a)"}"#).sql.contains(#"SET "id" = t1."id" WHERE"#))
    }

    @Test func updateThatChangesTheKeyWritesBoth() throws {
        let step = try step(
            "mutation M($a: UUID!, $b: UUID!) { novel_update(id: $a, data: {id: $b}) }",
            #"{"a": "\#(a)", "b": "\#(b)"}"#)
        #expect(
            step.keysWritten
                == [a, b].map { EntityKey(table: "novel", values: [.string($0)]) })
    }

    @Test func updateOperatorsComputeFromTheStoredValue() throws {
        let step = try step(
            """
            mutation M($id: UUID!, $n: Int) {
              novel_update(id: $id, data: {printedYear_update: [{inc: $n}], tags_update: {append: ["x"]}})
            }
            """,
            #"{"id": "\#(a)", "n": 2}"#)
        #expect(
            step.sql.contains(
                """
                SET "printed_year" = t1."printed_year" + $1::integer, "tags" = coalesce(t1."tags", \
                '{}') || '{"x"}'::text[]
                """
            ))
    }

    @Test func firstIsNotByKey() throws {
        let step = try step(
            "mutation M($t: String!) { novel_delete(first: {where: {title: {eq: $t}}}) }", #"{"t": "x"}"#)
        #expect(
            step.sql.hasPrefix(
                #"DELETE FROM "novel" t1 WHERE (t1."id") = (SELECT t2."id" FROM "novel" t2 WHERE "#
                    + #"t2."title" = $1::text ORDER BY t2."id" LIMIT 1 FOR UPDATE) RETURNING"#))
        #expect(step.keysWritten.isEmpty)
    }

    @Test func aFilterWithoutValuesNeverMeansEveryRow() throws {
        let texts = [
            "mutation M($g: Genre) { novel_deleteMany(where: {genre: {eq: $g}}) }",
            "mutation M($g: Genre) { novel_updateMany(where: {_or: [{genre: {eq: $g}}]}, data: {rating: 1}) }",
            "mutation M($g: Genre) { novel_delete(first: {where: {genre: {eq: $g}}}) }",
        ]
        for text in texts {
            let operation = try CatalogHarness.operation(text)
            #expect(throws: RequestError.self) { try operation.mutation() }
            // Null asks for rows without a genre.
            #expect(try operation.mutation(#"{"g": null}"#).steps[0].sql.contains(#""genre" IS NULL"#))
            #expect(try operation.mutation(#"{"g": "NOIR"}"#).steps.count == 1)
        }
        #expect(
            try step("mutation M { novel_deleteMany(all: true) }").sql.hasPrefix(
                #"WITH w AS (DELETE FROM "novel" t1 RETURNING 1)"#))
    }

    @Test func insertManyGroupsRowsByColumns() throws {
        let step = try step(
            "mutation M($rows: [Novel_Data!]! @allow(fields: \"id title tags\")) { novel_insertMany(data: $rows) }",
            #"""
            {"rows": [{"title": "a", "tags": ["x", "y"]}, {"title": "b"}, {"id": "\#(b)", "title": "c", "tags": []}]}
            """#
        )
        #expect(
            step.sql.hasPrefix(
                """
                WITH w1 AS (INSERT INTO "novel" AS t ("id", "title", "views", "tags", "created_at") \
                SELECT u.c1, u.c2, u.c3, \
                u.c4::text[], u.c5 FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[], \
                $5::timestamp with time zone[]) \
                WITH ORDINALITY AS u(c1, c2, c3, c4, c5, o) ORDER BY u.o RETURNING
                """))
        #expect(step.parameters[5] == #"{"1"}"#)
        let generated = "00000000000040008000000000000001"
        #expect(
            step.keysWritten.map(\.values)
                == [#"["\#(generated)"]"#, #"["00000000000040008000000000000002"]"#, #"["\#(b)"]"#])
    }

    @Test func dataVariableTakesColumnsAndReferences() throws {
        let operation = try CatalogHarness.operation("mutation M($d: Remark_Data!) { remark_insert(data: $d) }")
        let byKey = try operation.mutation(#"{"d": {"novel": {"id": "\#(a)"}, "author": null}}"#).steps[0]
        let byColumn = try operation.mutation(#"{"d": {"novelId": "\#(a)", "authorId": null}}"#).steps[0]
        #expect(byKey.sql == byColumn.sql)
        #expect(byKey.parameters == byColumn.parameters)
        #expect(byKey.parameters.contains(a) && byKey.parameters.contains(nil))
    }

    @Test func readsAreStepsOfTheTransaction() throws {
        let call = try CatalogHarness.operation(
            "mutation M($id: UUID!) @transaction { query { novel(id: $id) { title } } novel_delete(id: $id) }"
        ).mutation(#"{"id": "\#(a)"}"#)
        #expect(call.isTransaction)
        #expect(call.steps.map(\.kind) == [.read, .write])
        #expect(call.steps[0].keysWritten.isEmpty)
        #expect(call.keysWritten == [EntityKey(table: "novel", values: [.string(a)])])
        #expect(call.steps[0].sql.hasPrefix(#"SELECT concat('{"novel":', coalesce((SELECT concat('{"title":',"#))
    }

    @Test func nativeSQLIsSentWithItsParameters() throws {
        let call = try CatalogHarness.operation(
            """
            mutation M($id: UUID!) {
              _execute(sql: "DELETE FROM remark WHERE novel_id = $1 AND text <> '$2' /* $3 */", params: [$id])
              _executeReturning(sql: "UPDATE novel SET title = $2 WHERE id = $1 RETURNING id;", params: [$id, "it's"])
            }
            """
        ).mutation(#"{"id": "\#(a)"}"#)
        #expect(call.steps[0].sql == "DELETE FROM remark WHERE novel_id = $1::uuid AND text <> '$2' /* $3 */")
        #expect(call.steps[0].resultKind == .affectedCount)
        #expect(
            call.steps[1].sql.hasPrefix(
                "WITH w AS (UPDATE novel SET title = 'it''s' WHERE id = $1::uuid RETURNING id) SELECT"))
    }
}
