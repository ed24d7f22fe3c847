package import Broker
import Clocks
package import Execution
package import LiveModel
package import Logging
import Metrics
package import NIOCore
package import NIOPosix
import Pacing
package import Recording
package import RoleMachines
package import Sessions
package import Sharding
import Streams
import Synchronization

/// The shell of the gateway role: feeds inbox entries, subscriptions and time to `GatewayMachine` and performs its
/// effects on the event loops and the broker.
///
/// Locking: the machine changes under a mutex, and the steps of event loops are handed over under it, so every loop
/// takes them in the order in which the machine decided them. Other effects are performed after the lock is released.
///
/// Long, because everything here needs that lock.
package final class GatewayService: Sendable {
    /// Returns once the event of this id, if there is one, is in the streams of all shards that it concerns.
    package typealias EnsureEvent =
        @Sendable (_ eventID: String, _ withinMs: Int64) async throws(RequestError) -> Void

    /// The entries that one read takes from the inbox.
    private static let readMax = 1_024

    package let node: NodeID
    private let broker: any Broker
    private let clock: ServiceClock
    private let logger: Logger
    private let controlLengthMax: Int
    private let streams: EventStreams
    private let ensureEvent: EnsureEvent?
    private let waitTimeoutMs: Int64
    private let epochs: ShardEpochs?
    private struct State {
        var machine: GatewayMachine
        /// The decided steps that event loops do not have yet.
        var turn = HubTurn(hubs: [])
    }

    private let state: Mutex<State>
    /// Set once; a lock of its own, so that looking one up waits for nothing.
    private let hubs = Mutex<[LoopHub]>([])
    private let tickMs: Int64
    private let reader: any StreamReader
    let recorder: NodeRecorder?
    private let metrics = GatewayMetrics()
    private let meter: OperationMeter?
    private let probes = Atomic<Int>(0)

    /// - Parameters:
    ///   - deltas: the initial delta cache of each event loop.
    ///   - eventsLengthMax: the entries that an events stream keeps at least.
    ///   - epochs: the recorded epochs; nil: none can be read.
    ///   - ensureEvent: nil: sessions cannot wait for a mutation.
    package init(
        node: NodeID, broker: any Broker, group: MultiThreadedEventLoopGroup, settings: GatewayMachine.Settings,
        controlLengthMax: Int, eventsLengthMax: Int = 100_000, meter: OperationMeter? = nil,
        deltas: DeltaCache = DeltaCache(bytesMax: 0, resultBytesMax: 0),
        epochs: ShardEpochs? = nil, ensureEvent: EnsureEvent? = nil, recorder: NodeRecorder? = nil,
        clock: ServiceClock, logger: Logger
    ) {
        self.recorder = recorder
        self.node = node
        self.broker = broker
        self.clock = clock
        self.logger = logger
        self.controlLengthMax = controlLengthMax
        self.epochs = epochs
        self.ensureEvent = ensureEvent
        waitTimeoutMs = settings.interest.waitTimeoutMs
        streams = EventStreams(
            keys: broker.keys, shardCount: settings.interest.shardCount, lengthMax: eventsLengthMax)
        self.meter = meter
        tickMs = settings.tickMs
        state = Mutex(State(machine: GatewayMachine(gateway: node, settings: settings, nowMs: clock.nowMs())))
        self.reader = broker.makeReader(name: "gateway-\(node)")
        let hubs = group.makeIterator().enumerated().map { index, eventLoop in
            LoopHub(index: index, eventLoop: eventLoop, service: self, deltas: deltas)
        }
        self.hubs.withLock { $0 = hubs }
        state.withLock { $0.turn = HubTurn(hubs: hubs) }
    }

    /// Returns the hub of an event loop.
    package func hub(of eventLoop: any EventLoop) -> LoopHub? {
        hubs.withLock { $0.first { $0.eventLoop === eventLoop } }
    }

    /// Withdraws the interest of a former process with the same name. Call before the first subscription.
    package func forgetFormer() {
        change { $0.started() }
    }

    /// Runs until its task is cancelled or `leave` was called.
    package func run() async {
        let inbox = broker.keys.inbox(gateway: node.name)
        reader.follow(inbox, after: .zero)
        let ticks = Task { await self.keepTime() }
        defer { ticks.cancel() }
        var failure = RepeatedFailure()
        while !Task.isCancelled {
            do {
                try await reader.forEach(maxEntries: Self.readMax) { [self] batches, _ in
                    for batch in batches { arrived(batch) }
                }
            } catch {
                if error.code == .closed || error.code == .cancelled { break }
                if let leftOut = failure.failed("\(error)", nowMs: clock.nowMs()) {
                    logger.error(
                        "reading the inbox failed", metadata: ["error": "\(error)", "notLogged": "\(leftOut)"])
                }
                try? await Task.sleep(for: .milliseconds(StreamReading.failurePauseMs))
            }
        }
    }

    private func keepTime() async {
        while !Task.isCancelled {
            let (nowMs, state) = (clock.nowMs(), broker.state)
            let connection = GatewayMachine.BrokerConnection(isConnected: state.connected, reconnects: state.reconnects)
            change { $0.ticked(connection, nowMs: nowMs) }
            metrics.record(lag)
            try? await Task.sleep(for: .milliseconds(tickMs))
        }
    }

    /// Withdraws all interest and stops reading. What is not sent when the time has passed is left unsent: workers drop
    /// the interest of gateways that are not in the node list.
    package func leave(withinMs: Int64) async {
        let deadline = Deadline(afterMs: withinMs)
        change { $0.leave() }
        while !deadline.isReached, !state.withLock({ $0.machine.isIdle }) {
            try? await Task.sleep(for: .milliseconds(2))
        }
        reader.close()
        _ = try? await broker.delete(broker.keys.inbox(gateway: node.name))
    }

    /// Re-announces live queries whose shard was changed by an override.
    package func overridesChanged(_ overrides: ClusterOverrides) {
        let nowMs = clock.nowMs()
        change { $0.overridesChanged(overrides, nowMs: nowMs) }
    }

    // MARK: Hubs

    func subscribed(
        hub: Int, _ query: LiveQuery, known: KnownResult?, reportsTimerRuns: Bool, client: ClientID?
    ) throws(RequestError) -> InterestMachine.Start {
        let nowMs = clock.nowMs()
        let (start, effects) = try state.withLock { state throws(RequestError) in
            let (start, effects) = try state.machine.subscribed(
                hub: hub, query, known: known, reportsTimerRuns: reportsTimerRuns, client: client, nowMs: nowMs)
            state.turn.append(effects)
            state.turn.begin()
            return (start, effects)
        }
        perform(effects)
        return start
    }

    /// Requests another run of a live query.
    /// - Returns: the number of the announcement that requests it; nil if the live query is unknown.
    func rerun(_ key: LiveQueryKey) -> UInt64? {
        let nowMs = clock.nowMs()
        var announcement: UInt64?
        change { machine in
            guard let (number, effects) = machine.rerun(key, nowMs: nowMs) else { return [] }
            announcement = number
            return effects
        }
        return announcement
    }

    func unsubscribed(hub: Int, _ key: LiveQueryKey, lingers: Bool) {
        let nowMs = clock.nowMs()
        change { $0.unsubscribed(hub: hub, key, lingers: lingers, nowMs: nowMs) }
    }

    /// Counts results that an event loop hands to sessions.
    func count(_ deliveries: [(key: LiveQueryKey, sessions: Int, bytes: Int)]) {
        guard let meter else { return }
        let operations = operations(of: deliveries.map(\.key))
        let all = deliveries.compactMap { key, sessions, bytes in
            operations[key].map { operation in
                var costs = OperationCosts()
                costs.deliveries = UInt64(sessions)
                costs.deliveredBytes = UInt64(sessions * bytes)
                return (operation, costs)
            }
        }
        meter.add(all)
    }

    /// Handles a marker that every event loop has passed on.
    func markerTaken(_ arrived: InterestMachine.ArrivedMarker) {
        change { [clock] in $0.markerTaken(arrived, nowMs: clock.nowMs()) }
    }

    /// Begins a wait of a session.
    func waitBegan(
        hub: Int, for position: String?, keys: Set<LiveQueryKey>
    ) throws(RequestError) -> InterestMachine.WaitID {
        let nowMs = clock.nowMs()
        do {
            let (id, effects) = try state.withLock { state throws(RequestError) in
                let (id, effects) = try state.machine.waitBegan(hub: hub, for: position, keys: keys, nowMs: nowMs)
                state.turn.append(effects)
                state.turn.begin()
                return (id, effects)
            }
            perform(effects)
            return id
        } catch {
            metrics.recordWait(error, tookMs: 0)
            throw error
        }
    }

    func waitEnded(_ id: InterestMachine.WaitID) { state.withLock { $0.machine.waitEnded(id) } }

    // MARK: Inbox

    /// Messages of one read share turns of the event loops, so that a session with several results writes once.
    private func arrived(_ batch: StreamBatch) {
        let nowMs = clock.nowMs()
        batch.forEachInboxFact { fact in
            perform(
                state.withLock { state in
                    let effects = state.machine.inboxRead(fact, nowMs: nowMs)
                    state.turn.append(effects)
                    if state.turn.isFull { state.turn.begin() }
                    return effects
                })
        }
        state.withLock { $0.turn.begin() }
    }

    // MARK: Effects

    private func change(_ body: (inout GatewayMachine) -> [GatewayMachine.Effect]) {
        perform(
            state.withLock { state in
                let effects = body(&state.machine)
                state.turn.append(effects)
                state.turn.begin()
                return effects
            })
    }

    private func perform(_ effects: [GatewayMachine.Effect]) {
        for effect in effects {
            switch effect {
            case .gather: Task { change { $0.batchDue() } }
            case .append(let call, let messages): Task { await append(call, messages) }
            // Steps of event loops, which have them already.
            case .deliver, .forgetPositions, .passMarker: break
            case .answerWait(_, _, let problem, let beganAtMs):
                metrics.recordWait(problem, tookMs: clock.nowMs() - beganAtMs)
            case .ensureAppended(let id, let position): Task { await ensureAppended(position, for: id) }
            case .appendTicket(let shard, let ticket):
                let append = streams.append(of: ticket, to: shard, nowMs: clock.nowMs())
                Task { _ = try? await broker.append([append]) }
            case .readEpoch(let shard, let call): Task { await readEpoch(of: shard, call: call) }
            case .reportEpoch(let shard, let named, let recorded):
                logger.warning(
                    "messages from a worker that does not own the shard were ignored",
                    metadata: ["shard": "\(shard)", "named": "\(named)", "recorded": "\(recorded)"])
            case .reportUnsent(let count, let reason):
                logger.warning("announcing interest failed", metadata: ["count": "\(count)", "error": "\(reason)"])
            case .reportLoss(let loss):
                logger.warning(
                    "results may have been lost; announcing all interest again", metadata: ["loss": "\(loss)"])
            case .trimInbox(let minimumID):
                Task { _ = try? await broker.trim(broker.keys.inbox(gateway: node.name), minimumID: minimumID) }
            case .reportProbe: probes.wrappingAdd(1, ordering: .relaxed)
            case .reportResult(let key, let result): report(result, of: key)
            case .sample(let counts):
                metrics.liveQueries.record(counts.liveQueries)
                metrics.subscriptions.record(counts.subscriptions)
                metrics.awaiting.record(counts.awaiting)
                metrics.resultBytes.record(counts.resultBytes)
                metrics.waits.record(counts.waits)
            case .reportMarker(let hops): metrics.record(hops)
            }
        }
    }

    private func report(_ result: LiveResult, of key: LiveQueryKey) {
        if result.isTraced { recorder?.arrived(result, key) }
        metrics.results.increment()
        if !result.traceID.isEmpty {
            logger.debug(
                "result arrived", metadata: ["trace": "\(result.traceID)", "position": "\(result.position)"])
        }
        if result.committedAtMs > 0 {
            metrics.delivered.recordMilliseconds(max(0, clock.nowMs() - result.committedAtMs))
        }
    }

    private func readEpoch(of shard: ShardID, call: UInt64) async {
        let recorded = try? await epochs?.newest(of: shard).recorded
        let nowMs = clock.nowMs()
        change { $0.epochRead(shard, call: call, recorded: recorded, nowMs: nowMs) }
    }

    private func ensureAppended(_ position: String, for id: InterestMachine.WaitID) async {
        var problem: RequestError?
        do throws(RequestError) {
            guard let ensureEvent else { throw RequestError(.unavailable, "this node has no database to ask") }
            try await ensureEvent(position, waitTimeoutMs)
        } catch {
            problem = error
        }
        let nowMs = clock.nowMs()
        change { [problem] in $0.waitAppended(id, problem: problem, nowMs: nowMs) }
    }

    private func append(_ call: GatewayMachine.CallID, _ messages: [GatewayMachine.Outgoing]) async {
        var problem: String?
        do {
            _ = try await broker.append(
                messages.map { shard, message in
                    StreamAppend(
                        stream: broker.keys.control(shard: shard.number),
                        fields: message.fields.map { (name: $0.0, value: $0.1) }, lengthMax: controlLengthMax)
                })
        } catch {
            problem = "\(error)"
        }
        change { [problem] in $0.batchAppended(call, problem: problem) }
    }

    // MARK: Reports

    /// The number of the node's probes that were read from the inbox.
    package var probesRead: Int { probes.load(ordering: .relaxed) }

    /// Returns what this gateway holds of a live query; nil if nothing.
    package func held(_ key: LiveQueryKey) -> InterestMachine.HeldReport? { state.withLock { $0.machine.held(key) } }

    /// The lag of the shards that this gateway follows.
    package var lag: LagReport { state.withLock { [clock] in $0.machine.lag(nowMs: clock.nowMs()) } }
    package var counts: GatewayMachine.Counts { state.withLock { $0.machine.counts } }

    /// Returns the operations of live queries, without those that are no longer followed.
    package func operations(of keys: [LiveQueryKey]) -> [LiveQueryKey: OperationReference] {
        liveQueries(of: keys).mapValues(\.operation)
    }

    /// Returns live queries by their keys, without those that are no longer followed.
    package func liveQueries(of keys: [LiveQueryKey]) -> [LiveQueryKey: LiveQuery] {
        var found: [LiveQueryKey: LiveQuery] = [:]
        var rest = Array(Set(keys))[...]
        // Deliveries wait for the lock.
        while !rest.isEmpty {
            state.withLock { state in
                for key in rest.prefix(Self.readMax) { found[key] = state.machine.liveQuery(key) }
            }
            rest = rest.dropFirst(Self.readMax)
        }
        return found
    }
}
