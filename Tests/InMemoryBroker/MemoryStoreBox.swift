import Broker
import Streams
import LiveModel
import RedisModel
import Synchronization

/// A `next` of an in-memory reader that waits for entries or signals.
struct PendingRead: Sendable {
    typealias Answer = Result<[StreamBatch], BrokerError>

    let ticket: ReadTicket
    let maxEntries: Int
    let completion: @Sendable (Answer) -> Void
}

/// The in-memory broker's store, and what only a broker has: pending reads, and closed readers and connections.
struct MemoryBrokerState: Sendable {
    var store: MemoryStore
    /// Pending reads by their reader's number, at most one for each reader.
    var pending: [Int: PendingRead] = [:]
    var closedReaders: Set<Int> = []
    var isClosed = false
    /// The fault of the next `append`: it ends with `.outcomeUnknown`, executed (true) or not.
    var nextAppendFault: Bool?
    /// Whether `append` waits.
    var appendsStall = false

    init(_ store: MemoryStore) { self.store = store }

    func requireService() throws(BrokerError) {
        if isClosed { throw BrokerError(.closed) }
        if !store.isAvailable { throw BrokerError(.unavailable, "simulated outage") }
    }

    mutating func dropReader(_ number: Int) {
        store.dropReader(number)
        pending[number] = nil
        closedReaders.remove(number)
    }

    /// Removes and returns the pending reads that can continue, with their batches, in the order in which their readers
    /// were made.
    /// - Parameter streams: the streams that changed; nil: any.
    mutating func takeReady(_ streams: Set<String>?, nowMs: UInt64) -> [(PendingRead, [StreamBatch])] {
        var ready: [(PendingRead, [StreamBatch])] = []
        for number in pending.keys.sorted() {
            guard let read = pending[number], streams.map({ store.follows(number, anyOf: $0) }) ?? true else {
                continue
            }
            let batches = store.read(number, maxEntries: read.maxEntries, nowMs: nowMs)
            if batches.isEmpty { continue }
            pending[number] = nil
            ready.append((read, batches))
        }
        return ready
    }
}

/// The state and its lock, shared by the broker and its readers. Never held while anything is resumed.
final class MemoryStoreBox: Sendable {
    private let state: Mutex<MemoryBrokerState>

    init(entriesMax: Int) { state = Mutex(MemoryBrokerState(MemoryStore(entriesMax: entriesMax))) }

    func withLock<Value, Thrown: Error>(
        _ body: (inout MemoryBrokerState) throws(Thrown) -> Value
    ) throws(Thrown) -> Value {
        try state.withLock { state throws(Thrown) in try body(&state) }
    }

    /// Resumes the pending reads that can continue.
    func wake(_ streams: Set<String>?, nowMs: UInt64) {
        let ready = withLock { $0.takeReady(streams, nowMs: nowMs) }
        for (read, batches) in ready { read.completion(.success(batches)) }
    }
}
