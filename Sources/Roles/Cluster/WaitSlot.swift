/// The place of the one that waits for a notification.
struct WaitSlot<Waiter> {
    private var isNotified = false
    private var waiting: (ticket: UInt64, waiter: Waiter)?
    private var lastTicket: UInt64 = 0

    /// Returns the number of a wait that begins.
    mutating func makeTicket() -> UInt64 {
        lastTicket += 1
        return lastTicket
    }

    /// - Returns: the answer if the wait ends at once: whether there was a notification.
    mutating func wait(_ waiter: Waiter, ticket: UInt64, isCancelled: Bool) -> Bool? {
        if isNotified || isCancelled {
            defer { isNotified = false }
            return isNotified
        }
        waiting = (ticket, waiter)
        return nil
    }

    /// - Returns: the waiter to wake.
    mutating func notify() -> Waiter? {
        isNotified = waiting == nil
        return take()
    }

    /// Ends this wait. The timer of an earlier wait may fire while its task is being cancelled; it must not end a later
    /// one.
    /// - Returns: the waiter to wake.
    mutating func giveUp(_ ticket: UInt64) -> Waiter? { waiting?.ticket == ticket ? take() : nil }

    private mutating func take() -> Waiter? {
        defer { waiting = nil }
        return waiting?.waiter
    }
}
