import LiveModel

/// Everything the in-memory broker holds; used under one lock. `nowMs` is the server's clock at the call.
struct MemoryStore {
    typealias Answer = Result<[StreamBatch], BrokerError>

    struct Lease {
        var owner: String?
        var epoch: UInt64
        var untilMs: UInt64
        var server: String
        var trustedEpoch: UInt64

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

    struct Waiting {
        let ticket: Int
        let maxEntries: Int
        let continuation: CheckedContinuation<Answer, Never>
    }

    struct Reader {
        var followed: [Followed] = []
        var waiting: Waiting?
        var isClosed = false
    }

    /// Streams without a `lengthMax` of their own keep at most this many entries.
    let entriesMax: Int
    private(set) var streams: [String: MemoryStream] = [:]
    var leases: [String: Lease] = [:]
    var nodes: [String: Node] = [:]
    var meta: ClusterMeta?
    var orders = StoredOrders()
    /// By number, so that they wake in the order in which they were made.
    var readers: [Int: Reader] = [:]
    var readersMade = 0
    var tickets = 0
    var isClosed = false
    var isAvailable = true
    var restarts = 0
    var reconnects = 0
    /// The next `append` ends with `.outcomeUnknown`, executed (true) or not.
    var nextAppendFault: Bool?

    init(entriesMax: Int) { self.entriesMax = entriesMax }

    func requireService() throws(BrokerError) {
        if isClosed { throw BrokerError(.closed) }
        if !isAvailable { throw BrokerError(.unavailable, "simulated outage") }
    }

    // MARK: Streams

    mutating func stream(_ name: String, nowMs: UInt64) -> MemoryStream? {
        if let expiresAtMs = streams[name]?.expiresAtMs, expiresAtMs <= nowMs { streams[name] = nil }
        return streams[name]
    }

    mutating func append(_ append: StreamAppend, nowMs: UInt64) -> StreamID {
        _ = stream(append.stream, nowMs: nowMs)
        let lengthMax = min(append.lengthMax ?? entriesMax, entriesMax)
        var changed = streams.removeValue(forKey: append.stream) ?? MemoryStream()
        let id = changed.append(append.fields, lengthMax: lengthMax, nowMs: nowMs)
        if let expireMs = append.expireMs { changed.expiresAtMs = nowMs + UInt64(clamping: expireMs) }
        streams[append.stream] = changed
        return id
    }

    mutating func trim(_ name: String, minimumID: StreamID, nowMs: UInt64) -> Int {
        guard stream(name, nowMs: nowMs) != nil else { return 0 }
        return streams[name]?.trim(minimumID: minimumID) ?? 0
    }

    mutating func delete(_ name: String, nowMs: UInt64) -> Bool {
        guard stream(name, nowMs: nowMs) != nil else { return false }
        streams[name] = nil
        return true
    }

    mutating func checkpoint(_ name: String, group: String, id: StreamID, nowMs: UInt64) {
        _ = stream(name, nowMs: nowMs)
        streams[name, default: MemoryStream()].groups[group] = id
    }

    // MARK: Leases

    var serverID: String { "memory-\(restarts)" }

    mutating func acquire(_ key: String, owner: String, ttlMs: Int, nowMs: UInt64) -> LeaseGrant? {
        let lease = leases[key]
        if let lease, lease.isHeld(nowMs: nowMs), lease.owner != owner { return nil }
        let epoch = max((lease?.epoch ?? 0) + 1, nowMs)
        let trustedEpoch = lease.flatMap { $0.server == serverID ? $0.trustedEpoch : nil } ?? epoch
        leases[key] = Lease(
            owner: owner, epoch: epoch, untilMs: nowMs + UInt64(clamping: ttlMs), server: serverID,
            trustedEpoch: trustedEpoch)
        return LeaseGrant(epoch: epoch, trustedEpoch: trustedEpoch, server: serverID)
    }

    func holds(_ key: String, owner: String? = nil, epoch: UInt64, nowMs: UInt64) -> Bool {
        guard let lease = leases[key], lease.isHeld(nowMs: nowMs), lease.epoch == epoch else { return false }
        return owner == nil || owner == lease.owner
    }

    // MARK: Readers

    /// What a reader gets now: signals and entries of the streams it follows.
    mutating func read(_ number: Int, maxEntries: Int, nowMs: UInt64) -> [StreamBatch] {
        guard isAvailable, let count = readers[number]?.followed.count else { return [] }
        var batches: [StreamBatch] = []
        for index in 0..<count {
            guard var followed = readers[number]?.followed[index] else { continue }
            let stream = stream(followed.stream, nowMs: nowMs)
            let cursorExists = stream?.contains(followed.gap.cursor) ?? false
            var signal = followed.gap.check(stream?.info, cursorExists: cursorExists)
            if signal == nil, followed.serverChanged { signal = .serverChanged }
            followed.serverChanged = false
            let entries = stream?.range(after: followed.gap.cursor, through: .max, limit: maxEntries) ?? []
            if let last = entries.last { followed.gap.advance(to: last.id, by: entries.count) }
            readers[number]?.followed[index] = followed
            if signal != nil || !entries.isEmpty {
                batches.append(StreamBatch(stream: followed.stream, signal: signal, entries: entries))
            }
        }
        return batches
    }

    /// The waiting readers that can go on, with what they get. `stream` nil: look at all of them.
    mutating func wake(
        _ streams: Set<String>?, nowMs: UInt64
    ) -> [(CheckedContinuation<Answer, Never>, [StreamBatch])] {
        var woken: [(CheckedContinuation<Answer, Never>, [StreamBatch])] = []
        for number in readers.keys.sorted() {
            guard let reader = readers[number], let waiting = reader.waiting else { continue }
            guard streams.map({ names in reader.followed.contains { names.contains($0.stream) } }) ?? true else {
                continue
            }
            let batches = read(number, maxEntries: waiting.maxEntries, nowMs: nowMs)
            if batches.isEmpty { continue }
            readers[number]?.waiting = nil
            woken.append((waiting.continuation, batches))
        }
        return woken
    }

    // MARK: Faults

    mutating func restart(losingData: Bool) {
        restarts += 1
        reconnects += 1
        if losingData {
            streams = [:]
            leases = [:]
            nodes = [:]
            meta = nil
            orders = StoredOrders()
        }
        for number in readers.keys {
            guard let count = readers[number]?.followed.count else { continue }
            for index in 0..<count { readers[number]?.followed[index].serverChanged = true }
        }
    }
}
