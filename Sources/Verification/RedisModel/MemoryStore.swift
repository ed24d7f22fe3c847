package import LiveModel
package import Streams

/// The state of a Redis server as one value: streams, leases, nodes, overrides, and readers with their cursors.
/// `nowMs` is the server's clock at the time of the call.
///
/// The simulator runs nodes on it (`SimulatedRedis`); the in-memory broker of the tests keeps it under a lock.
package struct MemoryStore: Sendable {
    struct Lease {
        var owner: String?
        var epoch: UInt64
        var untilMs: UInt64
        /// The lifetime set by the last grant or renewal.
        var ttlMs: Int
        var server: String
        /// The first epoch that this server granted, and when.
        var serverEpoch: UInt64
        var sinceMs: UInt64
        var basis: String
        /// The first epoch granted on this basis.
        var basisEpoch: UInt64

        func isHeld(nowMs: UInt64) -> Bool { owner != nil && untilMs > nowMs }
    }

    struct Node {
        var payload: [UInt8]
        var untilMs: UInt64
    }

    struct Followed {
        let stream: String
        var gap: GapCheck
        var serverChanged = false
    }

    /// Streams without their own `lengthMax` keep at most this many entries.
    let entriesMax: Int
    private(set) var streams: [String: MemoryStream] = [:]
    private(set) var leases: [String: Lease] = [:]
    var nodes: [String: Node] = [:]
    package var meta: ClusterMeta?
    package private(set) var overrideTables: [OverrideTable: StoredOverrides] = [:]
    package var overrides: StoredOverrides { overrides(in: .cluster) }
    package func overrides(in table: OverrideTable) -> StoredOverrides { overrideTables[table] ?? StoredOverrides() }
    /// The streams that each reader follows, by reader number.
    private var readers: [Int: [Followed]] = [:]
    private var readersMade = 0
    package private(set) var isAvailable = true
    package private(set) var restarts = 0
    package private(set) var reconnects = 0

    package init(entriesMax: Int) { self.entriesMax = entriesMax }

    // MARK: Streams

    package mutating func stream(_ name: String, nowMs: UInt64) -> MemoryStream? {
        if let expiresAtMs = streams[name]?.expiresAtMs, expiresAtMs <= nowMs { streams[name] = nil }
        return streams[name]
    }

    @discardableResult
    package mutating func append(_ append: StreamAppend, nowMs: UInt64) -> StreamID {
        _ = stream(append.stream, nowMs: nowMs)
        let lengthMax = min(append.lengthMax ?? entriesMax, entriesMax)
        var changed = streams.removeValue(forKey: append.stream) ?? MemoryStream()
        let id = changed.append(append.fields, lengthMax: lengthMax, nowMs: nowMs)
        if let expireMs = append.expireMs { changed.expiresAtMs = nowMs + UInt64(clamping: expireMs) }
        streams[append.stream] = changed
        return id
    }

    package mutating func trim(_ name: String, minimumID: StreamID, nowMs: UInt64) -> Int {
        guard stream(name, nowMs: nowMs) != nil else { return 0 }
        return streams[name]?.trim(minimumID: minimumID) ?? 0
    }

    package mutating func delete(_ name: String, nowMs: UInt64) -> Bool {
        guard stream(name, nowMs: nowMs) != nil else { return false }
        streams[name] = nil
        return true
    }

    package mutating func checkpoint(_ name: String, group: String, id: StreamID, nowMs: UInt64) {
        _ = stream(name, nowMs: nowMs)
        streams[name, default: MemoryStream()].groups[group] = id
    }

    // MARK: Leases

    package var serverID: String { "memory-\(restarts)" }

    package mutating func acquire(
        _ key: String, owner: String, ttlMs: Int, basis: String = "", epoch: UInt64, nowMs: UInt64
    ) -> LeaseAnswer {
        let lease = leases[key]
        if let lease, lease.isHeld(nowMs: nowMs), lease.owner != owner {
            var leftMs = Int(clamping: lease.untilMs - nowMs)
            if leftMs > lease.ttlMs {
                // The expiry was set by a clock that was ahead of this one.
                leftMs = lease.ttlMs
                leases[key]?.untilMs = nowMs + UInt64(clamping: leftMs)
            }
            return .held(forMs: leftMs)
        }
        if let lease, lease.epoch >= epoch {
            let isRepeated = lease.epoch == epoch && lease.isHeld(nowMs: nowMs) && lease.server == serverID
            if !isRepeated { return .outdated(newest: lease.epoch) }
        }
        let known = lease?.server == serverID ? lease : nil
        let (serverEpoch, sinceMs) = (known?.serverEpoch ?? epoch, known?.sinceMs ?? nowMs)
        let basisEpoch = lease.flatMap { $0.basis == basis ? $0.basisEpoch : nil } ?? epoch
        leases[key] = Lease(
            owner: owner, epoch: epoch, untilMs: nowMs + UInt64(clamping: ttlMs), ttlMs: ttlMs, server: serverID,
            serverEpoch: serverEpoch, sinceMs: sinceMs, basis: basis, basisEpoch: basisEpoch)
        return .granted(
            LeaseGrant(
                epoch: epoch, serverEpoch: serverEpoch, basisEpoch: basisEpoch, server: serverID,
                knownForMs: Int64(nowMs) - Int64(sinceMs)))
    }

    /// The epoch of the lease's last grant.
    package func newestEpoch(_ key: String) -> UInt64? { leases[key]?.epoch }

    package mutating func renew(_ key: String, owner: String, epoch: UInt64, ttlMs: Int, nowMs: UInt64) -> Bool {
        guard holds(key, owner: owner, epoch: epoch, nowMs: nowMs) else { return false }
        leases[key]?.untilMs = nowMs + UInt64(clamping: ttlMs)
        leases[key]?.ttlMs = ttlMs
        return true
    }

    package mutating func release(_ key: String, owner: String, epoch: UInt64, nowMs: UInt64) -> Bool {
        guard holds(key, owner: owner, epoch: epoch, nowMs: nowMs) else { return false }
        leases[key]?.owner = nil
        return true
    }

    package func lease(_ key: String, nowMs: UInt64) -> LeaseState? {
        guard let lease = leases[key], lease.isHeld(nowMs: nowMs), let owner = lease.owner else { return nil }
        return LeaseState(owner: owner, epoch: lease.epoch, remainingMs: Int(clamping: lease.untilMs - nowMs))
    }

    /// Whether the lease is held under this epoch. False also if another server process granted it, because that
    /// process may have granted it to another owner since.
    package func holds(_ key: String, owner: String? = nil, epoch: UInt64, nowMs: UInt64) -> Bool {
        guard let lease = leases[key], lease.isHeld(nowMs: nowMs), lease.epoch == epoch, lease.server == serverID
        else { return false }
        return owner == nil || owner == lease.owner
    }

    // MARK: Nodes and overrides

    /// - Returns: whether the node had no unexpired entry before.
    @discardableResult
    package mutating func announceNode(_ id: String, payload: [UInt8], ttlMs: Int, nowMs: UInt64) -> Bool {
        let isNew = nodes[id].map { $0.untilMs <= nowMs } ?? true
        nodes[id] = Node(payload: payload, untilMs: nowMs + UInt64(clamping: ttlMs))
        return isNew
    }

    /// - Parameter payload: only if this is what the node announced last; nil: in any case.
    package mutating func withdrawNode(_ id: String, payload: [UInt8]? = nil) {
        if payload == nil || nodes[id]?.payload == payload { nodes[id] = nil }
    }

    package mutating func listNodes(livingAtMost ttlMs: Int? = nil, nowMs: UInt64) -> [NodeRecord] {
        nodes = nodes.filter { $0.value.untilMs > nowMs }
        if let ttlMs {
            for id in nodes.keys { nodes[id]!.untilMs = min(nodes[id]!.untilMs, nowMs + UInt64(clamping: ttlMs)) }
        }
        return nodes.map { id, node in
            NodeRecord(id: id, payload: node.payload, remainingMs: Int(clamping: node.untilMs - nowMs))
        }
        .sorted { $0.id < $1.id }
    }

    package mutating func changeOverrides(
        _ changes: [(field: String, value: String?)], in table: OverrideTable = .cluster, nowMs: UInt64
    ) -> UInt64 {
        var overrides = overrides(in: table)
        defer { overrideTables[table] = overrides }
        overrides.generation = max(overrides.generation + 1, nowMs)
        for change in changes {
            overrides.fields[change.field] = change.value.map { (overrides.generation, $0) }
        }
        return overrides.generation
    }

    // MARK: Readers

    /// Creates a reader and returns its number, for `read`.
    package mutating func makeReader() -> Int {
        readersMade += 1
        readers[readersMade] = []
        return readersMade
    }

    package mutating func dropReader(_ number: Int) { readers[number] = nil }

    package mutating func follow(_ number: Int, _ stream: String, after cursor: StreamID, server: String? = nil) {
        var followed = Followed(stream: stream, gap: GapCheck(cursor: cursor))
        if let server, server != serverID { followed.serverChanged = true }
        if let index = readers[number]?.firstIndex(where: { $0.stream == stream }) {
            readers[number]?[index] = followed
        } else {
            readers[number]?.append(followed)
        }
    }

    package mutating func unfollow(_ number: Int, _ stream: String) {
        readers[number]?.removeAll { $0.stream == stream }
    }

    /// Whether the reader follows one of these streams.
    package func follows(_ number: Int, anyOf streams: Set<String>) -> Bool {
        readers[number]?.contains { streams.contains($0.stream) } ?? false
    }

    /// Reads the new signals and entries of the streams that a reader follows.
    package mutating func read(_ number: Int, maxEntries: Int, nowMs: UInt64) -> [StreamBatch] {
        guard isAvailable, let count = readers[number]?.count else { return [] }
        var batches: [StreamBatch] = []
        for index in 0..<count {
            guard var followed = readers[number]?[index] else { continue }
            let stream = stream(followed.stream, nowMs: nowMs)
            let cursorExists = stream?.contains(followed.gap.cursor) ?? false
            var signal = followed.gap.check(stream?.info, cursorExists: cursorExists)
            if signal == nil, followed.serverChanged { signal = .serverChanged }
            followed.serverChanged = false
            let entries = stream?.range(after: followed.gap.cursor, through: .max, limit: maxEntries) ?? []
            if let last = entries.last { followed.gap.advance(to: last.id, by: entries.count) }
            readers[number]?[index] = followed
            if signal != nil || !entries.isEmpty {
                batches.append(StreamBatch(stream: followed.stream, signal: signal, entries: entries))
            }
        }
        return batches
    }

    // MARK: Faults

    /// Sets whether the server is available. While it is not, reads return nothing. Becoming available counts as a
    /// reconnect.
    package mutating func setAvailable(_ isAvailable: Bool) {
        if isAvailable, !self.isAvailable { reconnects += 1 }
        self.isAvailable = isAvailable
    }

    package mutating func restart(losingData: Bool) {
        if losingData { flush() }
        become(self)
    }

    /// Deletes everything; the server process stays the same.
    package mutating func flush() {
        streams = [:]
        leases = [:]
        nodes = [:]
        meta = nil
        overrideTables = [:]
    }

    /// Makes a replica take over with the data replicated so far; `replica` is this store as of that time.
    package mutating func failOver(to replica: MemoryStore) {
        become(replica)
    }

    private mutating func become(_ other: MemoryStore) {
        (streams, leases, nodes, meta, overrideTables) = (
            other.streams, other.leases, other.nodes, other.meta, other.overrideTables
        )
        restarts += 1
        reconnects += 1
        for number in readers.keys {
            guard let count = readers[number]?.count else { continue }
            for index in 0..<count { readers[number]?[index].serverChanged = true }
        }
    }
}
