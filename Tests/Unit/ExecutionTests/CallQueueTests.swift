import SeededRandom
import Testing

@testable import Execution

/// When calls of a statement run, and which run together.
@Suite struct CallQueueTests {
    private static let limits = CallQueue<Int>.Limits(runningMax: 2, batchMax: 4, waitMs: 20)

    private static func add(
        _ call: Int, to queue: inout CallQueue<Int>, batchMax: Int = .max, at nowMs: Int64 = 0
    ) -> String {
        switch queue.add(call, batchMax: batchMax, nowMs: nowMs) {
        case .runs: "runs"
        case .waits(let isFirst): isFirst ? "first" : "waits"
        case .completes(let calls): "\(calls)"
        }
    }

    /// Two calls are under way, as many as may be.
    private static func fill(_ queue: inout CallQueue<Int>) {
        let started = [queue.start(), queue.start(), queue.start()]
        #expect(started == [true, true, false])
    }

    private static func ended(_ queue: inout CallQueue<Int>) -> [Int] { queue.ended() }
    private static func overdue(_ queue: inout CallQueue<Int>, _ nowMs: Int64) -> [Int] { queue.overdue(nowMs: nowMs) }

    @Test("Calls wait only while executions are under way, and then run together")
    func waitsForAnAnswer() {
        var queue = CallQueue<Int>(Self.limits)
        Self.fill(&queue)
        #expect([1, 2].map { Self.add($0, to: &queue) } == ["first", "waits"])
        #expect(Self.ended(&queue) == [1, 2] && queue.isEmpty)
        // Two are under way again.
        #expect(Self.add(3, to: &queue) == "first")
        #expect(Self.ended(&queue) == [3])
        #expect(Self.ended(&queue) == [] && Self.ended(&queue) == [])
        Self.fill(&queue)
    }

    @Test("A call does not overtake those that wait")
    func order() {
        var queue = CallQueue<Int>(Self.limits)
        Self.fill(&queue)
        for call in 1...3 { _ = Self.add(call, to: &queue) }
        #expect(Self.add(4, to: &queue) == "[1, 2, 3, 4]")
        // Three are under way, one more than may be without a full batch.
        #expect(Self.add(5, to: &queue) == "first")
        #expect(Self.ended(&queue) == [])
        #expect(Self.add(6, to: &queue) == "waits")
        #expect(Self.ended(&queue) == [5, 6])
    }

    @Test("A batch is as large as its statement permits", arguments: [(1, 1), (2, 2), (3, 3), (9, 4)])
    func batchMax(permitted: Int, size: Int) {
        var queue = CallQueue<Int>(Self.limits)
        Self.fill(&queue)
        var sizes: [String] = []
        for call in 1...8 { sizes.append(Self.add(call, to: &queue, batchMax: permitted)) }
        let full = sizes.filter { $0.hasPrefix("[") }
        #expect(full.count == 8 / size && full.allSatisfy { $0.split(separator: ",").count == size })
    }

    @Test("A call does not wait for executions that are held up")
    func overdue() {
        var queue = CallQueue<Int>(Self.limits)
        Self.fill(&queue)
        #expect(Self.add(1, to: &queue, at: 100) == "first")
        #expect(Self.add(2, to: &queue, at: 115) == "waits")
        #expect(Self.overdue(&queue, 119) == [])
        #expect(Self.overdue(&queue, 120) == [1, 2])
        #expect(Self.overdue(&queue, 500) == [])
        #expect(Self.add(3, to: &queue, at: 130) == "first")
        #expect(Self.overdue(&queue, 149) == [] && Self.overdue(&queue, 150) == [3])
    }

    @Test("Calls run alone for a while after a failure")
    func afterAFailure() {
        var queue = CallQueue<Int>(Self.limits)
        #expect(queue.mayBatch(nowMs: 5))
        queue.batchFailed(nowMs: 5)
        #expect(!queue.mayBatch(nowMs: 1_004) && queue.mayBatch(nowMs: 1_005))
    }

    @Test("Every call runs exactly once, whatever happens", arguments: 1...50 as ClosedRange<UInt64>)
    func everyCallRuns(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = CallQueue<Int>(Self.limits)
        var ran: [Int] = []
        var running = 0
        var nowMs: Int64 = 0
        func run(_ calls: [Int]) {
            if calls.isEmpty { return }
            running += 1
            ran += calls
        }
        let count = 200
        for call in 0..<count {
            nowMs += .random(in: 0..<8, using: &random)
            switch queue.add(call, batchMax: .random(in: 1...5, using: &random), nowMs: nowMs) {
            case .runs: run([call])
            case .waits: break
            case .completes(let calls): run(calls)
            }
            while running > 0, Int.random(in: 0..<3, using: &random) == 0 {
                running -= 1
                run(queue.ended())
            }
            if Int.random(in: 0..<4, using: &random) == 0 { run(queue.overdue(nowMs: nowMs)) }
        }
        while running > 0 {
            running -= 1
            run(queue.ended())
        }
        #expect(queue.isEmpty && ran == Array(0..<count), "seed \(seed)")
    }
}
