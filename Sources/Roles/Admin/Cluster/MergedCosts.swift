import Inspection
import JSON
import LiveModel

/// The costs of operations over all nodes, and what more load would need. Pure.
enum MergedCosts {
    private static let numbers = [
        "requests", "requestMs", "runs", "changed", "databaseMs", "resultBytes", "deliveries", "bytesOut",
    ]

    /// Costs of each operation per minute and since the nodes' starts, those with the most time first. `share` is the
    /// part of all operations' time over the last minute; if none ran, since the starts.
    static func top(_ parts: [ReportPart], _ arguments: AdminArguments) -> JSONObject {
        var sums: [String: (window: [Double], total: [Double])] = [:]
        var times: [String: TimeHistogram] = [:]
        for part in parts {
            let perMinute = 60_000 / max(1, part.json["windowMs"]?.doubleValue ?? 60_000)
            for row in part.json["operations"]?.arrayValue ?? [] {
                guard let name = row["operation"]?.stringValue else { continue }
                var sum = sums[name] ?? (numbers.map { _ in 0 }, numbers.map { _ in 0 })
                for (index, number) in numbers.enumerated() {
                    sum.window[index] += (row["window"]?[number]?.doubleValue ?? 0) * perMinute
                    sum.total[index] += row["total"]?[number]?.doubleValue ?? 0
                }
                sums[name] = sum
                let counts = (row["statements"]?.arrayValue ?? []).map { UInt64(clamping: $0.intValue ?? 0) }
                times[name, default: TimeHistogram()] += TimeHistogram(counts: counts)
            }
        }
        func time(_ values: [Double]) -> Double { values[1] + values[4] }
        let isIdle = sums.values.allSatisfy { time($0.window) == 0 }
        func basis(_ sum: (window: [Double], total: [Double])) -> Double { time(isIdle ? sum.total : sum.window) }
        let whole = sums.values.reduce(0) { $0 + basis($1) }
        let sorted = sums.sorted { (basis($1.value), $0.key) < (basis($0.value), $1.key) }
        let rows = sorted.prefix(arguments.integer("limit") ?? 0).map { name, sum in
            [
                "operation": .string(name), "share": .double(whole > 0 ? rounded(basis(sum) / whole) : 0),
                "perMinute": row(sum.window), "total": row(sum.total),
                "statementMs": percentiles(times[name] ?? TimeHistogram()),
            ] as JSONValue
        }
        return ["isIdle": .bool(isIdle), "operations": .array(rows)]
    }

    /// Returns the percentiles of the statements that run live queries; null without any.
    private static func percentiles(_ times: TimeHistogram) -> JSONValue {
        .object(
            JSONObject(
                [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)].map { name, share in
                    (name, times.percentileMs(share).map { .double(rounded($0)) } ?? .null)
                }))
    }

    private static func row(_ values: [Double]) -> JSONValue {
        .object(JSONObject(zip(numbers, values).map { ($0, .double(rounded($1))) }))
    }

    private static func rounded(_ value: Double) -> Double { (value * 1_000).rounded() / 1_000 }

    /// The share of a node's cores beyond which a plan adds nodes, so that bursts and a lost node fit.
    static let busyMax = 0.6

    /// Unit costs as measured, and what `factor` times the load would need if all costs grow with it.
    static func capacity(_ parts: [ReportPart], _ arguments: AdminArguments) -> JSONObject {
        let factor = Double(arguments.integer("factor") ?? 10)
        func sum(_ part: ReportPart, _ name: String) -> Double {
            (part.json["operations"]?.arrayValue ?? []).reduce(0) { $0 + ($1["total"]?[name]?.doubleValue ?? 0) }
        }
        func all(_ make: (ReportPart) -> Double) -> Double { parts.reduce(0) { $0 + make($1) } }
        func number(_ part: ReportPart, _ name: String) -> Double { part.json[name]?.doubleValue ?? 0 }
        let nodes: [JSONValue] = parts.map { part in
            let (cores, upMs) = (max(1, number(part, "cores")), max(1, number(part, "upMs")))
            let busy = number(part, "cpuMs") / upMs
            let needed = (busy * factor / (cores * busyMax)).rounded(.up)
            return [
                "node": .string(part.node.name), "roles": part.json["roles"] ?? .array([]),
                "cores": .double(cores), "coresBusy": .double(rounded(busy)), "peakBytes": part.json["peakBytes"] ?? 0,
                "sessions": part.json["sessions"] ?? 0, "nodesNeeded": .double(max(1, needed)),
            ]
        }
        let sessions = all { number($0, "sessions") }
        let deliveries = all { sum($0, "deliveries") }
        let runs = all { sum($0, "runs") }
        let (runMs, requestMs) = (all { sum($0, "databaseMs") }, all { sum($0, "requestMs") })
        let connections = all { part in
            (sum(part, "databaseMs") + sum(part, "requestMs")) / max(1, number(part, "upMs"))
        }
        func per(_ amount: Double, _ count: Double) -> JSONValue {
            count > 0 ? .double(rounded(amount / count)) : .null
        }
        return [
            "factor": .double(factor),
            "measured": [
                "sessions": .double(sessions), "deliveries": .double(deliveries), "runs": .double(runs),
                "cpuMsPerDelivery": per(all { number($0, "cpuMs") }, deliveries),
                "databaseMsPerRun": per(runMs, runs),
                "requestMsPerRequest": per(requestMs, all { sum($0, "requests") }),
                "bytesPerSession": per(all { number($0, "peakBytes") }, sessions),
                "connectionsBusy": .double(rounded(connections)),
            ],
            "needed": [
                "sessions": .double(sessions * factor), "connectionsBusy": .double(rounded(connections * factor)),
                "nodes": .double(nodes.reduce(0) { $0 + ($1["nodesNeeded"]?.doubleValue ?? 0) }),
            ],
            "nodes": .array(nodes),
            "assumptions": .array(
                [
                    "Measured: CPU time, peak memory, runs, deliveries and statement times since each node's start.",
                    "Assumed: load keeps its mix, and every cost grows in proportion to it.",
                    "Assumed: a node is full at 60 % of its cores, so that bursts and a lost node fit.",
                    "CPU per delivery is all CPU of the nodes divided by deliveries: it counts idle work, too, "
                        + "and falls as load grows.",
                    "Memory per session is peak memory divided by sessions: an upper bound while there are few.",
                    "Postgres' own limits are not measured; connectionsBusy is the mean number of statements at once.",
                ].map(JSONValue.string)),
        ]
    }
}
