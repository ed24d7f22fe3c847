import Testing

@testable import Postgres

@Suite struct LaneRulesTests {
    private typealias Facts = LaneRules.Facts
    private typealias Route = LaneRules.Route

    private static let short = StatementPace.Average(us: 200, isShort: true)
    private static let long = StatementPace.Average(us: 40_000, isShort: false)

    private let graded = LaneRules(pace: .read, hasModerate: true, slowAfterMs: 100)
    private let pipelined = LaneRules(pace: .transaction, hasModerate: false, slowAfterMs: 100)

    /// Each row: a job, its route with moderate connections, and without.
    @Test(
        arguments: [
            // A re-run or a read of the service goes with the others until its statement is slow.
            (Facts(), .fast, .fast),
            (Facts(average: long), .fast, .fast),
            (Facts(isMarkedSlow: true), .slow(mayTry: true), .slow(mayTry: true)),
            (Facts(isTrial: true), .fast, .fast),
            (Facts(startsApart: true), .slow(mayTry: false), .slow(mayTry: false)),
            (Facts(startsApart: true, isMarkedSlow: true), .slow(mayTry: false), .slow(mayTry: false)),
            // A caller's own job: by what is known of its statement.
            (Facts(isGraded: true), .moderate, .fastShare),
            (Facts(isGraded: true, average: short), .short, .fast),
            (Facts(isGraded: true, average: long), .moderate, .fastShare),
            (Facts(isGraded: true, isMarkedSlow: true, average: short), .slow(mayTry: true), .slow(mayTry: true)),
            // One that delayed others, or is tried although its statement is slow, stays apart from short ones.
            (Facts(isGraded: true, wasRerouted: true, average: short), .moderate, .fast),
            (Facts(isGraded: true, isTrial: true, average: short), .moderate, .fast),
        ] as [(Facts, Route, Route)])
    private func routesFollowFromWhatIsKnown(_ job: Facts, _ withModerate: Route, _ without: Route) {
        #expect(graded.route(job) == withModerate)
        #expect(pipelined.route(job) == without)
        #expect(graded.mayUseModerate(isGraded: job.isGraded) == job.isGraded)
        #expect(!pipelined.mayUseModerate(isGraded: job.isGraded))
    }

    /// A job in a pipeline leaves it when its statement proves not to be short, unless there is nowhere else to go.
    @Test func pipelinesKeepShortStatementsOnly() {
        #expect(graded.mayPipeline(Facts(isGraded: true, average: Self.short)))
        for job in [
            Facts(isGraded: true), Facts(isGraded: true, average: Self.long),
            Facts(isGraded: true, isMarkedSlow: true, average: Self.short),
            Facts(isGraded: true, wasRerouted: true, average: Self.short),
            Facts(isGraded: true, isTrial: true, average: Self.short),
        ] {
            #expect(!graded.mayPipeline(job) && pipelined.mayPipeline(job))
        }
    }

    @Test func cancelledJobsMoveOneTierAtATime() {
        #expect(graded.rerouted(Facts(isGraded: true, average: Self.short)) == .moderate)
        #expect(graded.rerouted(Facts(isGraded: true, wasRerouted: true)) == .slow(mayTry: false))
        #expect(graded.rerouted(Facts()) == .slow(mayTry: false), "no caller's own")
        #expect(pipelined.rerouted(Facts(isGraded: true)) == .slow(mayTry: false))
    }

    /// The statement that held up a pipeline is unknown, so it is measured again, apart from others. Elsewhere it ran
    /// alone.
    @Test func delaysInAPipelineProveNothing() {
        #expect(graded.delayedOthers(isOnFast: true) == .doubtful)
        #expect(graded.delayedOthers(isOnFast: false) == .slow)
        #expect(pipelined.delayedOthers(isOnFast: true) == .slow)
    }

    @Test func slowConnectionsShowWhetherAStatementIsFastAgain() {
        #expect(graded.leftSlow(Facts(), wasLong: true, hasFailed: false) == .slowAgain)
        #expect(graded.leftSlow(Facts(), wasLong: true, hasFailed: true) == .slowAgain)
        #expect(graded.leftSlow(Facts(), wasLong: false, hasFailed: false) == .fastAgain)
        #expect(graded.leftSlow(Facts(), wasLong: false, hasFailed: true) == nil, "errors come early")
        #expect(graded.leftSlow(Facts(startsApart: true), wasLong: true, hasFailed: false) == nil)
    }
}
