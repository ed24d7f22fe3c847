package import Streams
package import LiveModel
import Synchronization

/// Reads a changing set of streams, each from its own cursor, for one consumer.
///
/// - At least once, in order of id within a stream; no order between streams. After a reconnect reading goes on from
///   the cursors: nothing is skipped without a signal.
/// - Pull is back-pressure: nothing is read ahead of `next`, so memory is bounded by one batch.
/// - Not seen: entries deleted by hand (`DEL`, `XTRIM`) within about 200 ms of being added.
/// - `follow` and `unfollow` may come from any thread, also during `next`, and take effect at once. A batch of a
///   stream is dropped rather than returned when `unfollow` or a new `follow` of it came first.
package protocol StreamReader: Sendable {
    /// Reads `stream` after `cursor`, which is `.zero` or an id this stream has given (of an entry, or its last id).
    /// Replaces the cursor of a stream that is followed already. `server` is where the cursor comes from
    /// (`LeaseGrant.server`): when another one answers, `serverChanged` is told. Nil: whichever answers first.
    func follow(_ stream: String, after cursor: StreamID, server: String?)
    func unfollow(_ stream: String)
    /// Waits until there are entries or signals, at most `maxEntries` of each stream. May give an empty array.
    /// Does not fail while the broker is away: it waits until that is back. Fails with `.closed`, `.cancelled`,
    /// `.concurrentRead` (one call at a time), `.rejected` (followed key of another type, no permission).
    ///
    /// `completion` is called exactly once, usually on the reader's thread: it must be short and must not block. It may
    /// ask for the next read.
    func next(
        maxEntries: Int, ticket: ReadTicket,
        completion: @escaping @Sendable (Result<[StreamBatch], BrokerError>) -> Void)
    /// Ends the waiting `next` with that ticket with `.cancelled`, and one that comes later if there is nothing to read.
    func cancel(_ ticket: ReadTicket)
    /// Ends a waiting `next` with `.closed`. Idempotent.
    func close()
}

extension StreamReader {
    package func follow(_ stream: String, after cursor: StreamID) { follow(stream, after: cursor, server: nil) }

    /// The same as the other `next`, for a task; its cancellation is that of the ticket.
    package func next(maxEntries: Int) async throws(BrokerError) -> [StreamBatch] {
        let ticket = ReadTicket()
        let answer: Result<[StreamBatch], BrokerError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                next(maxEntries: maxEntries, ticket: ticket) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            cancel(ticket)
        }
        return try answer.get()
    }

    /// Hands one read after the other to `body`, which begins on the reader's thread, under the conditions of a completion
    /// up to where it waits. So an idle actor works there: to wake up one of Swift's threads would take longer.
    /// - Throws: why it ended: as `next`.
    package func forEach(
        maxEntries: Int, _ body: @escaping @Sendable ([StreamBatch]) async -> Void
    ) async throws(BrokerError) {
        let ticket = ReadTicket()
        let end: BrokerError = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                readOn(maxEntries, ticket, body) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            cancel(ticket)
        }
        throw end
    }

    private func readOn(
        _ maxEntries: Int, _ ticket: ReadTicket, _ body: @escaping @Sendable ([StreamBatch]) async -> Void,
        onEnd: @escaping @Sendable (BrokerError) -> Void
    ) {
        if ticket.isCancelled { return onEnd(BrokerError(.cancelled)) }
        next(maxEntries: maxEntries, ticket: ticket) { answer in
            switch answer {
            case .success(let batches):
                Task.immediate {
                    await body(batches)
                    readOn(maxEntries, ticket, body, onEnd: onEnd)
                }
            case .failure(let error): onEnd(error)
            }
        }
    }
}

/// Names the reads of one consumer, so that they can be cancelled, and remembers that they were.
package final class ReadTicket: Sendable {
    private let cancelled = Atomic(false)

    package init() {}

    var isCancelled: Bool { cancelled.load(ordering: .acquiring) }
    func markCancelled() { cancelled.store(true, ordering: .releasing) }
}
