package import Broker
package import Streams
package import Execution
package import LiveModel
package import Logging
import Metrics
package import NIOCore
package import NIOPosix
package import Sessions
import Synchronization

/// The gateway's shell: brings inbox entries, subscriptions and time to the interest machine and performs what it asks.
///
/// Locking: the machine is changed under a mutex, its actions are taken out and performed after the lock is given up.
package final class GatewayService: Sendable {
    private struct State {
        var machine: InterestMachine
        /// Counted in messages.
        var outgoing: BatchQueue<(shard: ShardID, message: ControlMessage)>
    }

    /// Messages waiting per live query that a gateway may have: announce, withdraw, announce again, and one to spare.
    private static let messagesPerLiveQueryMax = 4

    package let node: NodeID
    private let broker: any Broker
    private let clock: ServiceClock
    private let logger: Logger
    private let controlLengthMax: Int
    private let state: Mutex<State>
    private let hubStorage = Mutex<[LoopHub]>([])
    private let reader: any StreamReader
    private let deliveredEvents = Metrics.Timer(label: "freshet_commit_to_gateway_seconds")
    private let resultsTotal = Counter(label: "freshet_gateway_results_total")
    private let liveQueriesGauge = Gauge(label: "freshet_gateway_live_queries")
    private let subscriptionsGauge = Gauge(label: "freshet_gateway_subscriptions")
    private let awaitingGauge = Gauge(label: "freshet_gateway_awaiting_live_queries")
    private let resultBytesGauge = Gauge(label: "freshet_gateway_result_bytes")

    /// - Parameter deltas: what each event loop begins with.
    package init(
        node: NodeID, broker: any Broker, group: MultiThreadedEventLoopGroup, settings: InterestMachine.Settings,
        controlLengthMax: Int, deltas: DeltaCache = DeltaCache(bytesMax: 0, resultBytesMax: 0),
        placeOf: @escaping @Sendable (LiveQuery) -> ShardRoute, clock: ServiceClock,
        logger: Logger
    ) {
        self.node = node
        self.broker = broker
        self.clock = clock
        self.logger = logger
        self.controlLengthMax = controlLengthMax
        // Asks of this process come after those of a former one under the same name.
        let firstAsk = UInt64(clamping: clock.nowMs()) << 10
        self.state = Mutex(
            State(
                machine: InterestMachine(
                    gateway: node, settings: settings, firstAnnouncement: firstAsk, placeOf: placeOf),
                outgoing: BatchQueue(
                    bytesMax: Self.messagesPerLiveQueryMax * settings.liveQueriesMax, batchBytesMax: .max)))
        self.reader = broker.makeReader(name: "gateway-\(node)")
        let hubs = group.makeIterator().enumerated().map { index, eventLoop in
            LoopHub(index: index, eventLoop: eventLoop, service: self, deltas: deltas)
        }
        hubStorage.withLock { $0 = hubs }
    }

    /// The hub of the loop that a connection lives on.
    package func hub(of eventLoop: any EventLoop) -> LoopHub? {
        hubStorage.withLock { $0.first { $0.eventLoop === eventLoop } }
    }

    /// Withdraws what a former process of the same name may have left behind. Before the first subscription.
    package func forgetFormer(shardCount: Int) {
        change { _ in (0..<shardCount).map { .tell(ShardID($0), .leave(gateway: node)) } }
    }

    /// Works until its task is cancelled or `leave` was called.
    package func run() async {
        let inbox = broker.keys.inbox(gateway: node.name)
        reader.follow(inbox, after: .zero)
        let ticks = Task { await self.keepTime() }
        defer { ticks.cancel() }
        while !Task.isCancelled {
            do {
                try await reader.forEach(maxEntries: 1_024) { [self] in for batch in $0 { arrived(batch) } }
            } catch {
                if error.code == .closed || error.code == .cancelled { break }
                logger.error("reading the inbox failed", metadata: ["error": "\(error)"])
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    private func keepTime() async {
        var ticks = 0
        var reconnects = 0
        while !Task.isCancelled {
            let nowMs = clock.nowMs()
            let link = broker.state
            if link.connected, link.reconnects != reconnects {
                reconnects = link.reconnects
                change { $0.linkRestored(nowMs: nowMs) }
            }
            change { $0.timeReached(nowMs: nowMs) }
            // Walks everything under the lock that the event loops need, so not on each tick.
            if ticks % 20 == 0 {
                let counts = state.withLock { state in
                    (
                        state.machine.liveQueryCount, state.machine.subscriptionCount, state.machine.awaitingCount,
                        state.machine.resultBytes
                    )
                }
                liveQueriesGauge.record(counts.0)
                subscriptionsGauge.record(counts.1)
                awaitingGauge.record(counts.2)
                resultBytesGauge.record(counts.3)
            }
            ticks += 1
            try? await Task.sleep(for: .milliseconds(InterestMachine.sweepMs))
        }
    }

    /// Withdraws all interest and stops reading.
    package func leave() async {
        change { $0.leave() }
        while state.withLock({ !$0.outgoing.isIdle }) { try? await Task.sleep(for: .milliseconds(2)) }
        reader.close()
        _ = try? await broker.delete(broker.keys.inbox(gateway: node.name))
    }

    /// Operators changed where live queries belong.
    package func placesChanged() {
        let nowMs = clock.nowMs()
        change { $0.placesChanged(nowMs: nowMs) }
    }

    // MARK: Hubs

    func subscribed(
        hub: Int, _ query: LiveQuery, known: KnownResult?, wantsTicks: Bool
    ) throws(RequestError) -> InterestMachine.Start {
        let nowMs = clock.nowMs()
        let outcome: Result<InterestMachine.Start, RequestError> = change { machine in
            do throws(RequestError) {
                let start = try machine.subscribed(
                    hub: hub, query, known: known, reportsTimerRuns: wantsTicks, nowMs: nowMs)
                return (.success(start), start.actions)
            } catch {
                return (.failure(error), [])
            }
        }
        return try outcome.get()
    }

    /// - Returns: the number of the announcement that asks for the run.
    func rerun(_ key: LiveQueryKey) -> UInt64? {
        let nowMs = clock.nowMs()
        return change { machine in
            guard let (ask, actions) = machine.rerun(key, nowMs: nowMs) else { return (nil, []) }
            return (ask, actions)
        }
    }

    func unsubscribed(hub: Int, _ key: LiveQueryKey) {
        let nowMs = clock.nowMs()
        change { $0.unsubscribed(hub: hub, key, nowMs: nowMs) }
    }

    // MARK: Inbox

    private func arrived(_ batch: StreamBatch) {
        let nowMs = clock.nowMs()
        if let signal = batch.signal {
            logger.warning("results may be lost, announcing all interest", metadata: ["signal": "\(signal)"])
            change { $0.inboxLost(nowMs: nowMs) }
        }
        for entry in batch.entries {
            guard let message = try? InboxMessage(fields: entry.fields.map { ($0.name, $0.value) }) else {
                // The owner believes that this gateway holds what it said.
                logger.warning("unreadable inbox message", metadata: ["entry": "\(entry.id)"])
                change { $0.inboxLost(nowMs: nowMs) }
                continue
            }
            if case .result(_, _, let result, _) = message {
                resultsTotal.increment()
                if !result.traceID.isEmpty {
                    logger.debug(
                        "result arrived", metadata: ["trace": "\(result.traceID)", "position": "\(result.position)"])
                }
                if result.committedAtMs > 0 { deliveredEvents.recordMilliseconds(max(0, nowMs - result.committedAtMs)) }
            }
            change { $0.inboxArrived(message, nowMs: nowMs) }
        }
    }

    // MARK: Actions

    /// Changes the machine and performs what it asks for. Messages enter the queue under the same lock, so that they
    /// leave in the order in which the machine made them.
    private func change<Answer>(
        _ body: (inout InterestMachine) -> (Answer, [InterestMachine.Action])
    ) -> Answer {
        let (answer, deliveries, starts) = state.withLock { state in
            let (answer, actions) = body(&state.machine)
            var deliveries: [(hubs: [Int], key: LiveQueryKey, delivery: InterestMachine.Delivery, answers: UInt64)] = []
            var starts = false
            for action in actions {
                switch action {
                case .tell(let shard, let message):
                    // One that finds no room is repeated as if its flight had failed.
                    if state.outgoing.offer((shard, message), bytes: 1) == .begin { starts = true }
                case .deliver(let hubs, let key, let delivery, let answers):
                    deliveries.append((hubs, key, delivery, answers))
                }
            }
            return (answer, deliveries, starts)
        }
        if !deliveries.isEmpty {
            let hubs = hubStorage.withLock { $0 }
            for (indices, key, delivery, answers) in deliveries {
                for index in indices {
                    let hub = hubs[index]
                    hub.eventLoop.execute { hub.deliver(delivery, key: key, answers: answers) }
                }
            }
        }
        if starts { Task { await self.flush() } }
        return answer
    }

    private func change(_ body: (inout InterestMachine) -> [InterestMachine.Action]) {
        change { ((), body(&$0)) }
    }

    /// One flight at a time keeps the order within a shard's control stream. What fails is not repeated here: the
    /// machine repeats announcements, and summaries find the rest.
    private func flush() async {
        while true {
            let flight = state.withLock { $0.outgoing.nextBatch() }
            if flight.isEmpty { return }
            do {
                _ = try await broker.append(
                    flight.map { shard, message in
                        StreamAppend(
                            stream: broker.keys.control(shard: shard.number),
                            fields: message.fields.map { (name: $0.0, value: $0.1) }, lengthMax: controlLengthMax)
                    })
            } catch {
                logger.warning("interest not announced", metadata: ["count": "\(flight.count)", "error": "\(error)"])
            }
        }
    }

    // MARK: What operators see

    package var counts: (liveQueries: Int, subscriptions: Int, moved: Int) {
        state.withLock { ($0.machine.liveQueryCount, $0.machine.subscriptionCount, $0.machine.movedCount) }
    }
}
