package import Streams
package import LiveModel

/// The seam to Redis: streams, leases, the node registry and the cluster's common facts. Two implementations pass one
/// test suite: `RedisBroker`, and `MemoryBroker` in the process.
///
/// What holds at this seam:
/// - **Appends are at least once.** A returned id means that the server has the entry; how durable that is, is the
///   server's setting. `.outcomeUnknown` means maybe; publish again, readers tolerate duplicates. Any other error
///   means that the entries not acknowledged were not added, but earlier ones of the same call may have been.
/// - **Order.** The server serialises. Appends of one call to one stream go in order; a call made after another one returned comes
///   later; concurrent calls have no order. Ids of a stream strictly increase for as long as its data lives.
/// - **Atomicity.** One lease call, one `appendFenced`, one `trimFenced`, one `checkpoint`, `meta`, `nodes`,
///   `orders` is atomic each. `append` is not: other writers' entries may stand between its entries, and where streams are spread over
///   several servers, those of one stream may be added and those of another fail.
/// - **Gaps.** A reader that cannot go on from its cursor without loss says so (`StreamSignal`), never silently.
/// - **Time** is the server's: lease and node expiry do not depend on this process's clock.
/// - **Bounds.** Calls waiting are bounded in number, bytes and by a deadline; beyond that they fail at once
///   (`.overloaded`) or at the deadline (`.unavailable`). Nothing here blocks a thread of the cooperative pool.
///   Cancelling a task does not take back a call in progress, except `StreamReader.next`.
package protocol Broker: Sendable {
    var keys: Keys { get }

    // MARK: Streams

    /// Appends in order and returns the ids in the same order. Concurrent callers share a flight.
    func append(_ appends: [StreamAppend]) async throws(BrokerError) -> [StreamID]
    /// The same for hot paths. `completion` is called exactly once, perhaps before this returns, usually on the
    /// connection's thread: it must be short and must not block.
    func append(_ appends: [StreamAppend], completion: @escaping AppendCompletion)
    /// A reader for one consumer, with its own connection; `name` shows in the server's client list.
    func makeReader(name: String) -> any StreamReader
    /// Nil when the stream does not exist.
    func info(of stream: String) async throws(BrokerError) -> StreamInfo?
    /// The last entries with an id less than `before`, newest first, at most `limit`.
    func newest(_ stream: String, before: StreamID, limit: Int) async throws(BrokerError) -> [StreamEntry]
    /// Removes entries with an id below `minimumID`; returns how many. Exact. A reader that starts at a position
    /// whose own entry is gone may be told of a gap that is none, so keep the entry of the last checkpoint.
    @discardableResult
    func trim(_ stream: String, minimumID: StreamID) async throws(BrokerError) -> Int
    /// The same, only while `epoch` holds the lease, which shares the stream's hash tag; nil when it does not.
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
    /// Every grant has a new epoch, greater than all before that the server knows of: also for the same owner (a
    /// restarted process fences off its predecessor) and after expiry. That it is greater than what a former server
    /// granted, whose data are lost, is for the asker to see to.
    ///
    /// Whatever asks for an epoch that holds the lease is refused also when another server process granted that one: it
    /// may have granted a later epoch since, which a restart or a failover forgot. The holder takes the lease anew.
    ///
    /// - Parameters:
    ///   - basis: what the owner's results rest on besides the streams (the database's timeline). Under another
    ///     one than that of the last grant, nothing from before this grant is trusted: `LeaseGrant.trustedEpoch`.
    ///   - epoch: under which it is wanted; below 2^53.
    func askLease(
        _ key: String, owner: String, ttlMs: Int, basis: String, epoch: UInt64
    ) async throws(BrokerError) -> LeaseAnswer
    /// Extends a lease that is held under this owner and epoch and has not expired; false otherwise: stop the work.
    func renewLease(_ key: String, owner: String, epoch: UInt64, ttlMs: Int) async throws(BrokerError) -> Bool
    /// Frees a lease that is held under this owner and epoch; false when it is not.
    @discardableResult
    func releaseLease(_ key: String, owner: String, epoch: UInt64) async throws(BrokerError) -> Bool
    /// Who holds the lease; nil when nobody does.
    func lease(_ key: String) async throws(BrokerError) -> LeaseState?
    /// Appends all, atomically, only while `epoch` holds the lease; nil (and nothing added) when it does not. The
    /// lease and all streams share one hash tag (`.rejected` otherwise).
    func appendFenced(
        lease key: String, epoch: UInt64, _ appends: [StreamAppend]
    ) async throws(BrokerError) -> [StreamID]?
    /// Records, while `epoch` holds the lease, that `group` has come to `id`, such that standard tools show the lag
    /// (counted exactly up to `checkpointLagMax` entries behind, shown as that many beyond). False: fenced off.
    func checkpoint(
        stream: String, group: String, id: StreamID, lease key: String, epoch: UInt64
    ) async throws(BrokerError) -> Bool
    /// The id last recorded by `checkpoint` for the group; nil when there is none.
    func checkpoint(stream: String, group: String) async throws(BrokerError) -> StreamID?

    // MARK: Nodes and cluster

    /// Registers or refreshes a node; it disappears `ttlMs` after its last announcement.
    /// - Returns: whether it was not there before, or not any more.
    @discardableResult
    func announceNode(_ id: String, payload: [UInt8], ttlMs: Int) async throws(BrokerError) -> Bool
    func withdrawNode(_ id: String) async throws(BrokerError)
    /// Nodes not expired, by id.
    /// - Parameter ttlMs: none lives longer from now on without another announcement: one that is said to was announced
    ///   by a clock that was ahead of the broker's present one. nil: as they were announced.
    func nodes(livingAtMost ttlMs: Int?) async throws(BrokerError) -> [NodeRecord]
    /// Stores `initial` if the namespace has no meta yet; returns what is stored.
    func meta(initial: ClusterMeta) async throws(BrokerError) -> ClusterMeta

    /// Everything that operators ordered, atomically read.
    func orders(in book: OverrideTable) async throws(BrokerError) -> StoredOverrides
    /// Only the generation of the orders.
    func ordersGeneration(in book: OverrideTable) async throws(BrokerError) -> UInt64
    /// Sets or, with nil, removes fields, all at once; returns the new generation, which is each new value's version:
    /// greater than all before, and at least the server's time in milliseconds.
    @discardableResult
    func changeOrders(
        _ changes: [(field: String, value: String?)], in book: OverrideTable
    ) async throws(BrokerError) -> UInt64

    // MARK: Life

    /// One round trip to the server.
    func ping() async throws(BrokerError)
    var state: BrokerState { get }
    /// Finishes what was accepted if the server is there, fails the rest with `.closed`, closes readers and
    /// connections, waits for their threads. Idempotent.
    func close() async
}

