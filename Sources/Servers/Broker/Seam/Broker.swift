package import Streams
package import LiveModel

/// The seam to Redis: streams, leases, the node registry and the cluster's shared facts. Two implementations pass one
/// test suite: `RedisBroker` and, for tests, the in-process `MemoryBroker`.
///
/// Guarantees:
/// - **Appends are at least once.** A returned id means that the server has the entry; its durability depends on the
///   server's settings. After `.outcomeUnknown` the entry may or may not be there: publish again, readers tolerate
///   duplicates. After any other error the unacknowledged entries were not added; earlier ones of the call may have
///   been.
/// - **Order.** The server serialises. Appends of one call to one stream keep their order; a call made after another
///   returned comes later; concurrent calls have no order. A stream's ids strictly increase as long as its data lives.
/// - **Atomicity.** Each lease call, `appendFenced`, `trimFenced`, `checkpoint`, `meta`, `raiseFormat`, `nodes` and
///   `overrides` is atomic. `append` is not: other writers' entries may come between its entries, and in a cluster,
///   appends to one stream may succeed and those to another fail.
/// - **Gaps.** A reader that cannot continue from its cursor without loss signals that (`StreamSignal`).
/// - **Time** is the server's: lease and node expiry do not depend on this process's clock.
/// - **Bounds.** Waiting calls are bounded in number, in bytes and by a deadline; beyond that they fail at once
///   (`.overloaded`) or at the deadline (`.unavailable`). No call blocks a thread of the cooperative pool. Cancelling a
///   task does not revoke a call in progress, except `StreamReader.next`.
package protocol Broker: AnyObject, Sendable {
    var keys: Keys { get }

    // MARK: Streams

    /// Appends in order and returns the ids in the same order. Concurrent calls are sent in one batch.
    func append(_ appends: [StreamAppend]) async throws(BrokerError) -> [StreamID]
    /// Appends without suspending, for hot paths. `completion` is called exactly once, possibly before this returns,
    /// usually on the connection's thread: it must be short and must not block.
    func append(_ appends: [StreamAppend], completion: @escaping AppendCompletion)
    /// A reader for one consumer, with its own connection; `name` shows in the server's client list.
    func makeReader(name: String) -> any StreamReader
    /// Returns information about the stream; nil if it does not exist.
    func info(of stream: String) async throws(BrokerError) -> StreamInfo?
    /// Returns the last entries with an id less than `before`, newest first, at most `limit`.
    func newest(_ stream: String, before: StreamID, limit: Int) async throws(BrokerError) -> [StreamEntry]
    /// Removes exactly the entries with an id below `minimumID` and returns their number. A reader that starts at a
    /// position whose own entry was removed may signal a gap where there is none, so keep the entry of the last
    /// checkpoint.
    @discardableResult
    func trim(_ stream: String, minimumID: StreamID) async throws(BrokerError) -> Int
    /// Trims only while `epoch` holds the lease, which shares the stream's hash tag; nil: it does not hold it.
    @discardableResult
    func trimFenced(
        _ stream: String, minimumID: StreamID, lease key: String, epoch: UInt64
    ) async throws(BrokerError) -> Int?
    /// Removes the whole stream; false when there was none.
    @discardableResult
    func delete(_ stream: String) async throws(BrokerError) -> Bool

    // MARK: Leases

    /// Takes the lease if it is free, expired, or held under the same owner name.
    ///
    /// Every grant has a new epoch, greater than all earlier ones that the server knows of. That includes grants to the
    /// same owner, so a restarted process fences off its predecessor, and grants after expiry. The caller must choose
    /// an epoch above those of former servers whose data is lost.
    ///
    /// Calls fenced by an epoch are rejected if a different server process granted it: that process may have granted a
    /// later epoch that this one never saw. The holder then acquires the lease again.
    ///
    /// - Parameters:
    ///   - basis: what the owner's results depend on besides the streams (the database's timeline). If it differs from
    ///     that of the last grant, nothing from before this grant is trusted (`LeaseGrant.trustedEpoch`).
    ///   - epoch: the epoch to be granted; below 2^53 - 1, the largest number that Redis scripts keep exactly, which no
    ///     other could follow.
    func requestLease(
        _ key: String, owner: String, ttlMs: Int, basis: String, epoch: UInt64
    ) async throws(BrokerError) -> LeaseAnswer
    /// Extends a lease that is held under this owner and epoch and has not expired. False: it is not; stop the work.
    func renewLease(_ key: String, owner: String, epoch: UInt64, ttlMs: Int) async throws(BrokerError) -> Bool
    /// Releases a lease that is held under this owner and epoch. False: it is not.
    @discardableResult
    func releaseLease(_ key: String, owner: String, epoch: UInt64) async throws(BrokerError) -> Bool
    /// The lease's current holder; nil: none.
    func lease(_ key: String) async throws(BrokerError) -> LeaseState?
    /// Appends all, atomically, only while `epoch` holds the lease; nil: it does not, and nothing was added. The lease
    /// and all streams share one hash tag (`.rejected` otherwise).
    func appendFenced(
        lease key: String, epoch: UInt64, _ appends: [StreamAppend]
    ) async throws(BrokerError) -> [StreamID]?
    /// Records the progress of `group` up to `id`, while `epoch` holds the lease, so that standard tools show its lag
    /// (exact up to `checkpointLagMax` entries, which is shown for any greater lag). False: fenced off.
    func checkpoint(
        stream: String, group: String, id: StreamID, lease key: String, epoch: UInt64
    ) async throws(BrokerError) -> Bool
    /// The id that `checkpoint` last recorded for the group; nil: none.
    func checkpoint(stream: String, group: String) async throws(BrokerError) -> StreamID?

    // MARK: Nodes and cluster

    /// Registers or refreshes a node; it disappears `ttlMs` after its last announcement.
    /// - Returns: whether the node is new, or had expired.
    @discardableResult
    func announceNode(_ id: String, payload: [UInt8], ttlMs: Int) async throws(BrokerError) -> Bool
    /// Removes a node's entry.
    /// - Parameter payload: only if this is what the node announced last; nil: in any case.
    func withdrawNode(_ id: String, payload: [UInt8]?) async throws(BrokerError)
    /// The nodes that have not expired, ordered by id.
    /// - Parameter ttlMs: clamps the remaining time of each node, because the broker's clock may have been ahead when
    ///   the node was announced. Nil: as announced.
    func nodes(livingAtMost ttlMs: Int?) async throws(BrokerError) -> [NodeRecord]
    /// Stores `initial` unless the namespace has a meta already; returns the stored one.
    func meta(initial: ClusterMeta) async throws(BrokerError) -> ClusterMeta
    /// Replaces the stored format version if it still is `former`.
    /// - Returns: whether the stored version is `version` now.
    @discardableResult
    func raiseFormat(from former: Int, to version: Int) async throws(BrokerError) -> Bool

    /// All overrides of a table, read atomically.
    func overrides(in table: OverrideTable) async throws(BrokerError) -> StoredOverrides
    /// The generation of a table's overrides.
    func overridesGeneration(in table: OverrideTable) async throws(BrokerError) -> UInt64
    /// Sets fields, or removes those with nil, all at once. Returns the new generation, which becomes the version of
    /// each new value: greater than all earlier ones, and at least the server's time in milliseconds.
    @discardableResult
    func changeOverrides(
        _ changes: [(field: String, value: String?)], in table: OverrideTable
    ) async throws(BrokerError) -> UInt64

    // MARK: Life

    /// Makes one round trip to the server.
    func ping() async throws(BrokerError)
    var state: BrokerState { get }
    /// Returns the memory of the servers that hold these keys, each once; none where the broker may not ask.
    func memory(ofServersWith keys: [String]) async throws(BrokerError) -> [BrokerMemory]
    /// Completes accepted calls if the server is reachable, fails the rest with `.closed`, closes readers and
    /// connections, and waits for their threads. Idempotent.
    func close() async
}

