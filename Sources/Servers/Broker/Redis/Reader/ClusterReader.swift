import Streams
import LiveModel
import Logging
import Synchronization

/// A reader of a Redis Cluster. A blocking read takes streams of one slot only, so each slot of the followed streams
/// has a separate reader, with its own thread and connections to the slot's node. This one merges their batches.
///
/// Bounds: one reader for each followed slot (shard), and at most one batch of each read ahead of `next`.
final class ClusterReader: OwnedReader {
    private typealias Answer = Result<[StreamBatch], BrokerError>

    private struct Child {
        let reader: RedisStreamReader
        /// The number of each stream's last change; batches from before it are dropped.
        var changes: [String: Int] = [:]
        /// Set while the reader waits because its last batch has not been handed out yet.
        var parked: CheckedContinuation<Void, Never>?
    }

    private struct Ready {
        let slot: Int
        var batch: StreamBatch
        let change: Int
    }

    private struct Waiting {
        let ticket: ReadTicket
        let maxEntries: Int
        let completion: @Sendable (Answer) -> Void
    }

    private struct State {
        var children: [Int: Child] = [:]
        var ready: [Ready] = []
        var failure: BrokerError?
        /// Streams whose reader could not be created for lack of a thread or descriptor; each `next` tries again.
        var unmade: [String: ReaderInbox.Start] = [:]
        var waiting: Waiting?
        var maxEntries = 0
        var isClosed = false
        /// Closed readers whose threads may still run.
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
        let made: RedisStreamReader? = state.withLock { state in
            guard !state.isClosed else { return nil }
            let start = ReaderInbox.Start(cursor: cursor, server: server)
            state.unmade[stream] = nil
            var made: RedisStreamReader?
            if state.children[slot] == nil {
                do throws(BrokerError) {
                    let reader = try RedisStreamReader(
                        configuration, resolver: SlotEndpoint(slot: slot, configuration: configuration, map: map),
                        name: name, helper: ClusterHelper(map: map), logger: logger)
                    state.children[slot] = Child(reader: reader)
                    made = reader
                } catch {
                    state.failure = error
                    state.unmade[stream] = start
                    return nil
                }
            }
            let number = state.children[slot]?.reader.change(stream, start)
            state.children[slot]?.changes[stream] = number
            state.ready.removeAll { $0.batch.stream == stream }
            return made
        }
        if let made { startPump(made, slot: slot) }
        handOut()
    }

    func unfollow(_ stream: String) {
        let slot = hashSlot(of: stream)
        let gone: Child? = state.withLock { state in
            state.unmade[stream] = nil
            guard state.children[slot]?.changes.removeValue(forKey: stream) != nil else { return nil }
            _ = state.children[slot]?.reader.change(stream, nil)
            state.ready.removeAll { $0.batch.stream == stream }
            guard state.children[slot]?.changes.isEmpty == true else { return nil }
            let gone = state.children.removeValue(forKey: slot)
            if let gone { state.ending.append(gone.reader) }
            return gone
        }
        guard let gone else { return handOut() }
        gone.reader.close()
        gone.parked?.resume()
    }

    func next(
        maxEntries: Int, ticket: ReadTicket,
        completion: @escaping @Sendable (Result<[StreamBatch], BrokerError>) -> Void
    ) {
        let unmade = state.withLock { $0.failure == nil ? $0.unmade : [:] }
        for (stream, start) in unmade { follow(stream, after: start.cursor, server: start.server) }
        let refusal = state.withLock { state -> BrokerError? in
            if state.isClosed { return BrokerError(.closed) }
            if state.waiting != nil { return BrokerError(.concurrentRead) }
            state.waiting = Waiting(ticket: ticket, maxEntries: max(1, maxEntries), completion: completion)
            state.maxEntries = max(1, maxEntries)
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
            return waiting
        }
        waiting?.completion(.failure(BrokerError(.cancelled)))
    }

