import DequeModule

/// Divides a few slots among sources: each source's elements start in order, sources take turns, and no source gets
/// all slots at once. A pure value.
struct FairQueue<Element> {
    struct Limits: Sendable {
        /// Elements that run at the same time.
        var slots: Int
        /// The most of one source's elements that run at the same time, at least 1.
        var slotsPerSource: Int
        /// The most waiting elements in all, and of one source.
        var waitingMax: Int
        var waitingPerSourceMax: Int
    }

    enum Refusal {
        case full
        case sourceFull
    }

    let limits: Limits
    private var waiting: [UInt64: Deque<Element>] = [:]
    /// The sources with waiting elements, the next one first.
    private var turns = Deque<UInt64>()
    private var running: [UInt64: Int] = [:]
    private var free: [Int]
    private(set) var waitingCount = 0

    init(limits: Limits) {
        self.limits = limits
        free = Array((0..<limits.slots).reversed())
    }

    var runningCount: Int { limits.slots - free.count }

    /// - Returns: nil when the element waits.
    mutating func add(_ element: Element, of source: UInt64) -> Refusal? {
        if waitingCount >= limits.waitingMax { return .full }
        var own = waiting.removeValue(forKey: source) ?? []
        defer { waiting[source] = own }
        if own.count >= limits.waitingPerSourceMax { return .sourceFull }
        if own.isEmpty { turns.append(source) }
        own.append(element)
        waitingCount += 1
        return nil
    }

    /// Starts the next element that may run and returns its slot, which `ended` frees.
    mutating func start() -> (element: Element, slot: Int)? {
        guard let slot = free.last else { return nil }
        for _ in 0..<turns.count {
            let source = turns.removeFirst()
            guard running[source, default: 0] < limits.slotsPerSource else {
                turns.append(source)
                continue
            }
            guard var own = waiting.removeValue(forKey: source), let element = own.popFirst() else {
                preconditionFailure("source \(source) has a turn, but nothing waits")
            }
            if !own.isEmpty {
                waiting[source] = own
                turns.append(source)
            }
            free.removeLast()
            running[source, default: 0] += 1
            waitingCount -= 1
            return (element, slot)
        }
        return nil
    }

    mutating func ended(slot: Int, of source: UInt64) {
        precondition(!free.contains(slot), "slot \(slot) of \(limits.slots) is free already")
        guard let count = running[source] else { preconditionFailure("nothing of source \(source) runs") }
        free.append(slot)
        running[source] = count == 1 ? nil : count - 1
    }

    /// Removes and returns waiting elements.
    mutating func remove(where isUnwanted: (Element) -> Bool) -> [Element] {
        guard waitingCount > 0 else { return [] }
        var removed: [Element] = []
        for (source, elements) in waiting where elements.contains(where: isUnwanted) {
            removed += elements.filter(isUnwanted)
            let rest = elements.filter { !isUnwanted($0) }
            waiting[source] = rest.isEmpty ? nil : Deque(rest)
            if rest.isEmpty { turns.removeAll { $0 == source } }
        }
        waitingCount -= removed.count
        return removed
    }
}
