package import Streams
package import LiveModel
import Synchronization

/// Reads a changing set of streams, each from its own cursor, for one consumer.
///
/// - Entries come at least once, in order of id within a stream; streams have no order among them. After a reconnect,
///   reading continues from the cursors: nothing is skipped without a signal.
/// - `next` pulls, which is back-pressure: nothing is read ahead of it, so memory is bounded by one batch.
/// - Entries deleted by hand (`DEL`, `XTRIM`) within about 200 ms of being added may go unnoticed.
/// - `follow` and `unfollow` may be called from any thread, also during `next`, and take effect at once. A batch is
///   dropped if its stream is unfollowed or followed again before the batch is returned.
package protocol StreamReader: Sendable {
    /// Reads `stream` after `cursor`, which is `.zero`, the id of an entry of this stream, or its last id. Replaces the
    /// cursor of a stream that is already followed. `server` is where the cursor comes from (`LeaseGrant.server`): if
    /// another one answers, the reader signals `serverChanged`. Nil: whichever answers first.
    func follow(_ stream: String, after cursor: StreamID, server: String?)
    func unfollow(_ stream: String)
    /// Waits for entries or signals; returns at most `maxEntries` entries of each stream, possibly none at all. While
    /// the broker is unreachable it keeps waiting. Fails with `.closed`, `.cancelled`, `.concurrentRead` (one call at a
    /// time), or `.rejected` (a followed key of another type, no permission).
    ///
    /// `completion` is called exactly once, usually on the reader's thread: it must be short and must not block. It may
    /// call `next` again.
    func next(
        maxEntries: Int, ticket: ReadTicket,
        completion: @escaping @Sendable (Result<[StreamBatch], BrokerError>) -> Void)
    /// Ends the waiting `next` of this ticket with `.cancelled`, and later ones too unless there is something to read.
    func cancel(_ ticket: ReadTicket)
    /// Ends a waiting `next` with `.closed`. Idempotent.
    func close()
}

extension StreamReader {
    package func follow(_ stream: String, after cursor: StreamID) { follow(stream, after: cursor, server: nil) }

    /// `next` for a task, whose cancellation cancels the read.
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

    /// Passes one read after another to `body`. Each call starts on the reader's thread, so up to its first suspension
    /// it must be short and must not block. An idle actor thus runs right there, which is faster than waking a thread
    /// of the cooperative pool.
    /// - Parameter body: receives the batches, and a function that asks for the next read. It may call that when it is
    ///   done with the batches, where the actor runs, which saves waking two threads; its return asks for it, too.
    /// - Throws: the error that ended reading, as `next`.
    package func forEach(
        maxEntries: Int,
        _ body: @escaping @Sendable ([StreamBatch], _ readOn: @escaping @Sendable () -> Void) async -> Void
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
        _ maxEntries: Int, _ ticket: ReadTicket,
        _ body: @escaping @Sendable ([StreamBatch], _ readOn: @escaping @Sendable () -> Void) async -> Void,
        onEnd: @escaping @Sendable (BrokerError) -> Void
    ) {
        if ticket.isCancelled { return onEnd(BrokerError(.cancelled)) }
        next(maxEntries: maxEntries, ticket: ticket) { answer in
            switch answer {
            case .success(let batches):
                let next = Once { readOn(maxEntries, ticket, body, onEnd: onEnd) }
                Task.immediate {
                    await body(batches) { next.run() }
                    next.run()
                }
            case .failure(let error): onEnd(error)
            }
        }
    }
}

/// A function that only the first of several calls runs.
private final class Once: Sendable {
    private let hasRun = Atomic(false)
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    func run() {
        if !hasRun.exchange(true, ordering: .relaxed) { body() }
    }
}

/// Identifies one consumer's reads for cancellation, and remembers that they were cancelled.
package final class ReadTicket: Sendable {
    private let cancelled = Atomic(false)

    package init() {}

    package var isCancelled: Bool { cancelled.load(ordering: .acquiring) }
    package func markCancelled() { cancelled.store(true, ordering: .releasing) }
}

/// The pause that all consumers of a `StreamReader` share.
package enum StreamReading {
    /// The pause after a read that failed.
    package static let failurePauseMs = 200
}
