import JSON

/// The state of the cluster in one sentence, with the problems that need attention, the worst first. Pure.
struct ClusterOverview: Sendable, Hashable {
    enum Severity: Int, Sendable, Comparable {
        case warning, critical

        static func < (left: Severity, right: Severity) -> Bool { left.rawValue < right.rawValue }
        var name: String { self == .critical ? "critical" : "warning" }
    }

    struct Problem: Sendable, Hashable {
        let severity: Severity
        let sentence: String
        /// The screen of the console that shows more: `shards`, `rules`, …
        let screen: String
    }

    /// The reports that the overview is made of.
    struct Facts: Sendable {
        /// The answer of `/admin/v1/status`: `nodes` and `unreachable`.
        var status: JSONValue = [:]
        /// The rows of `/admin/v1/nodes`.
        var nodes: [JSONValue] = []
        /// The rows of `/admin/v1/shards`.
        var shards: [JSONValue] = []
        /// The memory of the Redis servers, as the overview has it.
        var redis: [JSONValue] = []
        /// Why the list of nodes or shards cannot be read; nil if it can.
        var failure: String?
    }

    /// The age of an outbox row beyond which it is late: the sweeper publishes rows that are seconds old.
    static let outboxMsMax: Int64 = 30_000

    private(set) var problems: [Problem] = []
    private let summary: String

    init(_ facts: Facts) {
        let statuses = facts.status["nodes"]?.arrayValue ?? []
        let unreachable = facts.status["unreachable"]?.arrayValue ?? []
        func total(_ path: String...) -> Int64 {
            statuses.reduce(0) { sum, status in
                sum + (path.reduce(Optional(status)) { $0?[$1] }?.intValue ?? 0)
            }
        }
        let liveQueries = facts.shards.reduce(0) { $0 + ($1["liveQueries"]?.intValue ?? 0) }
        summary = [
            Self.count(Int64(facts.nodes.count), "node"), Self.count(Int64(facts.shards.count), "shard"),
            Self.count(total("sessions"), "session"), Self.count(liveQueries, "live query", "live queries"),
        ].joined(separator: ", ")
        if let failure = facts.failure { add(.critical, "The cluster cannot be read: \(failure).", "home") }
        for node in unreachable {
            add(.warning, "\(Self.text(node, "node")) does not report: \(Self.text(node, "reason")).", "home")
        }
        for status in statuses { add(of: status) }
        addReplicas(statuses)
        addSlots(statuses)
        for server in facts.redis { add(ofRedis: server) }
        for node in facts.nodes {
            let (name, problem) = (Self.text(node, "id"), Self.text(node, "deploymentProblem"))
            if !problem.isEmpty, problem != "it serves its folder only" {
                add(.critical, "\(name) has not loaded the last deployment: \(problem).", "home")
            }
        }
        addShards(facts.shards)
        addLag(statuses, facts.shards)
        problems.sort { ($1.severity, $0.sentence) < ($0.severity, $1.sentence) }
    }

    mutating func add(_ severity: Severity, _ sentence: String, _ screen: String) {
        problems.append(Problem(severity: severity, sentence: sentence, screen: screen))
    }

    private mutating func add(of status: JSONValue) {
        let name = Self.text(status, "node")
        if status["redis"]?["connected"] == false {
            add(.critical, "\(name) has no connection to Redis.", "home")
        } else if status["ready"] == false {
            let reason = status["notReadyBecause"]?.stringValue.map { ": \($0)" } ?? ""
            add(.critical, "\(name) is not ready\(reason).", "home")
        }
        if let problem = status["outbox"]?["problem"]?.stringValue, !problem.isEmpty {
            add(.critical, "\(name) cannot read the outbox: \(problem).", "home")
        } else if let oldestMs = status["outbox"]?["oldestMs"]?.intValue, oldestMs > Self.outboxMsMax {
            let rows = Self.count(status["outbox"]?["rows"]?.intValue ?? 0, "event")
            add(.critical, "The outbox holds \(rows), the oldest for \(oldestMs / 1_000) s.", "home")
        }
        if let state = status["tailer"]?["state"]?.stringValue, state.hasPrefix("failing") {
            add(.critical, "The database's log is not read: \(state).", "home")
        }
        addFailures(status["worker"], on: name)
        for error in status["worker"]?["conditionErrors"]?.arrayValue ?? [] {
            let (operation, count) = (Self.text(error, "operation"), error["count"]?.intValue ?? 0)
            add(
                .warning,
                "Rule \(error["rule"]?.intValue ?? 0) of \(operation) failed \(Self.count(count, "time")) on \(name); "
                    + "each failure refreshes.", "rules")
        }
    }

