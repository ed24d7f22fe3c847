import InMemoryBroker
import Broker
import Cluster
import LiveModel
import Logging
import RoleMachines
import Sharding
import Streams
import Synchronization
import TestSupport
import Testing

/// Membership on a memory broker, whose clock stands still; `MembershipMachineTests` has the decisions.
@Suite(.timeLimit(.minutes(1)))
struct MembershipTests {
    private final class Roles: Sendable {
        struct Calls {
            var workers: [[NodeID]] = []
            var movedShards: [[ShardID: NodeID]] = []
            var overrides: [ClusterOverrides] = []
            var drains = 0
        }

        let calls = Mutex(Calls())

        func member(_ id: NodeID, roles: Set<Role> = [.worker]) -> MemberRoles {
            var member = MemberRoles { isDraining in
                NodeRecordPayload(
                    id: id, roles: roles, address: "", adminAddress: "", version: "", startedAtMs: 0,
                    isDraining: isDraining, load: 0)
            }
            member.updateWorker = { workers, _, movedShards, _ in
                self.calls.withLock {
                    $0.workers.append(workers)
                    $0.movedShards.append(movedShards)
                }
            }
            member.updateGateway = { overrides in self.calls.withLock { $0.overrides.append(overrides) } }
            member.drainSessions = { self.calls.withLock { $0.drains += 1 } }
            return member
        }
    }

    private let broker: MemoryBroker
    private let one = NodeID("one")
    private let roles = Roles()

    init() throws {
        broker = MemoryBroker(keys: try Keys(namespace: "t"), now: { 1_700_000_000_000 })
    }

