/// Chooses the connection for a job. A pure value.
///
/// Short queries are cheaper when they share the round trips of a pipelined connection: one connection takes all of
/// them as long as they hardly wait there. When it stops answering, or is slow or full, they go to another one.
struct ConnectionChoice: Sendable {
    /// The load of a connection, as its counters report it.
    struct Load {
        /// Jobs queued and in flight.
        var jobs: Int
        var isConnected = true
        /// Whether the server has been busy with one statement for a while.
        var isHeldUp = false
        /// The time of the server's last answer, or of the first job; microseconds of the monotonic clock.
        var progressUs = 0
        /// The average time from one answer to the next; microseconds.
        var answerUs = 0
        /// The time that its jobs are expected to take, without those that take next to nothing; microseconds.
        var costUs = 0
    }

    /// The first connection that answers soon: for callers' queries. 128 in flight keep a server process busy, and
    /// queries by key are answered within 10 ms even on a busy machine. A shorter wait would divide them just when the
    /// machine is busy, which costs more.
    static let packed = ConnectionChoice(fullAt: 128, waitMaxUs: 10_000)
    /// The lowest load: for transactions, which a connection commits one after the other, and for runs of many live
    /// queries in one statement.
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

    /// Whether the connection chosen may take another job now: it keeps answering, and is expected to answer what it
    /// has within twice the wait at which others are preferred.
    func hasRoom(_ load: Load) -> Bool {
        guard let waitMaxUs, load.jobs > 0 else { return !load.isHeldUp }
        return !load.isHeldUp && max(load.jobs * load.answerUs, load.costUs) <= 2 * waitMaxUs
    }

    /// Returns the connections of a lane that a source's longer transactions may use: half of those after the first
    /// quarter, another half for each source. Short transactions may use all. So a source's longer transactions leave
    /// connections to those of others, and all longer ones together leave some to short ones.
    static func share(of count: Int, for source: Caller) -> [Int] {
        if count < 2 { return Array(0..<count) }
        let open = max(1, count / 4)..<count
        let seed = source.address ?? source.number
        return Array(open.sorted { mixed(seed, $0) < mixed(seed, $1) }.prefix((open.count + 1) / 2))
    }

    /// A pseudo-random number for a source and a connection (the finalizer of SplitMix64).
    private static func mixed(_ seed: UInt64, _ index: Int) -> UInt64 {
        var z = seed &+ UInt64(index + 1) &* 0x9e37_79b9_7f4a_7c15
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    private func answersSoon(_ load: Load) -> Bool {
        guard let waitMaxUs else { return true }
        return max(load.jobs * load.answerUs, load.costUs) <= waitMaxUs
    }

    private func rank(_ load: Load, _ nowUs: Int) -> Int {
        // A job without a cost counts as a tenth of a millisecond.
        var rank = load.jobs + load.costUs / 100
        if let waitMaxUs, load.jobs > 0, nowUs - load.progressUs >= waitMaxUs { rank += 1 << 20 }
        if load.isHeldUp { rank += 1 << 30 }
        if !load.isConnected { rank += 1 << 40 }
        return rank
    }
}
