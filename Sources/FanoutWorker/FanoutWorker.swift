package import Broker
internal import Catalog
package import Execution
package import LiveModel
package import Logging
internal import Metrics
package import Refresh
package import Sharding

/// The worker's shell: brings entries, answers and time to the two machines and performs what they ask for.
///
/// An actor, because the machines have one writer; nothing here blocks a thread, and nothing here decides.
package actor FanoutWorker {
    package struct Settings: Sendable {
        package var refresh = RefreshSettings()
        package var lease = LeaseMachine.Settings()
        package var checkpointMs: Int64 = 1_000
        /// Events older than this are trimmed from the owned streams.
        package var eventsAgeMaxMs: Int64 = 3_600_000
        /// Entries that one read takes from each stream.
        package var readMax = 512
        package var inboxLengthMax = 20_000
        /// An inbox that nobody writes to disappears.
        package var inboxExpireMs = 600_000
        /// Bytes of results on their way to the broker; beyond it they count as not sent and are sent again later.
        package var outgoingBytesMax = 64 << 20
        /// Bytes of one flight to the broker; well below what its queue takes, beside the renewals of leases.
        package var flightBytesMax = 8 << 20
        /// A larger result is an error of its live query.
        package var resultBytesMax = 8 << 20

        package init() {}
    }

    private struct Outgoing: Sendable {
        let gateway: NodeID
        let key: LiveQueryKey?
        let append: StreamAppend
    }

    private let node: NodeID
    private let broker: any Broker
    private let catalogs: ServedCatalogs
    private let loadCatalogs: @Sendable () async -> Void
    private let onNews: @Sendable () -> Void
    private let queries: QueryExecutor
    private let settings: Settings
    private let clock: ServiceClock
    private let logger: Logger
    private let reader: any StreamReader
    private var machine: RefreshMachine
    private var leases: LeaseMachine
    private var gateways: Set<NodeID> = []
    private var shardOfStream: [String: (shard: ShardID, kind: StreamKind)] = [:]
    private var outgoing: FlightQueue<Outgoing>
    private var timer: (deadlineMs: Int64, task: Task<Void, Never>)?
    private var leaseTimer: (deadlineMs: Int64, task: Task<Void, Never>)?
    /// Leases on their way back.
    private var releasesUnderWay = 0
    private var checkpointed: [ShardID: StreamID] = [:]
    /// Where shards stood that are being given back, if that is not recorded yet.
    private var released: [ShardID: StreamID] = [:]
    private var lastTrimMs: Int64 = 0
    private var isDraining = false
    private var isCheckpointing = false
    private var grants: [ShardID: LeaseGrant] = [:]
    private var serverChanges = 0

    private enum StreamKind { case events, control }

    private let runSeconds = Metrics.Timer(label: "freshet_refresh_statement_seconds")
    private let runsTotal = Counter(label: "freshet_refresh_runs_total")
    private let changedTotal = Counter(label: "freshet_refresh_changed_total")
    private let eventsTotal = Counter(label: "freshet_worker_events_total")
    private let liveQueriesGauge = Gauge(label: "freshet_worker_live_queries")
    private let dueGauge = Gauge(label: "freshet_worker_due_live_queries")
    private let replicaAnsweredGauge = Gauge(label: "freshet_refresh_replica_answered")
    private let replicaMissedGauge = Gauge(label: "freshet_refresh_replica_missed")
    private let shardsGauge = Gauge(label: "freshet_worker_shards")
    private let pacedGauge = Gauge(label: "freshet_worker_paced_live_queries")
    private let replayedTotal = Counter(label: "freshet_takeover_events_replayed_total")
    private let announcedTotal = Counter(label: "freshet_takeover_live_queries_announced_total")
    private let keptTotal = Counter(label: "freshet_takeover_live_queries_kept_total")
    private let rerunTotal = Counter(label: "freshet_takeover_runs_paced_total")
    private let lossesTotal = Counter(label: "freshet_takeover_event_losses_total")
    private var toldTakeOver = TakeOverCounts()

    /// - Parameters:
    ///   - loadCatalogs: returns when the versions that are in service now are in `catalogs`.
    ///   - onNews: nodes or leases changed: `nodesChanged` is wanted now. Short, from any thread.
    package init(
        node: NodeID, broker: any Broker, catalogs: ServedCatalogs, queries: QueryExecutor, shardCount: Int,
        settings: Settings, clock: ServiceClock, logger: Logger,
        loadCatalogs: @escaping @Sendable () async -> Void = {}, onNews: @escaping @Sendable () -> Void = {}
    ) {
        self.loadCatalogs = loadCatalogs
        self.onNews = onNews
        self.node = node
        self.broker = broker
        self.catalogs = catalogs
        self.queries = queries
        self.settings = settings
        self.clock = clock
        self.logger = logger
        self.reader = broker.makeReader(name: "worker-\(node)")
        self.outgoing = FlightQueue(bytesMax: settings.outgoingBytesMax, flightBytesMax: settings.flightBytesMax)
        self.leases = LeaseMachine(me: node, shardCount: shardCount, settings: settings.lease)
        self.machine = RefreshMachine(settings: settings.refresh) { query throws(RequestError) in
            try catalogs.set.queryRules(of: query)
        }
    }

    /// Works until its task is cancelled or the reader is closed by `drain`.
    package func run() async {
        let ticks = Task { await self.keepLeases() }
        defer { ticks.cancel() }
        reader.follow(broker.keys.news, after: .zero)
        while !Task.isCancelled {
            do {
                let batches = try await reader.next(maxEntries: settings.readMax)
                for batch in batches { arrived(batch) }
            } catch {
                if error.code == .closed || error.code == .cancelled { break }
                logger.error("reading the shards' streams failed", metadata: ["error": "\(error)"])
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    /// Gives every shard back; returns when that is done.
    package func drain() async {
        isDraining = true
        await perform(leases.drain(nowMs: clock.nowMs()))
        reader.close()
    }

    // MARK: Nodes and leases

    /// The node list as of now; called by the node's heartbeat.
    /// - Parameter pins: shards that an operator moved, and to whom.
    package func nodesChanged(workers: [NodeID], gateways: Set<NodeID>, pins: [ShardID: NodeID] = [:]) {
        let (gone, asks) = machine.gatewaysRead(gateways)
        for gateway in gone { logger.info("gateway gone", metadata: ["gateway": "\(gateway)"]) }
        perform(asks)
        self.gateways = gateways
        guard !isDraining else { return }
        let actions = leases.workersChanged(workers, pins: pins, nowMs: clock.nowMs())
        begin(actions)
    }

    private func keepLeases() async {
        while !Task.isCancelled {
            // Nothing here waits for a shard to start or for a checkpoint: renewals must not be late.
            noticeServerChange()
            let actions = isDraining ? [] : leases.tick(nowMs: clock.nowMs())
            begin(actions)
            if !isCheckpointing {
                isCheckpointing = true
                Task {
                    await self.checkpoint()
                    self.isCheckpointing = false
                }
            }
            liveQueriesGauge.record(machine.liveQueryCount)
            dueGauge.record(machine.dueCount)
            shardsGauge.record(machine.ownedShards.count)
            recordTakeOver()
            let replicas = queries.replicaCounts
            replicaAnsweredGauge.record(replicas.answered)
            replicaMissedGauge.record(replicas.missed)
            try? await Task.sleep(for: .milliseconds(min(settings.lease.renewMs, settings.checkpointMs) / 2))
        }
    }

    private func recordTakeOver() {
        pacedGauge.record(machine.pacedCount)
        let counts = machine.takeOver
        replayedTotal.increment(by: Int64(counts.replayed - toldTakeOver.replayed))
        announcedTotal.increment(by: Int64(counts.announced - toldTakeOver.announced))
        keptTotal.increment(by: Int64(counts.kept - toldTakeOver.kept))
        rerunTotal.increment(by: Int64(counts.rerun - toldTakeOver.rerun))
        lossesTotal.increment(by: Int64(counts.losses - toldTakeOver.losses))
        toldTakeOver = counts
    }

    private func noticeServerChange() {
        let changes = broker.state.serverChanges + queries.databaseChanges
        guard changes != serverChanges else { return }
        logger.warning("another redis or postgres server answers, all shards run again")
        serverChanges = changes
        perform(machine.serverChanged(gateways: gateways, nowMs: clock.nowMs()))
    }

    /// A lease that another worker held may be free before the next regular tick.
    private func armLeaseTimer() {
        guard let deadlineMs = leases.nextDeadlineMs, deadlineMs < leaseTimer?.deadlineMs ?? .max else { return }
        leaseTimer?.task.cancel()
        let delayMs = max(0, deadlineMs - clock.nowMs())
        let task = Task {
            try? await Task.sleep(for: .milliseconds(delayMs))
            if !Task.isCancelled { self.leaseTimerFired(deadlineMs) }
        }
        leaseTimer = (deadlineMs, task)
    }

    private func leaseTimerFired(_ deadlineMs: Int64) {
        guard leaseTimer?.deadlineMs == deadlineMs else { return }
        leaseTimer = nil
        guard !isDraining else { return }
        begin(leases.tick(nowMs: max(clock.nowMs(), deadlineMs)))
        armLeaseTimer()
    }

    private func begin(_ actions: [LeaseMachine.Action]) {
        endServing(actions)
        if !actions.isEmpty { Task { await self.tellBroker(actions) } }
    }

    private func perform(_ actions: [LeaseMachine.Action]) async {
        endServing(actions)
        await tellBroker(actions)
    }

    /// In the same breath as the machine decided it: from then on it does not watch over the lease, and a result that
    /// comes in between would be used whenever it was read.
    private func endServing(_ actions: [LeaseMachine.Action]) {
        for action in actions {
            switch action {
            case .stop(let shard, let epoch): lost(shard, epoch)
            case .release(let shard, let epoch):
                released[shard] = unrecorded(of: shard)
                stop(shard, epoch)
            case .acquire, .renew, .start: break
            }
        }
    }

    private func tellBroker(_ actions: [LeaseMachine.Action]) async {
        // Renewals of many shards go out together: the broker puts concurrent calls into one flight.
        await withTaskGroup(of: Void.self) { group in
            for action in actions { group.addTask { await self.perform(action) } }
        }
    }

    private func perform(_ action: LeaseMachine.Action) async {
        let sentMs = clock.nowMs()
        let ttlMs = Int(settings.lease.ttlMs)
        switch action {
        case .acquire(let shard):
            // A former owner may have died without knowing of a failover of the database: what it found on the former
            // timeline is not trusted.
            let answer = try? await broker.askLease(
                broker.keys.lease(shard: shard.number), owner: node.name, ttlMs: ttlMs,
                basis: queries.databaseTimeline ?? "")
            let grant = answer?.grant
            if let grant { grants[shard] = grant }
            let nowMs = clock.nowMs()
            let actions = leases.leaseAnswered(
                shard, epoch: grant?.epoch, heldForMs: answer?.heldForMs.map(Int64.init),
                knownForMs: grant?.knownForMs ?? 0, sentMs: sentMs, nowMs: nowMs)
            armLeaseTimer()
            await perform(actions)
        case .renew(let shard, let epoch):
            let isHeld = try? await broker.renewLease(
                broker.keys.lease(shard: shard.number), owner: node.name, epoch: epoch, ttlMs: ttlMs)
            let nowMs = clock.nowMs()
            await perform(
                leases.renewalAnswered(shard, epoch: epoch, isHeld: isHeld, sentMs: sentMs, nowMs: nowMs))
        case .start(let shard, let epoch): await start(shard, epoch)
        case .stop: break
        case .release(let shard, let epoch):
            releasesUnderWay += 1
            if let unrecorded = released.removeValue(forKey: shard) { await checkpoint(shard, epoch, unrecorded) }
            _ = try? await broker.releaseLease(
                broker.keys.lease(shard: shard.number), owner: node.name, epoch: epoch)
            logger.info("shard released", metadata: ["shard": "\(shard)", "epoch": "\(epoch)"])
            releasesUnderWay -= 1
            // Its next owner need not wait for a heartbeat.
            if releasesUnderWay == 0 { await broker.tellNews(of: node.name) }
        }
    }

    private func start(_ shard: ShardID, _ epoch: UInt64) async {
        let events = broker.keys.events(shard: shard.number)
        let control = broker.keys.control(shard: shard.number)
        // No deployment waits for a worker that was suspended or cut off; it would refuse the new version's queries.
        await loadCatalogs()
        do {
            let history = try await EventHistory.load(
                from: broker, stream: events, countMax: settings.refresh.historyMax)
            // What gateways announced before this point they announce again when asked below.
            let controlEnd = try await broker.lastID(of: control)
            let listed = try await broker.nodes().compactMap { NodeRecordPayload(payload: $0.payload) }
                .filter { $0.roles.contains("gateway") }.map(\.id)
            guard leases.held[shard] == epoch else { return }
            // Who came between that list and now was told as new while this shard was not served yet.
            let gateways = Set(listed).union(gateways)
            let grant = grants[shard].flatMap { $0.epoch == epoch ? $0 : nil }
            let asks = machine.shardOpened(
                shard, epoch: epoch, history: history, trustedEpoch: grant?.trustedEpoch ?? epoch, gateways: gateways,
                nowMs: clock.nowMs())
            shardOfStream[events] = (shard, .events)
            shardOfStream[control] = (shard, .control)
            reader.follow(events, after: history.lastID, server: grant?.server)
            reader.follow(control, after: controlEnd, server: grant?.server)
            perform(asks)
            logger.info("shard taken", metadata: ["shard": "\(shard)", "epoch": "\(epoch)"])
        } catch {
            logger.warning("shard could not be started", metadata: ["shard": "\(shard)", "error": "\(error)"])
            stop(shard, epoch)
            await perform(leases.startFailed(shard, epoch: epoch))
        }
    }

    private func lost(_ shard: ShardID, _ epoch: UInt64) {
        stop(shard, epoch)
        logger.warning("shard lost", metadata: ["shard": "\(shard)", "epoch": "\(epoch)"])
    }

    private func stop(_ shard: ShardID, _ epoch: UInt64) {
        // Late news of a former epoch must not stop what was taken since.
        if let current = machine.epoch(of: shard), current != epoch { return }
        for stream in [broker.keys.events(shard: shard.number), broker.keys.control(shard: shard.number)] {
            reader.unfollow(stream)
            shardOfStream[stream] = nil
        }
        checkpointed[shard] = nil
        machine.shardLost(shard)
    }

    // MARK: Streams

    private func arrived(_ batch: StreamBatch) {
        if batch.stream == broker.keys.news { return onNews() }
        guard let (shard, kind) = shardOfStream[batch.stream] else { return }
        let nowMs = clock.nowMs()
        switch kind {
        case .events:
            if let signal = batch.signal {
                logger.warning(
                    "events may be lost, the shard runs again", metadata: ["shard": "\(shard)", "signal": "\(signal)"])
            }
            eventsTotal.increment(by: Int64(batch.entries.count))
            perform(machine.eventsRead(shard, signal: batch.signal, entries: batch.entries, nowMs: nowMs))
        case .control:
            let actions = machine.controlRead(
                shard, signal: batch.signal, entries: batch.entries, gateways: gateways, nowMs: nowMs
            ) { entry in
                logger.warning("unreadable control message", metadata: ["shard": "\(shard)", "entry": "\(entry)"])
            }
            perform(actions)
        }
    }

    private func checkpoint() async {
        for shard in machine.ownedShards { await checkpoint(shard) }
        let nowMs = clock.nowMs()
        guard nowMs >= lastTrimMs + 30_000, nowMs > settings.eventsAgeMaxMs else { return }
        lastTrimMs = nowMs
        let oldest = StreamID(ms: UInt64(nowMs - settings.eventsAgeMaxMs), sequence: 0)
        for shard in machine.ownedShards {
            guard let epoch = machine.epoch(of: shard) else { continue }
            let lease = broker.keys.lease(shard: shard.number)
            for stream in [broker.keys.events(shard: shard.number), broker.keys.control(shard: shard.number)] {
                _ = try? await broker.trimFenced(stream, minimumID: oldest, lease: lease, epoch: epoch)
            }
        }
    }

    /// Up to where events are applied, if that is not recorded yet.
    private func unrecorded(of shard: ShardID) -> StreamID? {
        guard let id = machine.lastEventID(of: shard), id != .zero, checkpointed[shard] != id else { return nil }
        return id
    }

    private func checkpoint(_ shard: ShardID) async {
        guard let id = unrecorded(of: shard), let epoch = machine.epoch(of: shard) else { return }
        await checkpoint(shard, epoch, id)
    }

    private func checkpoint(_ shard: ShardID, _ epoch: UInt64, _ id: StreamID) async {
        let isDone = try? await broker.checkpoint(
            stream: broker.keys.events(shard: shard.number), group: Keys.workersGroup, id: id,
            lease: broker.keys.lease(shard: shard.number), epoch: epoch)
        if isDone == true, machine.epoch(of: shard) == epoch { checkpointed[shard] = id }
    }

    // MARK: Actions

    private func perform(_ actions: [RefreshAction]) {
        for action in actions {
            switch action {
            case .run(let batch): Task { await self.run(batch) }
            case .send(let gateway, let message): send(message, to: gateway)
            }
        }
        armTimer()
    }

    private func run(_ batch: RunBatch) async {
        let start = ContinuousClock.now
        let outcomes: [RunOutcome]
        if let operation = catalogs.set.operation(batch.operation, version: batch.version) {
            let items = batch.items.map { item in
                QueryExecutor.Item(
                    variables: item.query.variables, auth: item.query.projectedAuth, knownDigest: item.knownDigest)
            }
            outcomes = await queries.run(operation, items: items).map { outcome in
                switch outcome {
                case .unchanged: .unchanged
                case .result(let result) where result.body.count + result.entities.count > settings.resultBytesMax:
                    .failed(
                        RequestError(.payloadTooLarge, "the result is larger than \(settings.resultBytesMax) bytes"))
                case .result(let result):
                    .result(digest: result.digest, body: result.body, entities: result.entities)
                case .failed(let error): .failed(error)
                }
            }
        } else {
            let error = RequestError(.unavailable, "the operation is not known here in this version")
            outcomes = Array(repeating: .failed(error), count: batch.items.count)
        }
        for item in batch.items where !item.traceID.isEmpty {
            logger.debug("live query run", metadata: ["trace": "\(item.traceID)", "operation": "\(batch.operation)"])
        }
        runSeconds.record(duration: ContinuousClock.now - start)
        runsTotal.increment(by: Int64(batch.items.count))
        changedTotal.increment(by: Int64(outcomes.count { if case .result = $0 { true } else { false } }))
        let nowMs = clock.nowMs()
        for case .stop(let shard, let epoch) in leases.expired(nowMs: nowMs) { lost(shard, epoch) }
        perform(machine.runFinished(batch, outcomes, nowMs: nowMs))
    }

    private func send(_ message: InboxMessage, to gateway: NodeID) {
        let fields = message.fields
        let bytes = fields.reduce(0) { $0 + $1.1.count }
        let item = Outgoing(
            gateway: gateway, key: message.key,
            append: StreamAppend(
                stream: broker.keys.inbox(gateway: gateway.name), fields: fields.map { (name: $0.0, value: $0.1) },
                lengthMax: settings.inboxLengthMax, expireMs: settings.inboxExpireMs))
        switch outgoing.offer(item, bytes: bytes) {
        case .begin: Task { await self.flush() }
        case .queued: break
        case .full: perform(machine.sendFailed(gateway, [message.key].compactMap { $0 }, nowMs: clock.nowMs()))
        }
    }

    private func flush() async {
        while true {
            let flight = outgoing.nextFlight()
            if flight.isEmpty { return }
            do {
                _ = try await broker.append(flight.map(\.append))
            } catch {
                logger.warning("results not sent", metadata: ["count": "\(flight.count)", "error": "\(error)"])
                for (gateway, items) in Dictionary(grouping: flight, by: \.gateway) {
                    perform(machine.sendFailed(gateway, items.compactMap(\.key), nowMs: clock.nowMs()))
                }
            }
        }
    }

    private func armTimer() {
        guard let deadlineMs = machine.nextDeadlineMs else { return }
        if let timer, timer.deadlineMs <= deadlineMs { return }
        timer?.task.cancel()
        let delayMs = max(0, deadlineMs - clock.nowMs())
        let task = Task {
            try? await Task.sleep(for: .milliseconds(delayMs))
            if !Task.isCancelled { self.timerFired(deadlineMs) }
        }
        timer = (deadlineMs, task)
    }

    private func timerFired(_ deadlineMs: Int64) {
        guard timer?.deadlineMs == deadlineMs else { return }
        timer = nil
        perform(machine.timeReached(nowMs: max(clock.nowMs(), deadlineMs)))
    }

    // MARK: What operators see

    package var shardReports: [ShardReport] { machine.shardReports }
    package var shardStatuses: [ShardStatus] { machine.shardStatuses }
    package var takeOver: TakeOverCounts { machine.takeOver }
    package var pacedCount: Int { machine.pacedCount }

    package func liveQueryReports(limit: Int, operation: OperationReference?) -> [LiveQueryReport] {
        machine.liveQueryReports(limit: limit, operation: operation)
    }

    package var conditionErrorCounts: [Trigger.ID: UInt64] { machine.conditionErrorCounts }
    package var runsInFlight: Int { machine.runsInFlightCount }
    package var dueCount: Int { machine.dueCount }
}
