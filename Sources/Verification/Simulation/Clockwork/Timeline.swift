import SeededRandom

/// Simulated time: what is to happen, in order of time, then of scheduling. Nothing else makes anything happen.
final class Timeline {
    private struct Step {
        let atMs: Int64
        let number: UInt64
        let body: () -> Void

        func isBefore(_ other: Step) -> Bool { (atMs, number) < (other.atMs, other.number) }
    }

    private(set) var nowMs: Int64 = 1_700_000_000_000
    private(set) var stepCount: UInt64 = 0
    var random: SeededRandom
    private var heap: [Step] = []
    private var scheduled: UInt64 = 0

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    func pick(_ range: ClosedRange<Int64>) -> Int64 { Int64.random(in: range, using: &random) }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    func at(_ atMs: Int64, _ body: @escaping () -> Void) {
        scheduled += 1
        heap.append(Step(atMs: max(atMs, nowMs), number: scheduled, body: body))
        var child = heap.count - 1
        while child > 0, heap[child].isBefore(heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    func after(_ ms: Int64, _ body: @escaping () -> Void) { at(nowMs + ms, body) }

    /// Everything up to `untilMs`, as long as `goOn` says so after each step.
    func run(untilMs: Int64, while goOn: () -> Bool) {
        while let first = heap.first, first.atMs <= untilMs {
            removeFirst()
            nowMs = first.atMs
            stepCount += 1
            first.body()
            if !goOn() { return }
        }
        nowMs = untilMs
    }

    /// Nothing happens any more. What was to happen holds on to whom it would happen to.
    func end() { heap = [] }

    private func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child].isBefore(heap[least])
            {
                least = child
            }
            if least == parent { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