package typealias AppendCompletion = @Sendable (Result<[StreamID], BrokerError>) -> Void

/// The greatest lag, in entries, that a checkpoint counts exactly.
package let checkpointLagMax = 1000

extension Broker {
    package func withdrawNode(_ id: String) async throws(BrokerError) {
        try await withdrawNode(id, payload: nil)
    }

    package func overrides() async throws(BrokerError) -> StoredOverrides { try await overrides(in: .cluster) }
    package func overridesGeneration() async throws(BrokerError) -> UInt64 {
        try await overridesGeneration(in: .cluster)
    }
    @discardableResult
    package func changeOverrides(_ changes: [(field: String, value: String?)]) async throws(BrokerError) -> UInt64 {
        try await changeOverrides(changes, in: .cluster)
    }

    package func append(_ appends: [StreamAppend], completion: @escaping AppendCompletion) {
        Task {
            do throws(BrokerError) {
                completion(.success(try await append(appends)))
            } catch {
                completion(.failure(error))
            }
        }
    }

    /// Wakes every worker because nodes joined or left, or leases became free. Workers would notice at their next
    /// heartbeat anyway, so a failure is not retried. The stream expires in a quiet cluster.
    package func wakeWorkers(of node: String) async {
        _ = try? await append([
            StreamAppend(
                stream: keys.wakeUps, fields: [(StreamField.node, Array(node.utf8))],
                lengthMax: StreamAppend.lengthMaxFloor,
                expireMs: 60_000)
        ])
    }

    package func nodes() async throws(BrokerError) -> [NodeRecord] { try await nodes(livingAtMost: nil) }

    /// Returns the last id that the stream ever assigned; `.zero` if it does not exist.
    package func lastID(of stream: String) async throws(BrokerError) -> StreamID {
        try await info(of: stream)?.lastID ?? .zero
    }

    /// Returns the oldest entry's id; nil if there is none.
    package func firstID(of stream: String) async throws(BrokerError) -> StreamID? {
        try await info(of: stream)?.firstID
    }

    /// Returns the number of entries in the stream.
    package func length(of stream: String) async throws(BrokerError) -> Int {
        try await info(of: stream)?.length ?? 0
    }
}
