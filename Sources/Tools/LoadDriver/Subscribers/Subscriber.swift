import Clocks
import NIOCore
import ProtocolClients

/// One connection of a subscriber; used once. Reports events to its subscriber on the event loop.
protocol SubscriberConnection: AnyObject {
    func open()
    /// Closes the connection; nothing is reported after this.
    func close()
}

/// A subscriber of one live query over one connection at a time, as in an app: reconnects with back-off, to the next
/// gateway.
///
/// Confined to its shard's event loop, hence `@unchecked Sendable`.
final class Subscriber: @unchecked Sendable {
    static let backoffMinMs: Int64 = 100
    static let backoffMaxMs: Int64 = 5_000
    /// The time within which the server must accept a subscription.
    static let openTimeoutMs: Int64 = 20_000

    let index: Int
    /// The number of the live query in the run.
    let query: Int
    let target: LiveQueryTarget
    let transport: LoadTransport
    let shard: LoopShard
    /// The newest result, `{"data":…}`.
    private(set) var payload: [UInt8]?
    /// The entity tag or event id of the newest result.
    var resumeTag: String?

    private var connection: (any SubscriberConnection)?
    private var isOpen = false
    private var isStopped = false
    private var seen = MarkerWindow()
    private var attempts = 0
    private var failuresInRow = 0
    private var startedNs: Int64 = 0
    /// When a connection was lost, until the next result.
    private var droppedNs: Int64?
    private var openTimeout: Scheduled<Void>?

    init(index: Int, query: Int, target: LiveQueryTarget, transport: LoadTransport, shard: LoopShard) {
        self.index = index
        self.query = query
        self.target = target
        self.transport = transport
        self.shard = shard
    }

    func start() {
        guard !isStopped, connection == nil else { return }
        if attempts == 0 { startedNs = DeliveryClock.nowNs() }
        let address = shard.addresses[(index + attempts) % shard.addresses.count]
        attempts += 1
        let connection: any SubscriberConnection =
            switch transport {
            case .graphqlTransportWS: WebSocketConnection(self, address)
            case .sse: EventStreamConnection(self, address)
            case .longpoll: LongPollConnection(self, address)
            }
        self.connection = connection
        openTimeout = shard.eventLoop.scheduleTask(in: .milliseconds(Self.openTimeoutMs)) {
            guard let connection = self.connection else { return }
            self.failed(
                connection,
                CodedFailure(code: "TIMEOUT_CLIENT", message: "the server did not accept the subscription in time"))
        }
        connection.open()
    }

    func stop() {
        isStopped = true
        openTimeout?.cancel()
        connection?.close()
        connection = nil
        if isOpen { shard.closed(isDrop: false) }
        isOpen = false
    }

    // MARK: Events of the connection

    func opened(_ sender: any SubscriberConnection) {
        guard sender === connection, !isOpen else { return }
        openTimeout?.cancel()
        isOpen = true
        shard.opened()
    }

    func delivered(_ sender: any SubscriberConnection, _ bytes: UnsafeRawBufferPointer) {
        guard sender === connection else { return }
        let slot = shard.slot(query)
        if let failure = shard.hold(bytes, in: slot) { return shard.failed(failure) }
        let nowNs = DeliveryClock.nowNs()
        failuresInRow = 0
        shard.delivered()
        shard.observed(self, connection: attempts, in: slot, nowNs: nowNs)
        if let droppedNs {
            shard.returned(afterNs: nowNs - droppedNs)
            self.droppedNs = nil
        }
        let isFirst = payload == nil
        payload = slot.payload
        if isFirst { shard.firstResult(afterNs: nowNs - startedNs) }
        for sequence in slot.markers where seen.insert(sequence) && !isFirst {
            shard.sawMarker(sequence, nowNs: nowNs)
        }
    }

    /// Called for an error that does not end the connection.
    func noted(_ sender: any SubscriberConnection, _ failure: CodedFailure) {
        guard sender === connection else { return }
        shard.failed(failure)
    }

    /// Called when the attempt or the connection ended with an error.
    func failed(_ sender: any SubscriberConnection, _ failure: CodedFailure) {
        guard sender === connection else { return }
        shard.failed(failure)
        ended(sender, retryAfterMs: failure.retryAfterMs)
    }

    /// Called when the connection has ended.
    func ended(_ sender: any SubscriberConnection, retryAfterMs: Int64? = nil) {
        guard sender === connection else { return }
        openTimeout?.cancel()
        sender.close()
        connection = nil
        if isOpen { shard.closed(isDrop: true) }
        if isOpen, payload != nil, droppedNs == nil { droppedNs = DeliveryClock.nowNs() }
        isOpen = false
        guard !isStopped else { return }
        let delayMs = ReconnectDelay.ms(
            failures: failuresInRow, minMs: Self.backoffMinMs, maxMs: Self.backoffMaxMs, retryAfterMs: retryAfterMs)
        failuresInRow += 1
        shard.eventLoop.scheduleTask(in: .milliseconds(delayMs)) { self.start() }
    }
}

/// The monotonic clock of deliveries.
package enum DeliveryClock {
    package static func nowNs() -> Int64 { Int64(clamping: MonotonicClock.nowNs()) }
}
