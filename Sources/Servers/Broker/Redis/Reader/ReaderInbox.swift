import Streams
import LiveModel
import Synchronization

/// The queue of requests from a reader's consumer to its thread: changes of the followed streams (only the last change
/// of each stream counts, so the number of streams bounds them) and at most one waiting `next`.
final class ReaderInbox: Sendable {
    /// Each batch, with the number of the change (`follow`) that it belongs to.
    typealias Delivered = [(batch: StreamBatch, change: Int)]
    typealias Answer = Result<Delivered, BrokerError>
    typealias Start = ReadPlan.Start

    private struct Waiting {
        let ticket: ReadTicket
        let maxEntries: Int
        let completion: @Sendable (Answer) -> Void
    }

    private struct Shared {
        var changes: ReadPlan.Changes = [:]
        var changesMade = 0
        /// The number of the last change of each followed stream.
        var changeOfStream: [String: Int] = [:]
        var waiting: Waiting?
        var isClosed = false
    }

    let wake: WakeFlag
    private let shared = Mutex(Shared())
    private let ending = EndSignal()

    init() throws(BrokerError) {
        wake = try WakeFlag()
    }

    // MARK: The consumer

    /// - Returns: the number of this change; later ones have greater numbers.
    @discardableResult
    func change(_ stream: String, _ start: Start?) -> Int {
        let number = shared.withLock { shared in
            shared.changes[stream] = .some(start)
            shared.changesMade += 1
            shared.changeOfStream[stream] = start.map { _ in shared.changesMade }
            return shared.changesMade
        }
        wake.raise()
        return number
    }

    func next(maxEntries: Int, ticket: ReadTicket, completion: @escaping @Sendable (Answer) -> Void) {
        let refusal = shared.withLock { shared -> BrokerError? in
            if shared.isClosed { return BrokerError(.closed) }
            if shared.waiting != nil { return BrokerError(.concurrentRead) }
            shared.waiting = Waiting(ticket: ticket, maxEntries: max(1, maxEntries), completion: completion)
            return nil
        }
        if let refusal { return completion(.failure(refusal)) }
        wake.raise()
        if ticket.isCancelled { fail(BrokerError(.cancelled), ticket: ticket) }
    }

    func cancel(_ ticket: ReadTicket) {
        ticket.markCancelled()
        fail(BrokerError(.cancelled), ticket: ticket)
    }

    func close() {
        shared.withLock { $0.isClosed = true }
        fail(BrokerError(.closed))
    }

    func waitUntilEnded() async { await ending.wait() }

    // MARK: The thread

    /// Ends the waiting `next` with an error; with a ticket, only if it is still that call.
    func fail(_ error: BrokerError, ticket: ReadTicket? = nil) {
        let waiting = shared.withLock { shared -> Waiting? in
            guard let waiting = shared.waiting, ticket == nil || ticket === waiting.ticket else { return nil }
            shared.waiting = nil
            return waiting
        }
        waiting?.completion(.failure(error))
        wake.raise()
    }

    func take() -> (changes: ReadPlan.Changes, maxEntries: Int?, isClosed: Bool) {
        wake.lower()
        return shared.withLock { shared in
            defer { shared.changes = [:] }
            return (shared.changes, shared.waiting?.maxEntries, shared.isClosed)
        }
    }

    /// Returns why the flag was raised while the thread waits for an answer.
    func interruption() -> ReadPlan.Interruption {
        wake.lower()
        return shared.withLock { shared in
            ReadPlan.Interruption(
                isClosed: shared.isClosed, hasChanges: !shared.changes.isEmpty, isReading: shared.waiting != nil)
        }
    }

    /// Hands batches to the waiting `next`, except those of streams that were changed meanwhile.
    /// - Returns: the streams whose batches were delivered; the others must be read again.
    func deliver(_ batches: [StreamBatch]) -> Set<String> {
        let (waiting, delivered) = shared.withLock { shared -> (Waiting?, Delivered) in
            let wanted = batches.filter { !shared.changes.keys.contains($0.stream) }
            guard !wanted.isEmpty, let waiting = shared.waiting else { return (nil, []) }
            shared.waiting = nil
            return (waiting, wanted.map { ($0, shared.changeOfStream[$0.stream] ?? 0) })
        }
        waiting?.completion(.success(delivered))
        return Set(delivered.map { $0.batch.stream })
    }

    func end() { ending.raise() }
}
