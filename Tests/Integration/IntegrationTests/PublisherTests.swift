import InMemoryBroker
import APINode
import Broker
import Catalog
import Cluster
import Execution
import Foundation
import JSON
import LiveModel
import LocalServers
import Logging
import Postgres
import ProjectFolder
import RoleMachines
import Sharding
import Streams
import TestSupport
import Testing

/// Events whose shards were chosen before an operation's splits changed, over a real outbox.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct PublisherTests {
    static let shardCount = 16
    static let hot = OperationReference(connector: "auctions", operation: "GetLot")
    static let mutation = OperationReference(connector: "auctions", operation: "EditLot")

    /// One API node's parts, and a broker whose overrides others change.
    fileprivate struct Parts {
        let pool: PostgresPool
        let broker: MemoryBroker
        let catalog: Catalog
        let catalogs: ServedCatalogs
        let overrideList: OverrideList
        let publisher: EventPublisher
        let sweeper: OutboxSweeper

        init(_ postgres: LocalPostgres, rowsMax: Int = 1_000) async throws {
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            pool = PostgresPool(
                configuration: PostgresConfiguration(connectionString: postgres.connectionString), logger: logger)
            try await pool.start()
            try await pool.script(ServiceSchema.sql)
            broker = MemoryBroker(keys: try Keys(namespace: "test"), now: { PublisherTests.nowMs })
            catalog = try Catalog.compile(try ProjectFolder.load(SampleProject.path))
            let member = CatalogSet.Member(version: Digest(of: "folder".utf8), catalog: catalog)
            catalogs = ServedCatalogs(CatalogSet(current: member), loadedDeployment: 0)
            overrideList = OverrideList(
                broker: broker, shardCount: PublisherTests.shardCount, nowMs: { Int64(PublisherTests.nowMs) })
            publisher = EventPublisher(
                broker: broker, pool: pool, catalogs: catalogs, overrideList: overrideList, settings: .init(),
                logger: logger)
            var settings = SweeperMachine.Settings()
            settings.sweepAgeMs = 0
            settings.rowsMax = rowsMax
            settings.foldMax = 10
            sweeper = OutboxSweeper(
                broker: broker, pool: pool, catalogs: catalogs, publisher: publisher, overrideList: overrideList,
                settings: settings, makeUUID: { UUID().uuidString }, logger: logger)
        }

        /// A committed mutation; its shards are those by the overrides that this node knows.
        func commit() async throws -> OutboxRow {
            let event = MutationEvent(
                id: UUID().uuidString, operation: PublisherTests.mutation, variables: [:], auth: .null,
                keysWritten: [], traceID: "", committedAtMs: 0)
            let row = OutboxRow(event, shards: targets.shards)
            _ = try await pool.transaction([row.insertion(into: .table)])
            return row
        }

        /// Publishes by the overrides and catalogs as they were when the shards were chosen.
        func publish(_ row: OutboxRow) {
            publisher.publish(.init(row: row, mutation: PublisherTests.mutation, targets: targets))
        }

        /// The targets by the overrides and catalogs that this node knows.
        private var targets: RefreshTargets {
            RefreshTargets(
                of: PublisherTests.mutation, rules: catalogs.snapshot, overrides: overrideList.overrides,
                shardCount: overrideList.shardCount, nowMs: overrideList.nowMs())
        }

        /// Changes the splits as another node does, so that this one does not notice.
        func split(to count: Int) async throws -> Set<ShardID> {
            let change = ClusterOverrides().settingSplits(of: PublisherTests.hot, to: count, nowMs: 0)
            try await broker.changeOverrides([(field: change.field, value: change.value)])
            return Set(
                ShardRouting.shards(of: PublisherTests.hot, splits: count, shardCount: PublisherTests.shardCount))
        }

        func heard() async throws -> [ShardID: Int] {
            var heard: [ShardID: Int] = [:]
            for number in 0..<PublisherTests.shardCount {
                let count = try await broker.length(of: broker.keys.events(shard: number))
                if count > 0 { heard[ShardID(number)] = count }
            }
            return heard
        }

        func rows() async throws -> Int {
            try await pool.query("SELECT count(*) FROM freshet.outbox").rows.first?.int(0) ?? -1
        }
    }

    static let nowMs: UInt64 = 1_700_000_000_000

    private func with(rowsMax: Int = 1_000, _ body: (Parts) async throws -> Void) async throws {
        try await Servers.with { servers in
            let parts = try await Parts(servers.postgres, rowsMax: rowsMax)
            do {
                try await body(parts)
            } catch {
                await parts.pool.stop()
                throw error
            }
            await parts.pool.stop()
        }
    }

    @Test func shardsThatBecameResponsibleBeforeTheRowIsRemovedGetTheEvent() async throws {
        try await with { parts in
            let row = try await parts.commit()
            let split = try await parts.split(to: 8)
            #expect(!split.isSubset(of: row.shards))
            parts.publish(row)
            await parts.publisher.drain(withinMs: 20_000)
            #expect(try await parts.rows() == 0)
            let heard = try await parts.heard()
            #expect(Set(heard.keys) == split.union(row.shards))
            #expect(heard.values.allSatisfy { $0 == 1 })
            // The next one is sent to all of them at once.
            #expect(split.isSubset(of: try await parts.commit().shards))
        }
    }

    @Test func theRowStaysWhileTheResponsibleShardsAreUnknown() async throws {
        try await with { parts in
            let row = try await parts.commit()
            parts.broker.setAvailable(false)
            parts.publish(row)
            await parts.publisher.drain(withinMs: 20_000)
            #expect(try await parts.rows() == 1)
            await parts.sweeper.round()
            #expect(try await parts.rows() == 1)
            #expect(parts.sweeper.backlog.rows == 1 && !parts.sweeper.backlog.problem.isEmpty)
            let split = try await parts.split(whileAway: 8)
            await parts.sweeper.round()
            #expect(parts.sweeper.backlog.problem.isEmpty)
            #expect(try await parts.rows() == 0)
            #expect(Set(try await parts.heard().keys) == split.union(row.shards))
        }
    }

    /// A node that was not asked when a version became current, since it was suspended, knows fewer rules.
    @Test func theRowStaysWhileADeploymentIsNotLoaded() async throws {
        try await with { parts in
            let row = try await parts.commit()
            try await parts.pool.script(
                """
                INSERT INTO freshet.deployments (version, origin, project, created_by)
                VALUES ('x', 'deploy', '{}', 'x')
                """
            )
            parts.publish(row)
            await parts.publisher.drain(withinMs: 20_000)
            #expect(try await parts.rows() == 1)
            await parts.sweeper.round()
            #expect(try await parts.rows() == 1)
            parts.catalogs.replace(parts.catalogs.set, loadedDeployment: 1)
            await parts.sweeper.round()
            #expect(try await parts.rows() == 0)
        }
    }

    /// Events that the former server acknowledged last may be lost though their rows are gone: every shard gets a
    /// marker, once for each change, and also when the first attempt fails.
    @Test func everyShardGetsAMarkerForAnotherServer() async throws {
        try await with { parts in
            func doubts() async throws -> [Int] {
                var counts: [Int] = []
                for shard in 0..<Self.shardCount {
                    let entries = try await parts.broker.newest(
                        parts.broker.keys.events(shard: shard), before: .max, limit: 1_000)
                    counts.append(entries.count { $0[StreamField.resync] != nil })
                }
                return counts
            }
            func everywhere(_ count: Int) -> [Int] { Array(repeating: count, count: Self.shardCount) }

            parts.broker.restart(losingData: false)
            await parts.sweeper.round()
            #expect(try await doubts() == everywhere(0), "it has sent nothing that could be lost")

            let row = try await parts.commit()
            parts.publish(row)
            await parts.publisher.drain(withinMs: 20_000)
            await parts.sweeper.round()
            #expect(try await doubts() == everywhere(0), "the same server")

            parts.broker.restart(losingData: false)
            parts.broker.setAvailable(false)
            await parts.sweeper.round()
            parts.broker.setAvailable(true)
            #expect(try await doubts() == everywhere(0))
            await parts.sweeper.round()
            await parts.sweeper.round()
            #expect(try await doubts() == everywhere(1))

            parts.broker.restart(losingData: false)
            let sweeping = Task { await parts.sweeper.run() }
            try await waitUntil("a second marker in every shard") { try await doubts() == everywhere(2) }
            sweeping.cancel()
            await sweeping.value
            // No worker can take it for an event, so it runs everything in the shard again.
            let entries = try await parts.broker.newest(
                parts.broker.keys.events(shard: 0), before: .max, limit: 1_000)
            #expect(entries.first?.event == nil)
        }
    }

    @Test func aFoldedRowIsAsOldAsTheOldestThatItReplaces() async throws {
        try await with(rowsMax: 5) { parts in
            for _ in 0..<9 { _ = try await parts.commit() }
            func oldest() async throws -> (createdAt: String?, event: String?) {
                let first: Statement = "SELECT created_at::text, event FROM freshet.outbox ORDER BY created_at LIMIT 1"
                let row = try #require(try await parts.pool.query(first).rows.first)
                return (row.string(0), row.string(1))
            }
            let before = try await oldest()
            parts.broker.setAvailable(false)
            await parts.sweeper.round()
            #expect(try await oldest() == (before.createdAt, SweeperMachine.foldedEvent))
            #expect(try await parts.rows() == 1)
        }
    }

    /// One row that refreshes everything would be no fewer.
    @Test func aRowAloneIsNotFolded() async throws {
        try await with(rowsMax: 0) { parts in
            let row = try await parts.commit()
            parts.broker.setAvailable(false)
            await parts.sweeper.round()
            let left = try await parts.pool.query("SELECT id FROM freshet.outbox").rows.map { $0.string(0) }
            #expect(left == [row.id.lowercased()])
            #expect(parts.sweeper.backlog.folded == 0)
        }
    }

    @Test func tooManyRowsAreFoldedIntoOneForEveryShard() async throws {
        try await with(rowsMax: 50) { parts in
            for _ in 0..<70 { _ = try await parts.commit() }
            parts.broker.setAvailable(false)
            // Twice: counting stops a little above the bound.
            for _ in 0..<2 { await parts.sweeper.round() }
            let backlog = parts.sweeper.backlog
            #expect(backlog.folded >= 35 && backlog.rows <= 50 && !backlog.problem.isEmpty)
            #expect(try await parts.rows() == backlog.rows)
            parts.broker.setAvailable(true)
            await parts.sweeper.round()
            #expect(try await parts.rows() == 0)
            let heard = try await parts.heard()
            #expect(heard.count == Self.shardCount, "what was folded may concern anybody")
            // A worker cannot read it as an event, and so runs everything in the shard again.
            let first = try await parts.broker.newest(
                parts.broker.keys.events(shard: 0), before: .max, limit: 1_000)
            #expect(first.contains { $0.event.map { (try? MutationEvent(encoded: $0)) == nil } ?? false })
        }
    }
}

extension PublisherTests.Parts {
    fileprivate func split(whileAway count: Int) async throws -> Set<ShardID> {
        broker.setAvailable(true)
        return try await split(to: count)
    }
}