    /// Heartbeats are an hour apart: whatever happens was asked for.
    private func membership(
        _ id: NodeID, isWorker: Bool = true, ended: Set<ProcessIdentity> = []
    ) -> Membership {
        var settings = MembershipMachine.Settings()
        settings.heartbeatMs = 3_600_000
        settings.nodeTtlMs = 3_600_000
        settings.isWorker = isWorker
        return Membership(
            node: id, broker: broker,
            overrideList: OverrideList(broker: broker, shardCount: 4, nowMs: { 1_700_000_000_000 }),
            settings: settings, processHasEnded: { ended.contains($0) },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func running(_ membership: Membership, _ body: () async throws -> Void) async throws {
        let task = Task { [roles, one] in await membership.run(roles.member(one)) }
        await membership.firstRoundEnded()
        do {
            try await body()
        } catch {
            task.cancel()
            throw error
        }
        task.cancel()
        await task.value
    }

    private func records() async throws -> [NodeRecordPayload] {
        try await broker.nodes().compactMap { NodeRecordPayload(payload: $0.payload) }
    }

    @Test func theFirstRoundAnnouncesTheNodeAndInformsItsWorker() async throws {
        let membership = membership(one)
        try await running(membership) { () async throws in
            #expect(try await records().map(\.id) == [one])
            #expect(roles.calls.withLock { $0.workers } == [[one]])
        }
        await membership.close()
        #expect(try await records().isEmpty)
    }

    @Test func aWakeUpReadsTheNodesBeforeTheNextHeartbeat() async throws {
        let membership = membership(one)
        try await running(membership) { () async throws in
            let other = await roles.member(NodeID("two")).announcement(false)
            _ = try await broker.announceNode("two", payload: other.payload, ttlMs: 3_600_000)
            membership.wake()
            #expect(await eventually { roles.calls.withLock { $0.workers.last } == [one, NodeID("two")] })
        }
    }

    /// The entry of a worker that owns shard 1 under an epoch.
    private func announce(_ id: String, epoch: UInt64, _ process: ProcessIdentity) async throws {
        let status = ShardStatus(
            shard: ShardID(1), epoch: epoch, ownedSinceMs: 0, liveQueries: 0, due: 0, running: 0, paced: 0, waiting: 0,
            lastEventID: .zero, lastRefreshMs: 0, takeOver: TakeOverCounts())
        let record = NodeRecordPayload(
            id: NodeID(id), roles: [.worker], address: "", adminAddress: "", version: "", startedAtMs: 0,
            isDraining: false, load: 0, shards: [status], process: process)
        _ = try await broker.announceNode(id, payload: record.payload, ttlMs: 3_600_000)
    }

    private func lease(_ owner: String, epoch: UInt64) async throws -> LeaseAnswer {
        try await broker.requestLease(
            broker.keys.lease(shard: 1), owner: owner, ttlMs: 3_600_000, basis: "", epoch: epoch)
    }

    @Test func operatorsAreShownTheNodesThatTheAssignmentUses() async throws {
        let ended = ProcessIdentity(machine: "m", processID: 7, startTicks: 1)
        try await announce("former", epoch: 3, ended)
        try await announce("other", epoch: 3, ProcessIdentity(machine: "m", processID: 8, startTicks: 1))
        let live = try await membership(one, ended: [ended]).liveNodes()
        #expect(live.nodes.map(\.id) == [NodeID("other")] && live.workers == [NodeID("other")] && live.gateways.isEmpty)
        // A node does not count itself as ended, whatever is known of the process that its entry names.
        let own = try await membership(NodeID("former"), ended: [ended]).liveNodes()
        #expect(Set(own.workers.map(\.name)) == ["former", "other"])
    }

    @Test func theShardsOfAnEndedProcessAreFree() async throws {
        let ended = ProcessIdentity(machine: "m", processID: 7, startTicks: 1)
        try await announce("former", epoch: 3, ended)
        #expect(try await lease("former", epoch: 3).grant != nil)
        let membership = membership(one, ended: [ended])
        try await running(membership) { () async throws in
            #expect(roles.calls.withLock { $0.workers } == [[one]])
            #expect(try await eventually { try await records().map(\.id) == [one] })
            #expect(try await lease("one", epoch: 4).grant != nil)
        }
    }

    @Test func aLaterProcessOfTheSameNameKeepsItsLease() async throws {
        let ended = ProcessIdentity(machine: "m", processID: 7, startTicks: 1)
        try await announce("former", epoch: 3, ended)
        #expect(try await lease("former", epoch: 4).grant != nil)
        let membership = membership(one, ended: [ended])
        try await running(membership) { () async throws in
            #expect(try await eventually { try await records().map(\.id) == [one] }, "the entry goes last")
            #expect(try await lease("one", epoch: 5).grant == nil)
        }
    }

    @Test func aNodeThatMayStillRunKeepsItsShards() async throws {
        try await announce("other", epoch: 3, ProcessIdentity(machine: "m", processID: 7, startTicks: 1))
        #expect(try await lease("other", epoch: 3).grant != nil)
        let membership = membership(one)
        try await running(membership) { () async throws in
            #expect(roles.calls.withLock { $0.workers } == [[one, NodeID("other")]])
            #expect(try await lease("one", epoch: 4).grant == nil)
        }
    }

    @Test func overridesAreInForceWhenARefreshReturns() async throws {
        let membership = membership(one)
        try await running(membership) { () async throws in
            let changes = [
                ClusterOverrides.drain(one, true),
                ClusterOverrides.move(ShardID(2), to: .init(node: NodeID("two"), untilMs: nil)),
            ]
            try await broker.changeOverrides(changes.map { (field: $0.field, value: $0.value) })
            await membership.refresh()
            #expect(membership.isDrainedByOperator)
            #expect(try await records().map(\.isDraining) == [true])
            #expect(roles.calls.withLock { $0.workers.last } == [])
            #expect(roles.calls.withLock { $0.movedShards.last } == [ShardID(2): NodeID("two")])
            #expect(roles.calls.withLock { ($0.overrides.count, $0.drains) } == (1, 1))
        }
    }

    @Test func aNodeThatLeavesIsWithdrawnAtOnceAndThenSaysThatItDrains() async throws {
        let membership = membership(one)
        try await running(membership) { () async throws in
            await membership.leave()
            #expect(try await records().isEmpty)
            await membership.refresh()
            #expect(try await records().map(\.isDraining) == [true])
        }
    }

    @Test func anUnavailableBrokerDoesNotDelayARefresh() async throws {
        broker.setAvailable(false)
        let membership = membership(one)
        try await running(membership) { () async throws in
            await membership.refresh()
            broker.setAvailable(true)
            #expect(try await records().isEmpty)
            await membership.refresh()
            #expect(try await records().map(\.id) == [one])
        }
    }

    @Test func anAnnouncementUnderWayDoesNotOutliveTheEntry() async throws {
        let membership = membership(one)
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let (gate, opensGate) = AsyncStream.makeStream(of: Void.self)
        let announcements = Mutex(0)
        var member = roles.member(one)
        let announcement = member.announcement
        member.announcement = { isDraining in
            if announcements.withLock({ announcements in
                announcements += 1
                return announcements == 2
            }) {
                hasBegun.finish()
                for await _ in gate {}
            }
            return await announcement(isDraining)
        }
        let running = Task { [member] in await membership.run(member) }
        await membership.firstRoundEnded()
        membership.wake()
        for await _ in begun {}
        // It runs until it has to wait: for the announcement.
        let closing = Task.immediate { await membership.close() }
        opensGate.finish()
        await closing.value
        running.cancel()
        await running.value
        #expect(try await records().isEmpty)
    }

    @Test func closingEndsMembershipWithoutACancellation() async throws {
        let membership = membership(one)
        let running = Task { [roles, one] in await membership.run(roles.member(one)) }
        await membership.firstRoundEnded()
        await membership.close()
        await running.value
        #expect(try await records().isEmpty)
    }

    @Test func theEndAnswersThoseWhoWait() async {
        let membership = membership(one)
        // It never runs: the start of its node failed.
        let waiting = Task { await membership.refresh() }
        await membership.close()
        await waiting.value
        await membership.refresh()
        await membership.firstRoundEnded()
    }
}
