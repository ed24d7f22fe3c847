import HeapModule

/// The deadlines of live queries, earliest first. A superseded entry stays; when it comes up, the live query decides
/// whether it is still valid. At most three entries of a live query are valid.
struct TimerHeap: Sendable {
    enum Kind: Sendable {
        /// The minimum gap since the last run, or a back-off, is over.
        case gap
        /// The `@refresh(every:)` rule is due.
        case interval
        /// A failure that looked final is retried.
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

    /// Drops the entries of all unwanted slots. Linear.
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
