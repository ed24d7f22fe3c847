import Catalog
import JSON
import LiveModel
import Operations
import QuerySQL
import Testing

/// `f_embed` and `compare_embed`: which texts a run needs, and what becomes of their vectors.
@Suite struct EmbeddingTests {
    private static let schema = """
        type Doc @table {
          title: String!
          embedding: Vector @col(size: 2)
          other: Vector @col(dataType: "vector")
        }
        type Note @table { doc: Doc! v: Vector @col(size: 3) }
        """

    private func compile(_ text: String) throws -> StoredOperation {
        try CatalogHarness.operation(text, schema: Self.schema)
    }

    /// `model/size text` of each.
    private func texts(_ text: String, _ variables: String = "{}") throws -> [String] {
        let operation = try compile(text)
        return try operation.embeddingTexts(variables: try operation.coerce(try CatalogHarness.object(variables)))
            .map { "\($0.model)/\($0.size.map(String.init) ?? "any") \($0.text)" }
    }

    /// Embeds every text as a vector that begins with the text's length.
    private func embeddings(_ operation: StoredOperation, _ variables: JSONObject) throws -> Embeddings {
        Embeddings(
            Dictionary(
                uniqueKeysWithValues: try operation.embeddingTexts(variables: variables).map {
                    ($0, .success(EmbeddingVector([Float($0.text.utf8.count), 0.5])))
                }))
    }

    // MARK: Which texts

