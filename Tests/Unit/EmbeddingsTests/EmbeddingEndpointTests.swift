import Embeddings
import JSON
import LiveModel
import Operations
import Testing

/// Both wire formats: the requests, and the meaning of every kind of response.
@Suite struct EmbeddingEndpointTests {
    private static let openai = EmbeddingEndpoint(
        url: "http://localhost:11434/v1/", format: .openai, models: ["gecko@003": "nomic-embed-text"])
    private static let vertex = EmbeddingEndpoint(
        url: "https://eu.example/v1/projects/p/locations/eu/publishers/google", format: .vertex)

    private static func request(_ texts: String..., model: String = "gecko@003", size: Int? = 2) -> EmbeddingRequest {
        EmbeddingRequest(
            id: 1, model: model, texts: texts.map { EmbeddingText(model: model, text: $0, size: size) },
            timeoutMs: 10)
    }

    private func sent(_ endpoint: EmbeddingEndpoint, _ request: EmbeddingRequest) -> String {
        "\(endpoint.uri(of: request)) \(String(decoding: endpoint.body(of: request), as: UTF8.self))"
    }

    @Test func requestsHaveTheFormOfTheServer() {
        let request = Self.request("a \"b\"", "ü")
        #expect(
            sent(Self.openai, request)
                == #"http://localhost:11434/v1/embeddings {"model":"nomic-embed-text","input":["a \"b\"","ü"]}"#)
        #expect(
            sent(Self.vertex, request)
                == #"""
                https://eu.example/v1/projects/p/locations/eu/publishers/google/models/gecko@003:predict \#
                {"instances":[{"content":"a \"b\""},{"content":"ü"}]}
                """#
        )
        // A model's name stays one segment of the path.
        #expect(
            Self.vertex.uri(of: Self.request("a", model: "x/../y?z:ü")).hasSuffix(
                "/models/x%2F..%2Fy%3Fz%3A%C3%BC:predict"))
    }

    /// Texts of vectors, or messages; `refused` and `failed` before those of the request as a whole.
    private func read(
        _ endpoint: EmbeddingEndpoint, _ request: EmbeddingRequest, status: Int = 200, _ body: String
    ) -> [String] {
        func said(_ error: RequestError) -> String {
            "\(error.code.rawValue) \(error.message)" + (error.cause.map { " (\($0))" } ?? "")
        }
        switch endpoint.answer(to: request, status: status, body: Array(body.utf8)) {
        case .outcomes(let outcomes):
            return outcomes.map { outcome in
                switch outcome {
                case .success(let vector): vector.text
                case .failure(let error): said(error)
                }
            }
        case .refused(let error): return ["refused", said(error)]
        case .late: return ["late"]
        case .failed(let error): return ["failed", said(error)]
        }
    }

    @Test func vectorsAreReadInBothForms() {
        let two = Self.request("a", "b")
        #expect(
            read(
                Self.openai, two,
                #"{"data":[{"index":1,"embedding":[0.25,1e-3]},{"index":0,"embedding":[1,-2]}],"usage":{}}"#)
                == ["[1.0,-2.0]", "[0.25,0.001]"])
        #expect(
            read(Self.openai, two, #"{"data":[{"embedding":[1,2]},{"embedding":[3,4]}]}"#)
                == ["[1.0,2.0]", "[3.0,4.0]"])
        #expect(
            read(
                Self.vertex, two,
                #"{"predictions":[{"embeddings":{"values":[1,2],"statistics":{}}},{"embeddings":{"values":[0.1,4]}}]}"#)
                == ["[1.0,2.0]", "[0.1,4.0]"])
        #expect(
            read(Self.openai, Self.request("a", size: nil), #"{"data":[{"embedding":[1,2,3]}]}"#) == ["[1.0,2.0,3.0]"])
    }

    @Test(arguments: [
        ("[1,2,3]", "returned a vector with 3 dimensions, but the column has 2"),
        ("[1,1e39]", "sent a vector with values that are not finite numbers"),
        ("[1,\"2\"]", "sent a vector with values that are not finite numbers"),
        ("[1,null]", "sent a vector with values that are not finite numbers"),
        ("[]", "sent an embedding that is not a list of numbers"),
        ("\"AACAPwAAAEA=\"", "sent an embedding that is not a list of numbers"),
    ])
    func aVectorThatIsNoneFailsAlone(_ vector: String, _ message: String) {
        let answer = read(
            Self.openai, Self.request("a", "b"), #"{"data":[{"embedding":[5,6]},{"embedding":\#(vector)}]}"#)
        #expect(answer == ["[5.0,6.0]", #"RESOLVER_FAILED the embedding server for "gecko@003" \#(message)"#])
    }

    @Test(arguments: [
        "{}", "[]", #"{"data":null}"#, #"{"data":[]}"#, #"{"data":[{"embedding":[1,2]},{"embedding":[1,2]}]}"#,
        #"{"data":[{"index":1,"embedding":[1,2]}]}"#, #"{"data":[{"index":-1,"embedding":[1,2]}]}"#,
        #"{"data":[{"index":"0","embedding":[1,2]}]}"#, #"{"data":[{}]}"#, #"{"data":[1]}"#,
    ])
    func answersWithoutAnEmbeddingForEachText(_ body: String) {
        #expect(
            read(Self.openai, Self.request("a"), body) == [
                "failed",
                #"RESOLVER_FAILED the embedding server for "gecko@003" sent no "data" with an embedding for each text"#,
            ])
    }

    @Test(arguments: [#"{"predictions":[]}"#, #"{"predictions":[{}]}"#, #"{"predictions":[{"embeddings":{}}, 1]}"#])
    func answersWithoutPredictionsFail(_ body: String) {
        #expect(
            read(Self.vertex, Self.request("a"), body) == [
                "failed",
                """
                RESOLVER_FAILED the embedding server for "gecko@003" sent no "predictions" with values for each text
                """,
            ])
    }

    private static let server = #"the embedding server for "gecko@003""#

    /// Clients never get the server's message, which may name hosts, projects, keys, or another user's text.
    @Test(arguments: [
        (200, "<html>", "failed UNAVAILABLE \(server) sent a response that is not JSON"),
        (
            404, #"{"error":{"message":"no model"}}"#,
            "failed RESOLVER_FAILED \(server) does not know the model (HTTP status 404: no model)"
        ),
        (
            400, #"{"error":"too long","code":1}"#,
            "refused RESOLVER_FAILED \(server) rejected the text (HTTP status 400: too long)"
        ),
        (
            413, #"{"message":"too large"}"#,
            "refused RESOLVER_FAILED \(server) rejected the text (HTTP status 413: too large)"
        ),
        (422, #"{"detail":"empty"}"#, "refused RESOLVER_FAILED \(server) rejected the text (HTTP status 422: empty)"),
        (400, "no", "refused RESOLVER_FAILED \(server) rejected the text (HTTP status 400)"),
        // An operator's to mend: who follows keeps the result until then.
        (
            401, #"{"error":{"message":"bad key"}}"#,
            "failed UNAVAILABLE \(server) responded with HTTP status 401 (HTTP status 401: bad key)"
        ),
        (403, "", "failed UNAVAILABLE \(server) responded with HTTP status 403 (HTTP status 403)"),
        (408, "", "failed UNAVAILABLE \(server) responded with HTTP status 408 (HTTP status 408)"),
        (500, "oops", "failed UNAVAILABLE \(server) responded with HTTP status 500 (HTTP status 500)"),
        (302, "", "failed RESOLVER_FAILED \(server) responded with HTTP status 302 (HTTP status 302)"),
        (429, "{}", "failed LIMIT_EXCEEDED \(server) is rate-limited (HTTP status 429)"),
        (
            503, #"{"error":"loading"}"#,
            "failed UNAVAILABLE \(server) responded with HTTP status 503 (HTTP status 503: loading)"
        ),
        (529, "", "failed UNAVAILABLE \(server) responded with HTTP status 529 (HTTP status 529)"),
    ])
    func refusalsHideTheServersMessage(_ status: Int, _ body: String, _ expected: String) {
        #expect(read(Self.openai, Self.request("a"), status: status, body).joined(separator: " ") == expected)
    }

    @Test func theTokenIsNotInTheCause() {
        let endpoint = EmbeddingEndpoint(url: "http://a", format: .openai, token: "sk-1")
        #expect(
            read(endpoint, Self.request("a"), status: 401, #"{"error":{"message":"bad key sk-1."}}"#) == [
                "failed", "UNAVAILABLE \(Self.server) responded with HTTP status 401 (HTTP status 401: bad key ….)",
            ])
        // Nor a part of it, where the words are cut.
        for length in 470..<490 {
            let long = #"{"error":{"message":"\#(String(repeating: "x", count: length))sk-1"}}"#
            #expect(!read(endpoint, Self.request("a"), status: 401, long).joined().contains("xs"))
        }
    }
}
