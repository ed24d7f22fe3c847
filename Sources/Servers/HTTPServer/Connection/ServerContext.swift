import Logging
import Synchronization

/// The state that all connections of one server share.
final class ServerContext: Sendable {
    let configuration: HTTPServerConfiguration
    let handler: any HTTPHandler
    let logger: Logger
    let http2: HTTP2Setup?
    let tls: TLSHandlers?
    let addressRates: AddressRates?
    let addresses: AddressSubjects?
    let connectionsByAddress = ConnectionCounts()
    let counters = Counters()
    /// The bytes of request bodies, held until their requests are answered.
    let bodies: BytesBudget
    /// Whether the server shuts down; every response then closes its connection. Set once.
    let isDraining = Atomic<Bool>(false)
    private let lastWebSocketID = Atomic<UInt64>(0)

    struct Counters: ~Copyable, Sendable {
        let connectionsOpen = Atomic<Int>(0)
        let connectionsTotal = Atomic<Int>(0)
        let connectionsRefused = Atomic<Int>(0)
        let requestsTotal = Atomic<Int>(0)
        let webSocketsOpen = Atomic<Int>(0)
        let webSocketsTotal = Atomic<Int>(0)
        let peerErrorsTotal = Atomic<Int>(0)
        let peersCutOffTotal = Atomic<Int>(0)
        let compressionsTotal = Atomic<Int>(0)
        let compressionsOverBudgetTotal = Atomic<Int>(0)
        let compressedBodyBytesTotal = Atomic<Int>(0)
        let compressedMessagesTotal = Atomic<Int>(0)
        let compressedMessageBytesTotal = Atomic<Int>(0)
        let compressedSentBytesTotal = Atomic<Int>(0)
    }

    init(
        configuration: HTTPServerConfiguration, handler: any HTTPHandler, logger: Logger, http2: HTTP2Setup?,
        tls: TLSHandlers?, addressRates: AddressRates?, addresses: AddressSubjects?
    ) {
        self.addresses = addresses
        self.addressRates = addressRates
        self.configuration = configuration
        self.handler = handler
        self.logger = logger
        self.http2 = http2
        self.tls = tls
        bodies = BytesBudget(bytesMax: configuration.bodiesBytesMax)
    }

    var handover: HandoverContext {
        HandoverContext(bodies: bodies, addressRates: addressRates, addresses: addresses) { [self] in
            counters.peersCutOffTotal.increment()
        }
    }

    func nextWebSocketID() -> UInt64 {
        lastWebSocketID.wrappingAdd(1, ordering: .relaxed).newValue
    }

    func snapshot() -> HTTPServerCounters {
        var now = HTTPServerCounters()
        now.connectionsOpen = counters.connectionsOpen.load(ordering: .relaxed)
        now.connectionsTotal = counters.connectionsTotal.load(ordering: .relaxed)
        now.connectionsRefused = counters.connectionsRefused.load(ordering: .relaxed)
        now.requestsTotal = counters.requestsTotal.load(ordering: .relaxed)
        now.webSocketsOpen = counters.webSocketsOpen.load(ordering: .relaxed)
        now.webSocketsTotal = counters.webSocketsTotal.load(ordering: .relaxed)
        now.peerErrorsTotal = counters.peerErrorsTotal.load(ordering: .relaxed)
        now.peersCutOffTotal = counters.peersCutOffTotal.load(ordering: .relaxed)
        now.compression = CompressionCounters(
            compressionsTotal: counters.compressionsTotal.load(ordering: .relaxed),
            overBudgetTotal: counters.compressionsOverBudgetTotal.load(ordering: .relaxed),
            bodyBytesTotal: counters.compressedBodyBytesTotal.load(ordering: .relaxed),
            messagesTotal: counters.compressedMessagesTotal.load(ordering: .relaxed),
            messageBytesTotal: counters.compressedMessageBytesTotal.load(ordering: .relaxed),
            sentBytesTotal: counters.compressedSentBytesTotal.load(ordering: .relaxed))
        return now
    }
}

extension Atomic<Int> {
    @inline(__always) func increment() { wrappingAdd(1, ordering: .relaxed) }
    @inline(__always) func decrement() { wrappingSubtract(1, ordering: .relaxed) }
    @inline(__always) func add(_ count: Int) { wrappingAdd(count, ordering: .relaxed) }
}
