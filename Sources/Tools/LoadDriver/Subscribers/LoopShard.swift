import JSON
import NIOCore
import ProtocolClients

/// The subscribers of one event loop and their measurements, counted without locks and summed at the end.
///
/// Confined to its event loop, hence `@unchecked Sendable`.
final class LoopShard: @unchecked Sendable {
    let eventLoop: any EventLoop
    let addresses: [ServerAddress]
    private let marker: Marker
    private let times: MutationTimes
    private let latencyFrom: Scenario.LatencyStart
    private let onDelivery: DeliveryObserver?
    private var subscribers: [Subscriber] = []
    private var slots: [Int: QuerySlot] = [:]
    private var counts = LoopSnapshot()
    private var isMeasuring = false

    init(
        eventLoop: any EventLoop, addresses: [ServerAddress], marker: Marker, times: MutationTimes,
        latencyFrom: Scenario.LatencyStart, onDelivery: DeliveryObserver? = nil
    ) {
        self.eventLoop = eventLoop
        self.addresses = addresses
        self.marker = marker
        self.times = times
        self.latencyFrom = latencyFrom
        self.onDelivery = onDelivery
    }

    // MARK: From the run

    func start(_ index: Int, _ target: LiveQueryTarget, query: Int, transport: LoadTransport) {
        let subscriber = Subscriber(index: index, query: query, target: target, transport: transport, shard: self)
        subscribers.append(subscriber)
        subscriber.start()
    }

    func measure(_ isMeasuring: Bool) {
        self.isMeasuring = isMeasuring
    }

    func snapshot() -> LoopSnapshot { counts }

    /// Returns the results that the subscribers of these live queries hold.
    func held(_ queries: Set<Int>) -> [Int: HeldResults] {
        var held: [Int: HeldResults] = [:]
        for subscriber in subscribers where queries.contains(subscriber.query) {
            held[subscriber.query, default: HeldResults()].add(subscriber.payload)
        }
        return held
    }

    func stop() {
        for subscriber in subscribers { subscriber.stop() }
        subscribers = []
    }

    // MARK: From subscribers

    func opened() {
        counts.connects += 1
        counts.open += 1
    }

    func closed(isDrop: Bool) {
        counts.open -= 1
        if isDrop { counts.dropped += 1 }
    }

    func failed(_ failure: CodedFailure) {
        counts.errors.count(failure.code, failure.message)
    }

    func slot(_ query: Int) -> QuerySlot {
        if let slot = slots[query] { return slot }
        let slot = QuerySlot()
        slots[query] = slot
        return slot
    }

    /// Stores a payload unless another subscriber of the same live query already had it: each is kept once and searched
    /// for markers once.
    func hold(_ bytes: UnsafeRawBufferPointer, in slot: QuerySlot) -> CodedFailure? {
        if ByteSearch.isEqual(slot.payload, bytes), !slot.payload.isEmpty { return nil }
        let payload = Array(bytes)
        if Self.mayHoldErrors(bytes), let failure = CodedFailure(status: 200, body: payload) { return failure }
        slot.payload = payload
        slot.markers = marker.sequences(in: bytes)
        return nil
    }

    private static func mayHoldErrors(_ bytes: UnsafeRawBufferPointer) -> Bool {
        ByteSearch.offset(of: errorsKey, in: bytes) != nil
    }

    private static let errorsKey = Array(#""errors":["#.utf8)

    func firstResult(afterNs: Int64) {
        counts.subscribed += 1
        counts.firstResult.record(ns: afterNs)
    }

    func observed(_ subscriber: Subscriber, connection: Int, in slot: QuerySlot, nowNs: Int64) {
        onDelivery?(
            Delivery(
                subscriber: subscriber.index, connection: connection, query: subscriber.query,
                target: subscriber.target, transport: subscriber.transport, payload: slot.payload,
                markers: slot.markers, atNs: nowNs))
    }

    func returned(afterNs: Int64) {
        counts.returned.record(ns: afterNs)
    }

    func delivered() {
        counts.deliveredTotal += 1
        if isMeasuring { counts.delivered += 1 }
    }

    func sawMarker(_ sequence: Int, nowNs: Int64) {
        switch times.latency(sequence, nowNs: nowNs, from: latencyFrom) {
        case .ns(let ns): counts.deliveryLatency.record(ns: ns)
        case .beforeAnswer:
            counts.deliveredBeforeAnswer += 1
            counts.deliveryLatency.record(ns: 0)
        case .unmeasured: break
        }
    }
}

/// A result that reached a subscriber, for observers.
package struct Delivery: Sendable {
    package let subscriber: Int
    /// The number of the subscriber's connection, from 1.
    package let connection: Int
    /// The number of the live query in the run.
    package let query: Int
    package let target: LiveQueryTarget
    package let transport: LoadTransport
    /// `{"data":…}`
    package let payload: [UInt8]
    /// The sequence numbers of the mutations whose markers it contains.
    package let markers: [Int]
    /// The time on the monotonic clock.
    package let atNs: Int64
}

/// A callback for every delivery, called on event loops; must be quick.
package typealias DeliveryObserver = @Sendable (Delivery) -> Void

/// The newest result of one live query on one event loop.
final class QuerySlot {
    fileprivate(set) var payload: [UInt8] = []
    fileprivate(set) var markers: [Int] = []
}

/// The counts of an event loop.
struct LoopSnapshot: Sendable {
    var connects = 0
    var open = 0
    var dropped = 0
    /// Subscribers that have had a result.
    var subscribed = 0
    /// Results during the measurement.
    var delivered = 0
    var deliveredTotal = 0
    var deliveredBeforeAnswer = 0
    var firstResult = LatencyRecorder()
    var returned = LatencyRecorder()
    var deliveryLatency = LatencyRecorder()
    var errors = ErrorCounts()

    mutating func add(_ other: LoopSnapshot) {
        connects += other.connects
        open += other.open
        dropped += other.dropped
        subscribed += other.subscribed
        delivered += other.delivered
        deliveredTotal += other.deliveredTotal
        deliveredBeforeAnswer += other.deliveredBeforeAnswer
        firstResult.add(other.firstResult)
        returned.add(other.returned)
        deliveryLatency.add(other.deliveryLatency)
        errors.add(other.errors)
    }
}
