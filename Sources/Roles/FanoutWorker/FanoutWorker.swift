package import Broker
package import Streams
import Catalog
package import Execution
package import LiveModel
package import Logging
import Threads
package import Refresh
package import Sharding

/// The worker's shell: brings entries, answers and time to the two machines and performs what they ask for.
///
/// An actor, because the machines have one writer; nothing here blocks a thread, and nothing here decides. While it is
/// idle, events and the database's answers are worked on by the threads that bring them (`CallerRunsExecutor`).
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

    private let executor = CallerRunsExecutor()
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Messages that are sent by whoever has the actor.
    private static let shortFlightMax = 8

    let node: NodeID
    let broker: any Broker
    let catalogs: ServedCatalogs
    let loadCatalogs: @Sendable () async -> Void
    private let onNews: @Sendable () -> Void
    let queries: QueryExecutor
    let epochs: ShardEpochs
    let settings: Settings
    let clock: ServiceClock
    let logger: Logger
    let reader: any StreamReader
    var machine: RefreshMachine
    var leases: LeaseMachine
    var gateways: Set<NodeID> = []
    var shardOfStream: [String: (shard: ShardID, kind: StreamKind)] = [:]
    private var outgoing: BatchQueue<Outgoing>
    private var alarm = Alarm()
    var leaseAlarm = Alarm()
    /// What the broker is being told of leases, and shards being started; every step ends with a time-out.
    var leaseCalls: [Int: Task<Void, Never>] = [:]
    var lastLeaseCall = 0
    /// Leases on their way back.
    var releasesUnderWay = 0
    var checkpointed: [ShardID: StreamID] = [:]
    /// Where shards stood that are being given back, if that is not recorded yet.
    var released: [ShardID: StreamID] = [:]
    var lastTrimMs: Int64 = 0
    var isDraining = false
    var isCheckpointing = false
    var grants: [ShardID: LeaseGrant] = [:]
    /// Why no epoch was to be had, so that it is logged once.
    var epochProblem = ""
    var serverChanges = 0

    enum StreamKind { case events, control }

    var metrics = WorkerMetrics()

    /// - Parameters:
    ///   - loadCatalogs: returns when the versions that are in service now are in `catalogs`.
    ///   - onNews: nodes or leases changed: `nodesChanged` is wanted now. Short, from any thread.
    package init(
        node: NodeID, broker: any Broker, catalogs: ServedCatalogs, queries: QueryExecutor, epochs: ShardEpochs,
        shardCount: Int, settings: Settings, clock: ServiceClock, logger: Logger,
        loadCatalogs: @escaping @Sendable () async -> Void = {}, onNews: @escaping @Sendable () -> Void = {}
    ) {
        self.loadCatalogs = loadCatalogs
        self.onNews = onNews
        self.node = node
        self.broker = broker
        self.catalogs = catalogs
        self.queries = queries
        self.epochs = epochs
        self.settings = settings
        self.clock = clock
        self.logger = logger
        self.reader = broker.makeReader(name: "worker-\(node)")
        self.outgoing = BatchQueue(bytesMax: settings.outgoingBytesMax, batchBytesMax: settings.flightBytesMax)
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
                try await reader.forEach(maxEntries: settings.readMax) { await self.arrived($0) }
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
        await endLeaseCalls()
        reader.close()
    }

    // MARK: Streams

    private func arrived(_ batches: [StreamBatch]) {
        var decoder = EventDecoder()
        // What somebody waits for goes before what only has to be remembered.
        let isUrgent = batches.map { shardOfStream[$0.stream].map { machine.hasLiveQueries($0.shard) } ?? false }
        for (batch, isUrgent) in zip(batches, isUrgent) where isUrgent { arrived(batch, &decoder) }
        for (batch, isUrgent) in zip(batches, isUrgent) where !isUrgent { arrived(batch, &decoder) }
    }

    private func arrived(_ batch: StreamBatch, _ decoder: inout EventDecoder) {
        if batch.stream == broker.keys.news { return onNews() }
        guard let (shard, kind) = shardOfStream[batch.stream] else { return }
        let nowMs = clock.nowMs()
        switch kind {
        case .events:
            if let signal = batch.signal {
                logger.warning(
                    "events may be lost, the shard runs again", metadata: ["shard": "\(shard)", "signal": "\(signal)"])
            }
            metrics.read(events: batch.entries.count)
            perform(
                machine.eventsRead(
                    shard, signal: batch.signal, entries: batch.entries, decoder: &decoder, nowMs: nowMs))
        case .control:
            let actions = machine.controlRead(
                shard, signal: batch.signal, entries: batch.entries, gateways: gateways, nowMs: nowMs
            ) { entry in
                logger.warning("unreadable control message", metadata: ["shard": "\(shard)", "entry": "\(entry)"])
            }
            perform(actions)
        }
    }

    private func replay(_ page: ReplayPage) async {
        let stream = broker.keys.events(shard: page.shard.number)
        let entries = try? await broker.newest(stream, before: page.before, limit: page.limit)
        perform(machine.replayRead(page, entries, nowMs: clock.nowMs()))
    }

    // MARK: Actions

    func perform(_ actions: [RefreshAction]) {
        var mustFly = false
        for action in actions {
            switch action {
            case .run(let batch): run(batch)
            case .send(let gateway, let message): if send(message, to: gateway) { mustFly = true }
            case .replay(let page): Task { await self.replay(page) }
            }
        }
        if mustFly { fly() }
        armTimer()
    }

    /// - Returns: whether a flight is to begin.
    private func send(_ message: InboxMessage, to gateway: NodeID) -> Bool {
        let fields = message.fields
        let bytes = fields.reduce(0) { $0 + $1.1.count }
        let item = Outgoing(
            gateway: gateway, key: message.key,
            append: StreamAppend(
                stream: broker.keys.inbox(gateway: gateway.name), fields: fields.map { (name: $0.0, value: $0.1) },
                lengthMax: settings.inboxLengthMax, expireMs: settings.inboxExpireMs))
        switch outgoing.offer(item, bytes: bytes) {
        case .begin: return true
        case .queued: return false
        case .full:
            perform(machine.sendFailed(gateway, [message.key].compactMap { $0 }, nowMs: clock.nowMs()))
            return false
        }
    }

    private func fly() {
        let flight = outgoing.nextBatch()
        if flight.isEmpty { return }
        if flight.count <= Self.shortFlightMax { return send(flight) }
        // It takes long to write down.
        Task.detached { self.send(flight) }
    }

    private nonisolated func send(_ flight: [Outgoing]) {
        broker.append(flight.map(\.append)) { answer in Task { await self.landed(flight, answer) } }
    }

    private func landed(_ flight: [Outgoing], _ answer: Result<[StreamID], BrokerError>) {
        if case .failure(let error) = answer {
            logger.warning("results not sent", metadata: ["count": "\(flight.count)", "error": "\(error)"])
            for (gateway, items) in Dictionary(grouping: flight, by: \.gateway) {
                perform(machine.sendFailed(gateway, items.compactMap(\.key), nowMs: clock.nowMs()))
            }
        }
        fly()
    }

    private func armTimer() {
        alarm.set(at: machine.nextDeadlineMs, nowMs: clock.nowMs()) { await self.timeReached($0) }
    }

    private func timeReached(_ deadlineMs: Int64) {
        guard alarm.isDue(deadlineMs) else { return }
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
