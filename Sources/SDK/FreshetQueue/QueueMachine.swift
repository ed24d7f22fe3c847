package import FreshetTypes

/// The queue of one user's mutations: each is sent until it is answered, in order within its group, with the key under
/// which the server applies it once. Pure: it has no file, no clock and no network. Source: SDK specification §4 (8).
///
/// A mutation is saved before it is sent, and deleted after its answer. One that is refused does not hold up those
/// behind it.
package struct QueueMachine: Sendable {
    private struct Entry: Sendable {
        var mutation: QueuedMutation
        var isSending = false
        /// An attempt left open whether the mutation was applied.
        var mayBeApplied = false
    }

    private let limits: QueueLimits
    /// Waiting mutations, in the order of enqueueing.
    private var entries: [Entry] = []
    /// Applied mutations that live queries may not show yet. Bounded by `QueueLimits.unshownMax`.
    private var unshown: Set<String> = []
    private var isOnline = false
    private var failures = 0
    private var retryAtMs: Int64?

    package init(limits: QueueLimits = QueueLimits()) { self.limits = limits }

    package var count: Int { entries.count }
    /// The mutations of which live queries may show less than the server has, or may yet have: those that wait, and
    /// those that were applied and are waited for.
    package var pendingCount: Int { entries.count + unshown.count }
    package var mutations: [QueuedMutation] { entries.map(\.mutation) }

    /// When `tick` is due; nil: never.
    package var deadlineMs: Int64? { isOnline && !entries.isEmpty ? retryAtMs : nil }

    /// Mutations of an earlier run, in their order.
    package mutating func load(_ saved: [QueuedMutation], nowMs: Int64) -> [QueueAction] {
        let known = Set(entries.map(\.mutation.id))
        let new = saved.filter { !known.contains($0.id) }
        entries.insert(
            contentsOf: new.map { Entry(mutation: $0, mayBeApplied: $0.firstSentAtMs != nil) }, at: 0)
        return pump(nowMs)
    }

    /// - Throws: `FreshetError.queueFull`.
    package mutating func enqueue(_ mutation: QueuedMutation, nowMs: Int64) throws(FreshetError) -> [QueueAction] {
        guard entries.count < limits.countMax else {
            throw FreshetError(.queueFull, "\(limits.countMax) mutations wait already")
        }
        entries.append(Entry(mutation: mutation))
        return [.save(mutation)] + pump(nowMs)
    }

    /// The mutation could not be saved: it is not kept.
    package mutating func discard(id: String, nowMs: Int64) -> [QueueAction] {
        entries.removeAll { $0.mutation.id == id }
        return pump(nowMs)
    }

    /// Whether it makes sense to send: the app has started the connector. Going online ends a delay; going offline
    /// forgets the mutations that were waited for.
    package mutating func setOnline(_ isOnline: Bool, nowMs: Int64) -> [QueueAction] {
        self.isOnline = isOnline
        if isOnline { retryAtMs = nil } else { unshown = [] }
        return pump(nowMs)
    }

    package mutating func tick(nowMs: Int64) -> [QueueAction] {
        guard let retryAtMs, retryAtMs <= nowMs else { return [] }
        self.retryAtMs = nil
        return pump(nowMs)
    }

    /// Forgets that a mutation was sent, since it was not applied, unless an earlier attempt left that open. Called
    /// before `answered`: until then it is not sent again.
    package mutating func unsent(id: String) -> [QueueAction] {
        guard let index = entries.firstIndex(where: { $0.mutation.id == id && $0.isSending }),
            !entries[index].mayBeApplied
        else { return [] }
        entries[index].mutation.firstSentAtMs = nil
        return [.save(entries[index].mutation)]
    }

    /// - Parameters:
    ///   - position: that of a mutation that was applied, which stays pending until `shown`. Nil: no live query is
    ///     concerned, or the position is not known because it was applied before.
    ///   - mayBeApplied: an attempt of this sending left open whether the mutation was applied.
    package mutating func answered(
        id: String, _ answer: MutationAnswer, position: MutationPosition? = nil, mayBeApplied: Bool = false,
        nowMs: Int64
    ) -> [QueueAction] {
        guard let index = entries.firstIndex(where: { $0.mutation.id == id && $0.isSending }) else { return [] }
        entries[index].isSending = false
        if mayBeApplied { entries[index].mayBeApplied = true }
        let mutation = entries[index].mutation
        switch answer {
        case .applied, .alreadyApplied:
            entries.remove(at: index)
            (failures, retryAtMs) = (0, nil)
            var wait = position.map(ResultsWait.until) ?? (answer == .alreadyApplied ? .untilNow : .none)
            if !isOnline || unshown.count == limits.unshownMax { wait = .none }
            if wait != .none { unshown.insert(id) }
            return [.delete(id: id), .applied(mutation, wait)] + pump(nowMs)
        case .refused(let error):
            let entry = entries.remove(at: index)
            (failures, retryAtMs) = (0, nil)
            return [.delete(id: id), .failed(mutation, entry.mayBeApplied ? error.afterOpenAttempt : error)]
                + pump(nowMs)
        case .unanswered(let retryAfterMs):
            delay(retryAfterMs, nowMs)
            return []
        }
    }

    /// The wait for an applied mutation has ended: live queries show it, or nothing will tell when they do.
    /// - Returns: whether it was pending until now.
    package mutating func shown(id: String) -> Bool { unshown.remove(id) != nil }

    /// A mutation was not sent, because the time of sending could not be saved: it is tried again later.
    package mutating func notSent(id: String, nowMs: Int64) {
        guard let index = entries.firstIndex(where: { $0.mutation.id == id }) else { return }
        entries[index].isSending = false
        entries[index].mutation.firstSentAtMs = nil
        delay(nil, nowMs)
    }

    private mutating func delay(_ retryAfterMs: Int64?, _ nowMs: Int64) {
        let delayMs = max(
            min(limits.backoffMaxMs, limits.backoffMinMs << Int64(min(failures, 20))), retryAfterMs ?? 0)
        failures += 1
        retryAtMs = nowMs + delayMs
    }

    /// Sends the first mutation of each group that has none under way.
    private mutating func pump(_ nowMs: Int64) -> [QueueAction] {
        guard isOnline, retryAtMs == nil else { return [] }
        var actions: [QueueAction] = []
        var seen: Set<String> = []
        var expired: [Int] = []
        for index in entries.indices {
            let mutation = entries[index].mutation
            if seen.contains(mutation.group) { continue }
            if let sentAtMs = mutation.firstSentAtMs, !entries[index].isSending,
                nowMs - sentAtMs > limits.keyKeptMs
            {
                expired.append(index)
                continue
            }
            seen.insert(mutation.group)
            if entries[index].isSending { continue }
            entries[index].isSending = true
            if mutation.firstSentAtMs == nil {
                entries[index].mutation.firstSentAtMs = nowMs
                // Saved first: after a crash it counts as sent.
                actions.append(.save(entries[index].mutation))
            }
            actions.append(.send(entries[index].mutation))
        }
        for index in expired.reversed() {
            let mutation = entries.remove(at: index).mutation
            let error = FreshetError(.outcomeUnknown, "\(mutation.operation) was sent and not answered for too long")
            actions += [.delete(id: mutation.id), .failed(mutation, error)]
        }
        return actions
    }
}
