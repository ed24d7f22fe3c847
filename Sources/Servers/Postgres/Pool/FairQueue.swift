import DequeModule

/// Divides a few slots among sources: each source's elements start in order, sources take turns, and no source gets
/// all slots at once. A source is a user, or an address without one; the users of an address also count as one. A pure
/// value.
struct FairQueue<Element> {
    struct Limits: Sendable {
        /// Elements that run at the same time.
        var slots: Int
        /// The most of one user's or address's elements that run at the same time, at least 1.
        var slotsPerSource: Int
        /// The most waiting elements in all, and of one user; those of an address may be twice as many.
        var waitingMax: Int
        var waitingPerSourceMax: Int
    }

    enum Refusal {
        case full
        case sourceFull
    }

    /// The number of elements of each user and each address; those of which there are none are absent.
    private struct Counts {
        private var users: [UInt64: Int] = [:]
        private var addresses: [UInt64: Int] = [:]

        func ofUser(_ source: Caller) -> Int { users[source.number, default: 0] }
        func ofAddress(_ source: Caller) -> Int { source.address.map { addresses[$0, default: 0] } ?? 0 }

        mutating func add(_ change: Int, of source: Caller) {
            Self.add(change, to: &users, source.number)
            if let address = source.address { Self.add(change, to: &addresses, address) }
        }

        private static func add(_ change: Int, to counts: inout [UInt64: Int], _ key: UInt64) {
            let count = counts[key, default: 0] + change
            precondition(count >= 0, "\(count) elements of source \(key)")
            counts[key] = count == 0 ? nil : count
        }
    }

    let limits: Limits
    private var waiting: [Caller: Deque<Element>] = [:]
    /// The sources with waiting elements, the next one first.
    private var turns = Deque<Caller>()
    private var waitingCounts = Counts()
    private var runningCounts = Counts()
    private var free: [Int]
    private(set) var waitingCount = 0

    init(limits: Limits) {
        self.limits = limits
        free = Array((0..<limits.slots).reversed())
    }

    var runningCount: Int { limits.slots - free.count }

    /// - Returns: nil when the element waits.
    mutating func add(_ element: Element, of source: Caller) -> Refusal? {
        if waitingCount >= limits.waitingMax { return .full }
        guard waitingCounts.ofUser(source) < limits.waitingPerSourceMax,
            waitingCounts.ofAddress(source) < 2 * limits.waitingPerSourceMax
        else { return .sourceFull }
        if waiting[source]?.append(element) == nil {
            waiting[source] = [element]
            turns.append(source)
        }
        waitingCounts.add(1, of: source)
        waitingCount += 1
        return nil
    }

    /// Starts the next element that may run and returns its slot, which `ended` frees.
    mutating func start() -> (element: Element, slot: Int)? {
        guard let slot = free.last else { return nil }
        for _ in 0..<turns.count {
            let source = turns.removeFirst()
            guard runningCounts.ofUser(source) < limits.slotsPerSource,
                runningCounts.ofAddress(source) < limits.slotsPerSource
            else {
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
            runningCounts.add(1, of: source)
            waitingCounts.add(-1, of: source)
            waitingCount -= 1
            return (element, slot)
        }
        return nil
    }

    mutating func ended(slot: Int, of source: Caller) {
        precondition(!free.contains(slot), "slot \(slot) of \(limits.slots) is free already")
        free.append(slot)
        runningCounts.add(-1, of: source)
    }

    /// Removes and returns waiting elements.
    mutating func remove(where isUnwanted: (Element) -> Bool) -> [Element] {
        guard waitingCount > 0 else { return [] }
        var removed: [Element] = []
        for (source, elements) in waiting where elements.contains(where: isUnwanted) {
            let unwanted = elements.filter(isUnwanted)
            let rest = elements.filter { !isUnwanted($0) }
            removed += unwanted
            waiting[source] = rest.isEmpty ? nil : Deque(rest)
            if rest.isEmpty { turns.removeAll { $0 == source } }
            waitingCounts.add(-unwanted.count, of: source)
        }
        waitingCount -= removed.count
        return removed
    }
}
