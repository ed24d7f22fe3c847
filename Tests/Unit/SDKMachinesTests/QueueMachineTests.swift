import FreshetQueue
import FreshetTypes
import SeededRandom
import TestSupport
import Testing

private func mutation(_ id: String, group: String = "", sentAtMs: Int64? = nil) -> QueuedMutation {
    QueuedMutation(
        id: id, operation: "PlaceBid", variables: "{}", group: group, changes: "[]", enqueuedAtMs: 0,
        firstSentAtMs: sentAtMs)
}

extension [QueueAction] {
    fileprivate var sent: [String] { compactMap { if case .send(let mutation) = $0 { mutation.id } else { nil } } }
}

@Suite struct QueueMachineTests {
    @Test func aMutationIsSavedBeforeItIsSent() throws {
        var queue = QueueMachine()
        _ = queue.setOnline(true, nowMs: 0)
        let actions = try queue.enqueue(mutation("a"), nowMs: 5)
        #expect(
            actions == [
                .save(mutation("a")), .save(mutation("a", sentAtMs: 5)), .send(mutation("a", sentAtMs: 5)),
            ])
        #expect(
            queue.answered(id: "a", .applied, nowMs: 6) == [
                .delete(id: "a"), .applied(mutation("a", sentAtMs: 5)),
            ])
        #expect(queue.count == 0)
    }

    @Test func offlineTheyWaitInOrder() throws {
        var queue = QueueMachine()
        #expect(try queue.enqueue(mutation("a"), nowMs: 0).sent == [])
        #expect(try queue.enqueue(mutation("b"), nowMs: 0).sent == [])
        #expect(queue.setOnline(true, nowMs: 1).sent == ["a"])
        #expect(queue.answered(id: "a", .applied, nowMs: 2).sent == ["b"])
    }

    @Test func groupsDoNotWaitForEachOther() throws {
        var queue = QueueMachine()
        for (id, group) in [("a", "x"), ("b", "x"), ("c", "y")] {
            _ = try queue.enqueue(mutation(id, group: group), nowMs: 0)
        }
        #expect(queue.setOnline(true, nowMs: 0).sent == ["a", "c"])
    }

    @Test func anUnansweredOneIsSentAgainWithItsKeyAfterADelay() throws {
        var queue = QueueMachine()
        _ = queue.setOnline(true, nowMs: 0)
        _ = try queue.enqueue(mutation("a"), nowMs: 0)
        #expect(queue.answered(id: "a", .unanswered(retryAfterMs: nil), nowMs: 0) == [])
        #expect(queue.deadlineMs == 500)
        #expect(queue.tick(nowMs: 499) == [])
        #expect(queue.tick(nowMs: 500).sent == ["a"])
        _ = queue.answered(id: "a", .unanswered(retryAfterMs: 7_000), nowMs: 500)
        #expect(queue.deadlineMs == 7_500)
    }

    @Test func goingOnlineEndsTheDelay() throws {
        var queue = QueueMachine()
        _ = queue.setOnline(true, nowMs: 0)
        _ = try queue.enqueue(mutation("a"), nowMs: 0)
        _ = queue.answered(id: "a", .unanswered(retryAfterMs: 60_000), nowMs: 0)
        #expect(queue.setOnline(true, nowMs: 1).sent == ["a"])
    }

    @Test func aRefusedOneDoesNotHoldUpTheOthers() throws {
        var queue = QueueMachine()
        _ = queue.setOnline(true, nowMs: 0)
        _ = try queue.enqueue(mutation("a"), nowMs: 0)
        _ = try queue.enqueue(mutation("b"), nowMs: 0)
        let error = FreshetError(.refused, "no")
        let actions = queue.answered(id: "a", .refused(error), nowMs: 1)
        #expect(actions.prefix(2) == [.delete(id: "a"), .failed(mutation("a", sentAtMs: 0), error)])
        #expect(actions.sent == ["b"])
    }

    /// docs/reference/errors.md and idempotency.md: after which codes a mutation waits on, is applied, or is refused.
    @Test func everyCodeOfTheServerIsUnderstood() throws {
        func answer(_ code: String) -> MutationAnswer {
            let extensions: AnyValue = ["code": AnyValue(code), "retryAfterMs": 1_500]
            return MutationAnswer(
                FreshetError([ResponseError(message: "m", code: code, extensions: extensions)]))
        }
        let waiting: Set = [
            "UNAUTHENTICATED", "TIMEOUT", "LIMIT_EXCEEDED", "UNAVAILABLE", "IDEMPOTENCY_KEY_IN_USE", "OUTCOME_UNKNOWN",
        ]
        let applied: Set = ["ALREADY_APPLIED"]
        let refused: Set = [
            "BAD_REQUEST", "OPERATION_NOT_FOUND", "INVALID_VARIABLE", "PERMISSION_DENIED", "CONSTRAINT_VIOLATION",
            "IDEMPOTENCY_KEY_REUSED", "DATABASE_ERROR", "RESOLVER_FAILED", "PAYLOAD_TOO_LARGE", "NOT_FOUND",
            "METHOD_NOT_ALLOWED", "NOT_ACCEPTABLE", "UNSUPPORTED_MEDIA_TYPE", "INTERNAL",
        ]
        for code in waiting { #expect(answer(code) == .unanswered(retryAfterMs: 1_500), "\(code)") }
        for code in applied { #expect(answer(code) == .alreadyApplied, "\(code)") }
        for code in refused {
            guard case .refused(let error) = answer(code) else {
                Issue.record("\(code)")
                continue
            }
            #expect(error.code == .refused && error.serverCode == code)
        }
        let page = try Repository.text("docs/reference/errors.md")
        let listed = page.split(separator: "\n").compactMap { line in
            line.prefixMatch(of: /\| `([A-Z_]+)` \| \d{3} \|/).map { String($0.output.1) }
        }
        #expect(Set(listed) == waiting.union(applied).union(refused))
    }

    /// While nothing was learned from the server, a mutation waits; so it does while its user is away.
    @Test func errorsOfTheLinkAreNoAnswers() {
        for code: FreshetError.Code in [.offline, .timeout, .unavailable, .unauthenticated, .userChanged] {
            #expect(MutationAnswer(FreshetError(code, "m")) == .unanswered(retryAfterMs: nil), "\(code)")
        }
    }

    /// A transaction tells of every field; the reason is that of the one that failed.
    @Test func theReasonOfATransactionIsTheFailedFields() {
        let errors = ["(rolled back)", "too long", "(aborted)"].map { ResponseError(message: $0, code: "TIMEOUT") }
        #expect(FreshetError(errors).message == "too long")
    }

    @Test func aMutationThatCannotBeSavedIsNotSent() throws {
        var queue = QueueMachine()
        _ = queue.setOnline(true, nowMs: 0)
        _ = try queue.enqueue(mutation("a"), nowMs: 0)
        // The file did not take the time of sending.
        queue.notSent(id: "a", nowMs: 0)
        #expect(queue.deadlineMs == 500)
        #expect(queue.tick(nowMs: 500) == [.save(mutation("a", sentAtMs: 500)), .send(mutation("a", sentAtMs: 500))])
        // Nor a new one.
        _ = try queue.enqueue(mutation("b"), nowMs: 500)
        _ = try queue.enqueue(mutation("c"), nowMs: 500)
        _ = queue.discard(id: "b", nowMs: 500)
        #expect(queue.answered(id: "a", .applied, nowMs: 501).sent == ["c"])
    }

    @Test func aFullQueueRefuses() throws {
        var queue = QueueMachine(limits: QueueLimits(countMax: 1))
        _ = try queue.enqueue(mutation("a"), nowMs: 0)
        let error = #expect(throws: FreshetError.self) { try queue.enqueue(mutation("b"), nowMs: 0) }
        #expect(error?.code == .queueFull)
    }

    /// The server may have forgotten the key, so sending it again could apply it twice.
    @Test func oneThatWasSentTooLongAgoIsGivenUpAndOneNeverSentIsNot() {
        var queue = QueueMachine()
        _ = queue.load([mutation("old", sentAtMs: 0), mutation("new")], nowMs: 0)
        let actions = queue.setOnline(true, nowMs: 24 * 3_600_000)
        guard case .failed(let failed, let error)? = actions.last else {
            Issue.record("\(actions)")
            return
        }
        #expect(failed.id == "old" && error.code == .outcomeUnknown)
        #expect(actions.sent == ["new"])
    }

    /// A mutation that never left the device is not given up, however long it waits.
    @Test func oneThatDidNotReachTheServerCountsAsNeverSent() throws {
        var queue = QueueMachine()
        _ = queue.setOnline(true, nowMs: 0)
        _ = try queue.enqueue(mutation("a"), nowMs: 0)
        #expect(queue.unsent(id: "a") == [.save(mutation("a"))])
        _ = queue.answered(id: "a", .unanswered(retryAfterMs: nil), nowMs: 0)
        let lateMs: Int64 = 30 * 3_600_000
        let again = mutation("a", sentAtMs: lateMs)
        #expect(queue.setOnline(true, nowMs: lateMs) == [.save(again), .send(again)])
        // After an attempt that may have been applied, the time of the first one counts.
        _ = queue.answered(id: "a", .unanswered(retryAfterMs: nil), mayBeApplied: true, nowMs: lateMs)
        #expect(queue.tick(nowMs: lateMs + 1_000) == [.send(again)])
        #expect(queue.unsent(id: "a") == [])
        _ = queue.answered(id: "a", .unanswered(retryAfterMs: nil), nowMs: lateMs + 1_000)
        let actions = queue.setOnline(true, nowMs: 2 * lateMs)
        guard case .failed(_, let error)? = actions.last else {
            Issue.record("\(actions)")
            return
        }
        #expect(error.code == .outcomeUnknown)
    }

    /// A refusal that the server decided without the key says nothing about an earlier attempt, of an earlier run too.
    @Test(arguments: [false, true])
    func aRefusalAfterAnOpenAttemptLeavesTheOutcomeOpen(isOfAnEarlierRun: Bool) throws {
        for (code, expected) in [
            ("PERMISSION_DENIED", FreshetError.Code.outcomeUnknown), ("CONSTRAINT_VIOLATION", .refused),
        ] {
            var queue = QueueMachine()
            _ = queue.setOnline(true, nowMs: 0)
            if isOfAnEarlierRun {
                _ = queue.load([mutation("a", sentAtMs: 0)], nowMs: 0)
            } else {
                _ = try queue.enqueue(mutation("a"), nowMs: 0)
                _ = queue.answered(id: "a", .unanswered(retryAfterMs: nil), mayBeApplied: true, nowMs: 0)
                _ = queue.tick(nowMs: 500)
            }
            let refusal = FreshetError(.refused, "no", serverCode: code)
            let actions = queue.answered(id: "a", .refused(refusal), nowMs: 600)
            guard case .failed(_, let error)? = actions.last else {
                Issue.record("\(actions)")
                continue
            }
            #expect(error.code == expected && error.serverCode == code)
        }
    }

    /// An applied mutation is pending until live queries show it; without a position nothing tells when they do.
    @Test func anAppliedMutationIsPendingUntilItIsShown() throws {
        let position = MutationPosition(rawValue: "p")
        var queue = QueueMachine(limits: QueueLimits(unshownMax: 2))
        _ = queue.setOnline(true, nowMs: 0)
        func apply(_ id: String, _ position: MutationPosition?) throws -> QueueAction? {
            _ = try queue.enqueue(mutation(id), nowMs: 0)
            return queue.answered(id: id, .applied, position: position, nowMs: 0).last
        }
        #expect(try apply("a", nil) == .applied(mutation("a", sentAtMs: 0)))
        #expect(queue.pendingCount == 0)
        #expect(try apply("b", position) == .applied(mutation("b", sentAtMs: 0), .until(position)))
        #expect(queue.count == 0 && queue.pendingCount == 1)
        #expect(queue.shown(id: "b") && queue.pendingCount == 0)
        #expect(!queue.shown(id: "b") && !queue.shown(id: "a"))
        // The position of an earlier attempt is not known.
        _ = try queue.enqueue(mutation("g"), nowMs: 0)
        let again = queue.answered(id: "g", .alreadyApplied, nowMs: 0).last
        #expect(again == .applied(mutation("g", sentAtMs: 0), .untilNow))
        #expect(queue.pendingCount == 1 && queue.shown(id: "g"))
        // The bound.
        for id in ["c", "d"] {
            #expect(try apply(id, position) == .applied(mutation(id, sentAtMs: 0), .until(position)))
        }
        #expect(try apply("e", position) == .applied(mutation("e", sentAtMs: 0)))
        #expect(queue.pendingCount == 2)
        // A stop or another user forgets them, and one that is answered after it.
        _ = try queue.enqueue(mutation("f"), nowMs: 0)
        #expect(queue.pendingCount == 3)
        _ = queue.setOnline(false, nowMs: 0)
        #expect(queue.pendingCount == 1 && !queue.shown(id: "c"))
        #expect(
            queue.answered(id: "f", .applied, position: position, nowMs: 0)
                == [.delete(id: "f"), .applied(mutation("f", sentAtMs: 0))])
        #expect(queue.pendingCount == 0)
    }

    /// Random losses of link, answer and process against a server that applies each key once.
    @Test func eachMutationIsAppliedOnceAndInOrder() throws {
        for seed in 0..<UInt64(10_000 * FuzzLength.factor) {
            var random = SeededRandom(seed: seed)
            var queue = QueueMachine()
            var saved: [QueuedMutation] = []
            var flying: [QueuedMutation] = []
            var applied: [String] = []
            var told: [String] = []
            var nowMs: Int64 = 0
            var enqueued: [String] = []
            var groups: [String: String] = [:]

            func perform(_ actions: [QueueAction]) {
                for action in actions {
                    switch action {
                    case .save(let mutation):
                        if let index = saved.firstIndex(where: { $0.id == mutation.id }) {
                            saved[index] = mutation
                        } else {
                            saved.append(mutation)
                        }
                    case .delete(let id): saved.removeAll { $0.id == id }
                    case .send(let mutation):
                        #expect(saved.contains(mutation), "seed \(seed): sent before it was saved")
                        flying.append(mutation)
                    case .applied(let mutation, _): told.append(mutation.id)
                    case .failed(let mutation, _): Issue.record("seed \(seed): \(mutation.id) failed")
                    }
                }
            }

            func serve(isLossy: Bool) {
                guard !flying.isEmpty else { return }
                let mutation = flying.remove(at: random.below(flying.count))
                if isLossy, random.below(3) == 0 {
                    if random.below(2) == 0 { perform(queue.unsent(id: mutation.id)) }
                    return perform(queue.answered(id: mutation.id, .unanswered(retryAfterMs: nil), nowMs: nowMs))
                }
                if !applied.contains(mutation.id) { applied.append(mutation.id) }
                if isLossy, random.below(3) == 0 {
                    return perform(
                        queue.answered(
                            id: mutation.id, .unanswered(retryAfterMs: nil), mayBeApplied: true, nowMs: nowMs))
                }
                perform(queue.answered(id: mutation.id, .applied, nowMs: nowMs))
            }

            for step in 0..<20 {
                nowMs += Int64(random.below(1_000))
                switch random.below(6) {
                case 0, 1:
                    let new = mutation("\(step)", group: "\(random.below(2))")
                    enqueued.append(new.id)
                    groups[new.id] = new.group
                    perform(try queue.enqueue(new, nowMs: nowMs))
                case 2: perform(queue.setOnline(random.below(2) == 0, nowMs: nowMs))
                case 3: perform(queue.tick(nowMs: nowMs))
                case 4:
                    // The process is killed: what was under way is lost on either side.
                    flying = []
                    queue = QueueMachine()
                    perform(queue.load(saved, nowMs: nowMs))
                default: serve(isLossy: true)
                }
            }
            for _ in 0..<200 where queue.count > 0 {
                nowMs += 70_000
                perform(queue.setOnline(true, nowMs: nowMs))
                serve(isLossy: false)
            }
            #expect(applied.sorted() == enqueued.sorted(), "seed \(seed)")
            #expect(queue.count == 0 && saved.isEmpty, "seed \(seed)")
            for group in ["0", "1"] {
                func ofGroup(_ ids: [String]) -> [String] { ids.filter { groups[$0] == group } }
                #expect(ofGroup(applied) == ofGroup(enqueued), "seed \(seed), group \(group)")
            }
            // A kill may take the outcome with it, and no outcome comes twice.
            #expect(Set(told).count == told.count && Set(told).isSubset(of: enqueued), "seed \(seed)")
        }
    }
}
