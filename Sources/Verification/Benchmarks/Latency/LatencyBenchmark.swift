import APINode
import Broker
import Catalog
import Cluster
import Execution
import JSON
import LiveModel
import LocalServers
import NIOCore
import NIOPosix
import Node
import Postgres
import ProtocolClients
import RoleMachines
import Settings
import Streams

/// Measures the time from a commit to a subscriber's new result on an idle system.
///
/// One node with every role, one live query, one subscriber. Mutations are rare, so that no minimum gap and no other
/// work delays a run. Each round also measures the parts of the path separately: two broker hops (event, result), one
/// read, one write to the socket; with our own clients and with bare hiredis, libpq and sockets.
package enum LatencyBenchmark {
    /// Random pauses, longer than the minimum gap between two runs of a live query.
    private static let pausesMs = 30...50

    package static func run(project: String, isQuick: Bool) async throws -> [BenchmarkResult] {
        try await PrivateServers.with(project: project) { servers in
            try await servers.withNode(roles: Set(Role.allCases)) { address in
                try await servers.withPool { pool in
                    try await measure(servers, pool, address, rounds: isQuick ? 100 : 1_000)
                }
            }
        }
    }

    private struct Outcome {
        var delivered = Samples()
        var sentToDelivered = Samples()
        var acknowledgedToDelivered = Samples()
        var hop = Samples()
        var read = Samples()
        var write = Samples()
        var parts = Samples()
        var bareHop = Samples()
        var bareRead = Samples()
        var bareWrite = Samples()
        var bareParts = Samples()
    }

    private static func measure(
        _ servers: PrivateServers, _ pool: PostgresPool, _ address: ServiceNode.Address, rounds: Int
    ) async throws -> [BenchmarkResult] {
        let settings = Settings(profile: .dev)
        let broker = try RedisBroker(
            try RedisConfiguration(url: servers.redis.url), keys: try Keys(namespace: settings.cluster.namespace),
            name: "bench", logger: PrivateServers.quiet)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = ServerAddress(host: "127.0.0.1", port: address.publicPort)
        let id = try await servers.lotIDs(pool, 1)[0]
        let parts = try await PathParts(servers, pool, broker, id: id)
        let query = try servers.operation("GetLot")
        let bare = try BarePath(
            servers, try query.queryCall(variables: try query.coerce(["id": .string(id)]), auth: nil, nowMs: 0))
        let writer = try WriterNode(servers, pool, broker, shardCount: settings.cluster.shardCount, id: id)
        let subscriber = try await SocketClient.connect(server, group)
        let caller = try await SocketClient.connect(server, group)
        subscriber.subscribe("GetLot", ["id": .string(id)], operationID: "live")
        _ = try await subscriber.next()

        var outcome = Outcome()
        for round in 0..<rounds {
            try await pause()
            let committed = try await writer.write("in process \(round)")
            outcome.delivered.add(try await subscriber.next() - committed)

            try await pause()
            let sent = Clock.now
            caller.subscribe(
                "EditLot", ["id": .string(id), "category": "Books", "description": .string("by socket \(round)")],
                operationID: "m\(round)")
            let acknowledged = try await caller.next()
            let delivered = try await subscriber.next()
            outcome.sentToDelivered.add(delivered - sent)
            outcome.acknowledgedToDelivered.add(delivered - acknowledged)

            try await pause()
            let (event, result) = (try await parts.hop(), try await parts.hop())
            try await pause()
            let (read, write) = (try await parts.read(), try await parts.write())
            for hop in [event, result] { outcome.hop.add(hop) }
            outcome.read.add(read)
            outcome.write.add(write)
            outcome.parts.add(event + result + read + write)

            try await pause()
            let times = try await bare.measure()
            outcome.bareHop.add(times.hop)
            outcome.bareRead.add(times.read)
            outcome.bareWrite.add(times.write)
            outcome.bareParts.add(times.sum)
        }
        subscriber.close()
        caller.close()
        await parts.close()
        await broker.close()
        try await group.shutdownGracefully()
        return report(outcome, rounds: rounds)
    }

    private static func pause() async throws {
        try await Task.sleep(for: .milliseconds(Int.random(in: pausesMs)))
    }

    private static func report(_ outcome: Outcome, rounds: Int) -> [BenchmarkResult] {
        let rows: [(String, Samples)] = [
            ("commit -> delivery", outcome.delivered),
            ("parts: XADD -> XREAD (the way has two)", outcome.hop),
            ("parts: primary-key read", outcome.read),
            ("parts: loopback write", outcome.write),
            ("parts: sum", outcome.parts),
            ("bare parts: XADD -> XREAD, by hiredis", outcome.bareHop),
            ("bare parts: primary-key read, by libpq", outcome.bareRead),
            ("bare parts: loopback write, by threads", outcome.bareWrite),
            ("bare parts: sum", outcome.bareParts),
            ("mutation sent -> delivery, by WebSocket", outcome.sentToDelivered),
            ("mutation acknowledged -> delivery", outcome.acknowledgedToDelivered),
        ]
        print(
            Text.table(
                [["idle system, \(rounds) rounds", "median", "p99"]]
                    + rows.map { [$0.0, Text.milliseconds($0.1.median), Text.milliseconds($0.1.p99)] }))
        let (median, p99) = (outcome.delivered.median, outcome.delivered.p99)
        return [
            BenchmarkResult(
                name: "commit -> delivery, median / sum of its parts",
                measured: "\(Text.milliseconds(median)) / \(Text.milliseconds(outcome.parts.median))",
                ratio: median / outcome.parts.median, limit: .atMost(BenchmarkLimits.latencyOverPartsMax)),
            BenchmarkResult(
                name: "commit -> delivery, median / sum of its bare parts",
                measured: "\(Text.milliseconds(median)) / \(Text.milliseconds(outcome.bareParts.median))",
                ratio: median / outcome.bareParts.median, limit: .atMost(BenchmarkLimits.latencyOverPartsMax)),
            BenchmarkResult(
                name: "commit -> delivery, p99 / p99 of the sum of its parts",
                measured: "\(Text.milliseconds(p99)) / \(Text.milliseconds(outcome.parts.p99))",
                ratio: p99 / outcome.parts.p99, limit: .none),
        ]
    }
}

