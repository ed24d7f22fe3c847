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
    private let batcher: Mutex<Batcher>
    private let logger: Logger
    private let logged = Mutex(LoggedState())
    private let metrics = EmbeddingMetrics()

    /// The failures already logged. Bounded by the models that operations name and the few messages that exist.
    private struct LoggedState {
        /// The error messages of each model since its last good response.
        var failures: [String: Set<String>] = [:]
        /// The models that rejected a batch of texts.
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
        batcher = Mutex(Batcher(settings))
    }

    package func embeddings(of texts: [EmbeddingText]) async -> Embeddings {
        await withCheckedContinuation { continuation in
            let (actions, known, unknown) = batcher.withLock { batcher in
                let before = batcher.counts
                let actions = batcher.submit(texts, for: continuation, nowMs: MonotonicClock.nowMs())
                return (actions, batcher.counts.known - before.known, batcher.counts.unknown - before.unknown)
            }
            metrics.texts[.hit].increment(by: known)
            metrics.texts[.miss].increment(by: unknown)
            perform(actions)
        }
    }

    /// Fails queued requests; those in flight end with the sender.
    package func stop() {
        perform(batcher.withLock { $0.stop() })
    }

    private func perform(_ actions: [Batcher.Action]) {
        for action in actions {
            switch action {
            case .finish(let continuation, let embeddings): continuation.resume(returning: embeddings)
            // Not in the caller's task, which may be cancelled: others may wait for the same text.
            case .send(let request):
                Task {
                    let answer = await send(request)
                    report(answer, to: request)
                    perform(batcher.withLock { $0.responded(request.id, answer, nowMs: MonotonicClock.nowMs()) })
                }
            }
        }
    }

    private func send(_ request: EmbeddingRequest) async -> EmbeddingEndpoint.Answer {
        var headers = [(name: "accept", value: "application/json")]
        if let token = endpoint.token { headers.append(("authorization", "Bearer \(token)")) }
        let outcome = await sender.send(
            HTTPSender.Request(
                url: endpoint.uri(of: request), headers: headers, body: endpoint.body(of: request),
                timeoutMs: Int(request.timeoutMs), responseBytesMax: answerBytesMax))
        return switch outcome {
        case .success(let answer): endpoint.answer(to: request, status: answer.status, body: answer.body)
        case .failure(.timedOut): .late
        // The response to fewer texts is smaller.
        case .failure(.responseTooLarge): .refused(request.failure("answered with more than \(answerBytesMax) bytes"))
        case .failure(.unreachable(let cause)):
            .failed(request.failure("cannot be reached", code: .unavailable, cause: cause))
        // The request changes nothing, so it can be repeated.
        case .failure(.broken(let cause)):
            .failed(request.failure("closed the connection", code: .unavailable, cause: cause))
        case .failure(.stopped): .failed(request.failure("is not called: the node is stopping", code: .unavailable))
        }
    }

    /// Logs each failure of a model once until it responds again, and once that it rejects batches.
    private func report(_ answer: EmbeddingEndpoint.Answer, to request: EmbeddingRequest) {
        let outcome: EmbeddingMetrics.Outcome
        switch answer {
        case .outcomes:
            outcome = .answered
            guard logged.withLock({ $0.failures.removeValue(forKey: request.model) }) != nil else { break }
            logger.notice("the embedding server responds again", metadata: ["model": "\(request.model)"])
        case .refused(let error):
            outcome = .refused
            // A rejection of one text is reported to its caller only.
            guard request.texts.count > 1, logged.withLock({ $0.refusing.insert(request.model).inserted }) else {
                break
            }
            logger.warning(
                """
                the embedding server rejected a batch of texts; it is retried in halves. If this goes on, lower \
                embeddings.textsPerRequestMax
                """,
                metadata: Self.metadata(of: error, ["texts": "\(request.texts.count)"]))
        case .late:
            outcome = .late
            log(request, request.failure("did not answer in \(timeoutMs) ms"))
        case .failed(let error):
            outcome = .failed
            log(request, error)
        }
        metrics.requests[outcome].increment()
    }

    private func log(_ request: EmbeddingRequest, _ error: RequestError) {
        let isNew = logged.withLock { $0.failures[request.model, default: []].insert(error.message).inserted }
        if isNew { logger.warning("embeddings failed", metadata: Self.metadata(of: error)) }
    }

    private static func metadata(of error: RequestError, _ more: Logger.Metadata = [:]) -> Logger.Metadata {
        var metadata = more
        metadata["error"] = "\(error.message)"
        if let cause = error.cause { metadata["cause"] = "\(cause)" }
        return metadata
    }
}
