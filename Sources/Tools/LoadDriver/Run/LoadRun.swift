import NIOCore
import NIOPosix
package import ProtocolClients
import Synchronization

/// Runs a scenario against one or several gateways.
///
///     prepare → connect (ramp) → warm up → measure → finish mutations → settle (verdict) → report
package final class LoadRun: Sendable {
    package struct Options: Sendable {
        /// The gateways, at least one; subscribers are distributed round-robin.
        package var gateways: [ServerAddress]
        /// The address for mutations and one-shot reads; nil means the first gateway.
        package var api: ServerAddress?
        /// The bearer token where the scenario has none.
        package var token: String?

        package init(gateways: [ServerAddress], api: ServerAddress? = nil, token: String? = nil) {
            self.gateways = gateways
            self.api = api
            self.token = token
        }
    }

    /// The interval of `onProgress`.
    package static let progressMs: Int64 = 1_000

    package let seed: UInt64
    private let scenario: Scenario
    private let options: Options
    private let isStopped = Atomic<Bool>(false)
    private let phase = Mutex(LoadProgress.Phase.connecting)

    package init(_ scenario: Scenario, options: Options) {
        self.scenario = scenario
        self.options = options
        seed = scenario.seed ?? UInt64.random(in: 1...UInt64(UInt32.max))
    }

    /// Ends the load early; verdict and report still follow. May be called from any thread.
    package func stop() {
        isStopped.store(true, ordering: .relaxed)
    }

    /// Runs the scenario.
    /// - Throws: `LoadError` if the scenario does not fit the server or this machine.
    package func run(
        onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(LoadError) -> LoadReport {
        let files = OpenFiles.raiseLimit()
        let needed = scenario.subscriberCount + OpenFiles.reserve
        guard needed <= files else {
            throw LoadError(
                .environment,
                "\(scenario.subscriberCount) subscribers need \(needed) open files; "
                    + "this machine allows \(files) (ulimit -Hn)"
            )
        }
        let lengthMs = scenario.warmUpMs + scenario.durationMs
        let mutations = scenario.mutationsPerSecond * Double(lengthMs) / 1_000
        guard mutations <= Double(Scenario.mutationsMax) else {
            throw LoadError(.scenario, "\(scenario.file): more than \(Scenario.mutationsMax) mutations in one run")
        }
        // Mutations have their own thread, so that deliveries do not delay them.
        let apiGroup = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let pool = HTTPPool(
            options.api ?? options.gateways[0], timeoutMs: scenario.requestTimeoutMs, on: apiGroup.next())
        let result: Result<LoadReport, LoadError>
        do throws(LoadError) {
            result = .success(try await run(pool, onProgress))
        } catch {
            result = .failure(error)
        }
        await pool.eventLoop.perform { pool.close() }
        try? await apiGroup.shutdownGracefully()
        return try result.get()
    }

    private func run(
        _ pool: HTTPPool, _ onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(LoadError) -> LoadReport {
        let prepared = try await Preparation.make(scenario, seed: seed, token: options.token, pool: pool)
        let marker = Marker(run: UInt32.random(in: 0...UInt32.max))
        let lengthMs = scenario.warmUpMs + scenario.durationMs
        let schedule = MutationSchedule(rates: scenario.mutations.map(\.perSecond), lengthMs: lengthMs)
        let times = MutationTimes(count: schedule.count)
        let loops = Array(MultiThreadedEventLoopGroup.singleton.makeIterator())
        let subscribers = SubscriberPool(
            loops.map {
                LoopShard(
                    eventLoop: $0, addresses: options.gateways, marker: marker, times: times,
                    latencyFrom: scenario.latencyFrom)
            })
        let driver = MutationDriver(
            scenario: scenario, rows: prepared.rows, token: options.token, pool: pool, schedule: schedule, times: times,
            marker: marker, seed: seed)
        let startNs = DeliveryClock.nowNs()
        let watch = Task { await self.watch(subscribers, driver, pool, startNs: startNs, onProgress) }

        let (started, subscribed) = await connect(subscribers, prepared)
        let connectingMs = (DeliveryClock.nowNs() - startNs) / 1_000_000
        let measuredMs = await load(subscribers, driver, pool)

        phase.withLock { $0 = .settling }
        let wasStopped = isStopped.load(ordering: .relaxed)
        if wasStopped { await pool.eventLoop.perform { driver.stop() } }
        await driver.finish(on: pool.eventLoop)
        let verdict = await Settlement(targets: prepared.targets, pool: pool, subscribers: subscribers).verify(
            count: started, settleMs: scenario.settleMs, fromNs: DeliveryClock.nowNs())
        watch.cancel()
        await watch.value

        var report = LoadReport(
            scenario: scenario.name, seed: seed, gateways: options.gateways.map(\.description),
            transports: Array(Set(scenario.groups.map(\.transport.rawValue))).sorted(), durationMs: measuredMs,
            subscribers: prepared.subscribers.count, latencyFrom: scenario.latencyFrom, verdict: verdict)
        report.wasStopped = wasStopped
        report.subscribedAtStart = subscribed
        report.connectingMs = connectingMs
        report.add(await subscribers.snapshot())
        report.add(await pool.eventLoop.perform { driver.snapshot() })
        await subscribers.stop()
        return report
    }

    /// Connects the subscribers at the scenario's pace, and waits until all have subscribed or the time is over.
    private func connect(
        _ subscribers: SubscriberPool, _ prepared: Preparation
    ) async -> (started: Int, subscribed: Int) {
        let ramp = ConnectRamp(total: prepared.subscribers.count, perSecond: scenario.connectPerSecond)
        let started = await subscribers.connect(prepared, ramp: ramp) { self.isStopped.load(ordering: .relaxed) }
        var connected = await subscribers.snapshot()
        let untilNs = DeliveryClock.nowNs() + scenario.connectTimeoutMs * 1_000_000
        while connected.subscribed < prepared.subscribers.count, DeliveryClock.nowNs() < untilNs,
            !isStopped.load(ordering: .relaxed)
        {
            await Self.pause(ms: 20)
            connected = await subscribers.snapshot()
        }
        return (started, connected.subscribed)
    }

    /// Runs the mutations: warm-up, then the measured part.
    /// - Returns: the length of the measured part.
    private func load(_ subscribers: SubscriberPool, _ driver: MutationDriver, _ pool: HTTPPool) async -> Int64 {
        phase.withLock { $0 = .warmingUp }
        let startNs = DeliveryClock.nowNs()
        await pool.eventLoop.perform { driver.start(atNs: startNs) }
        await wait(untilNs: startNs + scenario.warmUpMs * 1_000_000)
        phase.withLock { $0 = .measuring }
        await subscribers.measure(true)
        let measuringNs = DeliveryClock.nowNs()
        await wait(untilNs: startNs + (scenario.warmUpMs + scenario.durationMs) * 1_000_000)
        await subscribers.measure(false)
        return max(1, (DeliveryClock.nowNs() - measuringNs) / 1_000_000)
    }

    private func wait(untilNs: Int64) async {
        while !isStopped.load(ordering: .relaxed) {
            let leftMs = (untilNs - DeliveryClock.nowNs()) / 1_000_000
            guard leftMs > 0 else { return }
            await Self.pause(ms: min(leftMs, 50))
        }
    }

    private func watch(
        _ subscribers: SubscriberPool, _ driver: MutationDriver, _ pool: HTTPPool, startNs: Int64,
        _ onProgress: @Sendable (LoadProgress) -> Void
    ) async {
        var delivered = 0
        var lastNs = startNs
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(Self.progressMs))
            if Task.isCancelled { return }
            let seen = await subscribers.snapshot()
            let counts = await pool.eventLoop.perform { driver.snapshot() }
            let nowNs = DeliveryClock.nowNs()
            onProgress(
                LoadProgress(
                    phase: phase.withLock { $0 }, elapsedMs: (nowNs - startNs) / 1_000_000,
                    subscribers: scenario.subscriberCount, subscribed: seen.subscribed, open: seen.open,
                    deliveredPerSecond: Double(seen.deliveredTotal - delivered) * 1e9 / Double(max(1, nowNs - lastNs)),
                    mutationsAnswered: counts.answeredTotal, mutationsInFlight: counts.inFlight,
                    errors: seen.errors.total + counts.errors.total, dropped: seen.dropped))
            delivered = seen.deliveredTotal
            lastNs = nowNs
        }
    }

    static func pause(ms: Int64) async {
        try? await Task.sleep(for: .milliseconds(ms))
    }
}

extension LoadReport {
    fileprivate mutating func add(_ seen: LoopSnapshot) {
        connects = seen.connects
        subscribed = seen.subscribed
        firstResult = seen.firstResult.summary
        returned = seen.returned.summary
        dropped = seen.dropped
        delivered = seen.delivered
        deliveryLatency = seen.deliveryLatency.summary
        deliveredBeforeAnswer = seen.deliveredBeforeAnswer
        errors.add(seen.errors)
    }

    fileprivate mutating func add(_ counts: MutationDriver.Counts) {
        mutationsSent = counts.sent
        mutationsAnswered = counts.answered
        mutationsFailed = counts.failed
        mutationLatency = counts.latency.summary
        errors.add(counts.errors)
    }
}
