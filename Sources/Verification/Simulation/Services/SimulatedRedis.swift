import LiveModel
import RedisModel
import Sharding
import Streams

/// The simulated Redis: the in-memory broker's store, which passes the same test suite as the real one, with a replica
/// that lags behind and an inaccurate clock.
final class SimulatedRedis {
    let keys: Keys
    private let timeline: Timeline
    private let sabotage: Sabotage?
    /// The shards by the keys of their leases.
    private let shards: [String: ShardID]
    private var store = MemoryStore(entriesMax: 100_000)
    /// The replicated state of the store.
    private var replica: MemoryStore
    private var isReplicaCut = false
    private(set) var isUp = true
    /// The number of times that the server became unavailable.
    private(set) var outages = 0
    private var skewMs: Int64 = 0
    /// Called with a stream that may have new entries; nil: any stream.
    var changed: (String?) -> Void = { _ in }
    /// Called for every action under a lease.
    var didUnderLease: (ShardID, UInt64) -> Void = { _, _ in }
    /// Called for every entry, with its id.
    var appended: (StreamAppend, StreamID) -> Void = { _, _ in }

    init(timeline: Timeline, sabotage: Sabotage?) throws {
        self.timeline = timeline
        self.sabotage = sabotage
        let keys = try Keys(namespace: "simulation")
        self.keys = keys
        shards = Dictionary(
            uniqueKeysWithValues: ShardID.all(count: Workload.shardCount).map { (keys.lease(shard: $0.number), $0) })
        replica = store
    }

    private init(copyOf other: SimulatedRedis) {
        (timeline, sabotage, keys, shards) = (other.timeline, other.sabotage, other.keys, other.shards)
        (store, replica, skewMs) = (other.store, other.store, other.skewMs)
    }

    /// The identity of the server process; it changes with a restart or a failover.
    var serverID: String { store.serverID }

    private var nowMs: UInt64 { UInt64(timeline.nowMs + skewMs) }

    // MARK: Faults

    func goDown() {
        isUp = false
        outages += 1
    }

    /// Restarts as another process, with the same data or, if `losingData`, without any and perhaps on another machine.
    func restart(losingData: Bool, skewMs: Int64? = nil) {
        (isUp, isReplicaCut) = (true, false)
        self.skewMs = skewMs ?? self.skewMs
        store.restart(losingData: losingData)
        changed(nil)
    }

    func flush() {
        store.flush()
        changed(nil)
    }

    func replicate() { if !isReplicaCut { replica = store } }

    /// Stops replication until the replica takes over or the link is restored.
    func cutReplica() { isReplicaCut = true }
    func healReplica() { isReplicaCut = false }

    /// Fails over to the replica while this server continues: writes that it acknowledges to its remaining clients are
    /// lost.
    /// - Returns: the former primary.
    func split(skewMs: Int64) -> SimulatedRedis {
        let former = SimulatedRedis(copyOf: self)
        failOver(skewMs: skewMs)
        return former
    }

    /// Makes the replica take over. Its clock may differ.
    func failOver(skewMs: Int64) {
        (isUp, isReplicaCut) = (true, false)
        self.skewMs = skewMs
        store.failOver(to: replica)
        changed(nil)
    }

    // MARK: Streams

    func append(_ stream: String, _ fields: [(String, [UInt8])], lengthMax: Int) {
        append(StreamAppend(stream: stream, fields: fields.map { (name: $0.0, value: $0.1) }), lengthMax: lengthMax)
    }

    /// - Parameter lengthMax: may be shorter than the product's streams.
    func append(_ append: StreamAppend, lengthMax: Int) {
        var append = append
        append.lengthMax = lengthMax
        let id = store.append(append, nowMs: nowMs)
        changed(append.stream)
        appended(append, id)
    }

    func info(_ stream: String) -> StreamInfo? { store.stream(stream, nowMs: nowMs)?.info }

    func newest(_ stream: String, before: StreamID, limit: Int) -> [StreamEntry] {
        store.stream(stream, nowMs: nowMs)?.newest(before: before, limit: limit) ?? []
    }

