import JSON
package import LiveModel
package import Operations

/// How the embedding server is spoken to.
package enum EmbeddingFormat: String, Sendable, CaseIterable {
    /// `POST {url}/embeddings {model, input: […]}`, as OpenAI, Ollama, vLLM, text-embeddings-inference and LiteLLM have it.
    case openai
    /// `POST {url}/models/{model}:predict {instances: [{content}, …]}` of Vertex AI.
    case vertex
}

/// The server that makes vectors of texts: what is sent to it, and what its answers mean.
package struct EmbeddingEndpoint: Sendable {
    /// Without a slash at its end.
    package let url: String
    package let format: EmbeddingFormat
    /// Nil: none is sent.
    package let token: String?
    /// What the server calls the models of operations, where it calls them something else.
    package let models: [String: String]

    package init(url: String, format: EmbeddingFormat, token: String? = nil, models: [String: String] = [:]) {
        self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
        self.format = format
        self.token = token
        self.models = models
    }

    /// What an answer is to its request.
    package enum Answer: Sendable {
        /// One for each text, in the order of the request.
        case outcomes([Embeddings.Outcome])
        /// One of the texts may be to blame.
        case refused(RequestError)
        /// There was none in time.
        case late
        case failed(RequestError)
    }

    // MARK: Requests

    package func uri(of request: EmbeddingRequest) -> String {
        switch format {
        case .openai: "\(url)/embeddings"
        case .vertex: "\(url)/models/\(Self.pathSegment(name(request.model))):predict"
        }
    }

    package func body(of request: EmbeddingRequest) -> [UInt8] {
        let texts = request.texts.map { JSONValue.string($0.text) }
        return switch format {
        case .openai: JSONWriter.compact(["model": .string(name(request.model)), "input": .array(texts)])
        case .vertex: JSONWriter.compact(["instances": .array(texts.map { ["content": $0] })])
        }
    }

    private func name(_ model: String) -> String { models[model] ?? model }

    /// RFC 3986 §3.3: what may stand in a segment stays, all else is escaped.
    private static func pathSegment(_ text: String) -> String {
        let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~@".utf8)
        let digits = Array("0123456789ABCDEF".utf8)
        var segment: [UInt8] = []
        for byte in text.utf8 {
            segment +=
                plain.contains(byte) ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: segment, as: UTF8.self)
    }

    // MARK: Answers

    /// - Parameter status: of HTTP.
    package func answer(to request: EmbeddingRequest, status: Int, body: [UInt8]) -> Answer {
        let json = try? JSONParser.parse(body, limits: JSONLimits(bytesMax: body.count))
        guard status == 200 else { return refusal(of: request, status, json) }
        // A proxy's page, half an answer: that will pass.
        guard let json else {
            return .failed(request.failure("answered with something that is not JSON", code: .unavailable))
        }
        let lists: [JSONValue]
        switch format {
        case .openai:
            guard let found = Self.openAILists(json, count: request.texts.count) else {
                return .failed(request.failure("answered without \"data\" that has an embedding for each text"))
            }
            lists = found
        case .vertex:
            let predictions = json["predictions"]?.arrayValue ?? []
            lists = predictions.compactMap { $0["embeddings"]?["values"] }
            guard lists.count == predictions.count, lists.count == request.texts.count else {
                return .failed(request.failure("answered without \"predictions\" that have values for each text"))
            }
        }
        return .outcomes(zip(request.texts, lists).map { Self.outcome($0, $1, request) })
    }

    /// Servers need not keep the order: `index` says which text.
    private static func openAILists(_ json: JSONValue, count: Int) -> [JSONValue]? {
        guard let items = json["data"]?.arrayValue, items.count == count else { return nil }
        var lists: [JSONValue?] = Array(repeating: nil, count: count)
        for (position, item) in items.enumerated() {
            let index = item["index"].map { $0.intValue.flatMap { Int(exactly: $0) } ?? -1 } ?? position
            guard lists.indices.contains(index), lists[index] == nil, let list = item["embedding"] else { return nil }
            lists[index] = list
        }
        return lists.compactMap { $0 }
    }

    private static func outcome(
        _ text: EmbeddingText, _ list: JSONValue, _ request: EmbeddingRequest
    ) -> Embeddings.Outcome {
        guard let elements = list.arrayValue, !elements.isEmpty else {
            return .failure(request.failure("answered with something that is no list of numbers"))
        }
        if let size = text.size, elements.count != size {
            return .failure(request.failure("makes vectors of \(elements.count) numbers, but the column has \(size)"))
        }
        var numbers: [Float] = []
        numbers.reserveCapacity(elements.count)
        for element in elements {
            // pgvector holds single precision.
            guard let number = element.doubleValue.map({ Float($0) }), number.isFinite else {
                return .failure(request.failure("answered with a vector that has something else than finite numbers"))
            }
            numbers.append(number)
        }
        return .success(EmbeddingVector(numbers))
    }

    private func refusal(of request: EmbeddingRequest, _ status: Int, _ json: JSONValue?) -> Answer {
        // Not for clients: servers name hosts, projects and keys, and the texts of others.
        var said = json.flatMap(Self.message).map { ": \($0)" } ?? ""
        // Nor is the token for the log.
        if let token { said = said.replacing(token, with: "…") }
        let cause = "HTTP status \(status)\(said.prefix(500))"
        return switch status {
        case 400, 413, 422: .refused(request.failure("refused the text", cause: cause))
        case 404: .failed(request.failure("does not know the model", cause: cause))
        case 429: .failed(request.failure("is asked too often", code: .limitExceeded, cause: cause))
        // A token that is refused is the operator's to mend, as a server that is ill: who follows keeps the result.
        case 401, 403, 408, 500...599:
            .failed(request.failure("answered with HTTP status \(status)", code: .unavailable, cause: cause))
        default: .failed(request.failure("answered with HTTP status \(status)", cause: cause))
        }
    }

    /// `{error: {message}}`, `{error: "…"}`, `{message}`, `{detail: "…"}`.
    private static func message(_ json: JSONValue) -> String? {
        json["error"]?["message"]?.stringValue ?? json["error"]?.stringValue ?? json["message"]?.stringValue
            ?? json["detail"]?.stringValue
    }
}
