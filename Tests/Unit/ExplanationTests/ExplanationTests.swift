import Catalog
import Explanation
import JSON
import LiveModel
import QuerySQL
import SchemaModel
import Testing

@Suite struct ExplanationTests {
    private static let schema = """
        type Novel @table { title: String! genre: String year: Int }
        type Remark @table { novel: Novel! text: String author: String }
        """

    private static let operations = #"""
        query Novels($genre: String, $year: Int) @auth(level: USER)
          @refresh(every: {seconds: 30})
          @refresh(
            onMutationExecuted: {
              operation: "SetGenre",
              condition: "request.variables.genre == mutation.variables.genre && mutation.variables.genre != '' \#
        && request.auth.uid != mutation.auth.uid && request.auth.token.org == 'a'"
            }
          )
          @refresh(onMutationExecuted: {operation: "Add"}) {
          novels(where: {genre: {eq: $genre}, year: {gt: $year}}) { title }
        }
        query One($id: UUID!) @auth(level: PUBLIC) { novel(id: $id) { title remarks_on_novel { text } } }
        mutation SetGenre($id: UUID!, $genre: String!) @auth(level: USER) {
          novel_update(id: $id, data: {genre: $genre})
        }
        mutation Add($title: String!) @auth(level: USER) { novel_insert(data: {title: $title}) }
        mutation AddMany($rows: [Novel_Data!]! @allow(fields: "title")) @auth(level: USER) {
          novel_insertMany(data: $rows)
        }
        mutation Remark($novel: UUID!) @auth(level: USER) { remark_insert(data: {novelId: $novel}) }
        mutation Log @auth(level: USER) { _execute(sql: "SELECT 1") }
        """#

    private func explain(_ name: String, _ variables: JSONObject? = nil) throws -> OperationExplanation {
        let catalog = try Catalog.compile(
            Project(
                serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: Self.schema)],
                connectors: [ConnectorSource(id: "main", files: [SourceFile(path: "main.gql", text: Self.operations)])])
        )
        let operation = try #require(catalog.connectors["main"]?.operations[name])
        return try OperationExplanation(operation, in: catalog, variables: variables)
    }

    @Test func rulesAndTheirIndexesAreExplained() throws {
        let text = try explain("Novels").text
        for part in [
            "  auth: USER\n  variables: $genre: String, $year: Int\n",
            """
            Live query key: operation, version, the variables, whether the user is signed in, auth.uid, auth.token.org

            """,
            "    index: hash key request.variables.genre == mutation.variables.genre\n",
            "    once for each event: mutation.variables.genre != ''\n",
            "    once for each live query: request.auth.token.org == 'a'\n",
            "    for each one found: request.auth.uid != mutation.auth.uid\n",
            "  after main/Add, always\n    index: every live query of the operation\n",
            "  timer: every 30 s\n",
        ] {
            #expect(text.contains(part), "\(part) in \(text)")
        }
    }

    @Test func embeddingsOfTextsAreExplained() throws {
        let catalog = try Catalog.compile(
            Project(
                serviceID: "test",
                schemaFiles: [
                    SourceFile(
                        path: "schema.gql", text: "type Doc @table { v: Vector @col(size: 3) w: Vector @col(size: 3) }")
                ],
                connectors: [
                    ConnectorSource(
                        id: "main",
                        files: [
                            SourceFile(
                                path: "main.gql",
                                text:
                                    """
                                    query Near($q: String!) @auth(level: USER) {
                                      docs_v_similarity(compare_embed: {model: "m", text: $q}) { id }
                                    }
                                    mutation Add @auth(level: USER) {
                                      doc_insertMany(
                                        data: [{v_embed: {model: "m", text: "a"}, w_embed: {model: "m", text: "a"}}]
                                      )
                                    }
                                    """
                            )
                        ])
                ]))
        let operations = try #require(catalog.connectors["main"]?.operations)
        let near = try OperationExplanation(try #require(operations["Near"]), in: catalog)
        #expect(near.text.contains("\n  embedding: $q by \"m\", 3 numbers\n"), "\(near.text)")
        #expect(near.sql?.parameters.map(\.source) == ["the embedding of $q by m"])
        #expect(near.json["embeddings"] == [["model": "m", "text": "$q", "size": 3]])
        let add = try OperationExplanation(try #require(operations["Add"]), in: catalog)
        #expect(add.text.contains("\n  embedding: \"a\" by \"m\", 3 numbers\n"), "\(add.text)")
        #expect(add.steps.first?.sql?.hasPrefix("WITH w1 AS (INSERT INTO \"doc\"") == true, "\(add.text)")
    }

    @Test func mutationsThatRefreshAndThatDoNot() throws {
        let novels = try explain("Novels")
        #expect(novels.refreshing.map(\.other.operation) == ["Add", "SetGenre"])
        #expect(novels.unnoticed.map { "\($0.other.operation) \($0.tables)" } == [#"AddMany ["novel"]"#])
        #expect(novels.unrelatedCount == 2)
        let one = try explain("One")
        #expect(
            one.refreshing.map { "\($0.other.operation): \($0.reasons)" } == [
                #"Add: ["it writes rows of novel by key, and the query looks one up by key"]"#,
                #"AddMany: ["it writes rows of novel by key, and the query looks one up by key"]"#,
                #"SetGenre: ["it writes rows of novel by key, and the query looks one up by key"]"#,
            ])
        #expect(one.unnoticed.map(\.other.operation) == ["Remark"])
        let remark = try explain("Remark")
        #expect(remark.refreshing.isEmpty)
        #expect(remark.unnoticed.map(\.other.operation) == ["One"])
    }

    @Test func sqlForAllVariablesOrForTheseOnly() throws {
        let all = try #require(try explain("Novels").sql)
        #expect(all.parameters.map { "\($0.source) \($0.type)" } == ["$genre text", "$year integer"])
        #expect(all.single.contains("\"genre\" = $1::text") && all.single.contains("\"year\" > $2::integer"))
        #expect(all.multiplexed.contains("(SELECT $2::integer[]), (SELECT $3::text[])) WITH ORDINALITY"))
        let one = try #require(try explain("Novels", ["year": 1999]).sql)
        #expect(one.parameters.map(\.source) == ["$year"])
        #expect(throws: RequestError.self) { try explain("Novels", ["year": "x"]) }
    }

    @Test func stepsOfMutationsAreExplained() throws {
        #expect(try explain("SetGenre").steps.first?.sql?.contains("UPDATE \"novel\"") == true)
        #expect(try explain("AddMany").steps.first?.sql?.contains("INSERT INTO \"novel\"") == true)
        let log = try explain("Log")
        #expect(log.steps.first?.sql?.contains("SELECT 1") == true)
        #expect(log.text.contains("more tables may be touched"))
    }

    @Test func jsonHasTheSame() throws {
        let json = try explain("Novels").json
        #expect(
            json["rules"]?[2]?.description == #"{"rule":"timer","everyMs":30000,"index":"timer"}"#)
        #expect(json["rules"]?[0]?["index"]?.stringValue == "hash")
        #expect(json["refreshedBy"]?.arrayValue?.count == 2)
        #expect(json["liveQueryKey"]?["claims"]?.arrayValue?.count == 3)
        #expect(try explain("Add").json["steps"]?.arrayValue?.count == 1)
    }
}
