import DequeModule

/// The time for which the server was busy with the groups of commands that a connection sent, without the network. A
/// pure value.
///
/// The server can begin a group when it has arrived and the one before is done. Half of the round trip lies before that
/// moment and half after the last answer, so answers are counted from the later of two times: the answers before, and
/// the group's sync plus a round trip.
struct BusyTime {
    /// The times of the syncs that are not answered; microseconds. Bound: the groups in flight.
    private var sentUs = Deque<Int>()
    private var answeredUs = Int.min

    /// Records that a group was sent up to its sync.
    mutating func sent(atUs nowUs: Int) { sentUs.append(nowUs) }

    /// Records answers that arrived together.
    /// - Parameter syncs: how many of them end a group.
    /// - Returns: how long the server took, and how long the oldest of these groups was under way, which bounds the
    ///   round trip; microseconds.
    mutating func answered(syncs: Int, atUs nowUs: Int, roundTripUs: Int) -> (busyUs: Int, underWayUs: Int)? {
        defer {
            answeredUs = nowUs
            sentUs.removeFirst(min(syncs, sentUs.count))
        }
        guard let oldestUs = sentUs.first else { return nil }
        return (max(0, nowUs - max(answeredUs, oldestUs + roundTripUs)), nowUs - oldestUs)
    }

    /// Forgets what was sent on a connection that is gone.
    mutating func connectionLost() { self = BusyTime() }
}
