import FreshetClient
import NIOCore
import NIOPosix

/// Load that goes on while something else happens, and can be judged in between.
///
///     start → (pause → judge → resume)* → stop
package final class SteadyLoad: Sendable {
    /// What happened so far.
    package struct Look: Sendable {
        package var subscribers: Int
        /// Those that ever had a result.
        package var subscribed: Int
        /// Connections open now.
        package var open: Int
        package var delivered: Int
        package var dropped: Int
        package var mutationsAnswered: Int
        package var errors: ErrorCounts
    }

    /// Of the mutations; deliveries are compared with them.
    package let times: MutationTimes
    /// Distinct live queries.
    package let liveQueries: Int
    private let scenario: Scenario
    private let prepared: Preparation
    private let pool: HTTPPool
    private let apiGroup: MultiThreadedEventLoopGroup
    private let crowd: SubscriberPool
    private let driver: MutationDriver

    private init(
        _ scenario: Scenario, _ prepared: Preparation, _ pool: HTTPPool, _ apiGroup: MultiThreadedEventLoopGroup,
        _ crowd: SubscriberPool, _ driver: MutationDriver, _ times: MutationTimes
    ) {
        self.scenario = scenario
        self.prepared = prepared
        self.pool = pool
        self.apiGroup = apiGroup
        self.crowd = crowd
        self.driver = driver
        self.times = times
        liveQueries = prepared.targets.count
    }

    /// Connects all subscribers and starts the mutations. `durationMs` of the scenario bounds the number of mutations.
    ///
    /// - Throws: `LoadError`, also when a subscriber has no result within `connectTimeoutMs`.
    package static func start(
        _ scenario: Scenario, options: LoadRun.Options, seed: UInt64, run: UInt32,
        onDelivery: @escaping DeliveryObserver
    ) async throws(LoadError) -> SteadyLoad {
        guard scenario.subscriberCount + OpenFiles.reserve <= OpenFiles.raiseLimit() else {
            throw LoadError(.environment, "\(scenario.subscriberCount) subscribers need more open files (ulimit -Hn)")
        }
        let apiGroup = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let pool = HTTPPool(
            options.api ?? options.gateways[0], timeoutMs: scenario.requestTimeoutMs, on: apiGroup.next())
        let prepared = try await Preparation.make(scenario, seed: seed, token: options.token, pool: pool)
        let marker = Marker(run: run)
        let schedule = MutationSchedule(
            rates: scenario.mutations.map(\.perSecond), lengthMs: scenario.warmUpMs + scenario.durationMs)
        let times = MutationTimes(count: schedule.count)
        let crowd = SubscriberPool(
            Array(MultiThreadedEventLoopGroup.singleton.makeIterator()).map {
                LoopShard(
                    eventLoop: $0, addresses: options.gateways, marker: marker, times: times,
                    latencyFrom: scenario.latencyFrom, onDelivery: onDelivery)
            })
        let driver = MutationDriver(
            scenario: scenario, rows: prepared.rows, token: options.token, pool: pool, schedule: schedule, times: times,
            marker: marker, seed: seed)
        let load = SteadyLoad(scenario, prepared, pool, apiGroup, crowd, driver, times)
        let ramp = ConnectRamp(total: prepared.subscribers.count, perSecond: scenario.connectPerSecond)
        _ = await crowd.connect(prepared, ramp: ramp) { Task.isCancelled }
        let untilNs = Clock.nowNs() + scenario.connectTimeoutMs * 1_000_000
        while await crowd.look().subscribed < prepared.subscribers.count {
            guard Clock.nowNs() < untilNs, !Task.isCancelled else {
                let subscribed = await crowd.look().subscribed
                await load.stop()
                throw LoadError(
                    .environment, "\(subscribed) of \(prepared.subscribers.count) subscribers had a first result")
            }
            await LoadRun.pause(ms: 20)
        }
        let nowNs = Clock.nowNs()
        await pool.eventLoop.perform { driver.start(atNs: nowNs) }
        return load
    }

    /// No mutation is sent until `resume()`; returns when those in flight are answered or have timed out.
    package func pause() async {
        await pool.eventLoop.perform { [driver] in driver.pause() }
        await driver.finish(on: pool.eventLoop)
    }

    package func resume() async {
        await pool.eventLoop.perform { [driver] in driver.resume() }
    }

    /// Whether every subscriber holds what reading gives, within that time; only while paused.
    package func judge(withinMs: Int) async -> Verdict {
        await Settlement(targets: prepared.targets, pool: pool, crowd: crowd).judge(
            subscribers: prepared.subscribers.count, settleMs: Int64(withinMs), fromNs: Clock.nowNs())
    }

    /// Sequence number of the next mutation; nil when the scenario's duration is used up.
    package func nextSequence() async -> Int? {
        await pool.eventLoop.perform { [driver] in driver.nextSequence }
    }

    package func look() async -> Look {
        let seen = await crowd.look()
        let counts = await pool.eventLoop.perform { [driver] in driver.look() }
        var errors = seen.errors
        errors.add(counts.errors)
        return Look(
            subscribers: prepared.subscribers.count, subscribed: seen.subscribed, open: seen.open,
            delivered: seen.deliveredTotal, dropped: seen.dropped, mutationsAnswered: counts.answeredTotal,
            errors: errors)
    }

    /// The last call.
    package func stop() async {
        await pool.eventLoop.perform { [driver] in driver.stop() }
        await crowd.stop()
        await pool.eventLoop.perform { [pool] in pool.close() }
        try? await apiGroup.shutdownGracefully()
    }
}
