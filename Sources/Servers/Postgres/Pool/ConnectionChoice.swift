/// Chooses the connection for a job. A pure value.
///
/// Short queries are cheaper when they share the round trips of a pipelined connection: a connection that keeps
/// answering takes all of them until it is full. When it stops answering, they go to another one.
struct ConnectionChoice: Sendable {
    /// What is known of a connection.
    struct Load {
        /// Jobs queued and in flight.
        var jobs: Int
        var isConnected = true
        /// Whether the server has been busy with one statement for a while.
        var isHeldUp = false
        /// When the server last answered, or the first job came; milliseconds of the monotonic clock.
        var progressMs = 0
    }

    /// Suits callers' queries: 128 in flight keep a server process busy, and queries by key are answered within 5 ms
    /// even on a busy machine.
    static let packed = ConnectionChoice(fullAt: 128, stalledAfterMs: 5)
    /// Suits transactions, which a connection commits one after the other, and runs of many live queries in one
    /// statement: the lowest load.
    static let spread = ConnectionChoice(fullAt: 1, stalledAfterMs: nil)

    /// The number of jobs at which a connection takes no more if another one has fewer.
    let fullAt: Int
    /// The time without an answer after which jobs prefer other connections; nil: they do not.
    let stalledAfterMs: Int?

    /// Returns the index of the first connection that is not full and answers, else of the one with the lowest load;
    /// among equals the first. Connections that do not answer rank after those that do, and those that are down last.
    /// - Parameter count: at least 1.
    func best(of count: Int, nowMs: Int, _ load: (Int) -> Load) -> Int {
        var best = 0
        var bestRank = Int.max
        for index in 0..<count {
            let load = load(index)
            let rank = rank(load, nowMs)
            if rank < fullAt { return index }
            if rank < bestRank { (best, bestRank) = (index, rank) }
        }
        return best
    }

    private func rank(_ load: Load, _ nowMs: Int) -> Int {
        var rank = load.jobs
        if let stalledAfterMs, load.jobs > 0, nowMs - load.progressMs >= stalledAfterMs { rank += 1 << 20 }
        if load.isHeldUp { rank += 1 << 30 }
        if !load.isConnected { rank += 1 << 40 }
        return rank
    }
}
