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
                    case .applied(let mutation): told.append(mutation.id)
                    case .failed(let mutation, _): Issue.record("seed \(seed): \(mutation.id) failed")
                    }
                }
            }

            func serve(isLossy: Bool) {
                guard !flying.isEmpty else { return }
                let mutation = flying.remove(at: random.below(flying.count))
                if isLossy, random.below(3) == 0 {
                    return perform(queue.answered(id: mutation.id, .unanswered(retryAfterMs: nil), nowMs: nowMs))
                }
                if !applied.contains(mutation.id) { applied.append(mutation.id) }
                if isLossy, random.below(3) == 0 {
                    return perform(queue.answered(id: mutation.id, .unanswered(retryAfterMs: nil), nowMs: nowMs))
                }
                perform(queue.answered(id: mutation.id, .applied, nowMs: nowMs))
            }

            for step in 0..<20 {
                nowMs += Int64(random.below(1_000))
                switch random.below(6) {
                case 0, 1:
                    let new = mutation("\(step)", group: "\(random.below(2))")
                    enqueued.append(new.id)
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
            // Within a group the order is that of enqueueing; ids grow.
            #expect(Set(told).isSubset(of: Set(enqueued)), "seed \(seed)")
        }
    }
}
