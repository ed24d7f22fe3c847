/// Decides which slow statements wait for a slow connection, are tried on another one, or are refused. A pure value.
///
/// A statement that is known to be slow may be fast this time. So where too many wait, it is tried: on a moderate
/// connection if the lane has them and grades it, else on a fast one. Each source has one at a time, unless a slow
/// execution of its source was refused recently; one that has proved slow is refused.
struct SlowStatementAdmission<Element> {
    enum Decision: Equatable {
        case queued
        /// Submit it to another connection, and report its end with `trialEnded`.
        case trial
        case refused(FairQueue<Element>.Refusal)
    }

    /// Time for which a source's statements are refused, rather than tried, after one of them was.
    static var refusalMs: Int { 10_000 }

    var queue: FairQueue<Element>
    /// The end of each source's refusal period; at most as many entries as may wait.
    private var refusedUntilMs: [Caller: Int] = [:]
    /// The sources with a statement that is being tried; at most as many as there are statements on other connections.
    private var tried: Set<Caller> = []
    private(set) var refusedCount = 0

    init(limits: FairQueue<Element>.Limits) {
        queue = FairQueue(limits: limits)
    }

    /// - Parameter mayTry: whether only its statement is known to be slow, and not this execution.
    mutating func add(_ element: Element, of source: Caller, mayTry: Bool, nowMs: Int) -> Decision {
        guard let refusal = queue.add(element, of: source) else { return .queued }
        if !mayTry {
            if refusedUntilMs.count >= queue.limits.waitingMax { refusedUntilMs = [:] }
            refusedUntilMs[source] = nowMs + Self.refusalMs
        } else if nowMs >= refusedUntilMs[source, default: .min], tried.insert(source).inserted {
            return .trial
        }
        refusedCount += 1
        return .refused(refusal)
    }

    mutating func trialEnded(of source: Caller) {
        guard tried.remove(source) != nil else { preconditionFailure("nothing of \(source) is being tried") }
    }
}
