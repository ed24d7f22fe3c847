import JSON
import LiveModel
import Sessions

extension ResultFormat {
    /// The rest for a result of `SessionFixture.query()`.
    func rest(of result: LiveResult) -> [UInt8] { rest(of: result, key: SessionFixture.query().key) }
}

enum SessionFixture {
    /// The shard of the operation, whether there are 64 shards or fewer (a power of two).
    static let shard = ShardID(0)
    static let operation = OperationReference(connector: "c", operation: "Q3")

    static func query(_ number: Int = 0) -> LiveQuery {
        LiveQuery(
            operation: operation, version: digest(0), variables: ["n": .int(Int64(number))], auth: nil)
    }

    static func digest(_ number: Int) -> Digest { Digest(of: "\(number)".utf8) }

    static func position(_ run: UInt64, epoch: UInt64 = 1) -> Position {
        Position(epoch: epoch, run: run, id: StreamID(ms: run, sequence: 0))
    }

    static func known(_ number: Int, _ position: Position? = nil) -> KnownResult {
        KnownResult(digest: digest(number), position: position)
    }

    static func live(_ number: Int, _ run: UInt64, epoch: UInt64 = 1) -> LiveResult {
        LiveResult(
            position: position(run, epoch: epoch), digest: digest(number),
            answer: OperationAnswer(body: Array("\(number)".utf8)))
    }

    static func result(_ number: Int, _ run: UInt64, epoch: UInt64 = 1, query: LiveQuery = query()) -> InboxMessage {
        .result(shard: shard, key: query.key, result: live(number, run, epoch: epoch), answers: .max)
    }

    static func unchanged(_ number: Int, _ run: UInt64, epoch: UInt64 = 1) -> InboxMessage {
        .unchanged(
            shard: shard, key: query().key, digest: digest(number), position: position(run, epoch: epoch),
            epoch: epoch, answers: .max)
    }

    static func failed(_ run: UInt64, epoch: UInt64 = 1) -> InboxMessage {
        .failed(
            shard: shard, key: query().key, position: position(run, epoch: epoch),
            error: RequestError(.databaseError, "no"), answers: .max)
    }
}