    func close() {
        let (children, waiting) = state.withLock { state -> ([Child], Waiting?) in
            state.isClosed = true
            defer {
                state.ending += state.children.values.map(\.reader)
                state.children = [:]
                state.waiting = nil
                state.ready = []
            }
            return (Array(state.children.values), state.waiting)
        }
        for child in children {
            child.reader.close()
            child.parked?.resume()
        }
        waiting?.completion(.failure(BrokerError(.closed)))
    }

    func waitUntilEnded() async {
        for reader in state.withLock({ $0.ending }) { await reader.waitUntilEnded() }
    }

    // MARK: The slots' readers

    /// Reads one batch after another, each once the previous one was handed out. Ends when the reader closes.
    private func startPump(_ reader: RedisStreamReader, slot: Int) {
        Task { [weak self] in
            while true {
                guard let maxEntries = await self?.turn(slot, reader) else { break }
                do throws(BrokerError) {
                    self?.arrived(try await reader.nextNumbered(maxEntries: maxEntries), slot)
                } catch {
                    if error.code == .closed { break }
                    self?.failed(error)
                }
            }
            await reader.waitUntilEnded()
            self?.ended(reader)
        }
    }

    /// Waits until no batch of this slot is ready and a consumer has called `next`. Nil when the reader is closed.
    private func turn(_ slot: Int, _ reader: RedisStreamReader) async -> Int? {
        while true {
            await withCheckedContinuation { continuation in
                let mayGo = state.withLock { state in
                    guard state.children[slot]?.reader === reader, !isFree(slot, state) else { return true }
                    state.children[slot]?.parked = continuation
                    return false
                }
                if mayGo { continuation.resume() }
            }
            let go: Int?? = state.withLock { state in
                guard state.children[slot]?.reader === reader else { return .some(nil) }
                return isFree(slot, state) ? .some(state.maxEntries) : nil
            }
            if let go { return go }
        }
    }

    private func isFree(_ slot: Int, _ state: State) -> Bool {
        state.maxEntries > 0 && state.failure == nil && !state.ready.contains { $0.slot == slot }
    }

    private func arrived(_ delivered: ReaderInbox.Delivered, _ slot: Int) {
        state.withLock { state in
            guard let child = state.children[slot] else { return }
            for (batch, change) in delivered where child.changes[batch.stream] == change {
                state.ready.append(Ready(slot: slot, batch: batch, change: change))
            }
        }
        handOut()
    }

    private func failed(_ error: BrokerError) {
        state.withLock { $0.failure = error }
        handOut()
    }

    private func ended(_ reader: RedisStreamReader) {
        state.withLock { state in state.ending.removeAll { $0 === reader } }
    }

    /// Answers the waiting `next` with the ready batches, and resumes the readers whose batches were handed out.
    private func handOut() {
        let (waiting, answer, parked) = state.withLock {
            state -> (Waiting?, Answer, [CheckedContinuation<Void, Never>])
            in
            var waiting: Waiting?
            var answer = Answer.success([])
            if let asked = state.waiting, state.failure != nil || !state.ready.isEmpty {
                waiting = asked
                state.waiting = nil
                if let failure = state.failure {
                    state.failure = nil
                    answer = .failure(failure)
                } else {
                    answer = .success(ClusterReader.take(&state.ready, maxEntries: asked.maxEntries))
                }
            }
            var parked: [CheckedContinuation<Void, Never>] = []
            for (slot, child) in state.children {
                guard let continuation = child.parked, isFree(slot, state) else { continue }
                state.children[slot]?.parked = nil
                parked.append(continuation)
            }
            return (waiting, answer, parked)
        }
        for continuation in parked { continuation.resume() }
        waiting?.completion(answer)
    }

    /// Takes at most `maxEntries` of each batch and leaves the rest.
    private static func take(_ ready: inout [Ready], maxEntries: Int) -> [StreamBatch] {
        var taken: [StreamBatch] = []
        var left: [Ready] = []
        for item in ready {
            var batch = item.batch
            if batch.entries.count > maxEntries {
                var rest = item
                rest.batch.signal = nil
                rest.batch.entries = Array(batch.entries[maxEntries...])
                left.append(rest)
                batch.entries = Array(batch.entries[..<maxEntries])
            }
            taken.append(batch)
        }
        ready = left
        return taken
    }
}