package typealias AppendCompletion = @Sendable (Result<[StreamID], BrokerError>) -> Void

/// How far behind the end of its stream a checkpoint's lag is counted exactly.
package let checkpointLagMax = 1000

extension Broker {
    package func orders() async throws(BrokerError) -> StoredOverrides { try await orders(in: .cluster) }
    package func ordersGeneration() async throws(BrokerError) -> UInt64 { try await ordersGeneration(in: .cluster) }
    @discardableResult
    package func changeOrders(_ changes: [(field: String, value: String?)]) async throws(BrokerError) -> UInt64 {
        try await changeOrders(changes, in: .cluster)
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

    /// Wakes every worker: nodes came or left, or leases became free. They would notice with their next heartbeat, too,
    /// so what fails is not repeated. A quiet cluster has no such stream.
    package func tellNews(of node: String) async {
        _ = try? await append([
            StreamAppend(
                stream: keys.news, fields: [(StreamField.node, Array(node.utf8))],
                lengthMax: StreamAppend.lengthMaxFloor,
                expireMs: 60_000)
        ])
    }

    package func nodes() async throws(BrokerError) -> [NodeRecord] { try await nodes(livingAtMost: nil) }

    /// The last id the stream ever gave; `.zero` when it does not exist.
    package func lastID(of stream: String) async throws(BrokerError) -> StreamID {
        try await info(of: stream)?.lastID ?? .zero
    }

    /// The oldest entry's id; nil when there is none.
    package func firstID(of stream: String) async throws(BrokerError) -> StreamID? {
        try await info(of: stream)?.firstID
    }

    /// Entries held.
    package func length(of stream: String) async throws(BrokerError) -> Int {
        try await info(of: stream)?.length ?? 0
    }
}
