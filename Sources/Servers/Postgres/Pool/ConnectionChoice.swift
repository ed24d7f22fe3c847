/// Chooses the connection for a job. A pure value.
///
/// Short queries are cheaper when they share the round trips of a pipelined connection: one connection takes all of
/// them as long as they hardly wait there. When it stops answering, or is slow or full, they go to another one.
struct ConnectionChoice: Sendable {
    /// What is known of a connection.
    struct Load {
        /// Jobs queued and in flight.
        var jobs: Int
        var isConnected = true
        /// Whether the server has been busy with one statement for a while.
        var isHeldUp = false
        /// When the server last answered, or the first job came; microseconds of the monotonic clock.
        var progressUs = 0
        /// The average time from one answer to the next; microseconds.
        var answerUs = 0
    }

    /// Suits callers' queries: 128 in flight keep a server process busy, and queries by key are answered within 10 ms
    /// even on a busy machine. A shorter wait would divide them just when the machine is busy, which costs more.
    static let packed = ConnectionChoice(fullAt: 128, waitMaxUs: 10_000)
    /// Suits transactions, which a connection commits one after the other, and runs of many live queries in one
    /// statement: the lowest load.
    static let spread = ConnectionChoice(fullAt: 1, waitMaxUs: nil)

    /// The number of jobs at which a connection takes no more if another one has fewer.
    let fullAt: Int
    /// A connection that has not answered for this long, or is not expected to, is avoided; nil: never.
    let waitMaxUs: Int?

    /// Returns the index of the first connection that answers soon and is not full, else of the one with the lowest
    /// load; among equals the first. Connections that do not answer rank after those that do, and those that are down
    /// last.
    /// - Parameter count: at least 1.
    func best(of count: Int, nowUs: Int, _ load: (Int) -> Load) -> Int {
        var best = 0
        var bestRank = Int.max
        for index in 0..<count {
            let load = load(index)
            let rank = rank(load, nowUs)
            if rank < fullAt, answersSoon(load) { return index }
            if rank < bestRank { (best, bestRank) = (index, rank) }
        }
        return best
    }

    private func answersSoon(_ load: Load) -> Bool {
        guard let waitMaxUs else { return true }
        return load.jobs * load.answerUs <= waitMaxUs
    }

    private func rank(_ load: Load, _ nowUs: Int) -> Int {
        var rank = load.jobs
        if let waitMaxUs, load.jobs > 0, nowUs - load.progressUs >= waitMaxUs { rank += 1 << 20 }
        if load.isHeldUp { rank += 1 << 30 }
        if !load.isConnected { rank += 1 << 40 }
        return rank
    }
}
