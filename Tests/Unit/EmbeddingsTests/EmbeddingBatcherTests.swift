import Embeddings
import LiveModel
import Operations
import SeededRandom
import Testing
import TestSupport

@Suite struct EmbeddingBatcherTests {
    private static func text(_ text: String, model: String = "m") -> EmbeddingText {
        EmbeddingText(model: model, text: text, size: 1)
    }

    private static func vector(_ text: EmbeddingText) -> Embeddings.Outcome {
        .success(EmbeddingVector([Float(text.text.utf8.count)]))
    }

    private static func good(_ request: EmbeddingRequest) -> EmbeddingEndpoint.Answer {
        .outcomes(request.texts.map(vector))
    }

    private static let failure = RequestError(.unavailable, "gone")
    private static let full =
        "LIMIT_EXCEEDED: the embedding queue of this node is full"
    private static let late = #"TIMEOUT: the embedding server for "m" did not answer in 100 ms"#

    private func batcher(_ change: (inout EmbeddingSettings) -> Void = { _ in }) -> EmbeddingBatcher<String> {
        var settings = EmbeddingSettings()
        change(&settings)
        return EmbeddingBatcher(settings)
    }

    private func requests(_ actions: [EmbeddingBatcher<String>.Action]) -> [EmbeddingRequest] {
        actions.compactMap { if case .send(let request) = $0 { request } else { nil } }
    }

    private func sent(_ actions: [EmbeddingBatcher<String>.Action]) -> [[String]] {
        requests(actions).map { $0.texts.map(\.text) }
    }

    /// The waiters that are answered, each with a vector or an error for the texts.
    private func answers(_ actions: [EmbeddingBatcher<String>.Action], _ texts: String..., model: String = "m")
        -> [String]
    {
        actions.compactMap { action in
            guard case .finish(let waiter, let embeddings) = action else { return nil }
            let outcomes = texts.map { text in
                do throws(RequestError) {
                    return try embeddings.vector(of: Self.text(text, model: model)).text
                } catch {
                    return "\(error.code.rawValue): \(error.message)"
                }
            }
            return ([waiter] + outcomes).joined(separator: " ")
        }
    }

    @Test func aTextThatTwoWantIsAskedForOnceAndThenKnown() throws {
        var batcher = batcher()
        let first = batcher.submit([Self.text("a"), Self.text("bb")], for: "ann", nowMs: 0)
        #expect(sent(first) == [["a", "bb"]])
        #expect(sent(batcher.submit([Self.text("a")], for: "bob", nowMs: 0)) == [])
        let request = try #require(requests(first).first)
        let answered = batcher.responded(request.id, Self.good(request), nowMs: 1)
        #expect(answers(answered, "a") == ["bob [1.0]", "ann [1.0]"])
        #expect(answers(batcher.submit([Self.text("bb")], for: "carl", nowMs: 3), "bb") == ["carl [2.0]"])
        // An answer to an unknown request changes nothing.
        #expect(batcher.responded(request.id, Self.good(request), nowMs: 4).isEmpty)
    }

