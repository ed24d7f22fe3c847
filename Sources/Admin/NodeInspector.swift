package import APINode
package import Broker
package import Catalog
package import Execution
package import FanoutWorker
package import Gateway
package import JSON
package import LiveModel
package import Observability
internal import Refresh
internal import Sharding

/// What an operator may ask a node: gathered from the broker (the whole cluster) and from this node's own roles.
package struct NodeInspector: Sendable {
    private let node: NodeID
    private let roles: [String]
    private let broker: any Broker
    private let catalog: Catalog
    private let worker: FanoutWorker?
    private let gateway: GatewayService?
    private let sweeper: OutboxSweeper
    private let sessionCount: @Sendable () -> Int
    private let shardCount: Int
    private let clock: ServiceClock
    private let metrics: PrometheusMetrics
    package let isReady: @Sendable () -> Bool

    package init(
        node: NodeID, roles: [String], broker: any Broker, catalog: Catalog, worker: FanoutWorker?,
        gateway: GatewayService?, sweeper: OutboxSweeper, sessionCount: @escaping @Sendable () -> Int, shardCount: Int,
        clock: ServiceClock, metrics: PrometheusMetrics, isReady: @escaping @Sendable () -> Bool
    ) {
        self.node = node
        self.roles = roles
        self.broker = broker
        self.catalog = catalog
        self.worker = worker
        self.gateway = gateway
        self.sweeper = sweeper
        self.sessionCount = sessionCount
        self.shardCount = shardCount
        self.clock = clock
        self.metrics = metrics
        self.isReady = isReady
    }

    package func renderMetrics() -> [UInt8] { metrics.render() }

    /// This node in one object.
    package func status() async -> JSONValue {
        let counts = gateway?.counts
        let backlog = sweeper.backlog
        return [
            "node": .string(node.name), "roles": .array(roles.map(JSONValue.string)), "ready": .bool(isReady()),
            "service": .string(catalog.serviceID), "shardCount": .int(Int64(shardCount)),
            "sessions": .int(Int64(sessionCount())),
            "gateway": counts.map {
                ["liveQueries": .int(Int64($0.liveQueries)), "subscriptions": .int(Int64($0.subscriptions))]
            } ?? .null,
            "worker": await workerStatus(),
            "outbox": ["rows": .int(Int64(backlog.rows)), "oldestMs": .int(backlog.oldestMs)],
        ]
    }

    private func workerStatus() async -> JSONValue {
        guard let worker else { return .null }
        let errors = await worker.conditionErrorCounts
        return [
            "runsInFlight": .int(Int64(await worker.runsInFlight)), "due": .int(Int64(await worker.dueCount)),
            "conditionErrors": .array(
                errors.sorted { $0.key < $1.key }.map { trigger, count in
                    [
                        "operation": .string(trigger.operation.description), "rule": .int(Int64(trigger.number)),
                        "count": .int(Int64(count)),
                    ]
                }),
        ]
    }

    /// Every shard of the cluster: owner and epoch by the broker, lag by stream and checkpoint, and what this node's
    /// own worker knows of the shards it owns.
    /// - Throws: `BrokerError` when the broker cannot be asked.
    package func shards() async throws(BrokerError) -> JSONValue {
        let mine = Dictionary(uniqueKeysWithValues: (await worker?.shardReports ?? []).map { ($0.shard, $0) })
        let workers = try await broker.nodes().compactMap { NodeRecordPayload(payload: $0.payload) }
            .filter { $0.roles.contains("worker") && !$0.isDraining }.map(\.id)
        let nowMs = clock.nowMs()
        var rows: [JSONValue] = []
        for number in 0..<shardCount {
            let shard = ShardID(number)
            let stream = broker.keys.events(shard: number)
            let lease = try await broker.lease(broker.keys.lease(shard: number))
            let info = try await broker.info(of: stream)
            let checkpoint = try await broker.checkpoint(stream: stream, group: Keys.workersGroup)
            var row: JSONObject = [
                "shard": .int(Int64(number)),
                "owner": lease.map { .string($0.owner) } ?? .null,
                "wanted": Placement.owner(of: shard, among: workers).map { .string($0.name) } ?? .null,
                "epoch": lease.map { .int(Int64($0.epoch)) } ?? .null,
                "leaseRemainingMs": lease.map { .int(Int64($0.remainingMs)) } ?? .null,
                "streamLength": .int(Int64(info?.length ?? 0)),
                "lastEvent": info.map { .string($0.lastID.description) } ?? .null,
                "checkpoint": checkpoint.map { .string($0.description) } ?? .null,
                "behindMs": .int(behindMs(last: info?.lastID, checkpoint: checkpoint)),
            ]
            if let report = mine[shard] {
                row["liveQueries"] = .int(Int64(report.liveQueries))
                row["subscribers"] = .int(Int64(report.subscribers))
                row["events"] = .int(Int64(report.events))
                row["matches"] = .int(Int64(report.matches))
                row["runs"] = .int(Int64(report.runs))
                row["ownedForMs"] = .int(nowMs - report.ownedSinceMs)
                row["lastEventAgoMs"] = report.lastEventMs > 0 ? .int(nowMs - report.lastEventMs) : .null
                row["lastRefreshAgoMs"] = report.lastRefreshMs > 0 ? .int(nowMs - report.lastRefreshMs) : .null
            }
            rows.append(.object(row))
        }
        return ["node": .string(node.name), "shards": .array(rows)]
    }

    /// Of the shards that this node's worker holds, how far the last one is behind its stream.
    /// - Throws: `BrokerError` when the broker cannot be asked.
    package func behindMs() async throws(BrokerError) -> Int64 {
        var furthest: Int64 = 0
        for report in await worker?.shardReports ?? [] {
            let stream = broker.keys.events(shard: report.shard.number)
            let info = try await broker.info(of: stream)
            let checkpoint = try await broker.checkpoint(stream: stream, group: Keys.workersGroup)
            // The worker may be further than it has written down.
            let reached = max(checkpoint ?? report.lastEventID, report.lastEventID)
            furthest = max(furthest, behindMs(last: info?.lastID, checkpoint: reached))
        }
        return furthest
    }

    /// Conditions of this node's worker that ended in an error, all rules together.
    package func conditionErrors() async -> Int {
        await worker?.conditionErrorCounts.values.reduce(0) { $0 + Int($1) } ?? 0
    }

    private func behindMs(last: StreamID?, checkpoint: StreamID?) -> Int64 {
        guard let last, last.ms > 0 else { return 0 }
        guard let checkpoint else { return 0 }
        return last.ms > checkpoint.ms ? Int64(last.ms - checkpoint.ms) : 0
    }

    /// - Throws: `BrokerError` when the broker cannot be asked.
    package func nodes() async throws(BrokerError) -> JSONValue {
        let nowMs = clock.nowMs()
        let records = try await broker.nodes()
        return [
            "nodes": .array(
                records.compactMap { record in
                    guard let payload = NodeRecordPayload(payload: record.payload) else { return nil }
                    return [
                        "id": .string(payload.id.name), "roles": .array(payload.roles.map(JSONValue.string)),
                        "address": .string(payload.address), "adminAddress": .string(payload.adminAddress),
                        "version": .string(payload.version), "draining": .bool(payload.isDraining),
                        "sessions": .int(Int64(payload.load)), "upMs": .int(max(0, nowMs - payload.startedAtMs)),
                        "expiresInMs": .int(Int64(record.remainingMs)),
                    ]
                })
        ]
    }

    /// Live queries that this node's worker owns.
    package func liveQueries(limit: Int, operation: OperationReference?) async -> JSONValue {
        let nowMs = clock.nowMs()
        let reports = await worker?.liveQueryReports(limit: limit, operation: operation) ?? []
        return [
            "node": .string(node.name),
            "liveQueries": .array(
                reports.map { report in
                    [
                        "key": .string(report.key.description), "operation": .string(report.operation.description),
                        "shard": .int(Int64(report.shard.number)),
                        "rules": .array(rules(of: report.operation).map(JSONValue.string)),
                        "gateways": .array(report.gateways.map { .string($0.name) }),
                        "digest": report.digest.map { .string($0.hex) } ?? .null,
                        "position": report.position.map { .string($0.description) } ?? .null,
                        "lastTriggerAgoMs": report.lastTriggerMs > 0 ? .int(nowMs - report.lastTriggerMs) : .null,
                        "lastRunAgoMs": report.lastFinishMs > 0 ? .int(nowMs - report.lastFinishMs) : .null,
                        "lastRunMs": .int(report.lastRunMs), "runs": .int(Int64(report.runs)),
                        "failures": .int(Int64(report.failures)),
                    ]
                }),
        ]
    }

    private func rules(of reference: OperationReference) -> [String] {
        guard let refresh = catalog.operation(reference)?.refresh else { return [] }
        var rules = refresh.lookupTables.map { "implicit: key of \($0)" }
        if let everyMs = refresh.everyMs { rules.append("every \(everyMs) ms") }
        for trigger in refresh.triggers {
            rules.append(
                "onMutationExecuted \(trigger.mutation.operation)"
                    + (trigger.conditionText.map { " when \($0)" } ?? ""))
        }
        return rules
    }
}
