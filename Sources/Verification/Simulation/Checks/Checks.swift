import LiveModel

/// What must hold at every step, checked where it happens: what was read and taken over is remembered here, beside the
/// system that is being checked.
final class Checks {
    private struct Read {
        let by: String
        /// Grows with what was read: the sum of the versions in the result.
        let content: Int
        /// In the order of reading.
        let number: Int
    }

    /// The first reading of a live query under an epoch.
    private struct First {
        let shard: ShardID
        let epoch: UInt64
        let number: Int
    }

    private struct ReadID: Hashable {
        let key: LiveQueryKey
        let shard: ShardID
        let epoch: UInt64
        let run: UInt64
    }

    private let violated: (String) -> Void
    private var reads: [ReadID: Read] = [:]
    private var firsts: [LiveQueryKey: [First]] = [:]
    private var readCount = 0
    /// Per live query: ranks of results that gateways took, and what they said.
    private var ranks: [LiveQueryKey: [(position: Position, content: Int)]] = [:]
    /// What a worker last saw recorded for the shard of a stream of events, and the epoch that it held then.
    private struct Look: Hashable {
        let worker: String
        let stream: String
    }

    private var looks: [Look: (epoch: UInt64, recorded: UInt64)] = [:]
    private var grants: [ShardID: (epoch: UInt64, owner: NodeID)] = [:]

    init(violated: @escaping (String) -> Void) {
        self.violated = violated
    }

    // MARK: One owner

    func granted(_ shard: ShardID, _ epoch: UInt64, _ owner: NodeID) {
        if let former = grants[shard], former == (epoch, owner) { return }
        if let former = grants[shard], former.epoch >= epoch {
            violated("one owner: epoch \(epoch) of \(shard) granted after \(former.epoch)")
        }
        grants[shard] = (epoch, owner)
    }

    /// A worker that holds the lease of the stream's shard under this epoch looked at the recorded one.
    func looked(_ stream: String, _ epoch: UInt64, recorded: UInt64, by worker: String) {
        looks[Look(worker: worker, stream: stream)] = (epoch, recorded)
    }

    /// A worker begins to serve the shard of this stream, if it is one of events.
    func followed(_ stream: String, by worker: String) {
        guard let look = looks[Look(worker: worker, stream: stream)], look.recorded > look.epoch else { return }
        violated("one owner: \(worker) serves \(stream) under \(look.epoch) while \(look.recorded) is recorded")
    }

    /// A checkpoint or a trim was accepted.
    func didUnderLease(_ shard: ShardID, _ epoch: UInt64) {
        if let newest = grants[shard], newest.epoch != epoch {
            violated("one owner: epoch \(epoch) acted on \(shard) after \(newest.epoch) was granted")
        }
    }

    /// A statement read a live query for the position.
    func read(_ key: LiveQueryKey, _ shard: ShardID, _ position: Position, _ body: [UInt8], by worker: String) {
        let id = ReadID(key: key, shard: shard, epoch: position.epoch, run: position.run)
        if let other = reads[id], other.by != worker {
            violated("one owner: \(worker) and \(other.by) both read at \(position)")
        }
        readCount += 1
        reads[id] = Read(by: worker, content: Self.content(body), number: readCount)
        if firsts[key]?.contains(where: { $0.shard == shard && $0.epoch == position.epoch }) != true {
            firsts[key, default: []].append(First(shard: shard, epoch: position.epoch, number: readCount))
        }
    }

    /// A worker sends what it read. It must have been read before the next owner read anything: else results of a later
    /// epoch are not newer.
    func used(_ key: LiveQueryKey, _ shard: ShardID, _ position: Position) {
        guard let read = reads[ReadID(key: key, shard: shard, epoch: position.epoch, run: position.run)] else { return }
        for first in firsts[key] ?? []
        where first.shard == shard && first.epoch > position.epoch && first.number < read.number {
            violated("one owner: \(read.by) uses \(position), read after epoch \(first.epoch) had begun to read")
        }
    }

    // MARK: Results

    /// A gateway took a result as its newest, or learned that its result still is the newest. Ranks must be in the
    /// order of reading, over all owners: else a client that changes gateways may go backwards.
    func accepted(_ key: LiveQueryKey, _ result: LiveResult) {
        let content = Self.content(result.answer.body)
        for other in ranks[key] ?? [] where other.position.isOrdered(with: result.position) {
            let isOlder = other.position < result.position && other.content > content
            let isNewer = other.position > result.position && other.content < content
            if isOlder || isNewer {
                violated("no regress: \(result.position) says \(content), \(other.position) said \(other.content)")
            }
        }
        ranks[key, default: []].append((result.position, content))
        if let count = ranks[key]?.count, count > 24 { ranks[key]?.removeFirst() }
    }

    func received(_ body: [UInt8], identity: String, by client: Int) {
        let text = String(decoding: body, as: UTF8.self)
        if !text.hasPrefix(identity) { violated("isolation: client \(client) of \(identity) got \(text)") }
    }

    private static func content(_ body: [UInt8]) -> Int {
        let versions = SimulatedPostgres.versions(in: body)
        return versions.values.reduce(0, +) + 1_000_000 * (versions["life"] ?? 0)
    }
}
