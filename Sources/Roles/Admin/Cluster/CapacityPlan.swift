import JSON
import LiveModel

/// The needs of a multiple of the load, by unit costs of the busiest minute of the last hour. Pure.
///
/// Without a whole minute, as after a start, the costs since the nodes' starts stand in for it.
enum CapacityPlan {
    /// The share of a node's cores beyond which a plan adds nodes, so that bursts and a lost node fit.
    static let busyMax = 0.6
    private static let minuteMs: Int64 = 60_000

    /// The load of nodes over a time.
    private struct Load {
        /// Cores, and connections to the database, that were busy on average.
        var cores = 0.0
        var connections = 0.0
        var cpuMs = 0.0
        var deliveries = 0.0
        var runs = 0.0
        var requests = 0.0
        var databaseMs = 0.0
        var requestMs = 0.0

        init() {}

        /// - Parameter row: costs, with `cpuMs`.
        init(_ row: JSONValue, ms: Double) {
            func number(_ name: String) -> Double { row[name]?.doubleValue ?? 0 }
            cpuMs = number("cpuMs")
            deliveries = number("deliveries")
            runs = number("runs")
            requests = number("requests")
            databaseMs = number("databaseMs")
            requestMs = number("requestMs")
            cores = cpuMs / max(1, ms)
            connections = (databaseMs + requestMs) / max(1, ms)
        }

        static func + (left: Load, right: Load) -> Load {
            var sum = Load()
            sum.cores = left.cores + right.cores
            sum.connections = left.connections + right.connections
            sum.cpuMs = left.cpuMs + right.cpuMs
            sum.deliveries = left.deliveries + right.deliveries
            sum.runs = left.runs + right.runs
            sum.requests = left.requests + right.requests
            sum.databaseMs = left.databaseMs + right.databaseMs
            sum.requestMs = left.requestMs + right.requestMs
            return sum
        }
    }

    static func report(_ parts: [ReportPart], _ arguments: AdminArguments) -> JSONObject {
        let factor = Double(arguments.integer("factor") ?? 10)
        let byMinute = minutes(parts)
        let busiest = byMinute.max { ($0.value.cores, $0.key) < ($1.value.cores, $1.key) }
        let starts = parts.map(sinceStart).reduce(Load(), +)
        let load = busiest?.value ?? starts
        // The database may be busiest in another minute than the processors.
        let connectionsBusy = byMinute.values.map(\.connections).max() ?? starts.connections
        let connections = sum(parts, "connections")
        let nodes = parts.map { node($0, factor) }
        let sessions = sum(parts, "sessions")
        func per(_ amount: (Load) -> Double, _ count: (Load) -> Double) -> JSONValue {
            guard let basis = [load, starts].first(where: { count($0) > 0 }) else { return .null }
            return number(amount(basis) / count(basis))
        }
        func share(_ busy: Double) -> JSONValue { connections > 0 ? number(busy / connections) : .null }
        return [
            "factor": .double(factor),
            "busiestMinuteMs": busiest.map { .int($0.key * minuteMs) } ?? .null,
            "measured": [
                "sessions": .double(sessions), "deliveries": .double(load.deliveries), "runs": .double(load.runs),
                "coresBusy": number(load.cores),
                "cpuMsPerDelivery": per(\.cpuMs, \.deliveries), "databaseMsPerRun": per(\.databaseMs, \.runs),
                "requestMsPerRequest": per(\.requestMs, \.requests),
                "bytesPerSession": sessions > 0 ? number(sum(parts, "peakBytes") / sessions) : .null,
                "connectionsBusy": number(connectionsBusy), "connections": .double(connections),
                "databaseShare": share(connectionsBusy),
            ],
            "needed": [
                "sessions": .double(sessions * factor), "connectionsBusy": number(connectionsBusy * factor),
                "databaseShare": share(connectionsBusy * factor),
                "nodes": .double(nodes.reduce(0) { $0 + ($1["nodesNeeded"]?.doubleValue ?? 0) }),
            ],
            "nodes": .array(nodes), "assumptions": .array(assumptions(busiest != nil).map(JSONValue.string)),
        ]
    }

    /// The load of all nodes in each minute that was measured on every node which has minutes at all: in others the
    /// load of some nodes would be missing.
    private static func minutes(_ parts: [ReportPart]) -> [Int64: Load] {
        var loads: [Int64: (load: Load, nodes: Int)] = [:]
        for row in parts.flatMap(rows) {
            let (minute, load) = row
            let former = loads[minute] ?? (Load(), 0)
            loads[minute] = (former.load + load, former.nodes + 1)
        }
        let most = loads.values.map(\.nodes).max() ?? 0
        return loads.filter { $0.value.nodes == most }.mapValues(\.load)
    }

    private static func rows(_ part: ReportPart) -> [(minute: Int64, load: Load)] {
        (part.json["minutes"]?.arrayValue ?? []).compactMap { row in
            guard let minute = row["minute"]?.intValue, let ms = row["ms"]?.doubleValue else { return nil }
            return (minute, Load(row, ms: ms))
        }
    }

    private static func sinceStart(_ part: ReportPart) -> Load {
        let upMs = part.json["upMs"]?.doubleValue ?? 0
        let operations = (part.json["operations"]?.arrayValue ?? []).map { Load($0["total"] ?? .null, ms: upMs) }
        return operations.reduce(Load(["cpuMs": part.json["cpuMs"] ?? 0], ms: upMs), +)
    }

    /// A node by its own busiest minute.
    private static func node(_ part: ReportPart, _ factor: Double) -> JSONValue {
        let cores = max(1, part.json["cores"]?.doubleValue ?? 1)
        let busy = rows(part).map(\.load.cores).max() ?? sinceStart(part).cores
        let needed = (busy * factor / (cores * busyMax)).rounded(.up)
        return [
            "node": .string(part.node.name), "roles": part.json["roles"] ?? .array([]), "cores": .double(cores),
            "coresBusy": number(busy), "peakBytes": part.json["peakBytes"] ?? 0,
            "sessions": part.json["sessions"] ?? 0, "nodesNeeded": .double(max(1, needed)),
        ]
    }

    private static func sum(_ parts: [ReportPart], _ name: String) -> Double {
        parts.reduce(0) { $0 + ($1.json[name]?.doubleValue ?? 0) }
    }

    private static func number(_ value: Double) -> JSONValue { .double(MergedCosts.rounded(value)) }

    private static func assumptions(_ hasMinute: Bool) -> [String] {
        [
            hasMinute
                ? "Measured: CPU time, runs, deliveries and statement times of the busiest minute of the last hour; "
                    + "peak memory since each node's start. A node counts by its own busiest minute."
                : "Measured: everything since each node's start, until a whole minute has been measured.",
            "Assumed: load keeps its mix, and every cost grows in proportion to it.",
            "Assumed: a node is full at 60 % of its cores, so that bursts and a lost node fit.",
            "CPU per delivery is all CPU of the nodes divided by deliveries: it counts idle work, too, "
                + "and falls as load grows.",
            "Memory per session is peak memory divided by sessions: an upper bound while there are few.",
            "The database's share is the mean number of statements at once, in its busiest minute, of the connections "
                + "that the nodes are configured with. Postgres' own limits are not measured.",
        ]
    }
}
