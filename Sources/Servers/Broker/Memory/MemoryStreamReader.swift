import Streams
import LiveModel
import Synchronization

/// The store and its lock, shared by the broker and its readers. No continuation is resumed under the lock.
final class MemoryStoreBox: Sendable {
    private let store: Mutex<MemoryStore>

    init(entriesMax: Int) { store = Mutex(MemoryStore(entriesMax: entriesMax)) }

    func withLock<Value, Thrown: Error>(
        _ body: (inout MemoryStore) throws(Thrown) -> Value
    ) throws(Thrown) -> Value {
        try store.withLock { store throws(Thrown) in try body(&store) }
    }
}

/// A reader of the in-memory broker. The store holds its state under its number.
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
        store.withLock { $0.readers[number] = nil }
    }

    func follow(_ stream: String, after cursor: StreamID, server: String?) {
        change { reader, serverID in
            var followed = MemoryStore.Followed(stream: stream, gap: GapCheck(cursor: cursor))
            if let server, server != serverID { followed.serverChanged = true }
            if let index = reader.followed.firstIndex(where: { $0.stream == stream }) {
                reader.followed[index] = followed
            } else {
                reader.followed.append(followed)
            }
        }
    }

    func unfollow(_ stream: String) {
        change { reader, _ in reader.followed.removeAll { $0.stream == stream } }
    }

    func next(
        maxEntries: Int, ticket: ReadTicket, completion: @escaping @Sendable (MemoryStore.Answer) -> Void
    ) {
        let nowMs = now()
        let answer = store.withLock { store -> MemoryStore.Answer? in
            guard !store.isClosed, let reader = store.readers[number], !reader.isClosed else {
                return .failure(BrokerError(.closed))
            }
            if reader.waiting != nil { return .failure(BrokerError(.concurrentRead)) }
            let batches = store.read(number, maxEntries: max(1, maxEntries), nowMs: nowMs)
            if !batches.isEmpty { return .success(batches) }
            store.readers[number]?.waiting = MemoryStore.Waiting(
                ticket: ticket, maxEntries: max(1, maxEntries), completion: completion)
            return nil
        }
        if let answer {
            // In a task, because a consumer that calls `next` again at once would recurse without bound.
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
        store.withLock { $0.readers[number]?.isClosed = true }
        fail(BrokerError(.closed))
    }

    private func change(_ body: (inout MemoryStore.Reader, String) -> Void) {
        let nowMs = now()
        let woken = store.withLock { store -> [(MemoryStore.Waiting, [StreamBatch])] in
            guard var reader = store.readers[number] else { return [] }
            body(&reader, store.serverID)
            store.readers[number] = reader
            return store.wake(Set(reader.followed.map(\.stream)), nowMs: nowMs)
        }
        for (waiting, batches) in woken { waiting.completion(.success(batches)) }
    }

    private func fail(_ error: BrokerError, ticket: ReadTicket? = nil) {
        let waiting = store.withLock { store -> MemoryStore.Waiting? in
            guard let waiting = store.readers[number]?.waiting, ticket == nil || ticket === waiting.ticket else {
                return nil
            }
            store.readers[number]?.waiting = nil
            return waiting
        }
        waiting?.completion(.failure(error))
    }
}
