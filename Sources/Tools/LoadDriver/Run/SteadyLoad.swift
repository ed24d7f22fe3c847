import NIOCore
import NIOPosix
import ProtocolClients

/// A load that continues while something else happens and can be verified in between.
///
///     start → (pause → verify → resume)* → stop
package final class SteadyLoad: Sendable {
    /// Counts since the start.
    package struct Snapshot: Sendable {
        package var subscribers: Int
        /// Subscribers that have had a result.
        package var subscribed: Int
        /// Connections currently open.
        package var open: Int
        package var delivered: Int
        package var dropped: Int
        package var mutationsAnswered: Int
        /// Requests repeated with their idempotency key.
        package var mutationsRetried: Int
        package var errors: ErrorCounts
    }

    /// The times of the mutations, with which deliveries are compared.
    package let times: MutationTimes
    /// The number of distinct live queries.
    package let liveQueries: Int
    private let scenario: Scenario
    private let prepared: Preparation
    private let pool: HTTPPool
    private let apiGroup: MultiThreadedEventLoopGroup
    private let subscribers: SubscriberPool
    private let driver: MutationDriver

    private init(
        _ scenario: Scenario, _ prepared: Preparation, _ pool: HTTPPool, _ apiGroup: MultiThreadedEventLoopGroup,
        _ subscribers: SubscriberPool, _ driver: MutationDriver, _ times: MutationTimes
    ) {
        self.scenario = scenario
        self.prepared = prepared
        self.pool = pool
        self.apiGroup = apiGroup
        self.subscribers = subscribers
        self.driver = driver
        self.times = times
        liveQueries = prepared.targets.count
    }

    /// Connects all subscribers and starts the mutations. The scenario's `durationMs` bounds the number of mutations.
    ///
    /// - Throws: `LoadError`, also if a subscriber has no result within `connectTimeoutMs`.
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
        let subscribers = SubscriberPool(
            Array(MultiThreadedEventLoopGroup.singleton.makeIterator()).map {
                LoopShard(
                    eventLoop: $0, addresses: options.gateways, marker: marker, times: times,
                    latencyFrom: scenario.latencyFrom, onDelivery: onDelivery)
            })
        let driver = MutationDriver(
            scenario: scenario, rows: prepared.rows, token: options.token, pool: pool, schedule: schedule, times: times,
            marker: marker, seed: seed)
        let load = SteadyLoad(scenario, prepared, pool, apiGroup, subscribers, driver, times)
        let ramp = ConnectRamp(total: prepared.subscribers.count, perSecond: scenario.connectPerSecond)
        _ = await subscribers.connect(prepared, ramp: ramp) { Task.isCancelled }
        let untilNs = DeliveryClock.nowNs() + scenario.connectTimeoutMs * 1_000_000
        while await subscribers.snapshot().subscribed < prepared.subscribers.count {
            guard DeliveryClock.nowNs() < untilNs, !Task.isCancelled else {
                let subscribed = await subscribers.snapshot().subscribed
                await load.stop()
                throw LoadError(
                    .environment, "\(subscribed) of \(prepared.subscribers.count) subscribers had a first result")
            }
            await LoadRun.pause(ms: 20)
        }
        let nowNs = DeliveryClock.nowNs()
        await pool.eventLoop.perform { driver.start(atNs: nowNs) }
        return load
    }

    /// Stops sending mutations until `resume()`; returns when those in flight are answered or have timed out.
    package func pause() async {
        await pool.eventLoop.perform { [driver] in driver.pause() }
        await driver.finish(on: pool.eventLoop)
    }

    package func resume() async {
        await pool.eventLoop.perform { [driver] in driver.resume() }
    }

    /// Verifies that every subscriber gets the current result within that time. Call only while paused.
    package func verify(withinMs: Int) async -> Verdict {
        await Settlement(targets: prepared.targets, pool: pool, subscribers: subscribers).verify(
            count: prepared.subscribers.count, settleMs: Int64(withinMs), fromNs: DeliveryClock.nowNs())
    }

    /// Returns the sequence number of the next mutation; nil if the scenario's duration is used up.
    package func nextSequence() async -> Int? {
        await pool.eventLoop.perform { [driver] in driver.nextSequence }
    }

    package func snapshot() async -> Snapshot {
        let seen = await subscribers.snapshot()
        let counts = await pool.eventLoop.perform { [driver] in driver.snapshot() }
        var errors = seen.errors
        errors.add(counts.errors)
        return Snapshot(
            subscribers: prepared.subscribers.count, subscribed: seen.subscribed, open: seen.open,
            delivered: seen.deliveredTotal, dropped: seen.dropped, mutationsAnswered: counts.answeredTotal,
            mutationsRetried: counts.retried, errors: errors)
    }

    /// Ends the load. Call last.
    package func stop() async {
        await pool.eventLoop.perform { [driver] in driver.stop() }
        await subscribers.stop()
        await pool.eventLoop.perform { [pool] in pool.close() }
        try? await apiGroup.shutdownGracefully()
    }
}
