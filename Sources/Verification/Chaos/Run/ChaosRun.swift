import Clocks
import Foundation
import LoadDriver
import LocalServers
import ProtocolClients
import Synchronization

/// A chaos run: rounds of faults under load, each followed by a verdict.
///
///     load → faults → recovery → all ready → load continues → pause → verify → next
///
/// In a quiet round the pause comes before the faults or while they last.
package final class ChaosRun: Sendable {
    package struct Options: Sendable {
        package var seed: UInt64
        package var minutes: Double
        package var subscribers = 300
        package var mutationsPerSecond = 40.0
        /// The time after the last mutation within which every subscriber must have the current result.
        package var settleMs = 60_000
        /// The kinds of faults (`Fault.kind`) allowed; empty allows all.
        package var only: Set<String> = []
        /// Whether rows are also written without the service, as often as by mutations; all queries then refresh by the
        /// database's log.
        package var writesOutside = false
        /// The setting `outbox.kind` of the nodes.
        package var outbox = "table"
        /// Whether to corrupt data in every pause, to test that the verdict fails.
        package var sabotages = false
        /// The folder of data, settings and logs; emptied at the start.
        package var folder: String
        /// The project folder with the operations.
        package var project: String
        /// The program under test.
        package var freshet: String

        package init(seed: UInt64, minutes: Double, folder: String, project: String, freshet: String) {
            self.seed = seed
            self.minutes = minutes
            self.folder = folder
            self.project = project
            self.freshet = freshet
        }
    }

    /// The values allowed in `Options.only`.
    package static var kinds: Set<String> { ChaosSchedule.kinds(ChaosCluster.names, ChaosCluster.leaseMs) }

    private let options: Options
    private let watch = Mutex(DeliveryWatch())
    private let outsideWriter = Mutex<OutsideWriter?>(nil)
    private let isStopped = Atomic<Bool>(false)

    package init(_ options: Options) {
        self.options = options
    }

    /// Ends the run after the current round. May be called from any thread.
    package func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Runs the faults.
    /// - Throws: the reason that the run could not start; later failures are misses.
    package func run(onRound: @escaping @Sendable (ChaosReport.Round) -> Void) async throws -> ChaosReport {
        let folder = ChaosFolder(path: options.folder, seed: options.seed)
        try folder.empty()
        let project = options.writesOutside ? try folder.projectFollowingTheLog(options.project) : options.project
        let cluster = ChaosCluster(options, project: project)
        let result: Result<ChaosReport, any Error>
        do {
            result = .success(try await run(cluster, onRound))
        } catch {
            result = .failure(error)
        }
        await cluster.stop()
        return try result.get()
    }

    private func run(
        _ cluster: ChaosCluster, _ onRound: @escaping @Sendable (ChaosReport.Round) -> Void
    ) async throws -> ChaosReport {
        try await cluster.start()
        guard let server = await cluster.postgres else { throw ChaosError("Postgres is gone") }
        let database = ChaosDatabase(server.connectionString, seed: options.seed)
        try await database.start()
        let load = try await startLoad(cluster)
        let outside = options.writesOutside ? outside(server) : nil
        let writing = Task { try await outside?.run() }
        defer { writing.cancel() }
        outside?.resume()
        // Exits with a code are fine here: a node gave up waiting for a slow Postgres and was restarted.
        if let crash = cluster.takeEnds().first(where: { $0.how.hasPrefix("signal") }) {
            throw ChaosError("\(crash.name) crashed while starting (\(crash.how))")
        }

        var report = ChaosReport(seed: options.seed, leaseMs: ChaosCluster.leaseMs)
        var schedule = ChaosSchedule(
            seed: options.seed, nodes: ChaosCluster.names, leaseMs: ChaosCluster.leaseMs, only: options.only)
        var verified = 0
        let startMs = MonotonicClock.nowMs()
        let end = Deadline(afterMs: Int64(Double(options.minutes) * 60_000))
        while !isStopped.load(ordering: .relaxed), !end.isReached,
            await load.nextSequence() != nil
        {
            let round = schedule.next()
            let outcome = ChaosReport.Round(
                number: round.number, atMs: Int(MonotonicClock.nowMs() - startMs),
                faults: round.faults.map(\.fault.description),
                quietFromMs: round.quietFromMs.map { $0 - round.faults[0].atMs })
            let performed = await perform(
                round, outcome, FaultInjector(cluster), load, database, verifiedBefore: verified, &report)
            verified = await load.nextSequence() ?? load.times.count
            for fault in round.faults { report.faultsByKind[fault.fault.kind, default: 0] += 1 }
            if round.faults.count == 1, performed.misses.isEmpty {
                report.settledMsByKind[round.faults[0].fault.kind, default: []].append(performed.settledMs)
            }
            report.rounds.append(performed)
            if !performed.misses.isEmpty { ChaosFolder(path: options.folder, seed: options.seed).keepLogs(performed) }
            onRound(performed)
            await resume(load)
        }
        report.elapsedMs = Int(MonotonicClock.nowMs() - startMs)
        await pause(load)
        report.outsideWrites = outside?.written
        await finish(&report, load, database)
        await load.stop()
        await database.stop()
        report.missedByVerification = await cluster.changesMissed()
        return report
    }

    private func outside(_ server: LocalPostgres) -> OutsideWriter {
        let writer = OutsideWriter(
            server.connectionString, perSecond: options.mutationsPerSecond, seed: options.seed)
        outsideWriter.withLock { $0 = writer }
        return writer
    }

    /// Ends all writes until `resume`.
    private func pause(_ load: SteadyLoad) async {
        await load.pause()
        await outsideWriter.withLock { $0 }?.pause()
    }

    private func resume(_ load: SteadyLoad) async {
        await load.resume()
        outsideWriter.withLock { $0 }?.resume()
    }

    private func startLoad(_ cluster: ChaosCluster) async throws -> SteadyLoad {
        let text = ChaosLoad.scenario(
            subscribers: options.subscribers, perSecond: options.mutationsPerSecond,
            seconds: Int(options.minutes * 60) + 600)
        let proxy = try ServerAddress("http://127.0.0.1:\(await cluster.proxyPort)")
        let gateways = await cluster.nodes.filter { $0.name.hasPrefix("gateway") }.map(\.address)
        return try await SteadyLoad.start(
            try ScenarioFile.parse(name: "chaos", text: text),
            options: .init(gateways: try gateways.map { try ServerAddress("http://" + $0) } + [proxy], api: proxy),
            seed: options.seed, run: UInt32(truncatingIfNeeded: options.seed)
        ) { delivery in
            let versions = DeliveryWatch.versions(in: delivery.payload)
            self.watch.withLock {
                $0.delivered(
                    subscriber: delivery.subscriber, connection: delivery.connection,
                    operation: delivery.target.operation, transport: delivery.transport, versions: versions,
                    markers: delivery.markers, atNs: delivery.atNs)
            }
        }
    }

    // MARK: One round

    private func perform(
        _ round: ChaosSchedule.Round, _ begun: ChaosReport.Round, _ injector: FaultInjector, _ load: SteadyLoad,
        _ database: ChaosDatabase, verifiedBefore: Int, _ report: inout ChaosReport
    ) async -> ChaosReport.Round {
        var outcome = begun
        let connections = ConnectionWatch(load)
        await withTaskGroup { group in
            if let quietFromMs = round.quietFromMs {
                group.addTask { [self] in
                    await Self.pause(ms: quietFromMs)
                    await pause(load)
                }
            }
            for timed in round.faults {
                group.addTask { [self] in
                    await Self.pause(ms: timed.atMs)
                    if round.faults.count == 1 { await probe(timed.fault, injector, load, connections) }
                    await injector.perform(timed.fault)
                }
            }
        }
        outcome.misses += injector.serversLost
        outcome.misses += await injector.cluster.unready().map { "\($0) did not become ready again" }
        await Self.pause(ms: round.afterMs)
        await pause(load)

        if options.sabotages { await database.sabotage() }

        let verdict = await load.verify(withinMs: options.settleMs)
        outcome.settledMs = Int(verdict.settledMs)
        if !verdict.isConverged {
            outcome.misses.append("\(verdict.notConverged) of \(verdict.subscribers) subscribers not converged")
            outcome.misses += verdict.differences.map { "\($0.operation) \($0.variables): \($0.reason)" }
        }
        if let missing = await connections.missing(withinMs: options.settleMs) {
            outcome.misses.append("\(missing) subscribers without a connection")
        }
        let verified = verifiedBefore..<(await load.nextSequence() ?? load.times.count)
        let acknowledged = verified.filter { load.times.answeredNs($0) != nil }
        outcome.acknowledged = acknowledged.count
        outcome.misses += await load.unanswered(verified.count - acknowledged.count)
        outcome.misses += await database.misses(of: acknowledged)
        let (regressions, found) = watch.withLock { watch in
            let found = watch.probe
            watch.probe = nil
            return (watch.takeRegressions(), found)
        }
        for regression in regressions {
            outcome.misses.append(await database.description(of: regression, load.times))
        }
        for end in injector.cluster.takeEnds() where !injector.isExpected(end) {
            if end.how.hasPrefix("signal") {
                outcome.misses.append("\(end.name) crashed (\(end.how))")
            } else {
                report.ownExits.append("\(end.name) in round \(round.number) (\(end.how))")
            }
        }
        if let fault = round.faults.first?.fault, round.faults.count == 1 {
            measure(fault, found, load, await connections.reconnected(), &report)
        }
        await connections.stop()
        return outcome
    }

    /// Prepares the measurement of a fault, just before it.
    private func probe(
        _ fault: Fault, _ injector: FaultInjector, _ load: SteadyLoad, _ connections: ConnectionWatch
    ) async {
        switch fault {
        case .kill(let name) where Fault.role(name) == "worker", .drain(let name) where Fault.role(name) == "worker":
            let operations = await injector.operations(of: name)
            let next = await load.nextSequence() ?? 0
            watch.withLock {
                $0.probe = DeliveryWatch.Probe(
                    startNs: DeliveryClock.nowNs(), fromSequence: next, operations: operations)
            }
        case .kill(let name) where Fault.role(name) == "gateway": await connections.begin()
        default: break
        }
    }

    private func measure(
        _ fault: Fault, _ probe: DeliveryWatch.Probe?, _ load: SteadyLoad, _ reconnected: (sessions: Int, ms: Int)?,
        _ report: inout ChaosReport
    ) {
        switch fault {
        case .kill: if let ms = probe?.firstRefreshMs { report.takeOverMs.append(ms) }
        case .drain:
            if let ms = probe?.longestWaitMs(answeredNs: load.times.answeredNs) { report.handOverMs.append(ms) }
        default: break
        }
        if let reconnected, reconnected.sessions > 0 { report.reconnects.append(reconnected) }
    }

    // MARK: Checks

    /// Sets the totals and checks that the outbox becomes empty.
    private func finish(_ report: inout ChaosReport, _ load: SteadyLoad, _ database: ChaosDatabase) async {
        let snapshot = await load.snapshot()
        report.subscribers = snapshot.subscribers
        report.liveQueries = load.liveQueries
        report.delivered = snapshot.delivered
        report.connectionsLost = snapshot.dropped
        report.mutationsAcknowledged = snapshot.mutationsAnswered
        report.mutationsRetried = snapshot.mutationsRetried
        report.mutationsFailed = (await load.nextSequence() ?? load.times.count) - snapshot.mutationsAnswered
        report.olderWithoutTag = watch.withLock { $0.withoutTag }
        let deadline = Deadline(afterMs: options.settleMs)
        while let rows = await database.outboxRows(), rows > 0 {
            guard !deadline.isReached else {
                var last = ChaosReport.Round(number: report.rounds.count + 1, atMs: report.elapsedMs, faults: [])
                last.misses.append("\(rows) rows stayed in the outbox")
                return report.rounds.append(last)
            }
            await Self.pause(ms: 100)
        }
    }

    static func pause(ms: Int) async { try? await Task.sleep(for: .milliseconds(ms)) }
}

/// The reason that a run could not start.
package struct ChaosError: Error, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
