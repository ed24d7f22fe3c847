import Clocks
import Streams
import LiveModel
import Logging

/// Routes over a Redis Cluster: each call goes to the primary of its key's slot and follows redirections from there.
///
/// A call that a server refused or never received is sent again, elsewhere or later, until its deadline; so
/// `.unavailable` means that no node served the slot all that time. Appends to one slot go as one transaction
/// (`MULTI`), because a redirection between two of them would reverse their order.
///
/// `ClusterCall` decides what follows on each attempt.
final class ClusterRoutes: CommandRoutes {
    private let configuration: RedisConfiguration
    private let map: ClusterMap
    private let name: String
    private let logger: Logger

    init(
        _ configuration: RedisConfiguration, seeds: [RedisConfiguration.Endpoint], name: String, logger: Logger
    ) throws(BrokerError) {
        self.configuration = configuration
        self.name = name
        self.logger = logger
        map = try ClusterMap(configuration, seeds: seeds, name: name, logger: logger)
        try map.start()
    }

    var state: BrokerState { map.state }
    func close() async { await map.close() }

    func makeReader(name: String) throws(BrokerError) -> any OwnedReader {
        ClusterReader(configuration, map: map, name: "\(self.name):\(name)", logger: logger)
    }

    func call(_ commands: CommandBuffer, key: String, isRepeatable: Bool) async throws(BrokerError) -> [RedisValue] {
        try await call(commands, slot: hashSlot(of: key), isRepeatable: isRepeatable)
    }

    private func call(
        _ commands: CommandBuffer, slot: Int, isRepeatable: Bool
    ) async throws(BrokerError) -> [RedisValue] {
        let deadlineNs = addMs(configuration.commandTimeoutMs, to: MonotonicClock.nowNs())
        var call = ClusterCall()
        while true {
            let (target, sent) =
                switch call.destination {
                case .owner: (map.owner(of: slot), commands)
                case .asking(let endpoint): (endpoint, CommandBuffer("ASKING").followed(by: commands))
                }
            let verdict: ClusterCall.Verdict
            do throws(BrokerError) {
                guard let target else { throw BrokerError(.unavailable, map.failure.reason) }
                let values = try await map.pipeline(at: target)
                    .call(sent, isRepeatable: isRepeatable, deadlineNs: deadlineNs)
                verdict = call.replied(values, by: target)
            } catch {
                verdict = call.failed(error)
            }
            switch verdict {
            case .answer(let values): return values
            case .fail(let error): throw error
            case .moved(let slot, let endpoint): map.moved(slot, to: endpoint)
            case .outdated: map.hint()
            case .redirected: break
            }
            switch call.retry(leftMs: msUntil(deadlineNs), { Int.random(in: $0) }) {
            case .atOnce: break
            case .after(let ms):
                // A separate task, because the caller's cancellation would turn this into a busy loop.
                await Task { try? await Task.sleep(for: .milliseconds(ms)) }.value
            case .never(let error): throw error
            }
        }
    }

    // MARK: Appends

    func append(_ appends: [StreamAppend]) async throws(BrokerError) -> [StreamID] {
        var groups: [Int: [Int]] = [:]
        for (index, append) in appends.enumerated() { groups[hashSlot(of: append.stream), default: []].append(index) }
        if groups.count == 1, let slot = groups.keys.first { return try await append(appends, slot: slot) }
        let results = await withTaskGroup(of: (slot: Int, Result<[StreamID], BrokerError>).self) { tasks in
            for (slot, indices) in groups {
                let group = indices.map { appends[$0] }
                tasks.addTask {
                    do throws(BrokerError) {
                        let ids = try await self.append(group, slot: slot)
                        return (slot, .success(ids))
                    } catch {
                        return (slot, .failure(error))
                    }
                }
            }
            return await tasks.reduce(into: [Int: Result<[StreamID], BrokerError>]()) { $0[$1.slot] = $1.1 }
        }
        var ids = [StreamID](repeating: .zero, count: appends.count)
        var failed: BrokerError?
        for (slot, indices) in groups {
            switch results[slot] {
            case .success(let found): for (index, id) in zip(indices, found) { ids[index] = id }
            // Report a call that may have been executed in preference to others.
            case .failure(let error): if failed == nil || error.code == .outcomeUnknown { failed = error }
            case nil: failed = BrokerError(.protocolViolation, "no reply for a slot")
            }
        }
        if let failed { throw failed }
        return ids
    }

    private func append(_ appends: [StreamAppend], slot: Int) async throws(BrokerError) -> [StreamID] {
        let isTransaction = appends.count > 1
        var commands = CommandBuffer()
        if isTransaction { commands.add(["MULTI"]) }
        commands = commands.followed(by: CommandBuffer(appends))
        if isTransaction { commands.add(["EXEC"]) }
        var values = try await call(commands, slot: slot, isRepeatable: false)
        if isTransaction {
            if let refusal = ClusterCall.refusal(in: values) { throw refusal.brokerError }
            guard let executed = values.last?.array else {
                throw BrokerError(.protocolViolation, "unreadable reply to EXEC")
            }
            values = executed
        }
        var ids: [StreamID] = []
        ids.reserveCapacity(appends.count)
        var index = 0
        for append in appends {
            guard index < values.count else { throw BrokerError(.protocolViolation, "unreadable reply to EXEC") }
            ids.append(try appendedID(values[index]))
            index += append.expireMs == nil ? 1 : 2
        }
        return ids
    }
}

/// The node that has a slot, as the slot's readers see it.
struct SlotEndpoint: RedisEndpointResolver {
    let slot: Int
    let configuration: RedisConfiguration
    let map: ClusterMap

    func connect(name: String) throws(RedisConnection.Failure) -> RedisConnection {
        guard let endpoint = map.owner(of: slot) else { throw map.failure }
        return try RedisConnection(configuration, at: endpoint, for: .clusterPrimary, name: name)
    }

    func connect(
        to endpoint: RedisConfiguration.Endpoint, name: String
    ) throws(RedisConnection.Failure) -> RedisConnection {
        try RedisConnection(configuration, at: endpoint, for: .clusterPrimary, name: name)
    }

    func isCurrent(_ endpoint: RedisConfiguration.Endpoint) -> Bool { map.owner(of: slot) == endpoint }
    /// Short, because a blocking read does not notice when its stream moves to another node.
    var blockMsMax: Int { 1_000 }
    var version: Int { map.version }
    func failed() { map.hint() }

    /// Applies the redirection at once, because waiting for the complete map would delay the reader.
    func refused(_ failure: RedisFailure, by endpoint: RedisConfiguration.Endpoint) {
        guard case .moved(let slot, let target) = Redirection(failure, asked: endpoint) else { return }
        map.moved(slot, to: target)
    }

    func watch(_ wake: WakeFlag) { map.watch(wake) }
    var description: String { "slot \(slot) of \(configuration)" }
}

/// The helper of a cluster's readers: the command pipeline of the node that they read from.
struct ClusterHelper: ReaderHelper {
    let map: ClusterMap

    func unblock(_ connection: RedisConnection) {
        try? map.pipeline(at: connection.endpoint)
            .send(CommandBuffer("CLIENT", "UNBLOCK", String(connection.clientID)))
    }

    func countReconnect() { map.countReconnect() }
}
