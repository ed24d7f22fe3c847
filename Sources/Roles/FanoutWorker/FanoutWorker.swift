package import Broker
import Catalog
package import Execution
package import LiveModel
package import Logging
package import Inspection
import Pacing
import Postgres
package import Recording
package import Refresh
package import RoleMachines
package import Sharding
import Streams
import Synchronization
import Threads

/// The shell of the worker role: feeds entries, replies and time to `WorkerMachine` and performs its effects.
///
/// An actor, because the machine has one writer. It neither blocks a thread nor decides anything. While it is idle, the
/// threads that deliver events and database results run it (`CallerRunsExecutor`).
package actor FanoutWorker {
    package typealias Settings = WorkerMachine.Settings

    private let executor = CallerRunsExecutor()
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The entries that one read takes from each stream.
    private static let readMax = 512
    /// Batches up to this size are encoded on the calling thread.
    private static let shortBatchMax = 8

    private let broker: any Broker
    let catalogs: ServedCatalogs
    private let loadCatalogs: @Sendable () async -> String?
    private let readNodes: @Sendable () -> Void
    let queries: QueryExecutor
    private let epochs: ShardEpochs
    let settings: Settings
    let clock: ServiceClock
    let logger: Logger
    let failures: OperationFailureLog
    let recorder: NodeRecorder?
    let meter: OperationMeter
    private let reader: any StreamReader
    private nonisolated let readFailures = Atomic<Int>(0)
    private var machine: WorkerMachine
    private var pace = ReadPace()
    private var metrics = WorkerMetrics()
    private var alarm = Alarm()
    private var drains: [CheckedContinuation<Void, Never>] = []

    /// - Parameters:
    ///   - loadCatalogs: loads the versions now in service into `catalogs`. Returns why that failed, nil if it did not.
    ///   - onNodesOrLeasesChanged: requests a call of `nodesChanged` now. Called from any thread; must be short.
    package init(
        node: NodeID, broker: any Broker, catalogs: ServedCatalogs, queries: QueryExecutor, epochs: ShardEpochs,
        shardCount: Int, settings: Settings, clock: ServiceClock, meter: OperationMeter, logger: Logger,
        recorder: NodeRecorder? = nil,
        loadCatalogs: @escaping @Sendable () async -> String? = { nil },
        onNodesOrLeasesChanged: @escaping @Sendable () -> Void = {}
    ) {
        self.broker = broker
        self.catalogs = catalogs
        self.loadCatalogs = loadCatalogs
        self.readNodes = onNodesOrLeasesChanged
        self.queries = queries
        self.epochs = epochs
        self.settings = settings
        self.clock = clock
        self.logger = logger
        self.recorder = recorder
        failures = OperationFailureLog(logger)
        self.meter = meter
        reader = broker.makeReader(name: "worker-\(node)")
        machine = WorkerMachine(node: node, keys: broker.keys, shardCount: shardCount, settings: settings) {
            query throws(RequestError) in
            try catalogs.set.queryRules(of: query)
        }
    }

    // MARK: Facts

    /// Runs until its task is cancelled or `drain` closes the reader.
    package func run() async {
        let ticks = Task { await self.keepTicking() }
        let comparing = Task { await self.keepComparingDefinitions() }
        defer {
            ticks.cancel()
            comparing.cancel()
        }
        recorder?.onScopeChanged { [weak self] in Task { await self?.scopeChanged() } }
        scopeChanged()
        perform(machine.started())
        var failure = RepeatedFailure()
        while !Task.isCancelled {
            do {
                try await reader.forEach(maxEntries: Self.readMax) { await self.streamsRead($0, readOn: $1) }
            } catch {
                if error.code == .closed || error.code == .cancelled { break }
                readFailures.wrappingAdd(1, ordering: .relaxed)
                if let leftOut = failure.failed("\(error)", nowMs: clock.nowMs()) {
                    logger.error(
                        "reading the shards' streams failed",
                        metadata: ["error": "\(error)", "notLogged": "\(leftOut)"])
                }
                try? await Task.sleep(for: .milliseconds(StreamReading.failurePauseMs))
            }
        }
    }

    private func keepTicking() async {
        while !Task.isCancelled {
            let changes = WorkerMachine.ServerChanges(
                broker: broker.state.serverChanges, database: queries.databaseChanges)
            perform(machine.ticked(changes, nowMs: clock.nowMs()))
            metrics.record(
                machine.refresh, unfollowed: machine.unfollowedShardCount, replicas: queries.replicaCounts)
            try? await Task.sleep(for: .milliseconds(settings.tickMs))
        }
    }

    /// Passes the current node list to the machine; called by the node's heartbeat.
    /// - Parameter movedShards: the shards that an operator moved, with their targets.
    package func nodesChanged(
        workers: [NodeID], gateways: Set<NodeID>, movedShards: [ShardID: NodeID] = [:],
        unfollowed: UnfollowedShards = UnfollowedShards()
    ) {
        perform(
            machine.nodesListed(
                workers: workers, gateways: gateways, movedShards: movedShards, unfollowed: unfollowed,
                nowMs: clock.nowMs()))
    }

    /// Releases every shard; returns when that is done.
    package func drain() async {
        await withCheckedContinuation { continuation in
            drains.append(continuation)
            perform(machine.drain(nowMs: clock.nowMs()))
        }
        reader.close()
    }

    private func streamsRead(_ batches: [StreamBatch], readOn: () -> Void) {
        let before = machine.eventsRead
        var decoder = EventDecoder()
        for batch in machine.urgentFirst(batches) {
            perform(machine.streamRead(batch, &decoder, nowMs: clock.nowMs()))
        }
        metrics.read(events: machine.eventsRead - before)
        if pace.read(nowMs: clock.nowMs()) { readOn() }
    }

    func runFinished(_ id: WorkerMachine.CallID, _ outcomes: [RunOutcome], micros: UInt64) {
        let before = machine.resultsRead
        let effects = machine.runFinished(id, outcomes, micros: micros, nowMs: clock.nowMs())
        let cutShort = outcomes.count { if case .cutShort = $0 { true } else { false } }
        let failed = outcomes.count { if case .failed = $0 { true } else { false } }
        metrics.ran(
            outcomes.count, changed: machine.resultsRead - before, cutShort: cutShort, failed: failed,
            took: .microseconds(Int64(clamping: micros)))
        perform(effects)
    }

    func definitionsChanged(_ operations: Set<OperationReference>) {
        perform(machine.definitionsChanged(operations, nowMs: clock.nowMs()))
    }

    private func timeReached(_ deadlineMs: Int64) {
        guard let nowMs = alarm.fired(deadlineMs, nowMs: clock.nowMs()) else { return }
        perform(machine.timeReached(nowMs: nowMs))
    }

    private func brokerAnswered(_ id: WorkerMachine.CallID, _ reply: WorkerMachine.BrokerReply) {
        perform(machine.brokerAnswered(id, reply, nowMs: clock.nowMs()))
    }

    private func databaseAnswered(_ id: WorkerMachine.CallID, _ reply: WorkerMachine.DatabaseReply) {
        perform(
            machine.databaseAnswered(id, reply, timeline: queries.databaseTimeline, nowMs: clock.nowMs()))
    }

    private func catalogsLoaded(_ id: WorkerMachine.CallID, problem: String?) {
        perform(machine.catalogsLoaded(id, problem: problem, nowMs: clock.nowMs()))
    }

    private func batchAppended(_ id: WorkerMachine.CallID, _ answer: Result<[StreamID], BrokerError>) {
        var problem: String?
        if case .failure(let error) = answer { problem = "\(error)" }
        perform(machine.batchAppended(id, problem: problem, nowMs: clock.nowMs()))
    }

    // MARK: Effects

    /// Performs effects. Broker calls start together, so that the broker sends them in one batch.
    private func perform(_ effects: [WorkerMachine.Effect]) {
        if machine.hasObservations {
            let (observations, dropped) = machine.takeObservations()
            recorder?.observed(observations, dropped: dropped)
        }
        for effect in effects {
            switch effect {
            case .broker(let id, let call): Task { self.brokerAnswered(id, await broker.answer(call)) }
            case .database(let id, let call): Task { self.databaseAnswered(id, await epochs.answer(call)) }
            case .loadCatalogs(let id): Task { self.catalogsLoaded(id, problem: await self.loadCatalogs()) }
            case .run(let id, let batch): run(id, batch)
            case .append(let id, let entries) where entries.messageCount <= Self.shortBatchMax:
                append(id, entries)
            // Encoding a large batch takes long.
            case .append(let id, let entries): Task.detached { self.append(id, entries) }
            case .follow(let stream, let cursor, let server): reader.follow(stream, after: cursor, server: server)
            case .unfollow(let stream): reader.unfollow(stream)
            case .readNodes: readNodes()
            case .log(let line): log(line)
            case .endDrain:
                for drain in drains { drain.resume() }
                drains = []
            }
        }
        alarm.set(at: machine.nextDeadlineMs, nowMs: clock.nowMs()) { await self.timeReached($0) }
    }

    private nonisolated func append(_ id: WorkerMachine.CallID, _ entries: [InboxEntry]) {
        broker.append(entries.map(\.append)) { answer in Task { await self.batchAppended(id, answer) } }
    }

    private func log(_ line: WorkerMachine.LogLine) {
        let level: Logger.Level =
            switch line.level {
            case .info: .info
            case .warning: .warning
            }
        logger.log(level: level, "\(line.message)", metadata: line.metadata.mapValues { "\($0)" })
    }

    // MARK: Observations

    /// Sets the scope of the machine's observations to what is recorded now.
    package func scopeChanged() { machine.observe(recorder?.scope ?? .nothing) }

    /// Returns what is known of a live query, and the verdicts of its rules on the newest events of its shard; nil if
    /// it is not registered here.
    package func inspect(
        _ key: LiveQueryKey, events count: Int, _ redaction: Redaction
    ) -> (query: LiveQuery, owner: OwnerReport, events: [EventVerdict])? {
        machine.refresh.inspect(key, events: count, redaction, nowMs: clock.nowMs())
    }

    /// Returns live queries and when each was registered, in no order.
    package func registered(limit: Int) -> [(query: LiveQuery, sinceMs: Int64)] {
        machine.refresh.registered(limit: limit)
    }

    // MARK: Reports

    /// The number of reads of the shards' streams that failed.
    package nonisolated var failedReads: Int { readFailures.load(ordering: .relaxed) }

    package var shardReports: [ShardReport] { machine.refresh.shardReports }
    package var shardStatuses: [ShardStatus] { machine.refresh.shardStatuses }
    package var takeOver: TakeOverCounts { machine.refresh.takeOver }
    package var pacedCount: Int { machine.refresh.pacedCount }

    package func liveQueryReports(
        limit: Int, operation: OperationReference? = nil, keyPrefix: String? = nil, keys: Set<LiveQueryKey>? = nil
    ) -> [LiveQueryReport] {
        machine.refresh.liveQueryReports(limit: limit, operation: operation, keyPrefix: keyPrefix, keys: keys)
    }

    package func liveQueryCount(of operation: OperationReference?, keyPrefix: String? = nil) -> Int {
        machine.refresh.liveQueryCount(of: operation, keyPrefix: keyPrefix)
    }

    package var conditionErrorCounts: [Trigger.ID: UInt64] { machine.refresh.conditionErrorCounts }
    package var liveQueryCount: Int { machine.refresh.liveQueryCount }
    /// The live queries whose last run failed.
    package var failing: FailingLiveQueries { machine.refresh.failing }

    package var refreshCounts: [OperationReference: RefreshCounts] { machine.refresh.refreshCounts }
    package var runsInFlight: Int { machine.refresh.runsInFlightCount }
    package var dueCount: Int { machine.refresh.dueCount }
}
