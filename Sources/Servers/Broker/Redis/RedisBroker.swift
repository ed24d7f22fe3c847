package import Streams
import Glibc
package import LiveModel
package import Logging
import Synchronization

/// The `Broker` on Redis 7.0 or newer, through hiredis: one server, the master of a sentinel group, or a Redis Cluster
/// (`RedisConfiguration.Topology`).
///
/// The commands of each server share one connection and thread. Each reader has its own thread with one or two
/// connections (`ReadLanes`); in a cluster it has one thread for each hash tag (shard) that it follows, because Redis
/// blocks on keys of one slot only.
///
/// Long, because each requirement of `Broker` is here, as a command or a script of a few lines.
///
/// In addition to the everyday commands it needs permission for `EVALSHA`, `EVAL`, `XINFO`, `INFO` (without it every
/// connection counts as another server's), `CLIENT UNBLOCK` (without it a change of followed streams takes up to
/// `readBlockMs`), and in a cluster `CLUSTER INFO` and `CLUSTER SLOTS`.
package final class RedisBroker: Broker {
    package let keys: Keys
    private let logger: Logger
    private let routes: any CommandRoutes
    private let readers = Mutex<[WeakReader]>([])
    private let leasesLog: StoredDefectLog
    private let nodesLog: StoredDefectLog
    private let overridesLog: StoredDefectLog

    private struct WeakReader: Sendable {
        weak let reader: (any OwnedReader)?
    }

    /// Connects in the background; calls wait for the connection until their deadline. `name` shows in the server's
    /// client list. Throws if the configuration cannot work (`.misconfigured`), or if the process has no thread or file
    /// descriptor left.
    package init(
        _ configuration: RedisConfiguration, keys: Keys, name: String, logger: Logger
    ) throws(BrokerError) {
        self.keys = keys
        self.logger = logger
        leasesLog = StoredDefectLog(of: "leases", logger)
        nodesLog = StoredDefectLog(of: "node list", logger)
        overridesLog = StoredDefectLog(of: "override tables", logger)
        // hiredis writes without MSG_NOSIGNAL, on any thread: losing a server must not end the process.
        signal(SIGPIPE, SIG_IGN)
        let name = RedisBroker.clientName(name)
        switch configuration.topology {
        case .single:
            let resolver = FixedEndpoint(
                configuration: configuration, endpoint: configuration.endpoint, purpose: .primary)
            routes = try SingleRoutes(configuration, resolver: resolver, name: name, logger: logger)
        case .sentinel(let addresses, let master, _, _):
            let watch = try SentinelWatch(
                configuration, addresses: addresses, master: master, name: name, logger: logger)
            try watch.start()
            routes = try SingleRoutes(
                configuration, resolver: SentinelEndpoint(configuration: configuration, watch: watch), name: name,
                logger: logger, onClose: { await watch.close() })
        case .cluster(let addresses):
            guard configuration.database == 0 else {
                throw BrokerError(.misconfigured, "a Redis Cluster has database 0 only")
            }
            routes = try ClusterRoutes(configuration, seeds: addresses, name: name, logger: logger)
        }
    }

    package var state: BrokerState { routes.state }

    package func ping() async throws(BrokerError) {
        _ = try await routes.value(CommandBuffer("EXISTS", keys.meta), key: keys.meta)
    }

    package func memory(ofServersWith keys: [String]) async throws(BrokerError) -> [BrokerMemory] {
        let servers = state.servers
        var known: Set<String> = []
        var memories: [BrokerMemory] = []
        for key in keys {
            let reply: RedisValue
            do throws(BrokerError) {
                reply = try await routes.value(CommandBuffer("INFO", "server", "memory", "persistence"), key: key)
            } catch {
                // Without permission for INFO.
                if error.code == .rejected { return [] }
                throw error
            }
            guard let text = reply.text, var (runID, memory) = BrokerMemory.parse(info: text),
                known.insert(runID).inserted
            else { continue }
            memory.server = servers.first { $0.id.hasPrefix(runID) }?.address ?? runID
            memories.append(memory)
        }
        return memories
    }

    package func close() async {
        let open = readers.withLock { readers in
            defer { readers = [] }
            return readers.compactMap(\.reader)
        }
        for reader in open { reader.close() }
        await routes.close()
        for reader in open { await reader.waitUntilEnded() }
    }

    package func makeReader(name: String) -> any StreamReader {
        do throws(BrokerError) {
            let reader = try routes.makeReader(name: RedisBroker.clientName(name))
            readers.withLock { readers in
                readers.removeAll { $0.reader == nil }
                readers.append(WeakReader(reader: reader))
            }
            return reader
        } catch {
            return FailedReader(error: error)
        }
    }

    /// Replaces other characters, because `CLIENT SETNAME` takes only printable ASCII without spaces.
    private static func clientName(_ name: String) -> String {
        String(String.UnicodeScalarView(name.unicodeScalars.map { (33...126).contains($0.value) ? $0 : "_" }))
    }

    // MARK: Streams

    package func append(_ appends: [StreamAppend]) async throws(BrokerError) -> [StreamID] {
        if appends.isEmpty { return [] }
        return try await routes.append(appends)
    }

    package func append(_ appends: [StreamAppend], completion: @escaping AppendCompletion) {
        if appends.isEmpty { return completion(.success([])) }
        routes.append(appends, completion: completion)
    }

    package func info(of stream: String) async throws(BrokerError) -> StreamInfo? {
        let values = try await routes.call(CommandBuffer("XINFO", "STREAM", stream), key: stream, isRepeatable: true)
        do throws(StreamReplyError) {
            return try StreamInfo.decode(values[0])
        } catch {
            throw error.brokerError
        }
    }

    package func newest(
        _ stream: String, before: StreamID, limit: Int
    ) async throws(BrokerError) -> [StreamEntry] {
        guard limit > 0, before > .zero else { return [] }
        let value = try await routes.value(
            CommandBuffer("XREVRANGE", stream, "(\(before)", "-", "COUNT", String(limit)), key: stream)
        do throws(StreamReplyError) {
            var entries: [StreamEntry] = []
            for element in value.array ?? [] { entries.append(try StreamEntry.decode(element)) }
            return entries
        } catch {
            throw error.brokerError
        }
    }

    package func trim(_ stream: String, minimumID: StreamID) async throws(BrokerError) -> Int {
        try await routes.value(CommandBuffer("XTRIM", stream, "MINID", minimumID.description), key: stream).integer
            ?? 0
    }

    package func trimFenced(
        _ stream: String, minimumID: StreamID, lease key: String, epoch: UInt64
    ) async throws(BrokerError) -> Int? {
        try requireOneSlot(key, [stream])
        return try await run(Scripts.trimFenced, [key, stream], [String(epoch), minimumID.description]).integer
    }

    package func delete(_ stream: String) async throws(BrokerError) -> Bool {
        try await routes.value(CommandBuffer("UNLINK", stream), key: stream).integer == 1
    }

    // MARK: Leases

    package func requestLease(
        _ key: String, owner: String, ttlMs: Int, basis: String, epoch: UInt64
    ) async throws(BrokerError) -> LeaseAnswer {
        try requireLeaseArguments(owner: owner, ttlMs: ttlMs)
        guard epoch <= StoredNumber.versionMax else {
            throw BrokerError(.rejected, "epoch \(epoch) is above the largest that Redis' scripts can compare")
        }
        // Safe to repeat: a grant is repeated unchanged.
        let value = try await run(Scripts.acquireLease, [key], [owner, String(ttlMs), basis, String(epoch)])
        if let parts = value.array, parts.count == 2, let ms = parts[0].integer {
            if parts[1].integer == 1 { report(leasesLog, key) }
            return .held(forMs: Int(StoredNumber.leaseMs(Int64(ms))))
        }
        if let parts = value.array, parts.count == 1, let newest = parts[0].text.flatMap({ StoredNumber.version($0) }) {
            return .outdated(newest: newest)
        }
        guard let parts = value.array, parts.count == 5,
            let first = parts[0].text.flatMap({ StoredNumber.version($0) }),
            let based = parts[1].text.flatMap({ StoredNumber.version($0) }), let knownForMs = parts[2].integer,
            let server = parts[3].text
        else { throw BrokerError(.protocolViolation, "unreadable reply to a request for a lease") }
        if parts[4].integer == 1 { report(leasesLog, key) }
        return .granted(
            LeaseGrant(
                epoch: epoch, serverEpoch: first, basisEpoch: based, server: server,
                knownForMs: StoredNumber.durationMs(Int64(knownForMs))))
    }

    package func renewLease(
        _ key: String, owner: String, epoch: UInt64, ttlMs: Int
    ) async throws(BrokerError) -> Bool {
        try requireLeaseArguments(owner: owner, ttlMs: ttlMs)
        return try await run(Scripts.renewLease, [key], [owner, String(epoch), String(ttlMs)]).integer == 1
    }

    package func releaseLease(_ key: String, owner: String, epoch: UInt64) async throws(BrokerError) -> Bool {
        try await run(Scripts.releaseLease, [key], [owner, String(epoch)], isRepeatable: false).integer == 1
    }

    package func lease(_ key: String) async throws(BrokerError) -> LeaseState? {
        let value = try await run(Scripts.readLease, [key], [])
        if value.integer != nil { report(leasesLog, key) }
        guard let parts = value.array else { return nil }
        guard parts.count == 3, let epoch = parts[1].text.flatMap({ StoredNumber.version($0) }),
            let remainingMs = parts[2].integer
        else { throw BrokerError(.protocolViolation, "unreadable reply to a read of a lease") }
        guard let owner = parts[0].text else {
            report(leasesLog, key)
            return nil
        }
        let heldForMs = StoredNumber.leaseMs(Int64(remainingMs))
        if heldForMs < remainingMs { report(leasesLog, key) }
        return LeaseState(owner: owner, epoch: epoch, remainingMs: Int(heldForMs))
    }

    package func appendFenced(
        lease key: String, epoch: UInt64, _ appends: [StreamAppend]
    ) async throws(BrokerError) -> [StreamID]? {
        try requireOneSlot(key, appends.map(\.stream))
        var arguments = [Array(String(epoch).utf8)]
        for append in appends {
            arguments.append(Array((append.lengthMax.map { String($0) } ?? "").utf8))
            arguments.append(Array((append.expireMs.map { String($0) } ?? "").utf8))
            arguments.append(Array(String(append.fields.count * 2).utf8))
            for field in append.fields {
                arguments.append(Array(field.name.utf8))
                arguments.append(field.value)
            }
        }
        let value = try await routes.run(
            Scripts.appendFenced, keys: [key] + appends.map(\.stream), arguments, isRepeatable: false)
        if value == .null { return nil }
        var ids: [StreamID] = []
        for element in value.array ?? [] { ids.append(try appendedID(element)) }
        return ids
    }

    package func checkpoint(
        stream: String, group: String, id: StreamID, lease key: String, epoch: UInt64
    ) async throws(BrokerError) -> Bool {
        try requireOneSlot(key, [stream])
        return try await run(
            Scripts.checkpoint, [key, stream], [String(epoch), group, id.description, String(checkpointLagMax)]
        ).integer == 1
    }

    package func checkpoint(stream: String, group: String) async throws(BrokerError) -> StreamID? {
        let values = try await routes.call(CommandBuffer("XINFO", "GROUPS", stream), key: stream, isRepeatable: true)
        if case .error(let failure) = values[0] {
            if failure.isNoSuchKey { return nil }
            throw failure.brokerError
        }
        return values[0].array?.first { $0["name"]?.text == group }?["last-delivered-id"]?.streamID
    }

    // MARK: Nodes and cluster

    package func announceNode(_ id: String, payload: [UInt8], ttlMs: Int) async throws(BrokerError) -> Bool {
        try await routes.run(
            Scripts.announceNode, keys: [keys.nodes], [Array(id.utf8), Array(String(ttlMs).utf8), payload],
            isRepeatable: true
        ).integer == 1
    }

    package func withdrawNode(_ id: String, payload: [UInt8]?) async throws(BrokerError) {
        guard let payload else {
            _ = try await routes.value(CommandBuffer("HDEL", keys.nodes, id), key: keys.nodes)
            return
        }
        _ = try await routes.run(
            Scripts.withdrawNode, keys: [keys.nodes], [Array(id.utf8), payload], isRepeatable: true)
    }

    package func nodes(livingAtMost ttlMs: Int?) async throws(BrokerError) -> [NodeRecord] {
        var flat = try await run(Scripts.nodes, [keys.nodes], [ttlMs.map(String.init) ?? ""]).array ?? []
        if let removed = flat.popLast()?.integer, removed > 0 { report(nodesLog, "an end", count: removed) }
        var records: [NodeRecord] = []
        for index in stride(from: 0, to: flat.count - 2, by: 3) {
            guard case .bytes(let payload) = flat[index + 1], let remainingMs = flat[index + 2].integer
            else { throw BrokerError(.protocolViolation, "unreadable reply to a read of the node list") }
            guard let id = flat[index].text else {
                report(nodesLog, "an id that is no text")
                continue
            }
            records.append(
                NodeRecord(
                    id: id, payload: payload, remainingMs: Int(StoredNumber.durationMs(Int64(remainingMs)))))
        }
        return records.sorted { $0.id < $1.id }
    }

    package func meta(initial: ClusterMeta) async throws(BrokerError) -> ClusterMeta {
        let value = try await run(
            Scripts.meta, [keys.meta],
            [String(initial.shardCount), String(initial.formatVersion), initial.incarnation])
        guard let parts = value.array, parts.count == 3, let shardCount = parts[0].integer,
            let formatVersion = parts[1].integer, let incarnation = parts[2].text
        else { throw BrokerError(.protocolViolation, "unreadable reply to a read of the cluster's format") }
        return ClusterMeta(shardCount: shardCount, formatVersion: formatVersion, incarnation: incarnation)
    }

    package func raiseFormat(from former: Int, to version: Int) async throws(BrokerError) -> Bool {
        try await run(Scripts.raiseFormat, [keys.meta], [String(former), String(version)]).integer == version
    }

    package func overrides(in table: OverrideTable) async throws(BrokerError) -> StoredOverrides {
        let key = keys.key(of: table)
        let flat = try await routes.value(CommandBuffer("HGETALL", key), key: key).array ?? []
        var (stored, defects) = (StoredOverrides(), StoredDefects())
        for index in stride(from: 0, to: flat.count - 1, by: 2) {
            guard let field = flat[index].text, let text = flat[index + 1].text else {
                defects.add("bytes that are no text")
                continue
            }
            if field == Scripts.generationField {
                stored.generation = generation(text, &defects)
                continue
            }
            let parts = text.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let version = StoredNumber.version(parts[0]) else {
                defects.add("\(field): \(text)")
                continue
            }
            stored.fields[field] = (version, String(parts[1]))
        }
        overridesLog.report(defects)
        return stored
    }

    private func generation(_ text: String, _ defects: inout StoredDefects) -> UInt64 {
        let generation = StoredNumber.version(text)
        if generation == nil { defects.add("generation: \(text)") }
        return generation ?? 0
    }

    private func report(_ log: StoredDefectLog, _ what: String, count: Int = 1) {
        var defects = StoredDefects()
        for _ in 0..<count { defects.add(what) }
        log.report(defects)
    }

    package func overridesGeneration(in table: OverrideTable) async throws(BrokerError) -> UInt64 {
        let key = keys.key(of: table)
        let value = try await routes.value(CommandBuffer("HGET", key, Scripts.generationField), key: key)
        guard let text = value.text else { return 0 }
        var defects = StoredDefects()
        defer { overridesLog.report(defects) }
        return generation(text, &defects)
    }

    package func changeOverrides(
        _ changes: [(field: String, value: String?)], in table: OverrideTable
    ) async throws(BrokerError) -> UInt64 {
        // Safe to repeat: the same values get a higher generation.
        let value = try await run(
            Scripts.changeOverrides, [keys.key(of: table)], changes.flatMap { [$0.field, $0.value ?? ""] })
        guard let generation = value.text.flatMap({ StoredNumber.version($0) }) else {
            throw BrokerError(.protocolViolation, "unreadable reply to a change of overrides")
        }
        return generation
    }

    private func run(
        _ script: Script, _ keys: [String], _ arguments: [String], isRepeatable: Bool = true
    ) async throws(BrokerError) -> RedisValue {
        try await routes.run(script, keys: keys, arguments.map { Array($0.utf8) }, isRepeatable: isRepeatable)
    }
}

/// An empty owner means "free" in the stored lease.
package func requireLeaseArguments(owner: String, ttlMs: Int) throws(BrokerError) {
    guard !owner.isEmpty, ttlMs > 0 else { throw BrokerError(.misconfigured, "a lease needs an owner and a ttl") }
}
