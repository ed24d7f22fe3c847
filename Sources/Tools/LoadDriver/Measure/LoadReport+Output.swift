package import JSON

/// Formats numbers for text reports.
enum ReportFormat {
    /// Formats a number with fixed decimals, rounded half up.
    static func text(_ value: Double, decimals: Int) -> String {
        var factor: Double = 1
        for _ in 0..<decimals { factor *= 10 }
        let scaled = Int64((value * factor).rounded())
        guard decimals > 0 else { return String(scaled) }
        let fraction = String(scaled.magnitude % UInt64(factor))
        let sign = scaled < 0 ? "-" : ""
        return "\(sign)\(scaled.magnitude / UInt64(factor))."
            + String(repeating: "0", count: decimals - fraction.utf8.count) + fraction
    }

    static func milliseconds(_ us: Int64) -> String {
        let ms = Double(us) / 1_000
        return text(ms, decimals: ms >= 100 ? 0 : ms >= 10 ? 1 : 2)
    }

    static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.utf8.count)) + text
    }
}

extension LoadReport {
    /// The report as text, without a final line feed.
    package var text: String {
        let seconds = ReportFormat.text(Double(durationMs) / 1_000, decimals: 1)
        var lines = [
            "\(scenario): \(subscribers) subscribers over \(transports.joined(separator: ", ")), \(seconds) s, "
                + "seed \(seed)\(wasStopped ? " (stopped)" : "")",
            "  gateways    \(gateways.joined(separator: " "))",
            "  subscribed  \(subscribedAtStart) of \(subscribers) in "
                + "\(ReportFormat.text(Double(connectingMs) / 1_000, decimals: 2)) s, "
                + "\(connects) connects, \(dropped) dropped",
            "  delivered   \(delivered) results, \(ReportFormat.text(deliveredPerSecond, decimals: 1))/s",
            "  mutations   \(mutationsSent) sent, \(mutationsAnswered) answered "
                + "(\(ReportFormat.text(mutationsPerSecond, decimals: 1))/s), \(mutationsFailed) failed",
            "",
            "  ms                      count      p50      p90      p99    p99.9      max",
            Self.line("\(latencyFrom.rawValue) to delivery", deliveryLatency),
            Self.line("mutation", mutationLatency),
            Self.line("first result", firstResult),
        ]
        if returned.count > 0 { lines.append(Self.line("resumed", returned)) }
        lines.append("")
        if deliveredBeforeAnswer > 0 {
            lines.append("  \(deliveredBeforeAnswer) deliveries arrived before their mutation's response")
        }
        if errors.total == 0 {
            lines.append("  errors      none")
        } else {
            for (code, count) in errors.counts.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
                let example = errors.examples[code].map { ", e.g. \($0)" } ?? ""
                lines.append("  error       \(code) \(count) times\(example)")
            }
        }
        if hasNoMutation { lines.append("  NO MUTATION SUCCEEDED: the run proves nothing") }
        lines.append(verdictText)
        for difference in verdict.differences {
            lines.append("    \(difference.operation) \(difference.variables): \(difference.reason)")
        }
        return lines.joined(separator: "\n")
    }

    private var verdictText: String {
        let after = "after \(ReportFormat.text(Double(verdict.settledMs) / 1_000, decimals: 2)) s"
        return verdict.isConverged
            ? "  converged   all \(verdict.subscribers) subscribers on \(verdict.liveQueries) live queries, \(after)"
            : "  NOT CONVERGED: \(verdict.notConverged) of \(verdict.subscribers) subscribers, \(after)"
    }

    private static func line(_ name: String, _ summary: LatencySummary) -> String {
        let times = [summary.p50Us, summary.p90Us, summary.p99Us, summary.p999Us, summary.maxUs]
        let figures = summary.count == 0 ? times.map { _ in "-" } : times.map(ReportFormat.milliseconds)
        let label = name + String(repeating: " ", count: max(0, 18 - name.utf8.count))
        return "  \(label)" + ReportFormat.right(String(summary.count), 11)
            + figures.map { ReportFormat.right($0, 9) }.joined()
    }

    /// The report as JSON; times are in microseconds.
    package var json: JSONValue {
        let errorCounts = errors.counts.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.int(Int64($0.value))) }
        return [
            "scenario": .string(scenario), "seed": .int(Int64(clamping: seed)),
            "gateways": .array(gateways.map { .string($0) }), "transports": .array(transports.map { .string($0) }),
            "durationMs": .int(durationMs), "wasStopped": .bool(wasStopped), "passed": .bool(hasPassed),
            "subscribers": [
                "count": .int(Int64(subscribers)), "connects": .int(Int64(connects)),
                "subscribedAtStart": .int(Int64(subscribedAtStart)), "subscribed": .int(Int64(subscribed)),
                "connectingMs": .int(connectingMs), "dropped": .int(Int64(dropped)),
                "firstResult": firstResult.json, "returned": returned.json,
            ],
            "deliveries": [
                "count": .int(Int64(delivered)), "perSecond": .double(deliveredPerSecond),
                "latencyFrom": .string(latencyFrom.rawValue), "latency": deliveryLatency.json,
                "beforeAnswer": .int(Int64(deliveredBeforeAnswer)),
            ],
            "mutations": [
                "sent": .int(Int64(mutationsSent)), "answered": .int(Int64(mutationsAnswered)),
                "failed": .int(Int64(mutationsFailed)), "perSecond": .double(mutationsPerSecond),
                "latency": mutationLatency.json,
            ],
            "errors": .object(JSONObject(errorCounts)),
            "convergence": [
                "converged": .bool(verdict.isConverged), "subscribers": .int(Int64(verdict.subscribers)),
                "notConverged": .int(Int64(verdict.notConverged)), "liveQueries": .int(Int64(verdict.liveQueries)),
                "settledMs": .int(verdict.settledMs),
                "differences": .array(
                    verdict.differences.map {
                        [
                            "operation": .string($0.operation), "variables": .string($0.variables),
                            "subscribers": .int(Int64($0.subscribers)), "reason": .string($0.reason),
                        ]
                    }),
            ],
        ]
    }
}

extension LatencySummary {
    fileprivate var json: JSONValue {
        [
            "count": .int(Int64(count)), "meanUs": .int(meanUs), "p50Us": .int(p50Us), "p90Us": .int(p90Us),
            "p99Us": .int(p99Us), "p999Us": .int(p999Us), "maxUs": .int(maxUs),
        ]
    }
}