/// The API node's main path in this process, so that the time of the acknowledged commit is known.
struct WriterNode {
    private let service: MutationService
    private let lookup: OperationLookup
    private let id: String

    init(_ servers: PrivateServers, _ pool: PostgresPool, _ broker: any Broker, shardCount: Int, id: String) throws {
        let overrideList = OverrideList(
            broker: broker, shardCount: shardCount, nowMs: { ServiceClock.system().nowMs() })
        let catalogs = ServedCatalogs(servers.catalog)
        service = MutationService(
            catalogs: catalogs,
            executor: MutationExecutor(pool: pool, clock: .system(), makeUUID: { RandomIdentity.uuid() }),
            publisher: EventPublisher(
                broker: broker, pool: pool, catalogs: catalogs, overrideList: overrideList, settings: .init(),
                logger: PrivateServers.quiet),
            overrideList: overrideList, inFlightMax: 16, makeUUID: { RandomIdentity.uuid() })
        lookup = catalogs.snapshot.lookup
        self.id = id
    }

    /// - Returns: the time of the acknowledged commit.
    func write(_ description: String) async throws -> Double {
        let resolved = try lookup.resolve(
            connector: nil, name: "EditLot", document: nil,
            variables: ["id": .string(id), "category": "Books", "description": .string(description)], auth: nil,
            nowMs: 0)
        let outcome = try await service.execute(resolved, traceID: "bench")
        let committed = Clock.now
        guard outcome.errors.isEmpty else { throw BenchmarkFailure("the mutation failed") }
        return committed
    }
}
