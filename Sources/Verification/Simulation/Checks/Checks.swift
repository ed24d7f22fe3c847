import LiveModel

/// The invariants that are checked when something is read or accepted. Reads and results are recorded here, separately
/// from the system under test.
final class Checks {
    private struct Read {
        let by: String
        /// The sum of the versions in the result, which increases with newer content.
        let content: Int
        /// The number of the read in order of time.
        let number: Int
    }

    /// The first read of a live query under an epoch.
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
    /// The positions and contents of results that gateways accepted, by live query.
    private var ranks: [LiveQueryKey: [(position: Position, content: Int)]] = [:]
    /// A worker and the events stream of a shard whose recorded epoch it read.
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

    /// Records that a worker that holds the lease of the stream's shard under this epoch read the recorded one.
    func looked(_ stream: String, _ epoch: UInt64, recorded: UInt64, by worker: String) {
        looks[Look(worker: worker, stream: stream)] = (epoch, recorded)
    }

    /// Checks a worker that begins to serve the shard of this stream, if it is an events stream.
    func followed(_ stream: String, by worker: String) {
        guard let look = looks[Look(worker: worker, stream: stream)], look.recorded > look.epoch else { return }
        violated("one owner: \(worker) serves \(stream) under \(look.epoch) while \(look.recorded) is recorded")
    }

    /// Checks the epoch of an accepted checkpoint or trim.
    func didUnderLease(_ shard: ShardID, _ epoch: UInt64) {
        if let newest = grants[shard], newest.epoch != epoch {
            violated("one owner: epoch \(epoch) acted on \(shard) after \(newest.epoch) was granted")
        }
    }

    /// Checks a statement's read of a live query for the position.
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

    /// Checks a result that a worker sends. It must have been read before the next owner read anything; otherwise
    /// results of a later epoch would not be newer.
    func used(_ key: LiveQueryKey, _ shard: ShardID, _ position: Position) {
        guard let read = reads[ReadID(key: key, shard: shard, epoch: position.epoch, run: position.run)] else { return }
        for first in firsts[key] ?? []
        where first.shard == shard && first.epoch > position.epoch && first.number < read.number {
            violated("one owner: \(read.by) uses \(position), read after epoch \(first.epoch) had begun to read")
        }
    }

    // MARK: Results

    /// Checks a result that a gateway accepted or confirmed as its newest. Ranks must be in the order of reading across
    /// all owners; otherwise a client that changes gateways may go backwards.
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
