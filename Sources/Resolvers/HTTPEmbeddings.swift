package import Catalog
package import Embedder
internal import Execution
internal import LiveModel
package import Logging
internal import Metrics
internal import NIOCore
internal import Synchronization

/// Asks the embedding server for what `EmbeddingDesk` decides. `freshet_embedding_requests_total` counts by outcome.
package final class HTTPEmbeddings: EmbeddingTransport {
    private typealias Desk = EmbeddingDesk<CheckedContinuation<Embeddings, Never>>

    private let endpoint: EmbeddingEndpoint
    private let sender: HTTPSender
    private let timeoutMs: Int
    private let answerBytesMax: Int
    private let desk: Mutex<Desk>
    private let logger: Logger
    /// Models whose last answer was an error. Bound: the models that operations name.
    private let failing = Mutex<Set<String>>([])

    package init(
        _ endpoint: EmbeddingEndpoint, _ settings: EmbeddingSettings, sender: HTTPSender, logger: Logger
    ) {
        self.logger = logger
        self.endpoint = endpoint
        self.sender = sender
        timeoutMs = Int(settings.timeoutMs)
        answerBytesMax = settings.answerBytesMax
        desk = Mutex(Desk(settings))
    }

    package func embeddings(of texts: [EmbeddingText]) async -> Embeddings {
        await withCheckedContinuation { continuation in
            perform(desk.withLock { $0.want(texts, by: continuation, nowMs: Self.nowMs()) })
        }
    }

    /// What waits is refused; what is under way ends with the sender.
    package func stop() {
        perform(desk.withLock { $0.stop() })
    }

    private func perform(_ actions: [Desk.Action]) {
        for action in actions {
            switch action {
            case .finish(let continuation, let embeddings): continuation.resume(returning: embeddings)
            // Not the caller's task: others may wait for the same text.
            case .send(let request):
                Task {
                    let answer = await ask(request)
                    report(answer, to: request)
                    perform(desk.withLock { $0.answered(request.id, answer, nowMs: Self.nowMs()) })
                }
            }
        }
    }

    private func ask(_ request: EmbeddingRequest) async -> EmbeddingEndpoint.Answer {
        var headers = [(name: "accept", value: "application/json")]
        if let token = endpoint.token { headers.append(("authorization", "Bearer \(token)")) }
        let outcome = await sender.post(
            HTTPSender.Request(
                url: endpoint.uri(of: request), headers: headers, body: endpoint.body(of: request),
                timeoutMs: timeoutMs, answerBytesMax: answerBytesMax))
        return switch outcome {
        case .success(let answer): endpoint.answer(to: request, status: answer.status, body: answer.body)
        case .failure(.late): .failed(request.failure("did not answer in \(timeoutMs) ms", code: .timeout))
        case .failure(.answerTooLarge): .failed(request.failure("answered with more than \(answerBytesMax) bytes"))
        case .failure(.unreachable): .failed(request.failure("cannot be reached", code: .unavailable))
        // Nothing is changed by asking: it can be done again.
        case .failure(.broken): .failed(request.failure("broke the connection off", code: .unavailable))
        case .failure(.stopped): .failed(request.failure("is not asked: the node stops", code: .unavailable))
        }
    }

    /// Once when a model begins to fail, and once when it answers again.
    private func report(_ answer: EmbeddingEndpoint.Answer, to request: EmbeddingRequest) {
        let outcome: String
        switch answer {
        case .outcomes:
            outcome = "answered"
            guard failing.withLock({ $0.remove(request.model) }) != nil else { break }
            logger.notice("the embedding server answers again", metadata: ["model": "\(request.model)"])
        case .refused: outcome = "refused"
        case .failed(let error):
            outcome = "failed"
            guard failing.withLock({ $0.insert(request.model).inserted }) else { break }
            logger.warning(
                "no vectors of texts", metadata: ["error": "\(error.message)", "cause": "\(error.cause ?? "")"])
        }
        Counter(label: "freshet_embedding_requests_total", dimensions: [("outcome", outcome)]).increment()
    }

    private static func nowMs() -> Int64 { Int64(NIODeadline.now().uptimeNanoseconds / 1_000_000) }
}
