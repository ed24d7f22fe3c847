import LiveModel
import Logging

/// The consumer's side of a reader (see `ReaderLoop` for its thread).
final class RedisStreamReader: StreamReader {
    private let inbox: ReaderInbox

    init(
        _ configuration: RedisConfiguration, name: String, pipeline: CommandPipeline, logger: Logger
    ) throws(BrokerError) {
        let inbox = try ReaderInbox()
        self.inbox = inbox
        try startThread(named: "redis-reader") {
            var loop = ReaderLoop(inbox, configuration, name: name, pipeline: pipeline, logger: logger)
            loop.run()
        }
    }

    deinit { inbox.close() }

    func follow(_ stream: String, after cursor: StreamID) { inbox.change(stream, cursor) }
    func unfollow(_ stream: String) { inbox.change(stream, nil) }
    func next(maxEntries: Int) async throws(BrokerError) -> [StreamBatch] {
        try await inbox.next(maxEntries: maxEntries)
    }
    func close() { inbox.close() }
    func waitUntilEnded() async { await inbox.waitUntilEnded() }
}

/// Stands in when the process has no thread or file descriptor left for a reader.
struct FailedReader: StreamReader {
    let error: BrokerError

    func follow(_ stream: String, after cursor: StreamID) {}
    func unfollow(_ stream: String) {}
    func next(maxEntries: Int) async throws(BrokerError) -> [StreamBatch] { throw error }
    func close() {}
}
