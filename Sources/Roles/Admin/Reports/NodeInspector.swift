import APINode
import Broker
import Catalog
package import ChangeTailer
import Cluster
import Execution
import FanoutWorker
import Gateway
package import JSON
package import LiveModel
import Observability
import Operations
import PublicAPI
import Refresh
import RoleMachines
import Sharding
package import Streams

/// The read side of the admin API, gathered from the broker (the whole cluster) and from this node's roles.
///
/// Long, because each page of the API has its method here; what is decided about a shard is in `ShardView`.
package struct NodeInspector: Sendable {
    let parts: AdministeredNode

    private var node: NodeID { parts.id }
    package var nodeID: NodeID { parts.id }
    private var roles: Set<Role> { parts.roles }
    private var broker: any Broker { parts.cluster.broker }
    private var overrideList: OverrideList { parts.cluster.overrideList }
    private var revocations: RevocationList { parts.cluster.revocations }
    private var catalogs: ServedCatalogs { parts.catalogs }
    private var worker: FanoutWorker? { parts.components.worker }
    private var gateway: GatewayService? { parts.components.gateway }
    private var tailer: ChangeTailer? { parts.components.tailer }
    private var sweeper: OutboxSweeper { parts.components.sweeper }
    private var sessions: SessionRegistry { parts.components.sessions }
    private var clock: ServiceClock { parts.clock }

    package init(_ node: AdministeredNode) {
        parts = node
    }

    package var readiness: AdministeredNode.Readiness { parts.readiness() }

    package func renderMetrics() -> [UInt8] { parts.metrics.render() }

    /// Returns a summary of this node.
    package func status() async -> JSONValue {
        let counts = gateway?.counts
        let backlog = sweeper.backlog
        let readiness = readiness
        return [
            "node": .string(node.name), "roles": .array(roles.names.map(JSONValue.string)),
            "ready": .bool(readiness.isReady),
            "notReadyBecause": readiness.problem.map { .string($0) } ?? .null,
            "service": .string(catalogs.set.current.catalog.serviceID), "projects": projects,
            "shardCount": .int(Int64(overrideList.shardCount)),
            "sessions": .int(Int64(sessions.count)), "sessionsRefused": .int(Int64(sessions.refusedCount)),
            "overridesGeneration": .string(String(overrideList.overrides.generation)),
            // The same number under its former name, for programs that still read it.
            "ordersGeneration": .string(String(overrideList.overrides.generation)),
            "gateway": counts.map {
                [
                    "liveQueries": .int(Int64($0.liveQueries)), "subscriptions": .int(Int64($0.subscriptions)),
                    "moved": .int(Int64($0.moved)),
                    "lag": gateway.map { LagView.json($0.lag, nowMs: clock.nowMs()) } ?? .null,
                ]
            } ?? .null,
            "worker": await workerStatus(),
            "replicas": await replicas(),
            "tailer": tailerStatus,
            "redis": redisStatus,
            "outbox": [
                "rows": .int(Int64(backlog.rows)), "oldestMs": .int(backlog.oldestMs),
                "folded": .int(Int64(backlog.folded)), "problem": .string(backlog.problem),
            ],
        ]
    }

    /// The project versions served, the current one first, with the sessions that began with each.
    private var projects: JSONValue {
        let set = catalogs.set
        let counts = sessions.countsByVersion
        return .array(
            set.members.map { member in
                [
                    "version": .string(member.version.hex), "current": .bool(member.version == set.current.version),
                    "sessions": .int(Int64(counts[member.version] ?? 0)),
                ]
            })
    }

    /// The read replicas, as the next re-run would find them; none except on workers.
    func replicas() async -> JSONValue {
        .array(await parts.components.queries.replicaReports().map { ReplicaView($0).json(seenBy: node.name) })
    }

    /// The state of Redis, for probes.
    package var redisSummary: JSONValue {
        let state = broker.state
        return ["connected": .bool(state.connected), "servers": .array(state.servers.map { .string($0.address) })]
    }

    /// Returns the revocations, the latest first, read again from the broker.
    /// - Throws: `BrokerError` if the broker is unavailable.
    package func revocationRows(limit: Int) async throws(BrokerError) -> JSONValue {
        try await revocations.refresh()
        let nowMs = clock.nowMs()
        let rows = revocations.current.entries.values.filter { $0.counts(nowMs: nowMs) }
            .sorted { ($1.atMs, $0.subject.description) < ($0.atMs, $1.subject.description) }
        return [
            "count": .int(Int64(rows.count)),
            "revocations": .array(
                rows.prefix(limit).map { revocation in
                    [
                        "subject": .string(revocation.subject.description), "atMs": .int(revocation.atMs),
                        "expiresInMs": revocation.untilMs.map { .int($0 - nowMs) } ?? .null,
                        "tokens": .string(revocation.sparesLaterTokens ? "issued before" : "all"),
                    ]
                }),
        ]
    }

    /// The servers that this node's broker is connected to.
    package var redisStatus: JSONValue {
        let state = broker.state
        return [
            "connected": .bool(state.connected), "reconnects": .int(Int64(state.reconnects)),
            "serverChanges": .int(Int64(state.serverChanges)), "queued": .int(Int64(state.queuedRequests)),
            "servers": .array(
                state.servers.map { server in
                    [
                        "address": .string(server.address), "connected": .bool(server.connected),
                        "id": .string(server.id), "lastConnectError": .string(server.lastConnectError),
                    ]
                }),
        ]
    }

    private var tailerStatus: JSONValue {
        guard let tailer else { return .null }
        return [
            "state": .string(SlotView.phrase(tailer.state)),
            "slot": tailer.slotName.isEmpty ? .null : .string(tailer.slotName),
            "health": tailer.slotSeen.map { .string(SlotHealth($0).rawValue) } ?? .null,
            "retainedBytes": tailer.slotSeen.map { .int($0.retainedBytes) } ?? .null,
            "safeBytes": tailer.slotSeen?.safeBytes.map { .int($0) } ?? .null,
        ]
    }

    /// Returns the memory of the Redis servers.
    /// - Throws: `BrokerError` if one is unavailable.
    func redisMemory() async throws(BrokerError) -> JSONValue {
        let keys = broker.keys
        // In a cluster, each shard's streams may be on another server.
        let asked =
            broker.state.servers.count > 1
            ? ShardID.all(count: overrideList.shardCount).map { keys.events(shard: $0.number) } : [keys.meta]
        return .array(
            try await broker.memory(ofServersWith: asked).map { memory in
                [
                    "server": .string(memory.server), "usedBytes": .int(memory.usedBytes),
                    "maxBytes": memory.maxBytes > 0 ? .int(memory.maxBytes) : .null,
                    "policy": .string(memory.policy), "isLogged": .bool(memory.isLogged),
                ]
            })
    }

    /// Returns the replication slot and the publications, as the database has them now.
    /// - Throws: `SlotFailure` if the database does not answer.
    package func slot() async throws(SlotFailure) -> JSONValue {
        let report = try await parts.components.slot.report(tables: catalogs.set.captured?.tableNames)
        return SlotView(report: report, tailer: tailer?.state).json(of: node)
    }

    private func workerStatus() async -> JSONValue {
        guard let worker else { return .null }
        let errors = await worker.conditionErrorCounts
        let failing = await worker.failing
        return [
            "liveQueries": .int(Int64(await worker.liveQueryCount)), "failing": .int(Int64(failing.count)),
            "lastFailure": failing.last.map { failure in
                [
                    "operation": .string(failure.operation.description), "key": .string(failure.key.description),
                    "code": .string(failure.error.code.rawValue), "message": .string(failure.error.message),
                    "atMs": .int(failure.atMs),
                ]
            } ?? .null,
            "runsInFlight": .int(Int64(await worker.runsInFlight)), "due": .int(Int64(await worker.dueCount)),
            "paced": .int(Int64(await worker.pacedCount)), "takeOver": (await worker.takeOver).json,
            "conditionErrors": .array(
                errors.sorted { $0.key < $1.key }.map { trigger, count in
                    [
                        "operation": .string(trigger.operation.description), "rule": .int(Int64(trigger.number + 1)),
                        "count": .int(Int64(count)),
                    ]
                }),
        ]
    }

    /// Returns every shard of the cluster: owner and epoch from the broker, lag from stream and checkpoint, figures
    /// from the owner's last heartbeat, and a verdict.
    /// - Throws: `BrokerError` if the broker is unavailable.
    package func shards() async throws(BrokerError) -> JSONValue {
        let mine = Dictionary(uniqueKeysWithValues: (await worker?.shardReports ?? []).map { ($0.shard, $0) })
        let live = try await parts.cluster.membership.liveNodes()
        try await overrideList.refresh()
        let nowMs = clock.nowMs()
        let overrides = overrideList.overrides
        let movedShards = overrides.movedShards(nowMs: nowMs)
        var rows: [JSONValue] = []
        for shard in ShardID.all(count: overrideList.shardCount) {
            let stream = broker.keys.events(shard: shard.number)
            let lease = try await broker.lease(broker.keys.lease(shard: shard.number))
            let info = try await broker.info(of: stream)
            let checkpoint = try await broker.checkpoint(stream: stream, group: Keys.workersGroup)
            let status = live.nodes.first { $0.id.name == lease?.owner }?.shards
                .first { $0.shard == shard && $0.epoch == lease?.epoch }
            var view = ShardView(
                shard: shard, owner: lease.map { NodeID($0.owner) },
                wanted: ShardAssignment.owner(of: shard, among: live.workers, movedTo: movedShards[shard]),
                movedTo: movedShards[shard],
                status: status, lastID: info?.lastID, checkpoint: checkpoint)
            view.lastForMs = try await lastForMs(in: stream, last: view.lastID, read: view.readID)
            var row = view.row(nowMs: nowMs)
            row["epoch"] = lease.map { .int(Int64($0.epoch)) } ?? .null
            row["unfollowed"] = .bool(overrides.unfollowed.contains(shard))
            row["leaseRemainingMs"] = lease.map { .int(Int64($0.remainingMs)) } ?? .null
            row["streamLength"] = .int(Int64(info?.length ?? 0))
            row["keptForMs"] = info?.firstID.map { .int(max(0, nowMs - Int64(clamping: $0.ms))) } ?? .null
            if let report = mine[shard] {
                row["subscribers"] = .int(Int64(report.subscribers))
                row["events"] = .int(Int64(report.events))
                row["matches"] = .int(Int64(report.matches))
                row["runs"] = .int(Int64(report.runs))
                row["failing"] = .int(Int64(report.failing))
                row["lastEventAgoMs"] = report.lastEventMs > 0 ? .int(nowMs - report.lastEventMs) : .null
            }
            rows.append(.object(row))
        }
        return ["node": .string(node.name), "shards": .array(rows)]
    }

    /// Returns the read lag of the most delayed shard of this node's worker.
    /// - Throws: `BrokerError` if the broker is unavailable.
    package func behindMs() async throws(BrokerError) -> Int64 {
        var furthest: Int64 = 0
        // A worker that lost the broker also lost its shards, so zero lag would be wrong.
        try await broker.ping()
        for report in await worker?.shardStatuses ?? [] {
            let stream = broker.keys.events(shard: report.shard.number)
            let info = try await broker.info(of: stream)
            let checkpoint = try await broker.checkpoint(stream: stream, group: Keys.workersGroup)
            // The worker may be ahead of its checkpoint.
            let reached = max(checkpoint ?? report.lastEventID, report.lastEventID)
            let lastForMs = try await lastForMs(in: stream, last: info?.lastID, read: reached)
            furthest = max(furthest, min(ShardView.behindMs(last: info?.lastID, read: reached), lastForMs ?? .max))
        }
        return furthest
    }

    /// Returns `ShardView.lastForMs`; nil if the lag is small without it.
    private func lastForMs(in stream: String, last: StreamID?, read: StreamID?) async throws(BrokerError) -> Int64? {
        guard let last, ShardView.behindMs(last: last, read: read) > ShardView.behindMsMax else { return nil }
        let previous = try await broker.newest(stream, before: last, limit: 1).first?.id
        return ShardView.lastForMs(last: last, previous: previous, read: read, nowMs: clock.nowMs())
    }

    /// Returns the number of failed conditions of this node's worker, over all rules.
    package func conditionErrors() async -> Int {
        await worker?.conditionErrorCounts.values.reduce(0) { $0 + Int($1) } ?? 0
    }

    /// Returns the cluster overrides.
    /// - Throws: `BrokerError` if the broker is unavailable.
    package func overrides() async throws(BrokerError) -> JSONValue {
        try await overrideList.refresh()
        let overrides = overrideList.overrides
        let nowMs = clock.nowMs()
        var rows: [JSONValue] = []
        for (operation, split) in overrides.splits.sorted(by: { $0.key < $1.key }) {
            let shards = ShardRouting.shards(of: operation, splits: split.splits, shardCount: overrideList.shardCount)
            rows.append([
                "override": "splits", "target": .string(operation.description), "value": .int(Int64(split.splits)),
                "shards": .array(shards.map { .int(Int64($0.number)) }),
                "receiving": .int(Int64(split.receivingSplits(nowMs: nowMs))),
                "version": .string(String(split.version)),
            ])
        }
        for (shard, move) in overrides.moves.sorted(by: { $0.key < $1.key }) {
            rows.append([
                "override": "move", "target": .string("shard \(shard)"), "value": .string(move.node.name),
                "expiresInMs": move.untilMs.map { .int(max(0, $0 - nowMs)) } ?? .null,
            ])
        }
        for node in overrides.drained.sorted() {
            rows.append(["override": "drain", "target": .string(node.name), "value": "drained"])
        }
        return ["generation": .string(String(overrides.generation)), "overrides": .array(rows)]
    }

    /// Returns the cluster overrides in their former form.
    /// - Throws: `BrokerError` if the broker is unavailable.
    package func formerOverrides() async throws(BrokerError) -> JSONValue {
        let formerNames = ["override": "order", "target": "of", "receiving": "heard"]
        let current = try await overrides()
        let rows = (current["overrides"]?.arrayValue ?? []).map { row in
            JSONValue.object(
                JSONObject((row.objectValue ?? JSONObject()).map { (formerNames[$0.key] ?? $0.key, $0.value) }))
        }
        return ["generation": current["generation"] ?? .null, "orders": .array(rows)]
    }

    /// Returns this node's oldest sessions that pass a filter.
    func sessions(limit: Int, _ filter: SessionFilter) async -> JSONValue {
        let nowMs = clock.nowMs()
        let isFiltered = filter != SessionFilter()
        let reports = await sessions.reports(limit: isFiltered ? .max : limit)
        let operations = gateway?.operations(of: reports.flatMap(\.followedKeys)) ?? [:]
        var rows: [JSONValue] = []
        for report in reports {
            let followed = Set(report.followedKeys.compactMap { operations[$0] }).sorted()
            guard filter.passes(report, operations: followed) else { continue }
            rows.append([
                "id": .int(Int64(clamping: report.id)), "peer": .string(report.peer),
                "protocol": .string(report.protocolName), "user": report.user.map { .string($0) } ?? .null,
                "client": .string(report.client), "subscriptions": .int(Int64(report.subscriptions)),
                "operations": .array(followed.map { .string($0.description) }),
                "sinceMs": .int(max(0, nowMs - report.sinceMs)), "project": .string(report.version.hex),
            ])
        }
        return [
            "node": .string(node.name), "count": .int(Int64(sessions.count)),
            "matching": .int(Int64(isFiltered ? rows.count : sessions.count)),
            "sessions": .array(Array(rows.prefix(limit))),
        ]
    }

    /// Returns the nodes of the cluster.
    /// - Throws: `BrokerError` if the broker is unavailable.
    package func nodes() async throws(BrokerError) -> JSONValue {
        let nowMs = clock.nowMs()
        let records = try await broker.nodes()
        return [
            "nodes": .array(
                records.compactMap { record in
                    guard let payload = NodeRecordPayload(payload: record.payload) else { return nil }
                    return [
                        "id": .string(payload.id.name), "roles": .array(payload.roles.names.map(JSONValue.string)),
                        "address": .string(payload.address), "adminAddress": .string(payload.adminAddress),
                        "version": .string(payload.version), "draining": .bool(payload.isDraining),
                        "project": .string(payload.project), "deployment": .int(payload.deployment),
                        "deploymentProblem": .string(payload.deploymentProblem),
                        "sessions": .int(Int64(payload.load)), "upMs": .int(max(0, nowMs - payload.startedAtMs)),
                        "expiresInMs": .int(Int64(record.remainingMs)),
                    ]
                })
        ]
    }
}
