import Streams
import LiveModel
import Logging

/// The consumer's side of a reader (see `ReaderLoop` for its thread).
final class RedisStreamReader: OwnedReader {
    private let inbox: ReaderInbox

    init(
        _ configuration: RedisConfiguration, resolver: any RedisEndpointResolver, name: String,
        helper: any ReaderHelper,
        logger: Logger
    ) throws(BrokerError) {
        let inbox = try ReaderInbox()
        self.inbox = inbox
        resolver.watch(inbox.wake)
        try startRedisThread(named: "redis-reader") {
            var loop = ReaderLoop(inbox, configuration, resolver: resolver, name: name, helper: helper, logger: logger)
            loop.run()
        }
    }

    deinit { inbox.close() }

    func follow(_ stream: String, after cursor: StreamID, server: String?) {
        inbox.change(stream, ReaderInbox.Start(cursor: cursor, server: server))
    }
    func unfollow(_ stream: String) { inbox.change(stream, nil) }
    func next(
        maxEntries: Int, ticket: ReadTicket,
        completion: @escaping @Sendable (Result<[StreamBatch], BrokerError>) -> Void
    ) {
        inbox.next(maxEntries: maxEntries, ticket: ticket) { completion($0.map { $0.map(\.batch) }) }
    }
    func cancel(_ ticket: ReadTicket) { inbox.cancel(ticket) }

    /// Follows (start) or unfollows (nil) a stream; returns the number that its batches carry from then on.
    func change(_ stream: String, _ start: ReaderInbox.Start?) -> Int { inbox.change(stream, start) }
    func nextNumbered(maxEntries: Int) async throws(BrokerError) -> ReaderInbox.Delivered {
        let answer: ReaderInbox.Answer = await withCheckedContinuation { continuation in
            inbox.next(maxEntries: maxEntries, ticket: ReadTicket()) { continuation.resume(returning: $0) }
        }
        return try answer.get()
    }

    func close() { inbox.close() }
    func waitUntilEnded() async { await inbox.waitUntilEnded() }
}

/// A reader whose reads fail, for a process without a thread or file descriptor left for a working one.
struct FailedReader: StreamReader {
    let error: BrokerError

    func follow(_ stream: String, after cursor: StreamID, server: String?) {}
    func unfollow(_ stream: String) {}
    func next(
        maxEntries: Int, ticket: ReadTicket,
        completion: @escaping @Sendable (Result<[StreamBatch], BrokerError>) -> Void
    ) {
        completion(.failure(error))
    }
    func cancel(_ ticket: ReadTicket) {}
    func close() {}
}
