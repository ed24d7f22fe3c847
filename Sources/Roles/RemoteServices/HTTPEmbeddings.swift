import Clocks
package import Embeddings
package import Execution
import LiveModel
package import Logging
import Metrics
import Observability
package import Operations
import Synchronization
package import OutboundHTTP

/// Sends the requests that `EmbeddingBatcher` decides on to the embedding server.
package final class HTTPEmbeddings: EmbeddingTransport {
    private typealias Batcher = EmbeddingBatcher<CheckedContinuation<Embeddings, Never>>

    private let endpoint: EmbeddingEndpoint
    private let sender: HTTPSender
    private let timeoutMs: Int64
    private let answerBytesMax: Int
    private let desk: Mutex<Batcher>
    private let logger: Logger
    private let told = Mutex(LoggedState())
    private let metrics = EmbeddingMetrics()

    /// What the log has. Bound: the models that operations name, and the few messages there are.
    private struct LoggedState {
        /// Of models whose last answer was an error: the messages since.
        var failures: [String: Set<String>] = [:]
        /// Models of which several texts were refused.
        var refusing: Set<String> = []
    }

    package init(
        _ endpoint: EmbeddingEndpoint, _ settings: EmbeddingSettings, sender: HTTPSender, logger: Logger
    ) {
        self.logger = logger
        self.endpoint = endpoint
        self.sender = sender
        timeoutMs = settings.timeoutMs
        answerBytesMax = settings.answerBytesMax
        desk = Mutex(Batcher(settings))
    }

    package func embeddings(of texts: [EmbeddingText]) async -> Embeddings {
        await withCheckedContinuation { continuation in
            let (actions, known, unknown) = desk.withLock { desk in
                let before = desk.counts
                let actions = desk.want(texts, by: continuation, nowMs: MonotonicClock.nowMs())
                return (actions, desk.counts.known - before.known, desk.counts.unknown - before.unknown)
            }
            metrics.texts[.hit].increment(by: known)
            metrics.texts[.miss].increment(by: unknown)
            perform(actions)
        }
    }

    /// What waits is refused; what is under way ends with the sender.
    package func stop() {
        perform(desk.withLock { $0.stop() })
    }

    private func perform(_ actions: [Batcher.Action]) {
        for action in actions {
            switch action {
            case .finish(let continuation, let embeddings): continuation.resume(returning: embeddings)
            // Not the caller's task: others may wait for the same text.
            case .send(let request):
                Task {
                    let answer = await ask(request)
                    report(answer, to: request)
                    perform(desk.withLock { $0.answered(request.id, answer, nowMs: MonotonicClock.nowMs()) })
                }
            }
        }
    }

    private func ask(_ request: EmbeddingRequest) async -> EmbeddingEndpoint.Answer {
        var headers = [(name: "accept", value: "application/json")]
        if let token = endpoint.token { headers.append(("authorization", "Bearer \(token)")) }
        let outcome = await sender.send(
            HTTPSender.Request(
                url: endpoint.uri(of: request), headers: headers, body: endpoint.body(of: request),
                timeoutMs: Int(request.timeoutMs), answerBytesMax: answerBytesMax))
        return switch outcome {
        case .success(let answer): endpoint.answer(to: request, status: answer.status, body: answer.body)
        case .failure(.late): .late
        // That of fewer texts is smaller.
        case .failure(.answerTooLarge): .refused(request.failure("answered with more than \(answerBytesMax) bytes"))
        case .failure(.unreachable(let cause)):
            .failed(request.failure("cannot be reached", code: .unavailable, cause: cause))
        // Nothing is changed by asking: it can be done again.
        case .failure(.broken(let cause)):
            .failed(request.failure("broke the connection off", code: .unavailable, cause: cause))
        case .failure(.stopped): .failed(request.failure("is not asked: the node stops", code: .unavailable))
        }
    }

    /// Each fault of a model once, until it answers again; that it refuses several texts once.
    private func report(_ answer: EmbeddingEndpoint.Answer, to request: EmbeddingRequest) {
        let outcome: EmbeddingMetrics.Outcome
        switch answer {
        case .outcomes:
            outcome = .answered
            guard told.withLock({ $0.failures.removeValue(forKey: request.model) }) != nil else { break }
            logger.notice("the embedding server answers again", metadata: ["model": "\(request.model)"])
        case .refused(let error):
            outcome = .refused
            // Of one text: whoever sent it is told.
            guard request.texts.count > 1, told.withLock({ $0.refusing.insert(request.model).inserted }) else { break }
            logger.warning(
                """
                the embedding server refused several texts at once; they are asked for in halves. If that goes on, lower \
                embeddings.textsPerRequestMax
                """,
                metadata: Self.metadata(of: error, ["texts": "\(request.texts.count)"]))
        case .late:
            outcome = .late
            tell(request, request.failure("did not answer in \(timeoutMs) ms"))
        case .failed(let error):
            outcome = .failed
            tell(request, error)
        }
        metrics.requests[outcome].increment()
    }

    private func tell(_ request: EmbeddingRequest, _ error: RequestError) {
        let isNew = told.withLock { $0.failures[request.model, default: []].insert(error.message).inserted }
        if isNew { logger.warning("no vectors of texts", metadata: Self.metadata(of: error)) }
    }

    private static func metadata(of error: RequestError, _ more: Logger.Metadata = [:]) -> Logger.Metadata {
        var metadata = more
        metadata["error"] = "\(error.message)"
        if let cause = error.cause { metadata["cause"] = "\(cause)" }
        return metadata
    }
}
