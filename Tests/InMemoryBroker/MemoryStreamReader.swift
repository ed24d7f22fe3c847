import Broker
import Streams
import LiveModel
import RedisModel

/// A reader of the in-memory broker. The store keeps the streams that it follows under its number.
final class MemoryStreamReader: StreamReader {
    private let store: MemoryStoreBox
    private let number: Int
    private let now: @Sendable () -> UInt64

    init(_ store: MemoryStoreBox, number: Int, now: @escaping @Sendable () -> UInt64) {
        self.store = store
        self.number = number
        self.now = now
    }

    deinit {
        store.withLock { $0.dropReader(number) }
    }

    func follow(_ stream: String, after cursor: StreamID, server: String?) {
        store.withLock { $0.store.follow(number, stream, after: cursor, server: server) }
        store.wake([stream], nowMs: now())
    }

    func unfollow(_ stream: String) {
        store.withLock { $0.store.unfollow(number, stream) }
    }

    func next(
        maxEntries: Int, ticket: ReadTicket, completion: @escaping @Sendable (PendingRead.Answer) -> Void
    ) {
        let nowMs = now()
        let answer = store.withLock { state -> PendingRead.Answer? in
            if state.isClosed || state.closedReaders.contains(number) { return .failure(BrokerError(.closed)) }
            if state.pending[number] != nil { return .failure(BrokerError(.concurrentRead)) }
            let batches = state.store.read(number, maxEntries: max(1, maxEntries), nowMs: nowMs)
            if !batches.isEmpty { return .success(batches) }
            state.pending[number] = PendingRead(
                ticket: ticket, maxEntries: max(1, maxEntries), completion: completion)
            return nil
        }
        if let answer {
            // A call inline would let a consumer that reads again at once recurse without a bound.
            Task { completion(answer) }
        } else if ticket.isCancelled {
            fail(BrokerError(.cancelled), ticket: ticket)
        }
    }

    func cancel(_ ticket: ReadTicket) {
        ticket.markCancelled()
        fail(BrokerError(.cancelled), ticket: ticket)
    }

    func close() {
        _ = store.withLock { $0.closedReaders.insert(number) }
        fail(BrokerError(.closed))
    }

    private func fail(_ error: BrokerError, ticket: ReadTicket? = nil) {
        let pending = store.withLock { state -> PendingRead? in
            guard let pending = state.pending[number], ticket == nil || ticket === pending.ticket else { return nil }
            state.pending[number] = nil
            return pending
        }
        pending?.completion(.failure(error))
    }
}
