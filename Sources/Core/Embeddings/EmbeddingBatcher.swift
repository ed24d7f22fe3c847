import DequeModule
import LiveModel
package import Operations

/// Decides which texts to request and when, and delivers the vectors to their callers.
///
/// Concurrent requests for a text share one upstream call; cached vectors need none. Texts of one model are batched
/// across callers. A batch that the server rejects is bisected until the offending text is alone, so that only its
/// callers fail. After a timeout, the model's batch size is halved; it grows back with each success. A text has one
/// deadline, however often it is retried.
package struct EmbeddingBatcher<Waiter: Sendable>: Sendable {
    package enum Action: Sendable {
        case send(EmbeddingRequest)
        case finish(Waiter, Embeddings)
    }

    /// A caller's submission and the outcomes so far.
    private struct Submission: Sendable {
        let waiter: Waiter
        var missing: Int
        var outcomes: [EmbeddingText: Embeddings.Outcome]
    }

    /// A text that is queued or in flight.
    private struct PendingText: Sendable {
        let sinceMs: Int64
        var ids: [Int]
    }

    private struct QueueEntry: Sendable {
        /// More than one only for a retry of a failed batch, which no other texts join.
        let texts: [EmbeddingText]
        let isRetry: Bool
    }

    private let settings: EmbeddingSettings
    private var cache: EmbeddingCache
    /// Bounded by `waitersMax`.
    private var submissions: [Int: Submission] = [:]
    private var pending: [EmbeddingText: PendingText] = [:]
    /// The texts that wait to be sent. Bounded by `waitingTextsMax` and `waitingBytesMax`; retried texts come on top.
    private var queue: Deque<QueueEntry> = []
    private var waitingCount = 0
    private var waitingBytes = 0
    /// Bounded by `inFlightMax`.
    private var inFlight: [Int: EmbeddingRequest] = [:]
    /// Reduced batch sizes after timeouts. Bounded by the models that operations name.
    private var batchSizes: [String: Int] = [:]
    private var lastID = 0
    private var isStopped = false
    /// The number of texts that were in the cache, and of those that were not.
    package private(set) var counts = (known: 0, unknown: 0)

    package init(_ settings: EmbeddingSettings) {
        self.settings = settings
        cache = EmbeddingCache(entriesMax: settings.cacheEntriesMax, bytesMax: settings.cacheBytesMax)
    }

    /// Requests the vectors of texts for a caller.
    /// - Parameter texts: without duplicates.
    package mutating func submit(_ texts: [EmbeddingText], for waiter: Waiter, nowMs: Int64) -> [Action] {
        lastID += 1
        let id = lastID
        var added: Set<EmbeddingText> = []
        // One extra, so that it is not finished before all texts are processed.
        submissions[id] = Submission(waiter: waiter, missing: 1, outcomes: [:])
        for text in texts {
            if let vector = cache.vector(of: text) {
                counts.known += 1
                submissions[id]?.outcomes[text] = .success(vector)
                continue
            }
            counts.unknown += 1
            if let rejection = rejection(of: text) {
                submissions[id]?.outcomes[text] = .failure(rejection)
                continue
            }
            submissions[id]?.missing += 1
            if pending[text] == nil {
                pending[text] = PendingText(sinceMs: nowMs, ids: [])
                queue.append(QueueEntry(texts: [text], isRetry: false))
                countIn([text])
                added.insert(text)
            }
            pending[text]?.ids.append(id)
        }
        // Only texts that must wait count; the most recent are rejected.
        var actions = next(nowMs: nowMs)
        while isQueueFull, let last = queue.last?.texts.first, added.contains(last) {
            queue.removeLast()
            countOut([last])
            resolve(last, .failure(Self.queueFull), &actions)
        }
        settle(id, &actions)
        return actions
    }

    package mutating func responded(_ id: Int, _ answer: EmbeddingEndpoint.Answer, nowMs: Int64) -> [Action] {
        guard let request = inFlight.removeValue(forKey: id) else { return [] }
        var actions: [Action] = []
        switch answer {
        case .outcomes(let outcomes):
            growBatches(after: request)
            for (text, outcome) in zip(request.texts, outcomes) {
                if case .success(let vector) = outcome { cache.insert(vector, of: text) }
                resolve(text, outcome, &actions)
            }
        case .refused where request.texts.count > 1 && !isStopped:
            retry(request.texts, batchSize: (request.texts.count + 1) / 2)
        case .late where request.texts.count > 1 && !isStopped:
            shrinkBatches(after: request)
            // The timeout was that of the oldest text; the others may have time left.
            let oldestMs = request.texts.map(sinceMs).min() ?? nowMs
            for text in request.texts where sinceMs(text) == oldestMs {
                resolve(text, .failure(timeout(of: text)), &actions)
            }
            retry(
                request.texts.filter { pending[$0] != nil }, batchSize: batchSize(of: request.model),
                afterOlder: true)
        case .late:
            for text in request.texts { resolve(text, .failure(timeout(of: text)), &actions) }
        case .refused(let error), .failed(let error):
            for text in request.texts { resolve(text, .failure(error), &actions) }
        }
        return actions + next(nowMs: nowMs)
    }

    /// Rejects the queued texts and sends no more requests.
    package mutating func stop() -> [Action] {
        isStopped = true
        var actions: [Action] = []
        for text in queue.flatMap(\.texts) { resolve(text, .failure(Self.stopped), &actions) }
        queue = []
        (waitingCount, waitingBytes) = (0, 0)
        return actions
    }

    // MARK: Errors

    private static var stopped: RequestError {
        RequestError(.unavailable, "the node is shutting down, try again")
    }

    private func timeout(of text: EmbeddingText, wasSent: Bool = true) -> RequestError {
        EmbeddingRequest.failure(
            text.model, "did not \(wasSent ? "answer" : "reach this text") in \(settings.timeoutMs) ms",
            code: .timeout)
    }

    private var isQueueFull: Bool {
        waitingCount > settings.waitingTextsMax || waitingBytes > settings.waitingBytesMax
    }

    private static var queueFull: RequestError {
        RequestError(.limitExceeded, "the embedding queue of this node is full")
    }

    private func rejection(of text: EmbeddingText) -> RequestError? {
        if text.text.utf8.count > settings.textBytesMax {
            return RequestError(
                .payloadTooLarge,
                "a text for \"\(text.model)\" can have at most \(settings.textBytesMax) bytes")
        }
        guard submissions.count <= settings.waitersMax else {
            return RequestError(.limitExceeded, "too many requests on this node are waiting for embeddings")
        }
        return isStopped && pending[text] == nil ? Self.stopped : nil
    }

    // MARK: Queue

    private func sinceMs(_ text: EmbeddingText) -> Int64 { pending[text]?.sinceMs ?? 0 }

    private func leftMs(_ text: EmbeddingText, _ nowMs: Int64) -> Int64 {
        settings.timeoutMs - (nowMs - sinceMs(text))
    }

    private mutating func countIn(_ texts: [EmbeddingText]) {
        waitingCount += texts.count
        waitingBytes += texts.reduce(0) { $0 + $1.byteCount }
    }

    private mutating func countOut(_ texts: [EmbeddingText]) {
        waitingCount -= texts.count
        waitingBytes -= texts.reduce(0) { $0 + $1.byteCount }
    }

    /// Queues texts again in batches, ahead of all others or only ahead of later ones.
    private mutating func retry(_ texts: [EmbeddingText], batchSize: Int, afterOlder: Bool = false) {
        guard let sinceMs = texts.map(sinceMs).min() else { return }
        let index = afterOlder ? queue.firstIndex { self.sinceMs($0.texts[0]) > sinceMs } ?? queue.endIndex : 0
        for start in stride(from: 0, to: texts.count, by: batchSize).reversed() {
            let part = Array(texts[start..<min(start + batchSize, texts.count)])
            queue.insert(QueueEntry(texts: part, isRetry: true), at: index)
            countIn(part)
        }
    }

    /// Sends as many requests as may be in flight.
    private mutating func next(nowMs: Int64) -> [Action] {
        var actions: [Action] = []
        while inFlight.count < settings.inFlightMax, let first = queue.popFirst() {
            countOut(first.texts)
            // A retry with hardly any time left would be pointless.
            let neededMs = first.isRetry ? settings.timeoutMs / 50 : 0
            for text in first.texts where leftMs(text, nowMs) <= neededMs {
                resolve(text, .failure(timeout(of: text, wasSent: first.isRetry)), &actions)
            }
            var texts = first.texts.filter { pending[$0] != nil }
            guard let model = texts.first?.model else { continue }
            if !first.isRetry { join(&texts) }
            lastID += 1
            let request = EmbeddingRequest(
                id: lastID, model: model, texts: texts,
                timeoutMs: texts.map { leftMs($0, nowMs) }.min() ?? settings.timeoutMs)
            inFlight[request.id] = request
            actions.append(.send(request))
        }
        return actions
    }

    /// Adds queued texts of the same model, which came later and have more time left.
    private mutating func join(_ texts: inout [EmbeddingText]) {
        let countMax = batchSize(of: texts[0].model)
        var position = queue.startIndex
        while position < queue.endIndex, texts.count < countMax {
            let entry = queue[position]
            if !entry.isRetry, entry.texts[0].model == texts[0].model {
                queue.remove(at: position)
                countOut(entry.texts)
                texts += entry.texts
            } else {
                position += 1
            }
        }
    }

    // MARK: Batch size

    private func batchSize(of model: String) -> Int { batchSizes[model] ?? settings.textsPerRequestMax }

    /// Halves the batch size after a timeout; otherwise a slow server would never complete a request. A request that
    /// had little time left proves nothing.
    private mutating func shrinkBatches(after request: EmbeddingRequest) {
        guard request.timeoutMs * 2 >= settings.timeoutMs else { return }
        batchSizes[request.model] = min(batchSize(of: request.model), request.texts.count / 2)
    }

    private mutating func growBatches(after request: EmbeddingRequest) {
        guard let size = batchSizes[request.model], request.texts.count >= size else { return }
        batchSizes[request.model] = size + 1 < settings.textsPerRequestMax ? size + 1 : nil
    }

    // MARK: Outcomes

    private mutating func resolve(_ text: EmbeddingText, _ outcome: Embeddings.Outcome, _ actions: inout [Action]) {
        for id in pending.removeValue(forKey: text)?.ids ?? [] {
            submissions[id]?.outcomes[text] = outcome
            settle(id, &actions)
        }
    }

    private mutating func settle(_ id: Int, _ actions: inout [Action]) {
        submissions[id]?.missing -= 1
        guard let submission = submissions[id], submission.missing == 0 else { return }
        submissions[id] = nil
        actions.append(.finish(submission.waiter, Embeddings(submission.outcomes)))
    }
}
