import Embeddings

package struct ResolversSection: SettingSection {
    package static let doc = "Requests to custom resolvers; dataconnect.yaml has their URLs and timeouts."
    package static let declared = ResolversSection()

    package let inFlightMax = Setting.int(
        "resolvers.inFlightMax", 256, in: 1...100_000, "Requests in flight on this node; more are refused.")
    package let answerBytesMax = Setting.bytes(
        "resolvers.answerBytesMax", mib, in: kib...64 * mib, "Size of one response.")
}

package struct EmbeddingsSection: SettingSection {
    package static let doc = "The server that embeds texts for `_embed` and `compare_embed`."
    package static let declared = EmbeddingsSection()

    package let url = Setting.optional(
        "embeddings.url",
        "Base URL, before /embeddings (format openai) or /models/NAME:predict (vertex); empty: there is no server.")
    package let format = Setting<EmbeddingFormat>.choice(
        "embeddings.format", .openai,
        "openai: what Ollama, vLLM, text-embeddings-inference and LiteLLM speak; vertex: Vertex AI.")
    package let token = Setting.optional(
        "embeddings.token", secret: true, "Bearer token for the server; empty: none is sent.")
    package let models = Setting.list(
        "embeddings.models",
        "Models whose name at the server differs from that in operations: textembedding-gecko@003=nomic-embed-text.")
    package let timeoutMs = Setting.duration(
        "embeddings.timeoutMs", Parts.embeddings.timeoutMs, in: 10...10 * minute,
        "Time in which a text must be embedded, including queueing and retries.")
    package let inFlightMax = Setting.int(
        "embeddings.inFlightMax", Parts.embeddings.inFlightMax, in: 1...256,
        "Requests in flight on this node; further texts wait.")
    package let waitersMax = Setting.int(
        "embeddings.waitersMax", Parts.embeddings.waitersMax, in: 1...1_000_000,
        "Requests and re-runs waiting for vectors; more are refused. Less than api.requestsInFlightMax.")
    package let waitingTextsMax = Setting.int(
        "embeddings.waitingTextsMax", Parts.embeddings.waitingTextsMax, in: 1...1_000_000,
        "Texts waiting on this node; more are refused.")
    package let waitingBytesMax = Setting.bytes(
        "embeddings.waitingBytesMax", Parts.embeddings.waitingBytesMax, in: 2 * mib...4096 * mib,
        "Total size of those texts.")
    package let answerBytesMax = Setting.bytes(
        "embeddings.answerBytesMax", Parts.embeddings.answerBytesMax, in: kib...64 * mib, "Size of one response.")
    package let textsPerRequestMax = Setting.int(
        "embeddings.textsPerRequestMax", Parts.embeddings.textsPerRequestMax, in: 1...2048, "Texts of one request.")
    package let textBytesMax = Setting.bytes(
        "embeddings.textBytesMax", Parts.embeddings.textBytesMax, in: 1...mib, "Size of one text.")
    package let cacheEntriesMax = Setting.int(
        "embeddings.cacheEntriesMax", Parts.embeddings.cacheEntriesMax, in: 0...1_000_000,
        "Most recently used vectors that a node keeps; should exceed the number of texts in its live queries.")
    package let cacheBytesMax = Setting.bytes(
        "embeddings.cacheBytesMax", Parts.embeddings.cacheBytesMax, in: 0...65_536 * mib,
        "Total size of those and their texts; 768 numbers take about 10 KB.")
}

extension SectionSettings where Section == EmbeddingsSection {
    /// Names of models at the server, by their names in operations. Nil when an entry is malformed or a model is twice.
    package var serverModels: [String: String]? {
        var names: [String: String] = [:]
        for entry in self.models {
            guard let position = entry.firstIndex(of: "="), position != entry.startIndex else { return nil }
            let name = entry[entry.index(after: position)...]
            if name.isEmpty || names.updateValue(String(name), forKey: String(entry[..<position])) != nil {
                return nil
            }
        }
        return names
    }
}

package enum EmbeddingFormat: String, Sendable, CaseIterable {
    case openai, vertex
}
