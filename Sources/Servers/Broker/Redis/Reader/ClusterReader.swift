import Streams
import LiveModel
import Logging
import Synchronization

/// A reader of a Redis Cluster. A blocking read takes streams of one slot only, so each slot of the followed streams
/// has a separate reader, with its own thread and connections to the slot's node. This one merges their batches, as
/// `SlotReaders` decides.
final class ClusterReader: OwnedReader {
    private struct Child {
        let reader: RedisStreamReader
        /// Set while the reader waits for its turn.
        var parked: CheckedContinuation<SlotReaders.Turn, Never>?
    }

    private struct Waiting {
        let ticket: ReadTicket
        let completion: @Sendable (Result<[StreamBatch], BrokerError>) -> Void
    }

    private struct State {
        var slots = SlotReaders()
        /// Exactly the readers of `slots`.
        var children: [SlotReaders.ID: Child] = [:]
        var waiting: Waiting?
        /// Closed readers whose threads still run, each until its read returns: within `readBlockMs` and
        /// `commandTimeoutMs`. Bound: the slots left within that time.
        var ending: [RedisStreamReader] = []
    }

    private let configuration: RedisConfiguration
    private let map: ClusterMap
    private let name: String
    private let logger: Logger
    private let state = Mutex(State())

    init(_ configuration: RedisConfiguration, map: ClusterMap, name: String, logger: Logger) {
        self.configuration = configuration
        self.map = map
        self.name = name
        self.logger = logger
    }

    deinit { close() }

    // MARK: The consumer

    func follow(_ stream: String, after cursor: StreamID, server: String?) {
        let slot = hashSlot(of: stream)
        let start = ReaderInbox.Start(cursor: cursor, server: server)
        let made = state.withLock { state -> (id: SlotReaders.ID, reader: RedisStreamReader)? in
            let id: SlotReaders.ID
            var made: RedisStreamReader?
            switch state.slots.follow(stream, slot: slot) {
            case nil: return nil
            case .existing(let existing): id = existing
            case .new(let new):
                id = new
                do throws(BrokerError) {
                    let reader = try makeReader(slot: slot)
                    state.children[id] = Child(reader: reader)
                    made = reader
                } catch {
                    state.slots.notCreated(stream, start, error)
                    return nil
                }
            }
            if let number = state.children[id]?.reader.change(stream, start) {
                state.slots.followed(stream, by: id, change: number)
            }
            return made.map { (id, $0) }
        }
        if let made { startPump(made.reader, made.id) }
        handOut()
    }

    private func makeReader(slot: Int) throws(BrokerError) -> RedisStreamReader {
        try RedisStreamReader(
            configuration, resolver: SlotEndpoint(slot: slot, configuration: configuration, map: map), name: name,
            helper: ClusterHelper(map: map), logger: logger)
    }

    func unfollow(_ stream: String) {
        let slot = hashSlot(of: stream)
        let retired = state.withLock { state -> Child? in
            switch state.slots.unfollow(stream, slot: slot) {
            case nil: return nil
            case .shrink(let id):
                _ = state.children[id]?.reader.change(stream, nil)
                return nil
            case .retire(let id):
                let retired = state.children.removeValue(forKey: id)
                if let retired { state.ending.append(retired.reader) }
                return retired
            }
        }
        if let retired { close(retired) } else { handOut() }
    }

    func next(
        maxEntries: Int, ticket: ReadTicket,
        completion: @escaping @Sendable (Result<[StreamBatch], BrokerError>) -> Void
    ) {
        for (stream, start) in state.withLock({ $0.slots.withoutReader }) {
            follow(stream, after: start.cursor, server: start.server)
        }
        let refusal = state.withLock { state -> BrokerError? in
            if let refusal = state.slots.next(maxEntries: maxEntries) { return refusal }
            state.waiting = Waiting(ticket: ticket, completion: completion)
            return nil
        }
        if let refusal { return completion(.failure(refusal)) }
        handOut()
        if ticket.isCancelled { cancel(ticket) }
    }

    func cancel(_ ticket: ReadTicket) {
        ticket.markCancelled()
        let waiting = state.withLock { state -> Waiting? in
            guard let waiting = state.waiting, waiting.ticket === ticket else { return nil }
            state.waiting = nil
            state.slots.cancelled()
            return waiting
        }
        waiting?.completion(.failure(BrokerError(.cancelled)))
    }

    func close() {
        let (children, waiting) = state.withLock { state -> ([Child], Waiting?) in
            state.slots.close()
            let children = Array(state.children.values)
            state.ending += children.map(\.reader)
            state.children = [:]
            defer { state.waiting = nil }
            return (children, state.waiting)
        }
        for child in children { close(child) }
        waiting?.completion(.failure(BrokerError(.closed)))
    }

    private func close(_ child: Child) {
        child.reader.close()
        child.parked?.resume(returning: .wait)
    }

    func waitUntilEnded() async {
        for reader in state.withLock({ $0.ending }) { await reader.waitUntilEnded() }
    }

    // MARK: The slots' readers

    /// Reads one batch after another, each in its turn. Ends when the reader closes.
    private func startPump(_ reader: RedisStreamReader, _ id: SlotReaders.ID) {
        Task { [weak self] in
            while let maxEntries = await self?.turn(id) {
                do throws(BrokerError) {
                    self?.arrived(try await reader.nextNumbered(maxEntries: maxEntries), id)
                } catch {
                    if error.code == .closed { break }
                    self?.failed(error, id)
                }
            }
            await reader.waitUntilEnded()
            self?.ended(reader)
        }
    }

    /// Waits until the reader may read. Nil when it is closed.
    private func turn(_ id: SlotReaders.ID) async -> Int? {
        while true {
            let turn = await withCheckedContinuation { continuation in
                let turn = state.withLock { state in
                    let turn = state.slots.turn(of: id)
                    if turn == .wait { state.children[id]?.parked = continuation }
                    return turn
                }
                if turn != .wait { continuation.resume(returning: turn) }
            }
            switch turn {
            case .read(let maxEntries): return maxEntries
            case .wait: continue
            case .end: return nil
            }
        }
    }

    private func arrived(_ delivered: ReaderInbox.Delivered, _ id: SlotReaders.ID) {
        state.withLock { $0.slots.arrived(delivered, from: id) }
        handOut()
    }

    private func failed(_ error: BrokerError, _ id: SlotReaders.ID) {
        state.withLock { $0.slots.failed(error, from: id) }
        handOut()
    }

    private func ended(_ reader: RedisStreamReader) {
        state.withLock { state in state.ending.removeAll { $0 === reader } }
    }

    /// Answers the waiting `next` if there is anything, and resumes the readers whose turn it is.
    private func handOut() {
        let (waiting, answer, parked) = state.withLock { state in
            let (answer, resumed) = state.slots.handOut()
            var waiting: Waiting?
            if answer != nil { swap(&waiting, &state.waiting) }
            let parked = resumed.compactMap { id in
                defer { state.children[id]?.parked = nil }
                return state.children[id]?.parked
            }
            return (waiting, answer, parked)
        }
        for continuation in parked { continuation.resume(returning: .wait) }
        if let answer { waiting?.completion(answer) }
    }
}
