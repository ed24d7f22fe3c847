/// The speed of a live query, as its runs have shown it; it decides with which others it runs.
///
///     unknown ──────────────► ordinary ◄──────── moderate ◄── slow
///        │  cut with others      │  cut with others   │ cut      ▲
///        └──────► suspect ◄──────┘                    └──────────┤
///                    └── cut alone ──────────────────────────────┘
///
/// A run that is cut short with others says only that one of them may be slow: they run again in ever smaller batches
/// until each was fast or is alone. So an innocent neighbour is delayed once, and not at every run.
struct QuerySpeed: Sendable {
    enum Grade: Sendable, Hashable {
        /// It has not run yet.
        case unknown
        case ordinary
        /// It was in a batch that was cut short, and runs in a batch of at most `batchMax` live queries to find
        /// the slow one.
        case suspect(batchMax: Int16)
        /// Takes long, but no longer than `RefreshSettings.moderateRunMs`.
        case moderate
        case slow
    }

    /// Fast runs after which a slow live query counts as ordinary again: at first, and at most. The number doubles each
    /// time that it becomes slow, so that one which alternates costs its neighbours ever less.
    private static let fastRunsFirst: UInt8 = 2
    private static let fastRunsMax: UInt8 = 64

    private(set) var grade = Grade.unknown
    private var fastRunsWanted: UInt8 = 0
    /// 0: never slow.
    private var fastRuns: UInt8 = 0

    /// Records a run that was not cut short.
    mutating func ran(ms: Int64, _ settings: RefreshSettings) {
        switch grade {
        case .unknown, .suspect: grade = .ordinary
        case .ordinary: break
        case .moderate, .slow:
            guard let slowMs = settings.slowRunMs else { return grade = .ordinary }
            if ms <= settings.moderateRunMs { grade = .moderate }
            guard ms * 2 < slowMs else { return fastRunsWanted = fastRuns }
            fastRunsWanted -= fastRunsWanted > 0 ? 1 : 0
            if fastRunsWanted == 0 { grade = .ordinary }
        }
    }

    /// Records a run that was cut short.
    /// - Parameter count: the live queries that ran in the statement.
    mutating func wasCutShort(count: Int) {
        switch grade {
        case .unknown, .ordinary, .suspect:
            guard count <= 1 else {
                grade = .suspect(batchMax: Int16(min(SlowOperations.trialMax, (count + 1) / 2)))
                return
            }
            fastRuns = fastRuns == 0 ? Self.fastRunsFirst : min(Self.fastRunsMax, 2 * fastRuns)
        case .moderate, .slow: break
        }
        fastRunsWanted = fastRuns
        grade = .slow
    }

    /// The pool of runs that need only Postgres.
    var pool: RunPool.Name {
        switch grade {
        case .unknown, .ordinary: .local
        case .suspect, .moderate: .apart
        case .slow: .slow
        }
    }

    var kind: DueQueue.Group.Kind {
        switch grade {
        case .unknown: .firstRuns
        case .ordinary: .ordinary
        case .suspect(let batchMax): .suspect(batchMax: Int(batchMax))
        case .moderate, .slow: .alone
        }
    }
}
