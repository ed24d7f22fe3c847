import Chaos
import Execution
import JSON
import LiveModel
import LocalServers
import Logging
import Postgres
import ProtocolClients
import Testing

/// Epochs of leases, and a Redis whose clock is not that of the one before.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct EpochTests {
    private static let hourMs = 3_600_000
    private static func clock(_ errorMs: Int) throws -> [String: String] { try WrongClock.environment(byMs: errorMs) }

    @Test func epochsOnlyIncrease() async throws {
        try await Servers.with { servers in
            let pool = PostgresPool(
                configuration: PostgresConfiguration(connectionString: servers.postgres.connectionString),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            try await pool.start()
            try await pool.script(ServiceSchema.sql)
            func epochs(_ namespace: String) -> ShardEpochs {
                ShardEpochs(pool: pool, namespace: namespace, timeoutMs: 10_000)
            }
            let (own, others) = (epochs("a"), epochs("b"))
            let (one, two) = (ShardID(1), ShardID(2))
            let first = try await own.newest(of: one)
            #expect(first.recorded == 0)
            #expect(first.clockMs > 1_700_000_000_000)
            #expect(try await own.record(1, of: one))
            #expect(try await !own.record(1, of: one))
            #expect(try await own.record(1 << 53, of: one))
            #expect(try await !own.record(7, of: one))
            // One of the racing workers records each epoch, and the greatest remains.
            for epoch in 1...5 as ClosedRange<UInt64> {
                let winners = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for _ in 0..<8 { group.addTask { try await own.record(epoch, of: two) } }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(winners == 1)
            }
            // The next start leaves it as it is.
            try await pool.script(ServiceSchema.sql)
            #expect(try await own.newest(of: one).recorded == 1 << 53)
            #expect(try await own.newest(of: two).recorded == 5)
            #expect(try await others.newest(of: one).recorded == 0)
            await pool.stop()
        }
    }

    /// The new owner's epoch must be above the former one's, or gateways would take it for the former.
    @Test func updatesArriveAfterAnEmptyRedisWithAnotherClock() async throws {
        try await Cluster.with { cluster in
            let node = try await cluster.start(roles: "api,worker,gateway")
            let (subscriber, update) = try await Self.follow(node.address)
            try await update("before")
            for errorMs in [-Self.hourMs, 0, Self.hourMs, -Self.hourMs] {
                await cluster.servers.redis.crash()
                try await cluster.servers.redis.restart(environment: Self.clock(errorMs))
                try await update("clock \(errorMs)")
            }
            _ = subscriber
        }
    }

    /// The leases of a dead worker were granted by a clock that was ahead. They end by the corrected clock after their
    /// usual time, not when that clock has caught up.
    @Test func leasesGrantedByAClockAheadEndAfterTheirUsualTime() async throws {
        try await Cluster.with(keepsData: true) { cluster in
            let node = try await cluster.start(roles: "api,gateway")
            let workers = [try await cluster.start(roles: "worker"), try await cluster.start(roles: "worker")]
            let (subscriber, update) = try await Self.follow(node.address)
            try await update("before")
            await cluster.servers.redis.crash()
            try await cluster.servers.redis.restart(environment: Self.clock(Self.hourMs))
            try await update("an hour ahead")
            for worker in workers {
                await cluster.servers.redis.crash()
                await worker.process.crash()
                _ = try cluster.launch(roles: "worker")
                try await cluster.servers.redis.restart()
                try await update("back again, without \(worker.process.processID)")
                await cluster.servers.redis.crash()
                try await cluster.servers.redis.restart(environment: Self.clock(Self.hourMs))
                try await update("ahead again, without \(worker.process.processID)")
            }
            _ = subscriber
        }
    }

    /// A subscription of one lot, and what changes it and waits until that is shown.
    private static func follow(
        _ address: ServerAddress
    ) async throws -> (Subscriber, (String) async throws -> Void) {
        let list = try JSONParser.parse(try await API.get(address, "ListLots", ["category": "Hi-Fi"]).body)
        let id = try #require(list["data"]?["lots"]?[0]?["id"])
        let subscriber = try await Subscriber.connect(address)
        subscriber.subscribe("GetLot", ["id": id])
        _ = try await subscriber.data(id: "1")
        func update(_ description: String) async throws {
            let answer = try await API.mutate(
                address, "EditLot", ["id": id, "category": "Hi-Fi", "description": .string(description)])
            #expect(answer.status == 200, "\(answer.body)")
            _ = try await subscriber.data(id: "1") { $0["lot"]?["description"]?.stringValue == description }
        }
        return (subscriber, update)
    }
}
