/// Decides which slow statements wait for a slow connection, run on a fast connection, or are refused. A pure value.
///
/// A statement that is known to be slow may be fast this time. So where too many wait, it runs on a fast connection,
/// unless a slow execution of its source was refused recently; one that has proved slow is refused.
struct SlowStatementAdmission<Element> {
    enum Decision: Equatable {
        case queued
        /// Submit it to a fast connection.
        case fast
        case refused(FairQueue<Element>.Refusal)
    }

    /// How long a source's statements are refused, rather than tried, after one of them was.
    static var refusalMs: Int { 10_000 }

    private(set) var queue: FairQueue<Element>
    /// The end of each source's refusal period; at most as many entries as may wait.
    private var refusedUntilMs: [UInt64: Int] = [:]
    private(set) var refusedCount = 0

    init(limits: FairQueue<Element>.Limits) {
        queue = FairQueue(limits: limits)
    }

    /// - Parameter isRerouted: this execution was slow, and not just its statement.
    mutating func add(_ element: Element, of source: UInt64, isRerouted: Bool, nowMs: Int) -> Decision {
        guard let refusal = queue.add(element, of: source) else { return .queued }
        if isRerouted {
            if refusedUntilMs.count >= queue.limits.waitingMax { refusedUntilMs = [:] }
            refusedUntilMs[source] = nowMs + Self.refusalMs
        } else if nowMs >= refusedUntilMs[source, default: .min] {
            return .fast
        }
        refusedCount += 1
        return .refused(refusal)
    }

    mutating func start() -> (element: Element, slot: Int)? { queue.start() }

    mutating func ended(slot: Int, of source: UInt64) { queue.ended(slot: slot, of: source) }

    mutating func remove(where isUnwanted: (Element) -> Bool) -> [Element] { queue.remove(where: isUnwanted) }
}
