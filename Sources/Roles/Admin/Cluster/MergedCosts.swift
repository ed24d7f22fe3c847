import Inspection
import JSON
import LiveModel

/// The costs of operations over all nodes. Pure.
enum MergedCosts {
    private static let numbers = [
        "requests", "requestMs", "runs", "changed", "databaseMs", "resultBytes", "deliveries", "bytesOut",
    ]

    /// Costs of each operation per minute and since the nodes' starts, those with the most time first. `share` is the
    /// part of all operations' time over the last minute; if none ran, since the starts.
    static func top(_ parts: [ReportPart], _ arguments: AdminArguments) -> JSONObject {
        var sums: [String: (window: [Double], total: [Double])] = [:]
        var times: [String: (recent: TimeHistogram, total: TimeHistogram)] = [:]
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
                var time = times[name] ?? (TimeHistogram(), TimeHistogram())
                time.recent += histogram(row["recentStatements"])
                time.total += histogram(row["statements"])
                times[name] = time
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
                "statementMs": percentiles(times[name]?.total), "recentStatementMs": percentiles(times[name]?.recent),
            ] as JSONValue
        }
        return ["isIdle": .bool(isIdle), "operations": .array(rows)]
    }

    private static func histogram(_ counts: JSONValue?) -> TimeHistogram {
        TimeHistogram(counts: (counts?.arrayValue ?? []).map { UInt64(clamping: $0.intValue ?? 0) })
    }

    /// Returns the percentiles of the statements that run live queries; null without any.
    private static func percentiles(_ times: TimeHistogram?) -> JSONValue {
        .object(
            JSONObject(
                [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)].map { name, share in
                    (name, times?.percentileMs(share).map { .double(rounded($0)) } ?? .null)
                }))
    }

    private static func row(_ values: [Double]) -> JSONValue {
        .object(JSONObject(zip(numbers, values).map { ($0, .double(rounded($1))) }))
    }

    static func rounded(_ value: Double) -> Double { (value * 1_000).rounded() / 1_000 }
}
