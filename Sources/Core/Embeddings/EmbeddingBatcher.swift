import DequeModule
import LiveModel
package import Operations

/// Decides which texts are asked for and when, and who gets what becomes of them.
///
/// A text that several want at once is asked for once, a vector that is known not at all. Texts of one model go together,
/// those of different callers too. Where a server refuses several texts because of one of them, halves are asked for until
/// that one stands alone, so that it fails for nobody but who wants it. Where it does not answer several in time, fewer
/// are asked for at once, until it does. However often a text is asked for, its time-out is one.
package struct EmbeddingBatcher<Waiter: Sendable>: Sendable {
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

    /// A text that waits or is asked for.
    private struct Wanted: Sendable {
        let sinceMs: Int64
        var ids: [Int]
    }

    private struct Line: Sendable {
        /// More than one only after they were asked for together in vain: they are not joined by others.
        let texts: [EmbeddingText]
        let isPart: Bool
    }

    private let settings: EmbeddingSettings
    private var cache: EmbeddingCache
    /// Bound: `waitersMax`.
    private var wants: [Int: Want] = [:]
    private var wanted: [EmbeddingText: Wanted] = [:]
    /// Bound: `waitingTextsMax`, `waitingBytesMax`, and besides what requests under way came back with.
    private var line: Deque<Line> = []
    private var waitingCount = 0
    private var waitingBytes = 0
    /// Bound: `inFlightMax`.
    private var underWay: [Int: EmbeddingRequest] = [:]
    /// Texts of a request, by model, where a request of more was late. Bound: the models that operations name.
    private var sizes: [String: Int] = [:]
    private var lastID = 0
    private var isStopped = false
    /// Texts whose vectors were known, and those whose were not.
    package private(set) var counts = (known: 0, unknown: 0)

    package init(_ settings: EmbeddingSettings) {
        self.settings = settings
        cache = EmbeddingCache(entriesMax: settings.cacheEntriesMax, bytesMax: settings.cacheBytesMax)
    }

    /// - Parameter texts: each once.
    package mutating func want(_ texts: [EmbeddingText], by waiter: Waiter, nowMs: Int64) -> [Action] {
        lastID += 1
        let id = lastID
        var added: Set<EmbeddingText> = []
        // One more than there are, so that it is not finished before all are looked at.
        wants[id] = Want(waiter: waiter, missing: 1, outcomes: [:])
        for text in texts {
            if let vector = cache.vector(of: text) {
                counts.known += 1
                wants[id]?.outcomes[text] = .success(vector)
                continue
            }
            counts.unknown += 1
            if let refusal = refusal(of: text) {
                wants[id]?.outcomes[text] = .failure(refusal)
                continue
            }
            wants[id]?.missing += 1
            if wanted[text] == nil {
                wanted[text] = Wanted(sinceMs: nowMs, ids: [])
                line.append(Line(texts: [text], isPart: false))
                enter([text])
                added.insert(text)
            }
            wanted[text]?.ids.append(id)
        }
        // What can be asked for now does not wait. Of the rest these came last.
        var actions = next(nowMs: nowMs)
        while isOverfull, let last = line.last?.texts.first, added.contains(last) {
            line.removeLast()
            leave([last])
            tell(last, .failure(Self.overfull(last)), &actions)
        }
        settle(id, &actions)
        return actions
    }

    package mutating func answered(_ id: Int, _ answer: EmbeddingEndpoint.Answer, nowMs: Int64) -> [Action] {
        guard let request = underWay.removeValue(forKey: id) else { return [] }
        var actions: [Action] = []
        switch answer {
        case .outcomes(let outcomes):
            takeMore(after: request)
            for (text, outcome) in zip(request.texts, outcomes) {
                if case .success(let vector) = outcome { cache.insert(vector, of: text) }
                tell(text, outcome, &actions)
            }
        case .refused where request.texts.count > 1 && !isStopped:
            askAgain(request.texts, atOnce: (request.texts.count + 1) / 2)
        case .late where request.texts.count > 1 && !isStopped:
            takeFewer(after: request)
            // Its time-out was that of the oldest; the others may have time left.
            let oldestMs = request.texts.map(sinceMs).min() ?? nowMs
            for text in request.texts where sinceMs(text) == oldestMs {
                tell(text, .failure(lateness(of: text)), &actions)
            }
            askAgain(
                request.texts.filter { wanted[$0] != nil }, atOnce: size(of: request.model),
                behindOlder: true)
        case .late:
            for text in request.texts { tell(text, .failure(lateness(of: text)), &actions) }
        case .refused(let error), .failed(let error):
            for text in request.texts { tell(text, .failure(error), &actions) }
        }
        return actions + next(nowMs: nowMs)
    }

    /// Nothing more is asked for.
    package mutating func stop() -> [Action] {
        isStopped = true
        var actions: [Action] = []
        for text in line.flatMap(\.texts) { tell(text, .failure(Self.stopped), &actions) }
        line = []
        (waitingCount, waitingBytes) = (0, 0)
        return actions
    }

    // MARK: Refusals

    private static var stopped: RequestError { RequestError(.unavailable, "no vectors are asked for: the node stops") }

    private func lateness(of text: EmbeddingText, wasAsked: Bool = true) -> RequestError {
        EmbeddingRequest.failure(
            text.model, "did not \(wasAsked ? "answer" : "come to this text") in \(settings.timeoutMs) ms",
            code: .timeout)
    }

    private var isOverfull: Bool {
        waitingCount > settings.waitingTextsMax || waitingBytes > settings.waitingBytesMax
    }

    private static func overfull(_ text: EmbeddingText) -> RequestError {
        EmbeddingRequest.failure(
            text.model, "has as many texts before it as this node lets wait", code: .limitExceeded)
    }

    private func refusal(of text: EmbeddingText) -> RequestError? {
        if text.text.utf8.count > settings.textBytesMax {
            return RequestError(
                .payloadTooLarge,
                "a text of more than \(settings.textBytesMax) bytes is not given to \"\(text.model)\"")
        }
        guard wants.count <= settings.waitersMax else {
            return EmbeddingRequest.failure(
                text.model, "is waited for by as many as this node lets wait", code: .limitExceeded)
        }
        return isStopped && wanted[text] == nil ? Self.stopped : nil
    }

    // MARK: The line

    private func sinceMs(_ text: EmbeddingText) -> Int64 { wanted[text]?.sinceMs ?? 0 }

    private func leftMs(_ text: EmbeddingText, _ nowMs: Int64) -> Int64 {
        settings.timeoutMs - (nowMs - sinceMs(text))
    }

    private mutating func enter(_ texts: [EmbeddingText]) {
        waitingCount += texts.count
        waitingBytes += texts.reduce(0) { $0 + $1.byteCount }
    }

    private mutating func leave(_ texts: [EmbeddingText]) {
        waitingCount -= texts.count
        waitingBytes -= texts.reduce(0) { $0 + $1.byteCount }
    }

    /// Before all others, or before those that came later; in parts.
    private mutating func askAgain(_ texts: [EmbeddingText], atOnce: Int, behindOlder: Bool = false) {
        guard let sinceMs = texts.map(sinceMs).min() else { return }
        let place = behindOlder ? line.firstIndex { self.sinceMs($0.texts[0]) > sinceMs } ?? line.endIndex : 0
        for start in stride(from: 0, to: texts.count, by: atOnce).reversed() {
            let part = Array(texts[start..<min(start + atOnce, texts.count)])
            line.insert(Line(texts: part, isPart: true), at: place)
            enter(part)
        }
    }

    /// As many requests as may be under way.
    private mutating func next(nowMs: Int64) -> [Action] {
        var actions: [Action] = []
        while underWay.count < settings.inFlightMax, let first = line.popFirst() {
            leave(first.texts)
            // What was late once is not asked for again with next to no time.
            let neededMs = first.isPart ? settings.timeoutMs / 50 : 0
            for text in first.texts where leftMs(text, nowMs) <= neededMs {
                tell(text, .failure(lateness(of: text, wasAsked: first.isPart)), &actions)
            }
            var texts = first.texts.filter { wanted[$0] != nil }
            guard let model = texts.first?.model else { continue }
            if !first.isPart { join(&texts) }
            lastID += 1
            let request = EmbeddingRequest(
                id: lastID, model: model, texts: texts,
                timeoutMs: texts.map { leftMs($0, nowMs) }.min() ?? settings.timeoutMs)
            underWay[request.id] = request
            actions.append(.send(request))
        }
        return actions
    }

    /// Those behind a text that go to the same model. They came later, so they have more time left.
    private mutating func join(_ texts: inout [EmbeddingText]) {
        let countMax = size(of: texts[0].model)
        var position = line.startIndex
        while position < line.endIndex, texts.count < countMax {
            let entry = line[position]
            if !entry.isPart, entry.texts[0].model == texts[0].model {
                line.remove(at: position)
                leave(entry.texts)
                texts += entry.texts
            } else {
                position += 1
            }
        }
    }

    // MARK: Texts of a request

    private func size(of model: String) -> Int { sizes[model] ?? settings.textsPerRequestMax }

    /// Half as many at once after a time-out: else a slow server would never come to an end of any request. A request that
    /// had little of the time says nothing of that.
    private mutating func takeFewer(after request: EmbeddingRequest) {
        guard request.timeoutMs * 2 >= settings.timeoutMs else { return }
        sizes[request.model] = min(size(of: request.model), request.texts.count / 2)
    }

    private mutating func takeMore(after request: EmbeddingRequest) {
        guard let size = sizes[request.model], request.texts.count >= size else { return }
        sizes[request.model] = size + 1 < settings.textsPerRequestMax ? size + 1 : nil
    }

    // MARK: Answers

    private mutating func tell(_ text: EmbeddingText, _ outcome: Embeddings.Outcome, _ actions: inout [Action]) {
        for id in wanted.removeValue(forKey: text)?.ids ?? [] {
            wants[id]?.outcomes[text] = outcome
            settle(id, &actions)
        }
    }

    private mutating func settle(_ id: Int, _ actions: inout [Action]) {
        wants[id]?.missing -= 1
        guard let want = wants[id], want.missing == 0 else { return }
        wants[id] = nil
        actions.append(.finish(want.waiter, Embeddings(want.outcomes)))
    }
}
