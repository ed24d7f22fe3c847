package import Broker
package import Execution
package import LiveModel
package import Logging
internal import Metrics
package import NIOCore
package import NIOPosix
package import Sessions
internal import Synchronization

/// The gateway's shell: brings inbox entries, subscriptions and time to the interest machine and performs what it asks.
///
/// Locking: the machine is changed under a mutex, its actions are taken out and performed after the lock is given up.
package final class GatewayService: Sendable {
    private struct State {
        var machine: InterestMachine
        var outgoing: [(shard: ShardID, message: ControlMessage)] = []
        var isSending = false
    }

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

    package init(
        node: NodeID, broker: any Broker, group: MultiThreadedEventLoopGroup, settings: InterestMachine.Settings,
        controlLengthMax: Int, shardOf: @escaping @Sendable (OperationReference) -> ShardID, clock: ServiceClock,
        logger: Logger
    ) {
        self.node = node
        self.broker = broker
        self.clock = clock
        self.logger = logger
        self.controlLengthMax = controlLengthMax
        self.state = Mutex(State(machine: InterestMachine(gateway: node, settings: settings, shardOf: shardOf)))
        self.reader = broker.makeReader(name: "gateway-\(node)")
        let hubs = group.makeIterator().enumerated().map { index, eventLoop in
            LoopHub(index: index, eventLoop: eventLoop, service: self)
        }
        hubStorage.withLock { $0 = hubs }
    }

    /// The hub of the loop that a connection lives on.
    package func hub(of eventLoop: any EventLoop) -> LoopHub? {
        hubStorage.withLock { $0.first { $0.eventLoop === eventLoop } }
    }

    /// Withdraws what a former process of the same name may have left behind. Before the first subscription.
    package func forgetFormer(shardCount: Int) {
        tell((0..<shardCount).map { (ShardID($0), .leave(gateway: node)) })
    }

    /// Works until its task is cancelled or `leave` was called.
    package func run() async {
        let inbox = broker.keys.inbox(gateway: node.name)
        reader.follow(inbox, after: .zero)
        let ticks = Task { await self.keepTime() }
        defer { ticks.cancel() }
        while !Task.isCancelled {
            do {
                for batch in try await reader.next(maxEntries: 1_024) { arrived(batch) }
            } catch {
                if error.code == .closed || error.code == .cancelled { break }
                logger.error("reading the inbox failed", metadata: ["error": "\(error)"])
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    private func keepTime() async {
        while !Task.isCancelled {
            let nowMs = clock.nowMs()
            let counts = state.withLock { state in
                (
                    state.machine.timeReached(nowMs: nowMs), state.machine.liveQueryCount,
                    state.machine.subscriptionCount, state.machine.awaitingCount, state.machine.resultBytes
                )
            }
            perform(counts.0)
            liveQueriesGauge.record(counts.1)
            subscriptionsGauge.record(counts.2)
            awaitingGauge.record(counts.3)
            resultBytesGauge.record(counts.4)
            try? await Task.sleep(for: .milliseconds(InterestMachine.sweepMs))
        }
    }

    /// Withdraws all interest and stops reading.
    package func leave() async {
        perform(state.withLock { $0.machine.leave() })
        while state.withLock({ $0.isSending }) { try? await Task.sleep(for: .milliseconds(2)) }
        reader.close()
        _ = try? await broker.delete(broker.keys.inbox(gateway: node.name))
    }

    // MARK: Hubs

    func subscribed(
        hub: Int, _ query: LiveQuery, known: KnownResult?
    ) throws(RequestError) -> InterestMachine.Delivery? {
        let nowMs = clock.nowMs()
        let outcome = state.withLock { state in
            Result { () throws(RequestError) in
                try state.machine.subscribed(hub: hub, query, known: known, nowMs: nowMs)
            }
        }
        let (immediate, actions) = try outcome.get()
        perform(actions)
        return immediate
    }

    func unsubscribed(hub: Int, _ key: LiveQueryKey) {
        let nowMs = clock.nowMs()
        perform(state.withLock { $0.machine.unsubscribed(hub: hub, key, nowMs: nowMs) })
    }

    // MARK: Inbox

    private func arrived(_ batch: StreamBatch) {
        let nowMs = clock.nowMs()
        if let signal = batch.signal {
            logger.warning("results may be lost, announcing all interest", metadata: ["signal": "\(signal)"])
            perform(state.withLock { $0.machine.inboxLost(nowMs: nowMs) })
        }
        for entry in batch.entries {
            guard let message = try? InboxMessage(fields: entry.fields.map { ($0.name, $0.value) }) else {
                logger.warning("unreadable inbox message", metadata: ["entry": "\(entry.id)"])
                continue
            }
            if case .result(_, _, let result) = message {
                resultsTotal.increment()
                if result.committedAtMs > 0 { deliveredEvents.recordMilliseconds(max(0, nowMs - result.committedAtMs)) }
            }
            perform(state.withLock { $0.machine.inboxArrived(message, nowMs: nowMs) })
        }
    }

    // MARK: Actions

    private func perform(_ actions: [InterestMachine.Action]) {
        if actions.isEmpty { return }
        var messages: [(ShardID, ControlMessage)] = []
        let hubs = hubStorage.withLock { $0 }
        for action in actions {
            switch action {
            case .tell(let shard, let message): messages.append((shard, message))
            case .deliver(let indices, let key, let delivery):
                for index in indices {
                    let hub = hubs[index]
                    hub.eventLoop.execute { hub.deliver(delivery, key: key) }
                }
            }
        }
        if !messages.isEmpty { tell(messages) }
    }

    private func tell(_ messages: [(ShardID, ControlMessage)]) {
        let starts = state.withLock { state in
            state.outgoing += messages.map { (shard: $0.0, message: $0.1) }
            guard !state.isSending else { return false }
            state.isSending = true
            return true
        }
        if starts { Task { await self.flush() } }
    }

    /// One flight at a time keeps the order within a shard's control stream. What fails is not repeated here: the
    /// machine repeats announcements, and summaries find the rest. Bound: the live queries of this gateway.
    private func flush() async {
        while true {
            let flight = state.withLock { state in
                let flight = state.outgoing
                state.outgoing = []
                if flight.isEmpty { state.isSending = false }
                return flight
            }
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

    package var counts: (liveQueries: Int, subscriptions: Int) {
        state.withLock { ($0.machine.liveQueryCount, $0.machine.subscriptionCount) }
    }
}
