import JSON
package import LiveModel
package import Operations

/// The protocol of the embedding server.
package enum EmbeddingFormat: String, Sendable, CaseIterable {
    /// `POST {url}/embeddings {model, input: […]}`, as implemented by OpenAI, Ollama, vLLM, text-embeddings-inference
    /// and LiteLLM.
    case openai
    /// `POST {url}/models/{model}:predict {instances: [{content}, …]}`, as implemented by Vertex AI.
    case vertex
}

/// The embedding server: encodes requests and decodes responses.
package struct EmbeddingEndpoint: Sendable {
    /// The URL without a trailing slash.
    package let url: String
    package let format: EmbeddingFormat
    /// The bearer token, if any.
    package let token: String?
    /// The server's names of the operations' models, where they differ.
    package let models: [String: String]

    package init(url: String, format: EmbeddingFormat, token: String? = nil, models: [String: String] = [:]) {
        self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
        self.format = format
        self.token = token
        self.models = models
    }

    /// The result of a request.
    package enum Answer: Sendable {
        /// One per text, in the order of the request.
        case outcomes([Embeddings.Outcome])
        /// The server rejected the request; a single text may be the cause.
        case refused(RequestError)
        /// No response arrived in time.
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

    /// Percent-encodes a path segment (RFC 3986 §3.3).
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

    // MARK: Responses

    /// Decodes a response.
    /// - Parameter status: the HTTP status.
    package func answer(to request: EmbeddingRequest, status: Int, body: [UInt8]) -> Answer {
        let json = try? JSONParser.parse(body, limits: JSONLimits(bytesMax: body.count))
        guard status == 200 else { return refusal(of: request, status, json) }
        // Probably a proxy's error page or a truncated response: transient.
        guard let json else {
            return .failed(request.failure("sent a response that is not JSON", code: .unavailable))
        }
        let lists: [JSONValue]
        switch format {
        case .openai:
            guard let found = Self.openAILists(json, count: request.texts.count) else {
                return .failed(request.failure("sent no \"data\" with an embedding for each text"))
            }
            lists = found
        case .vertex:
            let predictions = json["predictions"]?.arrayValue ?? []
            lists = predictions.compactMap { $0["embeddings"]?["values"] }
            guard lists.count == predictions.count, lists.count == request.texts.count else {
                return .failed(request.failure("sent no \"predictions\" with values for each text"))
            }
        }
        return .outcomes(zip(request.texts, lists).map { Self.outcome($0, $1, request) })
    }

    /// Servers need not keep the order: `index` identifies the text.
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
            return .failure(request.failure("sent an embedding that is not a list of numbers"))
        }
        if let size = text.size, elements.count != size {
            return .failure(
                request.failure("returned a vector with \(elements.count) dimensions, but the column has \(size)"))
        }
        var numbers: [Float] = []
        numbers.reserveCapacity(elements.count)
        for element in elements {
            // pgvector stores single precision.
            guard let number = element.doubleValue.map({ Float($0) }), number.isFinite else {
                return .failure(request.failure("sent a vector with values that are not finite numbers"))
            }
            numbers.append(number)
        }
        return .success(EmbeddingVector(numbers))
    }

    private func refusal(of request: EmbeddingRequest, _ status: Int, _ json: JSONValue?) -> Answer {
        // Not for clients: servers mention hosts, projects, keys and other clients' texts.
        var detail = json.flatMap(Self.message).map { ": \($0)" } ?? ""
        // The token must not be logged either.
        if let token { detail = detail.replacing(token, with: "…") }
        let cause = "HTTP status \(status)\(detail.prefix(500))"
        return switch status {
        case 400, 413, 422: .refused(request.failure("rejected the text", cause: cause))
        case 404: .failed(request.failure("does not know the model", cause: cause))
        case 429: .failed(request.failure("is rate-limited", code: .limitExceeded, cause: cause))
        // The operator must fix a rejected token, like a failing server; live queries keep their last result meanwhile.
        case 401, 403, 408, 500...599:
            .failed(request.failure("responded with HTTP status \(status)", code: .unavailable, cause: cause))
        default: .failed(request.failure("responded with HTTP status \(status)", cause: cause))
        }
    }

    /// Returns the message of `{error: {message}}`, `{error: "…"}`, `{message}` or `{detail: "…"}`.
    private static func message(_ json: JSONValue) -> String? {
        json["error"]?["message"]?.stringValue ?? json["error"]?.stringValue ?? json["message"]?.stringValue
            ?? json["detail"]?.stringValue
    }
}