    @Test func textsAreFoundInEveryArgumentWithVectors() throws {
        #expect(
            try texts(
                """
                query Q($q: String!) {
                  docs_embedding_similarity(compare_embed: {model: "m", text: $q}) { id }
                  b: docs_other_similarity(compare_embed: {model: "n", text: "fix"}, limit: 1) { id }
                }
                """,
                #"{"q": "sea"}"#) == ["m/2 sea", "n/any fix"])
        let data = #"{title: $t, embedding_embed: {model: "m", text: $t}}"#
        for operation in [
            "doc_insert(data: \(data))", "doc_upsert(data: \(data))", "doc_insertMany(data: [\(data), \(data)])",
            "doc_upsertMany(data: \(data))", "doc_update(key: {id_expr: \"uuidV4()\"}, data: \(data))",
            "doc_updateMany(all: true, data: \(data))",
        ] {
            #expect(try texts("mutation M($t: String!) { \(operation) }", #"{"t": "x"}"#) == ["m/2 x"], "\(operation)")
        }
        #expect(
            try texts(
                """
                mutation M {
                  doc_insert(
                    data: {
                      title: "t",
                      embedding_embed: {model: "m", text: "a"},
                      notes_on_doc: [{v_embed: {model: "m", text: "b"}}, {}, {v_embed: {text: "c", model: "m"}}]
                    }
                  )
                  query { docs_embedding_similarity(compare_embed: {model: "m", text: "d"}) { id } }
                }
                """
            ) == ["m/2 a", "m/3 b", "m/3 c", "m/2 d"])
        #expect(
            try texts(
                """
                mutation M($n: [Note_Data!]! @allow(fields: "v")) {
                  doc_insert(data: {title: "t", embedding_embed: {model: "m", text: "a"}, notes_on_doc: $n})
                }
                """,
                #"{"n": [{"v": [1, 2, 3]}]}"#) == ["m/2 a"])
    }

    @Test func skippedFieldsRequestNoEmbeddings() throws {
        let query =
            """
            query Q($no: Boolean!, $f: Doc_Filter) {
              docs_embedding_similarity(where: $f, compare_embed: {model: "m", text: "a"}) @skip(if: $no) { id }
              docs { id }
            }
            """
        #expect(try texts(query, #"{"no": true}"#) == [])
        #expect(try texts(query, #"{"no": false, "f": {"title": {"eq": "x"}}}"#) == ["m/2 a"])
        let mutation =
            """
            mutation M($no: Boolean!) {
              a: doc_insert(data: {title: "t", embedding_embed: {model: "m", text: "a"}}) @skip(if: $no)
              b: doc_insertMany(data: [{title: "t", other_embed: {model: "m", text: "b"}}]) @include(if: $no)
            }
            """
        #expect(try texts(mutation, #"{"no": true}"#) == ["m/any b"])
        #expect(try texts(mutation, #"{"no": false}"#) == ["m/2 a"])
        #expect(try compile("query Q { docs { id } }").hasEmbeddings == false)
    }

    @Test func aTextThatIsNull() throws {
        let query =
            #"query Q($q: String = "x") { docs_embedding_similarity(compare_embed: {model: "m", text: $q}) { id } }"#
        #expect(try texts(query) == ["m/2 x"])
        #expect(throws: RequestError(.invalidVariable, #"$q is null, but "m" needs a text to embed"#)) {
            _ = try texts(query, #"{"q": null}"#)
        }
    }

    // MARK: Their vectors

    @Test func vectorsAreBoundLikeThoseThatAreSent() throws {
        let embedded = try compile(
            """
            query Q($q: String!, $d: Float) {
              docs_embedding_similarity(compare_embed: {model: "m", text: $q}, within: $d) { id }
            }
            """
        )
        let sent = try compile(
            "query Q($q: Vector!, $d: Float) { docs_embedding_similarity(compare: $q, within: $d) { id } }")
        let variables: JSONObject = ["q": "sea", "d": .double(0.5)]
        let call = try embedded.queryCall(
            variables: variables, auth: nil, nowMs: 0, embeddings: try embeddings(embedded, variables))
        let like = try sent.query(#"{"q": [3, 0.5], "d": 0.5}"#)
        #expect(call.statement.single == like.statement.single)
        #expect(call.statement.multiplexed == like.statement.multiplexed)
        #expect(call.parameters == like.parameters)
        #expect(call.parameters.contains("[3.0,0.5]"))
    }

    @Test func mutationsListTheTextsThatNeedVectors() throws {
        let operation = try compile(
            """
            mutation M($t: String!) {
              a: doc_insert(data: {title: $t, embedding_embed: {model: "m", text: $t}})
              b: doc_insertMany(
                data: [{title: "t", embedding_embed: {model: "m", text: "xx"}}, {title: "u", embedding: [7, 8]}]
              )
            }
            """
        )
        let variables: JSONObject = ["t": "four"]
        let call = try operation.mutationCall(
            variables: variables, auth: nil, nowMs: 0, embeddings: try embeddings(operation, variables),
            makeUUID: { CatalogHarness.uuidA })
        #expect(call.steps[0].parameters.contains("[4.0,0.5]"))
        #expect(call.steps[1].parameters.contains(#"{"[2.0,0.5]","[7.0,8.0]"}"#))
    }

    @Test func inABatchATextWithoutAVectorFailsAlone() throws {
        let operation = try compile(
            #"query Q($q: String!) { docs_embedding_similarity(compare_embed: {model: "m", text: $q}) { id } }"#)
        let failure = RequestError(.timeout, "late")
        func text(_ text: String) -> EmbeddingText { EmbeddingText(model: "m", text: text, size: 2) }
        let embeddings = Embeddings([
            text("a"): .success(EmbeddingVector([1, 2])), text("b"): .failure(failure),
            text("c"): .success(EmbeddingVector([3, 4])),
        ])
        let all = ["a", "b", "c", "a"]
        let (batches, failures) = try operation.queryBatches(count: 4, nowMs: 0, embeddings: embeddings) {
            (["q": .string(all[$0])], nil)
        }
        #expect(batches.map(\.members) == [[0, 2, 3]])
        #expect(batches.first?.columns.contains(["[1.0,2.0]", "[3.0,4.0]", "[1.0,2.0]"]) == true)
        #expect(failures.map(\.index) == [1])
        #expect(failures.first?.error == failure)
    }

    // MARK: Texts that are refused

    @Test(arguments: [
        (
            #"mutation M { doc_insert(data: {title: "t", title_embed: {model: "m", text: "t"}}) }"#,
            """
            unknown-input-field: Doc_Data has no field "title_embed" [only columns of type Vector have a field \
            …_embed]
            """
        ),
        (
            """
            mutation M { doc_insert(data: {title: "t", embedding: [1, 2], embedding_embed: {model: "m", text: "t"}}) }
            """,
            #"unique-input-field: column "embedding" is given more than once"#
        ),
        (
            #"mutation M($t: String) { doc_insert(data: {title: "t", embedding_embed: {model: "m", text: $t}}) }"#,
            #"variable-position: "$t" of type String cannot be used where String! is expected"#
        ),
        (
            #"mutation M($t: Int!) { doc_insert(data: {title: "t", embedding_embed: {model: "m", text: $t}}) }"#,
            #"variable-position: "$t" of type Int! cannot be used where String! is expected"#
        ),
        (
            #"query Q { docs_embedding_similarity(compare_embed: {model: "m", text: null}) { id } }"#,
            "value-type: expected String!, found null"
        ),
        (
            #"query Q { docs_embedding_similarity(compare_embed: {model: "m", text: 1}) { id } }"#,
            "value-type: expected a string"
        ),
        (
            #"query Q { docs_embedding_similarity(compare_embed: {model: m, text: "t"}) { id } }"#,
            "embeddings: expected a string with the name of a model"
        ),
        (
            #"query Q { docs_embedding_similarity(compare_embed: "t") { id } }"#,
            "value-type: expected an object of type Vector_Embed"
        ),
        (
            #"query Q { docs_embedding_similarity(compare_embed: {model: "m", text: "t", task: "x"}) { id } }"#,
            #"unknown-input-field: Vector_Embed has no field "task""#
        ),
        (
            #"query Q($e: Vector_Embed!) { docs_embedding_similarity(compare_embed: $e) { id } }"#,
            """
            variable-type: variables of type "Vector_Embed" are not supported [write a literal in the operation, \
            with variables as its leaves]
            """
        ),
        (
            #"query Q { docs_embedding_similarity { id } }"#,
            #"missing-argument: "docs_embedding_similarity" needs the argument "compare" or "compare_embed""#
        ),
        (
            #"mutation M($d: Doc_Data! @allow(fields: "title embedding_embed")) { doc_insert(data: $d) }"#,
            """
            allow: @allow cannot name "embedding_embed": Doc_Data has no such field for variables [embeddings must \
            be literals]
            """
        ),
    ])
    func misplacedEmbeddingsAreRefused(_ text: String, _ expected: String) {
        let found = CatalogHarness.errors(text, schema: Self.schema)
        #expect(found.first?.hasSuffix(expected) == true, "\(found)")
    }

    @Test func aVariableOfDataBringsNone() throws {
        let operation = try compile(
            #"mutation M($d: Doc_Data! @allow(fields: "title embedding")) { doc_insert(data: $d) }"#)
        #expect(
            throws: RequestError(
                .invalidVariable,
                #"variable "$d": Doc_Data has no field "embedding_embed" here; did you mean "embedding"?"#)
        ) {
            _ = try operation.coerce(
                try CatalogHarness.object(#"{"d": {"title": "t", "embedding_embed": {"model": "m", "text": "t"}}}"#))
        }
    }
}
