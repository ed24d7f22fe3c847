import Execution
import FanoutWorker
import Gateway
package import JSON
package import LiveModel
import PublicAPI
import Refresh

/// Live queries as this node knows them.
extension NodeInspector {
    /// Returns live queries that this node's worker owns. For a user, which workers do not know, returns those that its
    /// sessions follow at this node instead.
    package func liveQueries(
        limit: Int, operation: OperationReference?, keyPrefix: String? = nil, user: String? = nil
    ) async -> JSONValue {
        let worker = parts.components.worker
        var matching: Int?
        if user == nil, operation != nil || keyPrefix != nil {
            matching = await worker?.liveQueryCount(of: operation, keyPrefix: keyPrefix) ?? 0
        }
        let reports =
            user == nil
            ? await worker?.liveQueryReports(limit: limit, operation: operation, keyPrefix: keyPrefix) ?? [] : []
        return [
            "node": .string(nodeID.name), "count": .int(Int64(await worker?.liveQueryCount ?? 0)),
            "matching": matching.map { .int(Int64($0)) } ?? .null,
            "followed": .array(await followed(by: user, operation)),
            "liveQueries": rows(reports),
        ]
    }

    /// Returns those live queries of some keys that this node's worker owns.
    func liveQueries(_ keys: Set<LiveQueryKey>) async -> JSONValue {
        let reports = await parts.components.worker?.liveQueryReports(limit: keys.count, keys: keys) ?? []
        return ["node": .string(nodeID.name), "liveQueries": rows(reports)]
    }

    private func rows(_ reports: [LiveQueryReport]) -> JSONValue {
        let nowMs = parts.clock.nowMs()
        return .array(
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
            })
    }

    /// The live queries that a user's sessions follow at this node.
    private func followed(by user: String?, _ operation: OperationReference?) async -> [JSONValue] {
        guard let user, let gateway = parts.components.gateway else { return [] }
        let own = await parts.components.sessions.reports(limit: .max, keysMax: .max).filter { $0.user == user }
        return gateway.operations(of: own.flatMap(\.followedKeys)).filter { operation == nil || $0.value == operation }
            .map { key, operation in
                [
                    "key": .string(key.description), "operation": .string(operation.description),
                    "gateways": [.string(nodeID.name)],
                ]
            }
    }
}
