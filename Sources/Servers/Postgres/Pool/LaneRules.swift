/// Decides on which of a lane's connections a job runs, and what its execution says about its statement. A pure value;
/// `StatementLane` performs what it decides.
///
/// Callers' own jobs are graded by what executions of their statements took (`StatementPace`). Where there are moderate
/// connections, only short statements are pipelined, as far as a connection is expected to answer all of them soon;
/// others run on the moderate connections, from which they move to the slow ones. Without, the longer ones share half
/// of the pipelined connections, another half for each source.
struct LaneRules: Sendable {
    /// The facts about a job that needs a connection.
    struct Facts: Equatable, Sendable {
        /// Whether it is a caller's own.
        var isGraded = false
        /// Whether it goes to a slow connection although nothing is known of its statement.
        var startsApart = false
        /// Whether its statement was slow and may be moved; not while it is tried among faster ones.
        var isMarkedSlow = false
        /// Whether it is tried among faster ones although its statement is slow.
        var isTrial = false
        /// Whether it delayed others on a fast connection, or has been on a moderate one.
        var wasRerouted = false
        var average: StatementPace.Average?
    }

    enum Route: Equatable, Sendable {
        /// The fast connection that is best.
        case fast
        /// The same among those of the job's source.
        case fastShare
        /// The fast connection that is best if it has room; else a free moderate one, or a wait for either.
        case short
        /// A moderate connection, after a wait for its turn.
        case moderate
        /// A slow connection, after a wait for its turn.
        /// - Parameter mayTry: whether it may be tried elsewhere if too many wait.
        case slow(mayTry: Bool)
    }

    /// A lesson of an execution about its statement.
    enum Finding: Equatable, Sendable {
        /// It is no longer known to be short.
        case doubtful
        case slow
        case slowAgain
        case fastAgain
    }

    /// The running time after which a short statement that others wait for leaves its fast connection.
    static let shortSlowAfterMs = 50

    let pace: StatementPace
    let hasModerate: Bool
    /// The running time after which a job that others wait for leaves its moderate connection.
    let slowAfterMs: Int

    /// Whether a job may use a moderate connection.
    func mayUseModerate(isGraded: Bool) -> Bool { isGraded && hasModerate }

    /// Returns where a job goes that is on no connection. Asked again when it has waited, since its statement may have
    /// been measured meanwhile.
    func route(_ job: Facts) -> Route {
        if job.startsApart { return .slow(mayTry: false) }
        if job.isMarkedSlow { return .slow(mayTry: true) }
        if !job.isGraded { return .fast }
        if !hasModerate { return job.average?.isShort == true ? .fast : .fastShare }
        return mayPipeline(job) ? .short : .moderate
    }

    /// Whether a graded job may share a pipeline, or stay in one.
    func mayPipeline(_ job: Facts) -> Bool {
        if !hasModerate { return true }
        return job.average?.isShort == true && !job.isMarkedSlow && !job.wasRerouted && !job.isTrial
    }

    /// Returns where a job goes that was cancelled because it delayed others.
    /// - Parameter job: what was known of it before.
    func rerouted(_ job: Facts) -> Route {
        mayUseModerate(isGraded: job.isGraded) && !job.wasRerouted ? .moderate : .slow(mayTry: false)
    }

    /// Returns what follows when a job has delayed others on its connection.
    /// - Parameter isOnFast: whether it is graded and shares a pipeline; then it may not be the one that is slow.
    func delayedOthers(isOnFast: Bool) -> Finding { isOnFast && hasModerate ? .doubtful : .slow }

    /// Returns what follows from an execution on a slow connection.
    /// - Parameter wasLong: whether it took so long that it is slow there, too.
    func leftSlow(_ job: Facts, wasLong: Bool, hasFailed: Bool) -> Finding? {
        // One that starts apart says nothing about others with its text; an error comes early.
        if job.startsApart { return nil }
        if wasLong { return .slowAgain }
        return hasFailed ? nil : .fastAgain
    }
}
