/// The time from sending next to nothing to its answer: the network, and the threads at both ends. It is no part of the
/// time that a statement takes. A pure value.
struct RoundTrip: Equatable, Sendable {
    /// Nil: not measured yet.
    private(set) var us: Int?

    /// Adds a round trip with next to no work. The estimate stays near the shortest of the recent ones.
    mutating func measured(us sample: Int) {
        us = us.map { sample < $0 ? sample : $0 + (sample - $0) / 8 } ?? sample
    }

    /// Adds a round trip with a statement's execution, which bounds the one without.
    mutating func isAtMost(us sample: Int) {
        if let us, sample < us { self.us = sample }
    }
}

/// Decides from the times of a statement's executions whether the next one may share a pipeline with others. A pure
/// value.
struct StatementPace: Sendable {
    /// The moving average of the time that a statement takes, and what follows from it.
    struct Average: Equatable, Sendable {
        var us: Int
        var isShort: Bool

        init(us: Int, isShort: Bool) {
            (self.us, self.isShort) = (us, isShort)
        }

        /// Decodes a number from an atomic variable; 0 stands for no average.
        init?(encoded: Int) {
            if encoded == 0 { return nil }
            self.init(us: encoded >> 2, isShort: encoded & 2 != 0)
        }

        var encoded: Int { us << 2 | (isShort ? 2 : 0) | 1 }
    }

    static let read = StatementPace(shortMaxUs: 10_000)
    /// A transaction's time includes its commit, which waits for a disk.
    static let transaction = StatementPace(shortMaxUs: 20_000)

    /// A statement is short as long as its average stays within this. A longer one becomes short again at half of it.
    let shortMaxUs: Int

    /// The longest time that counts, so that eight short executions or so make any statement short again.
    var sampleMaxUs: Int { 4 * shortMaxUs }

    func average(_ former: Average?, adding us: Int) -> Average {
        let sample = min(max(0, us), sampleMaxUs)
        guard let former else { return Average(us: sample, isShort: sample <= shortMaxUs) }
        let average = former.us + (sample - former.us) / 4
        return Average(us: average, isShort: average <= (former.isShort ? shortMaxUs : shortMaxUs / 2))
    }

    /// The time that an execution is expected to occupy its connection. An average of a millisecond or less counts as
    /// nothing: it mostly consists of waiting for threads and the network.
    func costUs(_ average: Average?) -> Int {
        guard let average else { return shortMaxUs }
        return average.us > 1_000 ? average.us : 0
    }

    /// Whether one of the statements that a pipelined connection has just answered was not short. Which one it was is
    /// unknown, because the server sends the answers to a group together.
    /// - Parameter us: the time since the answers before these, without the round trip.
    func isStall(us: Int, answers: Int) -> Bool { us >= shortMaxUs + 200 * answers }
}
