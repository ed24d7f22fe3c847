import FreshetClient
import NIOCore

/// One connection of a subscriber; used once. Tells its subscriber what happens, on the event loop.
protocol SubscriberWire: AnyObject {
    func open()
    /// Nothing is told any more.
    func close()
}

/// Follows one live query over one connection at a time, as an app would: reconnects with back-off, to the next gateway.
///
/// Confined to its shard's event loop, hence `@unchecked Sendable`.
final class Subscriber: @unchecked Sendable {
    static let backoffMinMs: Int64 = 100
    static let backoffMaxMs: Int64 = 5_000
    /// Time in which the server must accept a connection.
    static let openTimeoutMs: Int64 = 20_000

    let index: Int
    /// Number of the live query in the run.
    let query: Int
    let target: LiveQueryTarget
    let transport: LoadTransport
    let shard: LoopShard
    /// The newest result, `{"data":…}`.
    private(set) var payload: [UInt8]?
    /// Entity tag or event id of the newest result.
    var resumeTag: String?

    private var wire: (any SubscriberWire)?
    private var isOpen = false
    private var isStopped = false
    private var seen = MarkerWindow()
    private var attempts = 0
    private var failuresInRow = 0
    private var startedNs: Int64 = 0
    /// When a connection was lost after which no result has come yet.
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
        guard !isStopped, wire == nil else { return }
        if attempts == 0 { startedNs = Clock.nowNs() }
        let address = shard.addresses[(index + attempts) % shard.addresses.count]
        attempts += 1
        let wire: any SubscriberWire =
            switch transport {
            case .graphqlTransportWS: WebSocketWire(self, address)
            case .sse: EventStreamWire(self, address)
            case .longpoll: LongPollWire(self, address)
            }
        self.wire = wire
        openTimeout = shard.eventLoop.scheduleTask(in: .milliseconds(Self.openTimeoutMs)) {
            guard let wire = self.wire else { return }
            self.failed(wire, CodedFailure(code: "TIMEOUT_CLIENT", message: "the server accepted no subscription"))
        }
        wire.open()
    }

    func stop() {
        isStopped = true
        openTimeout?.cancel()
        wire?.close()
        wire = nil
        if isOpen { shard.closed(isDrop: false) }
        isOpen = false
    }

    // MARK: From the wire

    func opened(_ sender: any SubscriberWire) {
        guard sender === wire, !isOpen else { return }
        openTimeout?.cancel()
        isOpen = true
        shard.opened()
    }

    func delivered(_ sender: any SubscriberWire, _ bytes: UnsafeRawBufferPointer) {
        guard sender === wire else { return }
        let slot = shard.slot(query)
        if let failure = shard.hold(bytes, in: slot) { return shard.failed(failure) }
        let nowNs = Clock.nowNs()
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

    /// An error that leaves the connection as it is.
    func noted(_ sender: any SubscriberWire, _ failure: CodedFailure) {
        guard sender === wire else { return }
        shard.failed(failure)
    }

    /// The attempt or the connection is over for this reason.
    func failed(_ sender: any SubscriberWire, _ failure: CodedFailure) {
        guard sender === wire else { return }
        shard.failed(failure)
        ended(sender, retryAfterMs: failure.retryAfterMs)
    }

    /// The connection is over.
    func ended(_ sender: any SubscriberWire, retryAfterMs: Int64? = nil) {
        guard sender === wire else { return }
        openTimeout?.cancel()
        sender.close()
        wire = nil
        if isOpen { shard.closed(isDrop: true) }
        if isOpen, payload != nil, droppedNs == nil { droppedNs = Clock.nowNs() }
        isOpen = false
        guard !isStopped else { return }
        let delayMs = ReconnectDelay.ms(
            failures: failuresInRow, minMs: Self.backoffMinMs, maxMs: Self.backoffMaxMs, retryAfterMs: retryAfterMs)
        failuresInRow += 1
        shard.eventLoop.scheduleTask(in: .milliseconds(delayMs)) { self.start() }
    }
}

enum Clock {
    /// Monotonic.
    static func nowNs() -> Int64 { Int64(clamping: NIODeadline.now().uptimeNanoseconds) }
}
