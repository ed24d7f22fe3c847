import LiveModel
import Streams

/// A reader of streams from cursors, with the gap detection of the in-memory broker.
final class StreamFollower {
    private unowned let process: Process
    private let redis: SimulatedRedis
    private let reader: Int
    private let handler: ([StreamBatch]) -> Void
    private var isReading = false

    init(_ process: Process, _ handler: @escaping ([StreamBatch]) -> Void) {
        self.process = process
        self.handler = handler
        redis = process.world.redis
        reader = redis.makeReader()
    }

    deinit { redis.dropReader(reader) }

    func follow(_ stream: String, after cursor: StreamID, server: String? = nil) {
        redis.follow(reader, stream, after: cursor, server: server)
        poke()
    }

    func unfollow(_ stream: String) { redis.unfollow(reader, stream) }

    func poke() {
        guard !isReading else { return }
        isReading = true
        process.later(process.world.networkDelay()) { [weak self] in self?.read() }
    }

    private func read() {
        isReading = false
        guard !process.isCutFromRedis else { return }
        let batches = redis.read(reader)
        guard !batches.isEmpty else { return }
        handler(batches)
        poke()
    }
}
