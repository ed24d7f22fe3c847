/// The master that the sentinels report, as this client believes it.
struct MasterChoice {
    typealias Endpoint = RedisConfiguration.Endpoint

    private(set) var master: Endpoint?
    private var epoch = -1
    /// The reason that the master is unknown.
    private(set) var failure = RedisConnection.Failure(reason: "no sentinel has been queried yet")

    /// The change that a round of questions made.
    enum News: Equatable {
        case changed(SentinelRound.Report)
        case unchanged
        /// No sentinel reported a master; new if the reason differs from the last round's.
        case silent(isNew: Bool)
    }

    mutating func learn(_ round: SentinelRound) -> News {
        guard let found = round.best else {
            defer { failure = round.failure }
            return .silent(isNew: failure.reason != round.failure.reason)
        }
        failure = RedisConnection.Failure(reason: "")
        // A lower epoch comes from outdated sentinels, unless a majority agrees: replaced sentinels start at 0.
        guard found.epoch >= epoch || round.isMajority, found.master != master else { return .unchanged }
        epoch = found.epoch
        master = found.master
        return .changed(found)
    }
}

/// The answers to one round of questions, one for each sentinel.
struct SentinelRound {
    struct Report: Equatable {
        let epoch: Int
        let master: RedisConfiguration.Endpoint
    }

    private let sentinelCount: Int
    private var answers = 0
    /// The report of the highest epoch, so that a sentinel that was cut off does not lead back to a former master.
    private(set) var best: Report?
    /// The latest reason that a sentinel reported no master.
    private(set) var failure = RedisConnection.Failure(reason: "")

    init(sentinelCount: Int) { self.sentinelCount = sentinelCount }

    /// Whether more than half of the sentinels reported a master, whichever.
    var isMajority: Bool { 2 * answers > sentinelCount }

    mutating func heard(_ report: Report) {
        answers += 1
        if best.map({ report.epoch > $0.epoch }) ?? true { best = report }
    }

    mutating func failed(_ failure: RedisConnection.Failure) { self.failure = failure }

    /// Decodes the reply to `SENTINEL MASTER`; nil: the sentinel does not know the name.
    static func decode(_ answer: RedisValue) -> Report? {
        guard let host = answer["ip"]?.text, !host.isEmpty, let port = answer["port"]?.integer,
            (1...65_535).contains(port), let epoch = answer["config-epoch"]?.integer
        else { return nil }
        return Report(epoch: epoch, master: .tcp(host: host, port: port))
    }
}