    /// Each replica once, though each worker reports it.
    private mutating func addReplicas(_ statuses: [JSONValue]) {
        var addresses: Set<String> = []
        for status in statuses {
            for replica in (status["replicas"]?.arrayValue ?? []).map(ReplicaView.init(json:)) {
                guard let problem = replica.problem(seenBy: Self.text(status, "node")),
                    addresses.insert(replica.address).inserted
                else { continue }
                add(.warning, problem, "home")
            }
        }
    }

    private mutating func addShards(_ shards: [JSONValue]) {
        var verdicts: [String: [Int64]] = [:]
        for shard in shards {
            let verdict = Self.text(shard, "verdict")
            if verdict != "ok" { verdicts[verdict, default: []].append(shard["shard"]?.intValue ?? 0) }
        }
        for (verdict, numbers) in verdicts {
            let isCritical = verdict.hasPrefix("no ") || verdict.hasPrefix("behind")
            add(
                isCritical ? .critical : .warning,
                "\(Self.count(Int64(numbers.count), "shard")) (\(Self.list(numbers))): \(verdict).", "shards")
        }
    }

    /// The shards whose markers do not arrive at a gateway in time, from the answers of `/admin/v1/status`.
    static func lateShards(_ statuses: [JSONValue]) -> [(gateway: String, shard: Int64, undeliveredMs: Int64)] {
        statuses.flatMap { status in
            (status["gateway"]?["lag"]?["worst"]?.arrayValue ?? []).filter { $0["late"] == true }.map {
                (text(status, "node"), $0["shard"]?.intValue ?? 0, $0["undeliveredMs"]?.intValue ?? 0)
            }
        }
    }

    /// Adds the shards whose markers do not arrive, by owner.
    private mutating func addLag(_ statuses: [JSONValue], _ shards: [JSONValue]) {
        let owners = Dictionary(
            shards.map { ($0["shard"]?.intValue ?? 0, Self.text($0, "owner")) }, uniquingKeysWith: { $1 })
        var late: [String: (shards: Set<Int64>, gateways: Set<String>, oldestMs: Int64)] = [:]
        for (gateway, number, undeliveredMs) in Self.lateShards(statuses) {
            var entry = late[owners[number] ?? "", default: ([], [], 0)]
            entry.shards.insert(number)
            entry.gateways.insert(gateway)
            entry.oldestMs = max(entry.oldestMs, undeliveredMs)
            late[owners[number] ?? ""] = entry
        }
        func total(_ name: String) -> Int64 {
            statuses.reduce(0) { $0 + ($1["gateway"]?["lag"]?[name]?.intValue ?? 0) }
        }
        let (followed, lateCount) = (total("shards"), total("late"))
        if !late.isEmpty, lateCount == followed {
            let oldestMs = late.values.map(\.oldestMs).max() ?? 0
            let stuck =
                switch (late.count, late.keys.first ?? "") {
                case (1, ""): "no worker owns \(Self.shards(late.values.flatMap(\.shards)))"
                case (1, let owner): "\(owner) is stuck"
                default: "every worker is stuck"
                }
            return add(
                .critical,
                "No gateway has delivered a marker for \(oldestMs / 1_000) s: none is committed, or \(stuck).", "home")
        }
        for (owner, entry) in late {
            let numbers = Self.shards(Array(entry.shards))
            let (seconds, gateways) = (entry.oldestMs / 1_000, entry.gateways.sorted().joined(separator: ", "))
            let sentence =
                owner.isEmpty
                ? "No worker owns \(numbers): nothing that was committed in the last \(seconds) s has reached "
                    + "\(gateways)."
                : "\(owner) has sent nothing of \(numbers) that was committed in the last \(seconds) s to \(gateways)."
            add(.critical, sentence, "shards")
        }
    }

    private static func shards(_ numbers: [Int64]) -> String {
        "\(numbers.count == 1 ? "shard" : "shards") \(list(numbers.sorted()))"
    }

    /// `ok`, `warning` or `critical`.
    var level: String { problems.first?.severity.name ?? "ok" }

    var verdict: String {
        guard let first = problems.first else { return "All is well: \(summary)." }
        let rest = problems.count - 1
        return first.sentence + (rest > 0 ? " And \(Self.count(Int64(rest), "more problem"))." : "")
    }

    var json: JSONObject {
        [
            "verdict": .string(verdict), "level": .string(level), "summary": .string(summary),
            "problems": .array(
                problems.map {
                    [
                        "severity": .string($0.severity.name), "sentence": .string($0.sentence),
                        "screen": .string($0.screen),
                    ]
                }),
        ]
    }

    static func text(_ row: JSONValue, _ name: String) -> String { row[name]?.stringValue ?? "" }

    /// The first numbers of some shards.
    private static func list(_ numbers: [Int64]) -> String {
        numbers.prefix(5).map(String.init).joined(separator: ", ") + (numbers.count > 5 ? ", …" : "")
    }

    static func count(_ number: Int64, _ one: String, _ many: String? = nil) -> String {
        HumanUnits.plural(number, one, many)
    }
}
