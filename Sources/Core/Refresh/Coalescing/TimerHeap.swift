import HeapModule

/// Deadlines of live queries, earliest first. An entry is not removed when it loses its meaning; whoever takes it out
/// asks the live query whether it still holds. At most three valid entries stand for one live query.
struct TimerHeap: Sendable {
    enum Kind: Sendable {
        /// The minimum gap since the last run, or a back-off, is over.
        case gap
        /// `@refresh(every:)`
        case interval
        /// Another try after a failure that looked final.
        case retry
    }

    struct Entry: Comparable, Sendable {
        let deadlineMs: Int64
        let slot: Int32
        let kind: Kind

        static func < (left: Self, right: Self) -> Bool {
            (left.deadlineMs, left.slot) < (right.deadlineMs, right.slot)
        }

        static func == (left: Self, right: Self) -> Bool {
            (left.deadlineMs, left.slot) == (right.deadlineMs, right.slot)
        }
    }

    private var heap = Heap<Entry>()

    var count: Int { heap.count }
    var earliestMs: Int64? { heap.min?.deadlineMs }

    /// Drops the entries of all other slots. Linear.
    mutating func keep(_ isWanted: (Int32) -> Bool) {
        heap = Heap(heap.unordered.filter { isWanted($0.slot) })
    }

    mutating func insert(_ entry: Entry) {
        heap.insert(entry)
    }

    mutating func popDue(nowMs: Int64) -> Entry? {
        guard let first = heap.min, first.deadlineMs <= nowMs else { return nil }
        return heap.popMin()
    }
}
