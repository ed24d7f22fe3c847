import Catalog
import SchemaModel
import Testing

@Suite struct LintTests {
    private func lints(_ text: String) throws -> [String] {
        try CatalogHarness.compile(text).lints.map { lint in
            #expect(lint.severity == .warning)
            return "\(lint.line):\(lint.column) \(lint.rule): \(lint.message)" + (lint.help.map { " [\($0)]" } ?? "")
        }
    }

    // MARK: auth-missing

    @Test func anOperationThatNobodyMayRunIsReported() throws {
        let text = """
            query Q { novels { id } }
            mutation M { novel_deleteMany(all: true) }
            query Meant @auth(level: NO_ACCESS) { novels { id } }
            """
        let found = try lints(text).filter { $0.contains("auth-missing") }
        #expect(found.count == 2)
        #expect(found.first?.hasPrefix("1:7 auth-missing: \"Q\" has no @auth") == true, "\(found)")
        #expect(found.last?.hasPrefix("2:10 auth-missing") == true, "\(found)")
    }

    // MARK: check-late

    /// Only what stands after a check is withheld when it fails.
    @Test(arguments: [
        ("a: novel(id: $id) { id } b: novel(id: $id) @redact { title @check } c: novel(id: $id) { id }", true),
        ("b: novel(id: $id) @redact { title @check } a: novel(id: $id) { id }", false),
        ("a: novel(id: $id) { id } b: novel(id: $id) { title @check }", false),
        ("a: novel(id: $id) @redact { id @check } b: novel(id: $id) @redact { title @check }", false),
        ("a: novel(id: $id) { id } b: novel(id: $id) @redact { title @check } novels { id }", false),
        ("a: novel(id: $id) { id } b: novels @redact { title @check }", true),
        ("a: novel(id: $id) { id } b: novel(id: $id) { title @redact @check id @redact }", true),
        ("a: novel(id: $id) { id } b: novel(id: $id) { title @redact @check id }", false),
    ])
    func aCheckThatStandsBehindWhatItIsToGuard(fields: String, isTold: Bool) throws {
        let found = try lints("query Q($id: UUID!) @auth(level: USER) { \(fields) }").filter {
            $0.contains("check-late")
        }
        #expect(found.isEmpty != isTold, "\(found)")
        if isTold {
            #expect(
                found == [
                    #"1:7 check-late: "a" is returned even if the check of "b" fails, because it comes first"#
                        + #" [move "b" to the front if it should guard the whole result]"#
                ])
        }
    }

    // MARK: refresh-too-broad

    private static let addRemark = """

        mutation Add($novelId: UUID!, $text: String) @auth(level: USER) {
          remark_insert(data: {novelId: $novelId, text: $text})
        }
        mutation AddBy($key: Novel_Key!) @auth(level: USER) {
          remark_insert(data: {novel: $key, authorId_expr: "auth.uid"})
        }
        mutation Upsert($id: UUID!, $novelId: UUID!) @auth(level: USER) {
          remark_upsert(data: {id: $id, novelId: $novelId})
        }
        mutation Move($id: UUID!, $novelId: UUID!) @auth(level: USER) {
          remark_update(id: $id, data: {novelId: $novelId})
        }
        mutation Clear($m: UUID!) @auth(level: USER) { remark_deleteMany(where: {novelId: {eq: $m}}) }
        mutation Drop($id: UUID!) @auth(level: USER) { novel_delete(id: $id) }
        """

    private func broad(_ query: String) throws -> [String] {
        try CatalogHarness.compile(query + Self.addRemark).lints.filter { $0.rule == .refreshTooBroad }
            .map { $0.help ?? "" }
    }

    @Test(arguments: [
        ("Add", "request.variables.id == mutation.variables.novelId"),
        ("AddBy", "request.variables.id == mutation.variables.key.id"),
        ("Clear", "request.variables.id == mutation.variables.m"),
        ("Drop", "request.variables.id == mutation.variables.id"),
    ])
    func aConditionIsDerivedFromAKeyAndItsReferences(mutation: String, condition: String) throws {
        let query = """
            query Q($id: UUID!) @auth(level: USER) @refresh(onMutationExecuted: {operation: "\(mutation)"}) {
              novel(id: $id) { title remarks_on_novel { text } }
            }
            """
        #expect(try broad(query) == ["only some are affected: add condition: \"\(condition)\""])
    }

    @Test func aConditionIsDerivedFromAFilter() throws {
        let query = """
            query Q($m: UUID!) @auth(level: USER) @refresh(onMutationExecuted: {operation: "Add"}) {
              remarks(where: {novelId: {eq: $m}, stars: {gt: 2}}) { text }
            }
            """
        #expect(
            try broad(query) == [
                "only some are affected: add condition: \"request.variables.m == mutation.variables.novelId\""
            ])
        let mine = """
            query Q @auth(level: USER) @refresh(onMutationExecuted: {operation: "AddBy"}) {
              remarks(where: {authorId: {eq_expr: "auth.uid"}}) { text }
            }
            """
        #expect(try broad(mine) == ["only some are affected: add condition: \"request.auth.uid == mutation.auth.uid\""])
    }

    /// A row may come from, or go to, another novel; a filter may fall out; a list has no filter.
    @Test(arguments: [
        """
        query Q($id: UUID!) @auth(level: USER) @refresh(onMutationExecuted: {operation: "Upsert"}) {
          novel(id: $id) { remarks_on_novel { text } }
        }
        """,
        """
        query Q($id: UUID!) @auth(level: USER) @refresh(onMutationExecuted: {operation: "Move"}) {
          novel(id: $id) { remarks_on_novel { text } }
        }
        """,
        """
        query Q($id: UUID) @auth(level: USER) @refresh(onMutationExecuted: {operation: "Add"}) {
          remarks(where: {novelId: {eq: $id}}) { text }
        }
        """,
        #"query Q @auth(level: USER) @refresh(onMutationExecuted: {operation: "Add"}) { remarks { text } }"#,
        """
        query Q($id: UUID!) @auth(level: USER) @refresh(onMutationExecuted: {operation: "Add"}) {
          novel(id: $id) { remarks_on_novel { text } }
          remarks { _count }
        }
        """,
        """
        query Q($id: UUID!) @auth(level: USER) @refresh(onMutationExecuted: {operation: "Add"}) {
          novel(id: $id) { remarks_on_novel { text } }
          _select(sql: "SELECT 1")
        }
        """,
        """
        query Q($id: UUID!) @auth(level: USER) @refresh(onMutationExecuted: {operation: "Add", condition: "true"}) {
          novel(id: $id) { remarks_on_novel { text } }
        }
        """,
        """
        query Q($id: UUID!) @auth(level: USER) @refresh(onMutationExecuted: {operation: "Add"}) {
          remarks(where: {_or: [{novelId: {eq: $id}}, {stars: {eq: 5}}]}) { text }
        }
        """,
    ])
    func nothingIsDerivedWhereItCouldMissARow(query: String) throws {
        #expect(try broad(query) == [])
    }

    // MARK: The others

    @Test func listsThatNothingRefreshesAreReported() throws {
        #expect(
            try lints(
                """
                query Q @auth(level: USER) { remarks { text } }
                mutation M($id: UUID!) @auth(level: USER) { remark_delete(id: $id) }
                """)
                == [
                    "1:7 refresh-missing: nothing refreshes \"Q\": subscribers only see the first result"
                        + " [@refresh(onMutationExecuted: …) could name \"M\"; or write automatic: lists into"
                        + " refresh.yaml]"
                ])
        #expect(try lints("query Q($id: UUID!) @auth(level: USER) { novel(id: $id) { title } }") == [])
        #expect(try lints("query Q @auth(level: NO_ACCESS) { remarks { text } }") == [], "nobody may subscribe")
    }

    @Test func aTriggerThatHasNothingToDoWithTheQuery() throws {
        #expect(
            try lints(
                """
                query Q @auth(level: USER) @refresh(onMutationExecuted: {operation: "M"}) { makers { name } }
                mutation M($id: UUID!) @auth(level: USER) { remark_delete(id: $id) }
                """) == ["1:69 refresh-unrelated: \"M\" writes no table that the query reads"])
        func withUpdate(of data: String) throws -> [String] {
            try lints(
                """
                query Q @auth(level: USER) @refresh(onMutationExecuted: {operation: "M"}) { remarks { text } }
                mutation M($id: UUID!) @auth(level: USER) { remark_update(id: $id, data: {\(data)}) }
                """)
        }
        #expect(
            try withUpdate(of: "stars: 1") == ["1:69 refresh-unrelated: \"M\" writes no field that the query reads"])
        #expect(try withUpdate(of: "text: \"t\"") == [])
    }

    @Test func aTimerWhereTriggersWouldDo() throws {
        let mutation = "\nmutation M($id: UUID!) @auth(level: USER) { remark_delete(id: $id) }"
        #expect(
            try lints("query Q @auth(level: USER) @refresh(every: {seconds: 20}) { remarks { text } }" + mutation)
                == [
                    "1:7 refresh-often: \"Q\" runs 4320 times a day per live query"
                        + """
                         [@refresh(onMutationExecuted: …) of "M" refreshes immediately and costs nothing in between]
                        """
                ])
        // 30 s; written by nobody here; a result that time alone changes; tables that nobody knows.
        for query in [
            "query Q @auth(level: USER) @refresh(every: {seconds: 30}) { remarks { text } }",
            "query Q @auth(level: USER) @refresh(every: {seconds: 20}) { users { name } }",
            """
            query Q @auth(level: USER) @refresh(every: {seconds: 20}) {
              novels(where: {createdAt: {gt_time: {now: true, sub: {days: 1}}}}) { title remarks_on_novel { text } }
            }
            """,
            #"query Q @auth(level: USER) @refresh(every: {seconds: 20}) { _select(sql: "SELECT 1") }"#,
        ] {
            #expect(!(try lints(query + mutation)).contains { $0.contains("refresh-often") }, "\(query)")
        }
    }

    @Test func aFilterThatNoIndexServes() throws {
        let every = "@auth(level: USER) @refresh(every: {seconds: 30})"
        #expect(
            try lints("query Q($y: Int!) \(every) { novels(where: {printedYear: {ge: $y}}) { title } }")
                == [
                    "1:7 missing-index: rows of Novel are filtered by printedYear, but no index begins with it"
                        + " [in the schema: printedYear … @index, or @index(fields: […]) on Novel]"
                ])
        // The key; a reference; not searched at all; one of several has an index.
        for query in [
            "query Q($id: [UUID!]!) \(every) { novels(where: {id: {in: $id}}) { title } }",
            "query Q($m: UUID!) \(every) { remarks(where: {novelId: {eq: $m}, stars: {gt: 2}}) { text } }",
            "query Q \(every) { novels { title remarks_on_novel { text } } }",
        ] {
            #expect(try lints(query) == [], "\(query)")
        }
    }
}
