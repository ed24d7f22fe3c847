import DequeModule

/// Divides a few slots among sources: each source's elements start in order, sources take turns, and no source gets
/// all slots at once. A source is a user, or an address without one; the users of an address also count as one. A
/// source that had to let others pass keeps its place in the order. A pure value.
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

    private enum Subject: Hashable {
        case user(UInt64)
        case address(UInt64)
    }

    /// The number of elements of each user and each address; those of which there are none are absent.
    private struct Counts {
        private var counts: [Subject: Int] = [:]

        subscript(_ subject: Subject) -> Int { counts[subject, default: 0] }

        mutating func add(_ change: Int, of source: Caller) {
            for subject in FairQueue.subjects(of: source) {
                let count = self[subject] + change
                precondition(count >= 0, "\(count) elements of \(subject)")
                counts[subject] = count == 0 ? nil : count
            }
        }
    }

    private struct Waiting {
        var elements: Deque<Element>
        /// The place in the order of turns: lower ones come first.
        var turn: Int
    }

    let limits: Limits
    private var waiting: [Caller: Waiting] = [:]
    private var lastTurn = 0
    /// The sources with waiting elements, the next one first, except those in `parked`. Sorted by `Waiting.turn`.
    private var turns = Deque<Caller>()
    /// The sources with waiting elements whose user or address was found to have all the slots that it may have, under
    /// that user or address. Each slot that it gives back returns one source to `turns`.
    private var parked: [Subject: Deque<Caller>] = [:]
    private var waitingCounts = Counts()
    private var runningCounts = Counts()
    private var free: [Int]
    private(set) var waitingCount = 0

    init(limits: Limits) {
        self.limits = limits
        free = Array((0..<limits.slots).reversed())
    }

    var runningCount: Int { limits.slots - free.count }

    private static func subjects(of source: Caller) -> [Subject] {
        [.user(source.number)] + (source.address.map { [.address($0)] } ?? [])
    }

    // MARK: waiting

    /// - Returns: nil when the element waits.
    mutating func add(_ element: Element, of source: Caller) -> Refusal? {
        if waitingCount >= limits.waitingMax { return .full }
        guard waitingCounts[.user(source.number)] < limits.waitingPerSourceMax,
            source.address.map({ waitingCounts[.address($0)] < 2 * limits.waitingPerSourceMax }) ?? true
        else { return .sourceFull }
        if waiting[source]?.elements.append(element) == nil { wait([element], of: source) }
        waitingCounts.add(1, of: source)
        waitingCount += 1
        return nil
    }

    /// Whether an element waits that could start if this source gave a slot back: all are taken, or its user or address
    /// has all that it may have.
    mutating func isSlotAwaited(of source: Caller) -> Bool {
        if nextSource() != nil, free.isEmpty { return true }
        return Self.subjects(of: source).contains { parked[$0] != nil }
    }

    /// Removes and returns waiting elements.
    mutating func remove(where isUnwanted: (Element) -> Bool) -> [Element] {
        guard waitingCount > 0 else { return [] }
        var removed: [Element] = []
        for (source, own) in waiting where own.elements.contains(where: isUnwanted) {
            let unwanted = own.elements.filter(isUnwanted)
            let rest = own.elements.filter { !isUnwanted($0) }
            removed += unwanted
            waiting[source] = rest.isEmpty ? nil : Waiting(elements: Deque(rest), turn: own.turn)
            waitingCounts.add(-unwanted.count, of: source)
        }
        waitingCount -= removed.count
        if !removed.isEmpty {
            turns = Deque(waiting.sorted { $0.value.turn < $1.value.turn }.map(\.key))
            parked = [:]
        }
        return removed
    }

    // MARK: starting

    /// Starts the next element that may run and returns its slot, which `ended` frees.
    /// - Parameter isUsable: whether a free slot may be given away.
    mutating func start(_ isUsable: (Int) -> Bool = { _ in true }) -> (element: Element, slot: Int)? {
        guard let position = free.lastIndex(where: isUsable), let source = nextSource() else { return nil }
        let slot = free.remove(at: position)
        runningCounts.add(1, of: source)
        return (takeFirst(of: source), slot)
    }

    /// Gives away a slot for an element that did not wait, unless others do.
    mutating func startAtOnce(_ source: Caller, _ isUsable: (Int) -> Bool) -> Int? {
        guard waitingCount == 0, fullSubject(of: source) == nil, let position = free.lastIndex(where: isUsable)
        else { return nil }
        runningCounts.add(1, of: source)
        return free.remove(at: position)
    }

    /// Removes the next element, which needs no slot, if it is accepted.
    mutating func take(_ isAccepted: (Element) -> Bool) -> Element? {
        guard let source = nextSource(), let element = waiting[source]?.elements.first, isAccepted(element) else {
            return nil
        }
        return takeFirst(of: source)
    }

    mutating func ended(slot: Int, of source: Caller) {
        precondition(!free.contains(slot), "slot \(slot) of \(limits.slots) is free already")
        free.append(slot)
        runningCounts.add(-1, of: source)
        for subject in Self.subjects(of: source) { unpark(subject) }
    }

    /// Returns the source whose turn it is, after parking those before it that may have no more slots.
    private mutating func nextSource() -> Caller? {
        while let source = turns.first {
            guard let full = fullSubject(of: source) else { return source }
            turns.removeFirst()
            parked[full, default: []].append(source)
            // Another one takes the turn that it had of its address or user.
            for subject in Self.subjects(of: source) where runningCounts[subject] < limits.slotsPerSource {
                unpark(subject)
            }
        }
        return nil
    }

    private func fullSubject(of source: Caller) -> Subject? {
        Self.subjects(of: source).first { runningCounts[$0] >= limits.slotsPerSource }
    }

    private mutating func unpark(_ subject: Subject) {
        guard let source = parked[subject]?.popFirst() else { return }
        if parked[subject]?.isEmpty == true { parked[subject] = nil }
        turns.insert(source, at: position(of: source))
    }

    /// Returns the position in `turns` that follows from the source's turn.
    private func position(of source: Caller) -> Int {
        let turn = waiting[source]?.turn ?? lastTurn
        var range = 0..<turns.count
        while let middle = range.isEmpty ? nil : range.lowerBound + range.count / 2 {
            let isBefore = waiting[turns[middle]].map { $0.turn < turn } ?? true
            range = isBefore ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    /// Puts a source at the end of the order.
    private mutating func wait(_ elements: Deque<Element>, of source: Caller) {
        lastTurn += 1
        waiting[source] = Waiting(elements: elements, turn: lastTurn)
        turns.append(source)
    }

    /// Removes the first element of the source whose turn it is.
    private mutating func takeFirst(of source: Caller) -> Element {
        turns.removeFirst()
        guard var own = waiting.removeValue(forKey: source)?.elements, let element = own.popFirst() else {
            preconditionFailure("source \(source) has a turn, but nothing waits")
        }
        if !own.isEmpty { wait(own, of: source) }
        waitingCounts.add(-1, of: source)
        waitingCount -= 1
        return element
    }
}
