import HeapModule
import SeededRandom

/// The simulated time: scheduled steps, in order of time, then of scheduling. Nothing happens outside of it.
final class Timeline {
    /// The position of a step in the order; its body is stored separately, since the heap often moves its entries.
    private struct Entry: Comparable {
        let atMs: Int64
        let number: UInt64
        let slot: Int

        static func < (left: Entry, right: Entry) -> Bool { (left.atMs, left.number) < (right.atMs, right.number) }
    }

    private(set) var nowMs: Int64 = 1_700_000_000_000
    private(set) var stepCount: UInt64 = 0
    var random: SeededRandom
    private var heap = Heap<Entry>()
    private var bodies: [(() -> Void)?] = []
    private var freeSlots: [Int] = []
    private var scheduled: UInt64 = 0

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    func pick(_ range: ClosedRange<Int64>) -> Int64 { Int64.random(in: range, using: &random) }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    func at(_ atMs: Int64, _ body: @escaping () -> Void) {
        scheduled += 1
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
            bodies[slot] = body
        } else {
            slot = bodies.count
            bodies.append(body)
        }
        heap.insert(Entry(atMs: max(atMs, nowMs), number: scheduled, slot: slot))
    }

    func after(_ ms: Int64, _ body: @escaping () -> Void) { at(nowMs + ms, body) }

    /// Performs all steps up to `untilMs`, as long as `goOn` returns true after each.
    func run(untilMs: Int64, while goOn: () -> Bool) {
        while let first = heap.min, first.atMs <= untilMs {
            heap.removeMin()
            nowMs = first.atMs
            stepCount += 1
            guard let body = bodies[first.slot] else { preconditionFailure("step \(first.number) has no body") }
            bodies[first.slot] = nil
            freeSlots.append(first.slot)
            body()
            if !goOn() { return }
        }
        nowMs = untilMs
    }

    /// Ends the simulation and releases the scheduled bodies with everything they retain.
    func end() { (heap, bodies, freeSlots) = (Heap(), [], []) }
}
