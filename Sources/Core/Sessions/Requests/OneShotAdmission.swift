package import LiveModel

/// Decides which one-shot operations of a session run, which wait for others to finish, and which are refused: a
/// session runs only so many at a time, and its user and its address may have only so many requests in flight. Those
/// that wait run in the order in which they came. Generic over operations and their work, which it never touches.
///
/// Only the end of one of its own operations lets a session try again to acquire a quota. So while none of them runs,
/// an exhausted quota is a refusal.
package struct OneShotAdmission<Operation, Work> {
    /// A decision about the operation whose turn it is.
    package enum Turn: Sendable, Hashable {
        case runs
        /// It still waits, until an operation of the session ends.
        case waits
        case fails(RequestError)
    }

    package var running: OneShotOperations<Work>
    private var waiting: WaitingOperations<Operation>

    /// - Parameters:
    ///   - runningMax: the maximum of operations that have not finished.
    ///   - waitingMax: the maximum of operations that wait.
    ///   - waitingBytesMax: the maximum of the bytes of those.
    package init(runningMax: Int, waitingMax: Int, waitingBytesMax: Int) {
        running = OneShotOperations(runningMax: runningMax)
        waiting = WaitingOperations(countMax: waitingMax, bytesMax: waitingBytesMax)
    }

    /// Handles a new operation.
    /// - Returns: whether it waits behind others. If not, its quota is to be acquired, and then it runs or is
    ///   `quotaRefused`.
    /// - Throws: `.limitExceeded` if no more may wait.
    package mutating func arrived(
        _ id: String, _ operation: Operation, bytes: @autoclosure () -> Int
    ) throws(RequestError) -> Bool {
        if running.hasRoom, waiting.isEmpty { return false }
        try waiting.append(id, operation, bytes: bytes())
        return true
    }

    /// Handles the refusal of a new operation's quota: the operation waits, or it is refused.
    /// - Throws: the refusal. It is the reason even if the operation is refused because no more may wait.
    package mutating func quotaRefused(
        _ refusal: RequestError, _ id: String, _ operation: Operation, bytes: @autoclosure () -> Int
    ) throws(RequestError) {
        guard refusal.code == .limitExceeded, running.runningCount > 0 else { throw refusal }
        do throws(RequestError) {
            try waiting.append(id, operation, bytes: bytes())
        } catch {
            throw refusal
        }
    }

    /// The waiting operation whose turn it is, if any; `turn` must follow.
    package var next: (id: String, operation: Operation)? { running.hasRoom ? waiting.first : nil }

    /// Decides about `next`, which then no longer waits unless the answer says so.
    /// - Parameters:
    ///   - refusal: why it may no longer run, if so.
    ///   - quotaRefusal: why its quota could not be acquired; nil if it was, or if there is another refusal.
    package mutating func turn(refusal: RequestError?, quotaRefusal: RequestError?) -> Turn {
        if refusal == nil, quotaRefusal != nil, running.runningCount > 0 { return .waits }
        waiting.removeFirst()
        return (refusal ?? quotaRefusal).map { .fails($0) } ?? .runs
    }

    /// Gives up an operation: if it waits, it does not run; if it runs, its response is dropped.
    package mutating func giveUp(_ id: String) {
        waiting.giveUp(id)
        running.giveUp(id)
    }

    /// Gives up all operations, because the session ends.
    /// - Returns: the work to cancel.
    package mutating func giveUpAll() -> [Work] {
        waiting.removeAll()
        return running.giveUpAll()
    }
}