    func makeReader() -> Int { store.makeReader() }
    func dropReader(_ reader: Int) { store.dropReader(reader) }
    func follow(_ reader: Int, _ stream: String, after cursor: StreamID, server: String?) {
        store.follow(reader, stream, after: cursor, server: server)
    }
    func unfollow(_ reader: Int, _ stream: String) { store.unfollow(reader, stream) }
    func read(_ reader: Int) -> [StreamBatch] { store.read(reader, maxEntries: 8, nowMs: nowMs) }

    // MARK: Leases

    func acquire(_ key: String, owner: NodeID, ttlMs: Int64, basis: String, epoch: UInt64) -> LeaseAnswer {
        let epoch = sabotage == .epochsByTheClock ? max((store.newestEpoch(key) ?? 0) + 1, nowMs) : epoch
        return store.acquire(key, owner: owner.name, ttlMs: Int(ttlMs), basis: basis, epoch: epoch, nowMs: nowMs)
    }

    func renew(_ key: String, owner: NodeID, epoch: UInt64, ttlMs: Int64) -> Bool {
        if sabotage == .leaseFenceSkipped { return true }
        return store.renew(key, owner: owner.name, epoch: epoch, ttlMs: Int(ttlMs), nowMs: nowMs)
    }

    func release(_ key: String, owner: NodeID, epoch: UInt64) -> Bool {
        store.release(key, owner: owner.name, epoch: epoch, nowMs: nowMs)
    }

    private func holds(_ key: String, _ epoch: UInt64) -> Bool {
        guard sabotage == .leaseFenceSkipped || store.holds(key, epoch: epoch, nowMs: nowMs) else { return false }
        if let shard = shards[key] { didUnderLease(shard, epoch) }
        return true
    }

    func checkpoint(_ stream: String, id: StreamID, lease key: String, epoch: UInt64) -> Bool {
        guard holds(key, epoch) else { return false }
        store.checkpoint(stream, group: Keys.workersGroup, id: id, nowMs: nowMs)
        return true
    }

    func trim(_ stream: String, minimumID: StreamID) { _ = store.trim(stream, minimumID: minimumID, nowMs: nowMs) }

    func trim(_ stream: String, minimumID: StreamID, lease key: String, epoch: UInt64) -> Bool {
        guard holds(key, epoch) else { return false }
        _ = store.trim(stream, minimumID: minimumID, nowMs: nowMs)
        return true
    }

    // MARK: ClusterOverrides

    var overrides: ClusterOverrides {
        ClusterOverrides(generation: store.overrides.generation, fields: store.overrides.fields)
    }

    func change(_ change: OverrideChange) {
        _ = store.changeOverrides([(field: change.field, value: change.value)], nowMs: nowMs)
    }

    // MARK: Nodes

    /// - Returns: whether the node had no unexpired entry before.
    @discardableResult
    func announce(_ node: NodeRecordPayload, ttlMs: Int64) -> Bool {
        store.announceNode(node.id.name, payload: node.payload, ttlMs: Int(ttlMs), nowMs: nowMs)
    }

    /// Wakes every worker.
    func wakeWorkers(of node: NodeID) {
        append(keys.wakeUps, [(StreamField.node, Array(node.name.utf8))], lengthMax: StreamAppend.lengthMaxFloor)
    }

    /// Removes a node's entry.
    /// - Parameter payload: only if this is what the node announced last; nil: in any case.
    /// - Returns: the removed payload; nil if nothing was removed.
    @discardableResult
    func withdraw(_ id: NodeID, payload: [UInt8]? = nil) -> [UInt8]? {
        let before = nodeRecords().first { $0.id == id.name }
        store.withdrawNode(id.name, payload: payload)
        return nodeRecords().contains { $0.id == id.name } ? nil : before?.payload
    }

    func nodeRecords(livingAtMost ttlMs: Int? = nil) -> [NodeRecord] {
        store.listNodes(livingAtMost: ttlMs, nowMs: nowMs)
    }
}
