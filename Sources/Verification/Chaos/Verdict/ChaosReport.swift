package import JSON

/// The results of a chaos run.
package struct ChaosReport: Sendable {
    /// The results of one round.
    package struct Round: Sendable {
        package var number: Int
        /// The start of the round, since the run's start.
        package var atMs: Int
        package var faults: [String]
        /// When the load ended, relative to the first fault; nil if it continued until everything had recovered.
        package var quietFromMs: Int?
        /// Time from the last mutation's response until every subscriber had the current result.
        package var settledMs: Int
        package var acknowledged: Int
        /// Violated guarantees; empty if there are none.
        package var misses: [String]

        package init(number: Int, atMs: Int, faults: [String], quietFromMs: Int? = nil) {
            self.number = number
            self.atMs = atMs
            self.faults = faults
            self.quietFromMs = quietFromMs
            settledMs = 0
            acknowledged = 0
            misses = []
        }

        /// The round as one line of text.
        package var text: String {
            let verdict =
                misses.isEmpty
                ? "settled in \(settledMs) ms, \(acknowledged) acknowledged" : "MISS: " + misses.joined(separator: "; ")
            let quiet = quietFromMs.map { ", quiet from \($0) ms" } ?? ""
            return "\(number)  +\(atMs / 1_000) s  \(faults.joined(separator: " + "))\(quiet): \(verdict)"
        }
    }

    package var seed: UInt64
    package var rounds: [Round] = []
    package var elapsedMs = 0
    package var faultsByKind: [String: Int] = [:]
    /// `Round.settledMs` of rounds with a single fault.
    package var settledMsByKind: [String: [Int]] = [:]
    package var mutationsAcknowledged = 0
    package var mutationsFailed = 0
    /// Requests repeated with their idempotency key.
    package var mutationsRetried = 0
    /// Writes without the service; nil if there were to be none.
    package var outsideWrites: Int?
    package var subscribers = 0
    package var liveQueries = 0
    package var delivered = 0
    package var connectionsLost = 0
    package var leaseMs: Int
    /// Times from a worker's SIGKILL until every operation of its shards was refreshed.
    package var takeOverMs: [Int] = []
    /// The longest waits for a mutation's effect while a worker drained.
    package var handOverMs: [Int] = []
    /// Times from a gateway's SIGKILL until every subscriber was connected, with the number of lost sessions.
    package var reconnects: [(sessions: Int, ms: Int)] = []
    /// Older results after a reconnect without a resume tag.
    package var olderWithoutTag = 0
    /// Changes that live queries missed by their own verification, as their workers logged them.
    package var missedByVerification = 0
    /// Nodes that exited by themselves.
    package var ownExits: [String] = []

    package init(seed: UInt64, leaseMs: Int) {
        self.seed = seed
        self.leaseMs = leaseMs
    }

    package var quietRounds: Int { rounds.count { $0.quietFromMs != nil } }
    package var misses: Int { rounds.reduce(0) { $0 + $1.misses.count } }
    package var faults: Int { faultsByKind.values.reduce(0, +) }
    /// Whether the run passed. One without a fault or a mutation proves nothing.
    package var hasPassed: Bool {
        misses == 0 && missedByVerification == 0 && faults > 0 && mutationsAcknowledged > 0
            && outsideWrites != 0
    }

    package static func median(_ values: [Int]) -> Int? {
        values.isEmpty ? nil : values.sorted()[(values.count - 1) / 2]
    }

    /// The report as text, without a final line feed.
    package var text: String {
        var lines = [
            "",
            "seed \(seed): \(faults) faults in \(rounds.count) rounds, \(quietRounds) of them quiet, "
                + "\(elapsedMs / 60_000) min \(elapsedMs / 1_000 % 60) s, "
                + (misses == 0 ? "no miss" : "\(misses) MISSES"),
            "  load        \(subscribers) subscribers of \(liveQueries) live queries, "
                + "\(mutationsAcknowledged) mutations acknowledged, \(mutationsFailed) failed, "
                + "\(mutationsRetried) retries, "
                + "\(delivered) deliveries, \(connectionsLost) connections lost",
            "  " + Self.line("settled", rounds.map(\.settledMs)),
            "  " + Self.line("quiet", rounds.filter { $0.quietFromMs != nil }.map(\.settledMs))
                + " the same for rounds without load after the fault",
            "  " + Self.line("take-over", takeOverMs) + " from a worker's SIGKILL to its operations' refresh; lease "
                + "\(leaseMs) ms",
            "  " + Self.line("hand-over", handOverMs) + " longest wait while a worker drained",
            "  " + Self.line("reconnect", reconnects.map(\.ms)) + " from a gateway's SIGKILL to all connected; at most "
                + "\(reconnects.map(\.sessions).max() ?? 0) sessions",
        ]
        if let outsideWrites { lines.append("  outside     \(outsideWrites) writes without the service") }
        if olderWithoutTag > 0 {
            lines.append("  \(olderWithoutTag) older results after a reconnect without a resume tag (no misses)")
        }
        if missedByVerification > 0 {
            lines.append("  MISSED by the online verification: \(missedByVerification) changes, see the workers' logs")
        }
        for exit in ownExits { lines.append("  exited by itself: \(exit)") }
        lines.append("  faults; settled after single ones:")
        for (kind, count) in faultsByKind.sorted(by: { $0.key < $1.key }) {
            let settled = settledMsByKind[kind].map { Self.line(kind, $0, width: 24) }
            lines.append("  \(count) × " + (settled ?? kind))
        }
        return lines.joined(separator: "\n")
    }

    private static func line(_ name: String, _ values: [Int], width: Int = 12) -> String {
        let name = name + String(repeating: " ", count: max(1, width - name.count))
        guard let median = median(values), let most = values.max() else { return name + "not measured" }
        return "\(name)median \(median) ms, at most \(most) ms (\(values.count)×)"
    }

    package var json: JSONValue {
        func numbers(_ values: [Int]) -> JSONValue { .array(values.map { .int(Int64($0)) }) }
        return [
            "seed": .string(String(seed)), "elapsedMs": .int(Int64(elapsedMs)), "faults": .int(Int64(faults)),
            "misses": .int(Int64(misses)), "passed": .bool(hasPassed), "subscribers": .int(Int64(subscribers)),
            "liveQueries": .int(Int64(liveQueries)), "mutationsAcknowledged": .int(Int64(mutationsAcknowledged)),
            "mutationsFailed": .int(Int64(mutationsFailed)), "mutationsRetried": .int(Int64(mutationsRetried)),
            "delivered": .int(Int64(delivered)), "connectionsLost": .int(Int64(connectionsLost)),
            "leaseMs": .int(Int64(leaseMs)),
            "takeOverMs": numbers(takeOverMs), "handOverMs": numbers(handOverMs),
            "reconnects": .array(
                reconnects.map { ["sessions": .int(Int64($0.sessions)), "ms": .int(Int64($0.ms))] }),
            "outsideWrites": outsideWrites.map { .int(Int64($0)) } ?? .null,
            "olderWithoutTag": .int(Int64(olderWithoutTag)),
            "missedByVerification": .int(Int64(missedByVerification)),
            "ownExits": .array(ownExits.map(JSONValue.string)),
            "faultsByKind": .object(
                JSONObject(faultsByKind.sorted { $0.key < $1.key }.map { ($0.key, .int(Int64($0.value))) })),
            "settledMsByKind": .object(
                JSONObject(settledMsByKind.sorted { $0.key < $1.key }.map { ($0.key, numbers($0.value)) })),
            "rounds": .array(
                rounds.map { round in
                    [
                        "number": .int(Int64(round.number)), "atMs": .int(Int64(round.atMs)),
                        "faults": .array(round.faults.map(JSONValue.string)),
                        "quietFromMs": round.quietFromMs.map { .int(Int64($0)) } ?? .null,
                        "settledMs": .int(Int64(round.settledMs)), "acknowledged": .int(Int64(round.acknowledged)),
                        "misses": .array(round.misses.map(JSONValue.string)),
                    ]
                }),
        ]
    }
}
