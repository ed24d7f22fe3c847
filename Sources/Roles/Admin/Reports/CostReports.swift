import Clocks
import Execution
import Foundation
import Gateway
import Inspection
package import JSON
import LiveModel
import RoleMachines

/// The costs of operations, and what the node has to pay them with.
extension NodeInspector {
    /// Returns the costs of this node's operations, with what the process used since its start.
    package func costs() -> JSONValue {
        let nowMs = parts.clock.nowMs()
        let sinceMs = max(1, nowMs - parts.startedAtMs)
        let times = parts.meter.statementTimes()
        return [
            "node": .string(parts.id.name), "windowMs": .int(min(Self.windowMs, sinceMs)), "upMs": .int(sinceMs),
            "roles": .array(parts.roles.names.map(JSONValue.string)),
            "cores": .int(Int64(ProcessInfo.processInfo.activeProcessorCount)),
            "cpuMs": .int(ProcessUsage.cpuMs()), "peakBytes": .int(ProcessUsage.peakResidentBytes()),
            "sessions": .int(Int64(parts.components.sessions.count)),
            "subscriptions": .int(Int64(parts.components.gateway?.counts.subscriptions ?? 0)),
            "operations": .array(
                parts.meter.report().map { operation, window, total in
                    [
                        "operation": .string(operation.description), "window": .object(Self.row(window)),
                        "total": .object(Self.row(total)),
                        "statements": .array(Self.counts(times[operation]?.total)),
                        "recentStatements": .array(Self.counts(times[operation]?.recent)),
                    ]
                }),
        ]
    }

    /// Returns the costs with what the capacity planner needs beside them: the minutes of the last hour.
    package func load() -> JSONValue {
        var object = costs().objectValue ?? [:]
        object["connections"] = .int(Int64(parts.databaseConnections))
        object["minutes"] = .array(
            parts.meter.minutes.map { minute in
                var row = Self.row(minute.costs)
                row["minute"] = .int(minute.number)
                row["ms"] = .int(minute.ms)
                row["cpuMs"] = .int(minute.cpuMs)
                return .object(row)
            })
        return .object(object)
    }

    /// The counts of a histogram without the zeros at its end.
    private static func counts(_ times: TimeHistogram?) -> [JSONValue] {
        let counts = times?.counts ?? []
        let used = (counts.lastIndex { $0 > 0 } ?? -1) + 1
        return counts.prefix(used).map { .int(Int64(clamping: $0)) }
    }

    /// The time that `CostMeter` reports on: on average half of its last part is not over.
    private static let windowMs = Int64(CostMeter.parts) * CostMeter.partMs - CostMeter.partMs / 2

    private static func row(_ costs: OperationCosts) -> JSONObject {
        [
            "requests": .int(Int64(clamping: costs.requests)), "runs": .int(Int64(clamping: costs.runs)),
            "requestMs": .double(Double(costs.requestMicros) / 1_000), "lastRequestAtMs": .int(costs.lastRequestMs),
            "changed": .int(Int64(clamping: costs.changed)),
            "databaseMs": .double(Double(costs.statementMicros) / 1_000),
            "resultBytes": .int(Int64(clamping: costs.resultBytes)),
            "deliveries": .int(Int64(clamping: costs.deliveries)),
            "bytesOut": .int(Int64(clamping: costs.deliveredBytes)),
        ]
    }
}