    @Test func textsThatWaitGoTogetherByModel() throws {
        var batcher = batcher {
            $0.inFlightMax = 1
            $0.textsPerRequestMax = 3
        }
        let first = requests(batcher.submit([Self.text("a")], for: "1", nowMs: 0))[0]
        #expect(
            sent(batcher.submit([Self.text("b"), Self.text("x", model: "n"), Self.text("c")], for: "2", nowMs: 0)) == []
        )
        #expect(
            sent(batcher.submit([Self.text("d"), Self.text("e"), Self.text("y", model: "n")], for: "3", nowMs: 0)) == []
        )
        var actions = batcher.responded(first.id, Self.good(first), nowMs: 1)
        var order: [[String]] = []
        var finished: [String] = []
        while let request = requests(actions).first {
            order.append(request.texts.map(\.text))
            actions = batcher.responded(request.id, Self.good(request), nowMs: 1)
            finished += answers(actions)
        }
        #expect(order == [["b", "c", "d"], ["x", "y"], ["e"]])
        #expect(finished == ["2", "3"])
    }

    @Test func aTextThatIsRefusedFailsAlone() throws {
        var batcher = batcher { $0.inFlightMax = 1 }
        let block = requests(batcher.submit([Self.text("-")], for: "0", nowMs: 0))[0]
        for name in ["a", "b", "bad", "c", "d"] { _ = batcher.submit([Self.text(name)], for: name, nowMs: 0) }
        var actions = batcher.responded(block.id, Self.good(block), nowMs: 0)
        let refusal = RequestError(.resolverFailed, "too long")
        var order: [[String]] = []
        var finished: [String: String] = [:]
        while let request = requests(actions).first {
            let names = request.texts.map(\.text)
            order.append(names)
            actions = batcher.responded(
                request.id, names.contains("bad") ? .refused(refusal) : Self.good(request), nowMs: 0)
            for name in ["a", "b", "bad", "c", "d"] {
                for line in answers(actions, name) where line.hasPrefix("\(name) ") { finished[name] = line }
            }
        }
        #expect(order == [["a", "b", "bad", "c", "d"], ["a", "b", "bad"], ["a", "b"], ["bad"], ["c", "d"]])
        #expect(finished["bad"] == "bad RESOLVER_FAILED: too long")
        #expect(finished.filter { $0.value.hasSuffix(" [1.0]") }.keys.sorted() == ["a", "b", "c", "d"])
    }

    @Test func aFailureGoesToAllWaitersAndIsNotCached() throws {
        var batcher = batcher()
        let request = requests(batcher.submit([Self.text("a")], for: "ann", nowMs: 0))[0]
        _ = batcher.submit([Self.text("a")], for: "bob", nowMs: 0)
        #expect(
            answers(batcher.responded(request.id, .failed(Self.failure), nowMs: 0), "a")
                == ["ann UNAVAILABLE: gone", "bob UNAVAILABLE: gone"])
        #expect(sent(batcher.submit([Self.text("a")], for: "ann", nowMs: 1)) == [["a"]])
    }

    @Test func waitingTextsAreBounded() throws {
        var batcher = batcher {
            $0.inFlightMax = 1
            $0.waitingTextsMax = 1
            $0.textBytesMax = 3
            $0.timeoutMs = 100
        }
        #expect(
            answers(batcher.submit([Self.text("long")], for: "ann", nowMs: 0), "long")
                == [#"ann PAYLOAD_TOO_LARGE: a text for "m" can have at most 3 bytes"#])
        let first = requests(batcher.submit([Self.text("a")], for: "ann", nowMs: 0))[0]
        #expect(batcher.submit([Self.text("b")], for: "bob", nowMs: 0).isEmpty)
        #expect(answers(batcher.submit([Self.text("c")], for: "carl", nowMs: 0), "c") == ["carl \(Self.full)"])
        // A text that is awaited already takes no further place.
        #expect(batcher.submit([Self.text("b")], for: "dora", nowMs: 50).isEmpty)
        let late = batcher.responded(first.id, Self.good(first), nowMs: 101)
        #expect(sent(late) == [])
        let message = #"TIMEOUT: the embedding server for "m" did not reach this text in 100 ms"#
        #expect(
            answers(late, "b") == [
                "ann INTERNAL: no embedding was requested from \"m\"", "bob \(message)", "dora \(message)",
            ])
    }

    @Test func textsThatFitARequestAreSentAtOnce() throws {
        var batcher = batcher {
            ($0.inFlightMax, $0.textsPerRequestMax, $0.waitingTextsMax) = (2, 2, 3)
        }
        // Seven texts and room for three, but four can go at once.
        let texts = (0..<7).map { Self.text("\($0)") }
        let actions = batcher.submit(texts, for: "ann", nowMs: 0)
        #expect(sent(actions) == [["0", "1"], ["2", "3"]] && answers(actions).isEmpty)
        #expect(answers(batcher.submit([Self.text("x")], for: "bob", nowMs: 0), "x") == ["bob \(Self.full)"])
        var (open, finished) = (requests(actions), [String]())
        while let request = open.popLast() {
            let next = batcher.responded(request.id, Self.good(request), nowMs: 1)
            finished += answers(next, "0", "6")
            open += requests(next)
        }
        #expect(finished == ["ann [1.0] [1.0]"])
    }

    @Test func bytesThatWaitAreBounded() throws {
        var batcher = batcher { ($0.inFlightMax, $0.waitingBytesMax) = (1, 3_000) }
        let long = { (name: String) in Self.text(name + String(repeating: "x", count: 1_000)) }
        _ = batcher.submit([Self.text("a")], for: "0", nowMs: 0)
        #expect(batcher.submit([long("a"), long("b")], for: "1", nowMs: 0).isEmpty)
        #expect(answers(batcher.submit([long("c")], for: "2", nowMs: 0)) == ["2"])
        #expect(batcher.submit([Self.text("short")], for: "3", nowMs: 0).isEmpty)
    }

    @Test func waitersAreBoundedOverAllClients() throws {
        var batcher = batcher { $0.waitersMax = 2 }
        let known = requests(batcher.submit([Self.text("known")], for: "0", nowMs: 0))[0]
        _ = batcher.responded(known.id, Self.good(known), nowMs: 0)
        let hung = requests(batcher.submit([Self.text("a")], for: "1", nowMs: 0))[0]
        #expect(batcher.submit([Self.text("a")], for: "2", nowMs: 0).isEmpty)
        let message = "LIMIT_EXCEEDED: too many requests on this node are waiting for embeddings"
        #expect(answers(batcher.submit([Self.text("a")], for: "3", nowMs: 0), "a") == ["3 \(message)"])
        #expect(answers(batcher.submit([Self.text("b")], for: "4", nowMs: 0), "b") == ["4 \(message)"])
        // A cached text causes no wait.
        #expect(answers(batcher.submit([Self.text("known")], for: "5", nowMs: 0), "known") == ["5 [5.0]"])
        #expect(answers(batcher.responded(hung.id, Self.good(hung), nowMs: 1)) == ["1", "2"])
        #expect(sent(batcher.submit([Self.text("b")], for: "6", nowMs: 1)) == [["b"]])
    }

    // MARK: Time

    @Test func theTimeOutIsOneHoweverOftenATextIsAskedFor() throws {
        var batcher = batcher { ($0.inFlightMax, $0.timeoutMs) = (1, 100) }
        let block = requests(batcher.submit([Self.text("-")], for: "0", nowMs: 0))[0]
        #expect(block.timeoutMs == 100)
        _ = batcher.submit([Self.text("a")], for: "ann", nowMs: 10)
        _ = batcher.submit([Self.text("b")], for: "bob", nowMs: 30)
        let both = requests(batcher.responded(block.id, Self.good(block), nowMs: 40))[0]
        // The request has the time that its oldest text has left.
        #expect(both.texts.count == 2 && both.timeoutMs == 70)
        let refused = requests(batcher.responded(both.id, .refused(Self.failure), nowMs: 60))[0]
        #expect(refused.texts == [Self.text("a")] && refused.timeoutMs == 50)
        let late = batcher.responded(refused.id, .late, nowMs: 110)
        #expect(answers(late, "a") == ["ann \(Self.late)"])
        #expect(requests(late).map(\.timeoutMs) == [20])
        let end = batcher.responded(requests(late)[0].id, .late, nowMs: 130)
        #expect(answers(end, "b") == ["bob \(Self.late)"])
        #expect(requests(end).isEmpty)
    }

    @Test func youngerTextsOutlastTheTimeOutOfAnOlderOne() throws {
        var batcher = batcher { ($0.inFlightMax, $0.timeoutMs) = (1, 100) }
        let block = requests(batcher.submit([Self.text("-")], for: "0", nowMs: 0))[0]
        for (name, nowMs) in [("a", 10), ("b", 20), ("c", 30), ("d", 40)] as [(String, Int64)] {
            _ = batcher.submit([Self.text(name)], for: name, nowMs: nowMs)
        }
        let all = requests(batcher.responded(block.id, Self.good(block), nowMs: 50))[0]
        let late = batcher.responded(all.id, .late, nowMs: 110)
        #expect(answers(late, "a") == ["a \(Self.late)"])
        #expect(sent(late) == [["b", "c"]])
        let next = batcher.responded(requests(late)[0].id, .refused(Self.failure), nowMs: 125)
        #expect(sent(next) == [["c"]], "b's time is up")
        #expect(answers(next, "b") == ["b \(Self.late)"])
    }

    @Test func aSlowServerIsGivenFewerTextsUntilItAnswers() throws {
        var batcher = batcher { ($0.inFlightMax, $0.timeoutMs, $0.textsPerRequestMax) = (1, 100, 8) }
        var nowMs: Int64 = 0
        var sizes: [Int] = []
        var last: EmbeddingText?
        // It takes 30 ms for each text. A waiter that timed out tries again.
        for round in 0..<8 {
            let texts = (0..<8).map { Self.text("\(round) \($0)") }
            var open = requests(batcher.submit(texts, for: "w", nowMs: nowMs))
            while let request = open.popLast() {
                sizes.append(request.texts.count)
                let tookMs = Int64(request.texts.count) * 30
                nowMs += min(tookMs, request.timeoutMs)
                if tookMs <= request.timeoutMs { last = request.texts.last }
                open += requests(
                    batcher.responded(request.id, tookMs > request.timeoutMs ? .late : Self.good(request), nowMs: nowMs)
                )
            }
        }
        #expect(Array(sizes.prefix(4)) == [8, 4, 2, 3], "halves until it answers, then one more at a time")
        #expect(sizes.dropFirst(2).allSatisfy { $0 <= 4 }, "\(sizes)")
        let (before, known) = (batcher.counts, try #require(last))
        #expect(
            answers(batcher.submit([known], for: "w", nowMs: nowMs), known.text) == ["w [3.0]"],
            "kept: the next need not ask")
        #expect(batcher.counts == (before.known + 1, before.unknown))
    }

    @Test func aRequestThatHadLittleTimeSaysNothingOfTheServer() throws {
        var batcher = batcher { ($0.inFlightMax, $0.timeoutMs, $0.textsPerRequestMax) = (1, 100, 4) }
        let block = requests(batcher.submit([Self.text("-")], for: "0", nowMs: 0))[0]
        for nowMs in 1...4 as ClosedRange<Int64> {
            _ = batcher.submit([Self.text("\(nowMs)")], for: "\(nowMs)", nowMs: nowMs)
        }
        let four = requests(batcher.responded(block.id, Self.good(block), nowMs: 60))[0]
        #expect(four.timeoutMs == 41)
        let late = batcher.responded(four.id, .late, nowMs: 101)
        #expect(answers(late, "1").first == "1 \(Self.late)")
        // One and two milliseconds are no time to answer in.
        #expect(sent(late) == [["4"]])
        #expect(answers(late, "2", "3").count == 3)
        _ = batcher.responded(requests(late)[0].id, .late, nowMs: 104)
        let texts = (5..<9).map { Self.text("\($0)") }
        #expect(requests(batcher.submit(texts, for: "w", nowMs: 110)).map(\.texts.count) == [4])
    }

    @Test func lateTextsAreRetriedBehindOlderOnes() throws {
        var batcher = batcher { ($0.inFlightMax, $0.timeoutMs) = (1, 100) }
        let block = requests(batcher.submit([Self.text("-")], for: "0", nowMs: 0))[0]
        _ = batcher.submit([Self.text("a")], for: "ann", nowMs: 10)
        _ = batcher.submit([Self.text("o", model: "other")], for: "otto", nowMs: 50)
        _ = batcher.submit([Self.text("b")], for: "bob", nowMs: 90)
        let both = requests(batcher.responded(block.id, Self.good(block), nowMs: 95))[0]
        #expect(both.texts.map(\.text) == ["a", "b"])
        let late = batcher.responded(both.id, .late, nowMs: 110)
        #expect(answers(late, "a") == ["ann \(Self.late)"])
        #expect(sent(late) == [["o"]])
        #expect(sent(batcher.responded(requests(late)[0].id, Self.good(requests(late)[0]), nowMs: 111)) == [["b"]])
    }

    @Test func aLoneTextThatIsLateSaysNothingOfOthers() throws {
        var batcher = batcher { ($0.inFlightMax, $0.timeoutMs, $0.textsPerRequestMax) = (1, 100, 4) }
        let lone = requests(batcher.submit([Self.text("a")], for: "ann", nowMs: 0))[0]
        _ = batcher.responded(lone.id, .late, nowMs: 100)
        let texts = (0..<4).map { Self.text("\($0)") }
        #expect(requests(batcher.submit(texts, for: "bob", nowMs: 100)).map(\.texts.count) == [4])
    }

    // MARK: The cache

    @Test func bytesThatAreKeptAreBounded() throws {
        var batcher = batcher { $0.cacheBytesMax = 3_000 }
        func isKnown(_ name: String, length: Int) -> Bool {
            let text = Self.text(name + String(repeating: "x", count: length))
            guard let request = requests(batcher.submit([text], for: name, nowMs: 0)).first else { return true }
            _ = batcher.responded(request.id, Self.good(request), nowMs: 0)
            return false
        }
        #expect(!isKnown("a", length: 1_000) && !isKnown("b", length: 1_000))
        #expect(isKnown("a", length: 1_000) && isKnown("b", length: 1_000))
        #expect(!isKnown("c", length: 1_000) && !isKnown("a", length: 1_000), "a went for c")
        // A text larger than the whole cache evicts nothing.
        #expect(!isKnown("d", length: 3_000) && !isKnown("d", length: 3_000))
        #expect(isKnown("c", length: 1_000) && isKnown("a", length: 1_000))
    }

    @Test func theVectorUsedLongestAgoGoesFirst() throws {
        var batcher = batcher { $0.cacheEntriesMax = 2 }
        func isKnown(_ name: String) -> Bool {
            let actions = batcher.submit([Self.text(name)], for: name, nowMs: 0)
            guard let request = requests(actions).first else { return true }
            _ = batcher.responded(request.id, Self.good(request), nowMs: 0)
            return false
        }
        #expect([isKnown("a"), isKnown("b"), isKnown("a"), isKnown("c")] == [false, false, true, false])
        #expect([isKnown("a"), isKnown("c"), isKnown("b"), isKnown("a")] == [true, true, false, false])
        // Other models and sizes are other vectors, and so are other bytes of the same characters.
        #expect([isKnown("\u{e9}"), isKnown("e\u{301}"), isKnown("\u{e9}")] == [false, false, true])
        #expect(sent(batcher.submit([Self.text("a", model: "n")], for: "x", nowMs: 0)) == [["a"]])
        #expect(sent(batcher.submit([EmbeddingText(model: "m", text: "a", size: 2)], for: "y", nowMs: 0)) == [["a"]])
    }

    @Test func nothingIsKeptInACacheOfNone() throws {
        var batcher = batcher { $0.cacheEntriesMax = 0 }
        let request = requests(batcher.submit([Self.text("a")], for: "ann", nowMs: 0))[0]
        #expect(answers(batcher.responded(request.id, Self.good(request), nowMs: 0), "a") == ["ann [1.0]"])
        #expect(sent(batcher.submit([Self.text("a")], for: "ann", nowMs: 0)) == [["a"]])
    }

    @Test func afterTheEndNothingIsAskedFor() throws {
        var batcher = batcher { $0.inFlightMax = 1 }
        let first = requests(batcher.submit([Self.text("a")], for: "ann", nowMs: 0))[0]
        _ = batcher.submit([Self.text("b")], for: "bob", nowMs: 0)
        let message = "UNAVAILABLE: the node is shutting down, try again"
        #expect(answers(batcher.stop(), "b") == ["bob \(message)"])
        #expect(answers(batcher.submit([Self.text("c")], for: "carl", nowMs: 0), "c") == ["carl \(message)"])
        #expect(answers(batcher.responded(first.id, .failed(Self.failure), nowMs: 0), "a") == ["ann UNAVAILABLE: gone"])
    }

    /// Any order of calls: every waiter is answered once for every text; bounds hold; no text is requested twice at
    /// a time.
    @Test func everyWaiterIsAnsweredOnce() throws {
        for seed in 0..<200 * UInt64(FuzzLength.factor) { try everyWaiterIsAnsweredOnce(seed) }
    }

    private func everyWaiterIsAnsweredOnce(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var settings = EmbeddingSettings()
        settings.inFlightMax = Int.random(in: 1...3, using: &random)
        settings.textsPerRequestMax = Int.random(in: 1...4, using: &random)
        settings.waitingTextsMax = Int.random(in: 1...12, using: &random)
        settings.cacheEntriesMax = Int.random(in: 0...5, using: &random)
        settings.cacheBytesMax = Int.random(in: 0...2_000, using: &random)
        settings.waitingBytesMax = Int.random(in: 0...2_000, using: &random)
        settings.waitersMax = Int.random(in: 1...20, using: &random)
        settings.timeoutMs = 50
        var batcher = EmbeddingBatcher<Int>(settings)
        var waiting: [Int: [EmbeddingText]] = [:]
        var underWay: [EmbeddingRequest] = []
        var nowMs: Int64 = 0
        func perform(_ actions: [EmbeddingBatcher<Int>.Action]) throws {
            for action in actions {
                switch action {
                case .send(let request):
                    #expect((1...settings.textsPerRequestMax).contains(request.texts.count), "seed \(seed)")
                    #expect(request.texts.allSatisfy { $0.model == request.model }, "seed \(seed)")
                    #expect((1...50).contains(request.timeoutMs), "seed \(seed)")
                    let asked = Set(underWay.flatMap(\.texts))
                    #expect(asked.isDisjoint(with: request.texts), "seed \(seed)")
                    underWay.append(request)
                case .finish(let waiter, let embeddings):
                    let wanted = waiting.removeValue(forKey: waiter)
                    for text in try #require(wanted, "seed \(seed)") {
                        do throws(RequestError) {
                            let vector = try embeddings.vector(of: text)
                            #expect(Self.vector(text) == .success(vector), "seed \(seed)")
                        } catch {
                            #expect(error.code != .internalError, "seed \(seed)")
                        }
                    }
                }
            }
            #expect(underWay.count <= settings.inFlightMax, "seed \(seed)")
            #expect(waiting.count <= settings.waitersMax, "seed \(seed)")
        }
        for waiter in 0..<60 {
            nowMs += Int64.random(in: 0...20, using: &random)
            var texts: Set<EmbeddingText> = []
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let length = Int.random(in: 1...8, using: &random)
                texts.insert(
                    Self.text(String(repeating: "x", count: length), model: Bool.random(using: &random) ? "m" : "n"))
            }
            waiting[waiter] = texts.sorted { ($0.model, $0.text) < ($1.model, $1.text) }
            try perform(batcher.submit(waiting[waiter] ?? [], for: waiter, nowMs: nowMs))
            while !underWay.isEmpty, Bool.random(using: &random) {
                try answerOne()
            }
        }
        func answerOne() throws {
            let request = underWay.remove(at: Int.random(in: underWay.indices, using: &random))
            let answer: EmbeddingEndpoint.Answer =
                switch Int.random(in: 0..<6, using: &random) {
                case 0: .refused(Self.failure)
                case 1: .failed(Self.failure)
                case 2: .late
                default: Self.good(request)
                }
            try perform(batcher.responded(request.id, answer, nowMs: nowMs))
        }
        while !underWay.isEmpty {
            nowMs += Int64.random(in: 0...20, using: &random)
            try answerOne()
        }
        #expect(waiting.isEmpty, "seed \(seed)")
    }
}
