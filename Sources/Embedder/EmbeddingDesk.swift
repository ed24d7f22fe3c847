package import Catalog
internal import DequeModule
internal import LiveModel

/// Decides which texts are asked for and when, and who gets what becomes of them.
///
/// A text that several want at once is asked for once, a vector that is known not at all. Texts of one model go together,
/// those of different callers too. Where a server refuses several texts because of one of them, halves are asked for until
/// that one stands alone, so that it fails for nobody but who wants it.
package struct EmbeddingDesk<Waiter: Sendable>: Sendable {
    package enum Action: Sendable {
        case send(EmbeddingRequest)
        case finish(Waiter, Embeddings)
    }

    /// Somebody who wants texts, and what there is of them already.
    private struct Want: Sendable {
        let waiter: Waiter
        var missing: Int
        var outcomes: [EmbeddingText: Embeddings.Outcome]
    }

    private struct Line: Sendable {
        /// More than one only after they were refused together: they are not joined by others.
        let texts: [EmbeddingText]
        let isPart: Bool
        let sinceMs: Int64
    }

    private let settings: EmbeddingSettings
    private var cache: EmbeddingCache
    private var wants: [Int: Want] = [:]
    /// Who wants a text that waits or is asked for.
    private var wanted: [EmbeddingText: [Int]] = [:]
    private var line: Deque<Line> = []
    private var waitingCount = 0
    private var underWay: [Int: EmbeddingRequest] = [:]
    private var lastID = 0
    private var isStopped = false

    package init(_ settings: EmbeddingSettings) {
        self.settings = settings
        cache = EmbeddingCache(entriesMax: settings.cacheEntriesMax)
    }

    /// - Parameter texts: each once.
    package mutating func want(_ texts: [EmbeddingText], by waiter: Waiter, nowMs: Int64) -> [Action] {
        var want = Want(waiter: waiter, missing: 0, outcomes: [:])
        lastID += 1
        let id = lastID
        for text in texts {
            if let vector = cache.vector(of: text) {
                want.outcomes[text] = .success(vector)
            } else if let refusal = refusal(of: text) {
                want.outcomes[text] = .failure(refusal)
            } else {
                want.missing += 1
                if wanted[text] == nil {
                    line.append(Line(texts: [text], isPart: false, sinceMs: nowMs))
                    waitingCount += 1
                }
                wanted[text, default: []].append(id)
            }
        }
        if want.missing == 0 { return [.finish(waiter, Embeddings(want.outcomes))] }
        wants[id] = want
        return next(nowMs: nowMs)
    }

    package mutating func answered(_ id: Int, _ answer: EmbeddingEndpoint.Answer, nowMs: Int64) -> [Action] {
        guard let request = underWay.removeValue(forKey: id) else { return [] }
        var actions: [Action] = []
        switch answer {
        case .outcomes(let outcomes):
            for (text, outcome) in zip(request.texts, outcomes) {
                if case .success(let vector) = outcome { cache.insert(vector, of: text) }
                tell(text, outcome, &actions)
            }
        case .refused where request.texts.count > 1 && !isStopped:
            let middle = request.texts.count / 2
            for part in [request.texts[middle...], request.texts[..<middle]] {
                line.prepend(Line(texts: Array(part), isPart: true, sinceMs: nowMs))
                waitingCount += part.count
            }
        case .refused(let error), .failed(let error):
            for text in request.texts { tell(text, .failure(error), &actions) }
        }
        return actions + next(nowMs: nowMs)
    }

    /// Nothing more is asked for.
    package mutating func stop() -> [Action] {
        isStopped = true
        var actions: [Action] = []
        for entry in line { fail(entry, Self.stopped, &actions) }
        line = []
        waitingCount = 0
        return actions
    }

    private static var stopped: RequestError { RequestError(.unavailable, "no vectors are asked for: the node stops") }

    private func refusal(of text: EmbeddingText) -> RequestError? {
        if text.text.utf8.count > settings.textBytesMax {
            return RequestError(
                .payloadTooLarge,
                "a text of more than \(settings.textBytesMax) bytes is not given to \"\(text.model)\"")
        }
        if wanted[text] != nil { return nil }
        if isStopped { return Self.stopped }
        guard waitingCount < settings.waitingTextsMax else {
            return EmbeddingRequest.failure(
                text.model, "has as many texts before it as this node lets wait", code: .limitExceeded)
        }
        return nil
    }

    /// As many requests as may be under way.
    private mutating func next(nowMs: Int64) -> [Action] {
        var actions: [Action] = []
        while underWay.count < settings.inFlightMax, let first = line.popFirst() {
            waitingCount -= first.texts.count
            guard nowMs - first.sinceMs <= settings.timeoutMs else {
                fail(
                    first,
                    EmbeddingRequest.failure(
                        first.texts[0].model, "did not come to this text in \(settings.timeoutMs) ms", code: .timeout),
                    &actions)
                continue
            }
            lastID += 1
            let request = EmbeddingRequest(
                id: lastID, model: first.texts[0].model, texts: first.isPart ? first.texts : joined(first))
            underWay[request.id] = request
            actions.append(.send(request))
        }
        return actions
    }

    /// The text, and those behind it that go to the same model.
    private mutating func joined(_ first: Line) -> [EmbeddingText] {
        var texts = first.texts
        var position = line.startIndex
        while position < line.endIndex, texts.count < settings.textsPerRequestMax {
            let entry = line[position]
            if !entry.isPart, entry.texts[0].model == texts[0].model {
                line.remove(at: position)
                waitingCount -= 1
                texts += entry.texts
            } else {
                position += 1
            }
        }
        return texts
    }

    private mutating func fail(_ entry: Line, _ error: RequestError, _ actions: inout [Action]) {
        for text in entry.texts { tell(text, .failure(error), &actions) }
    }

    private mutating func tell(_ text: EmbeddingText, _ outcome: Embeddings.Outcome, _ actions: inout [Action]) {
        for id in wanted.removeValue(forKey: text) ?? [] {
            guard var want = wants.removeValue(forKey: id) else { continue }
            want.outcomes[text] = outcome
            want.missing -= 1
            if want.missing == 0 {
                actions.append(.finish(want.waiter, Embeddings(want.outcomes)))
            } else {
                wants[id] = want
            }
        }
    }
}
