package import Broker
package import Streams
package import LiveModel
import RedisModel

/// An in-process `Broker` for tests; the simulation uses its store (`MemoryStore`). Deterministic: one lock guards all
/// state, time comes only from `now`, and waiting readers continue in the order in which they were made. It can
/// simulate faults: `restart(losingData:)`, `setAvailable(_:)`, `failNextAppend(executed:)`.
package final class MemoryBroker: Broker {
    package let keys: Keys
    private let now: @Sendable () -> UInt64
    private let store: MemoryStoreBox

    /// - Parameters:
    ///   - entriesMax: the most entries that a stream keeps, whatever its appends say.
    ///   - now: the broker's clock, milliseconds since 1970, never decreasing. It must not call the broker.
    package init(keys: Keys, entriesMax: Int = 100_000, now: @escaping @Sendable () -> UInt64) {
        self.keys = keys
        self.now = now
        store = MemoryStoreBox(entriesMax: max(StreamAppend.lengthMaxFloor, entriesMax))
    }

    package var state: BrokerState {
        store.withLock { memory in
            let store = memory.store
            var state = BrokerState()
            state.connected = store.isAvailable && !memory.isClosed
            state.serverID = store.serverID
            state.serverChanges = store.restarts
            state.servers = [BrokerServer(address: "memory", connected: state.connected, id: store.serverID)]
            state.reconnects = store.reconnects
            return state
        }
    }

    package func ping() async throws(BrokerError) {
        try serve { _, _ in }
    }

    package func memory(ofServersWith keys: [String]) async throws(BrokerError) -> [BrokerMemory] { [] }

    package func close() async {
        let pending = store.withLock { state in
            state.isClosed = true
            defer { state.pending = [:] }
            return state.pending.sorted { $0.key < $1.key }.map(\.value)
        }
        for read in pending { read.completion(.failure(BrokerError(.closed))) }
    }

    package func makeReader(name: String) -> any StreamReader {
        let number = store.withLock { $0.store.makeReader() }
        return MemoryStreamReader(store, number: number, now: now)
    }

    private func serve<Value>(
        _ body: (inout MemoryStore, UInt64) -> Value
    ) throws(BrokerError) -> Value {
        let nowMs = now()
        return try store.withLock { state throws(BrokerError) in
            try state.requireService()
            return body(&state.store, nowMs)
        }
    }

    private func wakeReaders(of streams: Set<String>?) { store.wake(streams, nowMs: now()) }

    // MARK: Faults

    /// Replaces the server process with another one, with its data or empty.
    package func restart(losingData: Bool) {
        store.withLock { $0.store.restart(losingData: losingData) }
        wakeReaders(of: nil)
    }

    /// Sets whether the broker is available. If not, calls fail with `.unavailable` and readers wait.
    package func setAvailable(_ isAvailable: Bool) {
        store.withLock { $0.store.setAvailable(isAvailable) }
        wakeReaders(of: nil)
    }

    /// Makes the next `append` fail with `.outcomeUnknown`, executed or not.
    package func failNextAppend(executed: Bool) {
        store.withLock { $0.nextAppendFault = executed }
    }

    /// Makes `append` wait until it is called again with false, or the broker is closed.
    package func stallAppends(_ stall: Bool) {
        store.withLock { $0.appendsStall = stall }
    }

    // MARK: Streams

    package func append(_ appends: [StreamAppend]) async throws(BrokerError) -> [StreamID] {
        while store.withLock({ $0.appendsStall && !$0.isClosed }) { try? await Task.sleep(for: .milliseconds(5)) }
        let nowMs = now()
        let (ids, fault) = try store.withLock { state throws(BrokerError) -> ([StreamID], Bool?) in
            try state.requireService()
            let fault = state.nextAppendFault
            state.nextAppendFault = nil
            if fault == false { return ([], fault) }
            return (appends.map { state.store.append($0, nowMs: nowMs) }, fault)
        }
        wakeReaders(of: Set(appends.map(\.stream)))
        if fault != nil { throw BrokerError(.outcomeUnknown, "simulated") }
        return ids
    }

    package func info(of stream: String) async throws(BrokerError) -> StreamInfo? {
        try serve { store, nowMs in store.stream(stream, nowMs: nowMs)?.info }
    }

    package func newest(
        _ stream: String, before: StreamID, limit: Int
    ) async throws(BrokerError) -> [StreamEntry] {
        try serve { store, nowMs in
            store.stream(stream, nowMs: nowMs)?.newest(before: before, limit: limit) ?? []
        }
    }

    package func trim(_ stream: String, minimumID: StreamID) async throws(BrokerError) -> Int {
        try serve { store, nowMs in store.trim(stream, minimumID: minimumID, nowMs: nowMs) }
    }

    package func trimFenced(
        _ stream: String, minimumID: StreamID, lease key: String, epoch: UInt64
    ) async throws(BrokerError) -> Int? {
        try requireOneSlot(key, [stream])
        return try serve { store, nowMs in
            guard store.holds(key, epoch: epoch, nowMs: nowMs) else { return nil }
            return store.trim(stream, minimumID: minimumID, nowMs: nowMs)
        }
    }

    package func delete(_ stream: String) async throws(BrokerError) -> Bool {
        try serve { store, nowMs in store.delete(stream, nowMs: nowMs) }
    }

    // MARK: Leases

    package func requestLease(
        _ key: String, owner: String, ttlMs: Int, basis: String, epoch: UInt64
    ) async throws(BrokerError) -> LeaseAnswer {
        try requireLeaseArguments(owner: owner, ttlMs: ttlMs)
        return try serve { store, nowMs in
            store.acquire(key, owner: owner, ttlMs: ttlMs, basis: basis, epoch: epoch, nowMs: nowMs)
        }
    }

    package func renewLease(
        _ key: String, owner: String, epoch: UInt64, ttlMs: Int
    ) async throws(BrokerError) -> Bool {
        try requireLeaseArguments(owner: owner, ttlMs: ttlMs)
        return try serve { store, nowMs in
            store.renew(key, owner: owner, epoch: epoch, ttlMs: ttlMs, nowMs: nowMs)
        }
    }

    package func releaseLease(_ key: String, owner: String, epoch: UInt64) async throws(BrokerError) -> Bool {
        try serve { store, nowMs in store.release(key, owner: owner, epoch: epoch, nowMs: nowMs) }
    }

    package func lease(_ key: String) async throws(BrokerError) -> LeaseState? {
        try serve { store, nowMs in store.lease(key, nowMs: nowMs) }
    }

    package func appendFenced(
        lease key: String, epoch: UInt64, _ appends: [StreamAppend]
    ) async throws(BrokerError) -> [StreamID]? {
        try requireOneSlot(key, appends.map(\.stream))
        let ids = try serve { store, nowMs -> [StreamID]? in
            guard store.holds(key, epoch: epoch, nowMs: nowMs) else { return nil }
            return appends.map { store.append($0, nowMs: nowMs) }
        }
        wakeReaders(of: Set(appends.map(\.stream)))
        return ids
    }

    package func checkpoint(
        stream: String, group: String, id: StreamID, lease key: String, epoch: UInt64
    ) async throws(BrokerError) -> Bool {
        try requireOneSlot(key, [stream])
        return try serve { store, nowMs in
            guard store.holds(key, epoch: epoch, nowMs: nowMs) else { return false }
            store.checkpoint(stream, group: group, id: id, nowMs: nowMs)
            return true
        }
    }

    package func checkpoint(stream: String, group: String) async throws(BrokerError) -> StreamID? {
        try serve { store, nowMs in store.stream(stream, nowMs: nowMs)?.groups[group] }
    }

    // MARK: Nodes and cluster

    package func announceNode(_ id: String, payload: [UInt8], ttlMs: Int) async throws(BrokerError) -> Bool {
        try serve { store, nowMs in store.announceNode(id, payload: payload, ttlMs: ttlMs, nowMs: nowMs) }
    }

    package func withdrawNode(_ id: String, payload: [UInt8]?) async throws(BrokerError) {
        try serve { store, _ in store.withdrawNode(id, payload: payload) }
    }

    package func nodes(livingAtMost ttlMs: Int?) async throws(BrokerError) -> [NodeRecord] {
        try serve { store, nowMs in store.listNodes(livingAtMost: ttlMs, nowMs: nowMs) }
    }

    package func meta(initial: ClusterMeta) async throws(BrokerError) -> ClusterMeta {
        try serve { store, _ in
            let stored = store.meta ?? initial
            store.meta = stored
            return stored
        }
    }

    package func raiseFormat(from former: Int, to version: Int) async throws(BrokerError) -> Bool {
        try serve { store, _ in
            if store.meta?.formatVersion == former { store.meta?.formatVersion = version }
            return store.meta?.formatVersion == version
        }
    }

    package func overrides(in table: OverrideTable) async throws(BrokerError) -> StoredOverrides {
        try serve { store, _ in store.overrides(in: table) }
    }

    package func overridesGeneration(in table: OverrideTable) async throws(BrokerError) -> UInt64 {
        try serve { store, _ in store.overrides(in: table).generation }
    }

    package func changeOverrides(
        _ changes: [(field: String, value: String?)], in table: OverrideTable
    ) async throws(BrokerError) -> UInt64 {
        try serve { store, nowMs in
            store.changeOverrides(changes, in: table, nowMs: nowMs)
        }
    }
}
