import JSON
import LiveModel
import Testing

@testable import Admin

/// The cluster in one sentence, and its problems by severity.
@Suite struct ClusterOverviewTests {
    private static func facts(
        _ status: JSONObject = [:], shards: [JSONValue] = [["shard": 0, "verdict": "ok", "liveQueries": 2]],
        unreachable: [JSONValue] = []
    ) -> ClusterOverview.Facts {
        var node: JSONObject = [
            "node": "a", "ready": true, "sessions": 3, "redis": ["connected": true],
            "outbox": ["rows": 0, "oldestMs": 0, "problem": ""],
        ]
        for entry in status.entries { node[entry.key] = entry.value }
        return .init(
            status: ["nodes": [.object(node)], "unreachable": .array(unreachable)], nodes: [["id": "a"]],
            shards: shards)
    }

    @Test func withoutProblemsItCounts() {
        let overview = ClusterOverview(Self.facts())
        #expect(overview.level == "ok" && overview.problems.isEmpty)
        #expect(overview.verdict == "All is well: 1 node, 1 shard, 3 sessions, 2 live queries.")
    }

    @Test(
        arguments: [
            (["redis": ["connected": false]], "critical", "a has no connection to Redis."),
            (["ready": false, "notReadyBecause": "Postgres"], "critical", "a is not ready: Postgres."),
            (["outbox": ["rows": 4, "oldestMs": 60_000, "problem": ""]], "critical", "The outbox holds 4 events"),
            (["outbox": ["rows": 0, "oldestMs": 0, "problem": "no table"]], "critical", "cannot read the outbox"),
            (["tailer": ["state": "failing: slot lost"]], "critical", "The database's log is not read"),
            (
                ["worker": ["conditionErrors": [["operation": "c/Q", "rule": 2, "count": 1]]]], "warning",
                "Rule 2 of c/Q failed 1 time on a"
            ),
            (
                [
                    "worker": [
                        "liveQueries": 40, "failing": 3,
                        "lastFailure": ["operation": "c/Q", "message": "no such table"],
                    ]
                ], "warning", "3 of 40 live queries on a fail, the last: c/Q: no such table."
            ),
            (
                [
                    "worker": [
                        "liveQueries": 1, "failing": 1,
                        "lastFailure": ["operation": "c/Q", "message": "no such table"],
                    ]
                ], "critical", "1 of 1 live query on a fails"
            ),
            (
                ["tailer": ["state": "reading", "slot": "s", "health": "lost", "retainedBytes": 0]], "critical",
                "The replication slot s is lost"
            ),
            (
                ["tailer": ["state": "reading", "slot": "s", "health": "unreserved", "retainedBytes": 0]], "critical",
                "The replication slot s may be lost at the next checkpoint"
            ),
            (
                [
                    "tailer": [
                        "state": "reading", "slot": "s", "health": "ok", "retainedBytes": 900_000, "safeBytes": 102_400,
                    ]
                ], "warning", "The replication slot s is lost after 100 KiB more of log"
            ),
            (
                [
                    "tailer": [
                        "state": "reading", "slot": "s", "health": "ok", "retainedBytes": 1_610_612_737,
                        "safeBytes": .null,
                    ]
                ], "warning", "The database keeps 1.5 GiB of log for the slot s."
            ),
        ] as [(JSONObject, String, String)])
    func aProblemIsNamed(_ status: JSONObject, _ level: String, _ sentence: String) {
        let overview = ClusterOverview(Self.facts(status))
        #expect(overview.level == level && overview.verdict.contains(sentence), "\(overview.verdict)")
    }

    @Test(
        arguments: [
            (["server": "r", "usedBytes": 10, "maxBytes": 100, "policy": "noeviction"], "ok", ""),
            (["server": "r", "usedBytes": 10, "maxBytes": .null, "policy": "allkeys-lru"], "ok", ""),
            (
                ["server": "r", "usedBytes": 10, "maxBytes": 100, "policy": "allkeys-lru"], "critical",
                "Redis r removes events when it is full (maxmemory-policy allkeys-lru); set noeviction."
            ),
            (
                ["server": "r", "usedBytes": 973_079, "maxBytes": 1_048_576, "policy": "noeviction"], "warning",
                "Redis r uses 950 KiB of 1 MiB; when it is full, events wait in the outbox."
            ),
            (["server": "r", "usedBytes": 101, "maxBytes": 100, "policy": "noeviction"], "critical", "of 100 B"),
        ] as [(JSONValue, String, String)])
    func redisIsNamedWhereItIsFullOrLosesEvents(_ server: JSONValue, _ level: String, _ sentence: String) {
        var facts = Self.facts()
        facts.redis = [server]
        let overview = ClusterOverview(facts)
        #expect(overview.level == level && overview.verdict.contains(sentence), "\(overview.verdict)")
    }

    @Test func aSlotIsNamedOnce() {
        var facts = Self.facts()
        let status: JSONValue = ["tailer": ["state": "standby", "slot": "s", "health": "lost", "retainedBytes": 0]]
        facts.status = ["nodes": [status, status], "unreachable": []]
        #expect(ClusterOverview(facts).problems.count == 1)
    }

    @Test func theWorstComesFirstAndTheOthersAreCounted() {
        let shards: [JSONValue] = (0..<7).map { ["shard": .int($0), "verdict": "no worker"] }
        let overview = ClusterOverview(
            Self.facts(shards: shards, unreachable: [["node": "z", "reason": "it is gone"]]))
        #expect(overview.problems.map(\.severity) == [.critical, .warning])
        #expect(overview.verdict == "7 shards (0, 1, 2, 3, 4, …): no worker. And 1 more problem.")
        #expect(overview.problems[1].sentence == "z does not report: it is gone.")
    }

    private static func lag(late: [Int64], shards: Int64 = 3) -> JSONObject {
        let worst = late.map { ["shard": .int($0), "late": true, "undeliveredMs": .int(40_000 + $0)] as JSONValue }
        return [
            "gateway": [
                "lag": [
                    "shards": .int(shards), "late": .int(Int64(late.count)),
                    "worst": .array(worst + [["shard": 2, "late": false, "undeliveredMs": 10]]),
                ]
            ]
        ]
    }

    private static let owned: [JSONValue] = [
        ["shard": 0, "verdict": "ok", "owner": "w"], ["shard": 1, "verdict": "ok", "owner": "w"],
        ["shard": 2, "verdict": "ok", "owner": "v"],
    ]

    @Test func theOwnerOfShardsWithoutMarkersIsNamed() {
        let overview = ClusterOverview(Self.facts(Self.lag(late: [0, 1]), shards: Self.owned))
        #expect(overview.level == "critical" && overview.problems.count == 1)
        #expect(overview.verdict == "w has sent nothing of shards 0, 1 that was committed in the last 40 s to a.")
        let one = ClusterOverview(Self.facts(Self.lag(late: [1]), shards: Self.owned))
        #expect(one.verdict == "w has sent nothing of shard 1 that was committed in the last 40 s to a.")
    }

    @Test func ifNoShardHasMarkersNoWorkerIsBlamed() {
        let overview = ClusterOverview(Self.facts(Self.lag(late: [0, 1, 2]), shards: Self.owned))
        #expect(overview.problems.count == 1)
        #expect(overview.verdict.hasPrefix("No gateway has delivered a marker for 40 s"))
    }

    @Test func ofASingleWorkerBothCausesAreNamed() {
        let owned = (0..<3).map { ["shard": .int($0), "verdict": "ok", "owner": "w"] as JSONValue }
        let overview = ClusterOverview(Self.facts(Self.lag(late: [0, 1, 2]), shards: owned))
        #expect(overview.verdict == "No gateway has delivered a marker for 40 s: none is committed, or w is stuck.")
    }

    @Test func shardsWithoutAnOwnerAreNamed() {
        let overview = ClusterOverview(Self.facts(Self.lag(late: [0, 1]), shards: []))
        #expect(
            overview.problems.contains {
                $0.sentence
                    == "No worker owns shards 0, 1: nothing that was committed in the last 40 s has reached a."
            })
    }

    @Test func aClusterThatCannotBeReadIsCritical() {
        var facts = Self.facts()
        facts.failure = "Redis is away"
        #expect(ClusterOverview(facts).verdict.hasPrefix("The cluster cannot be read: Redis is away."))
    }
}

/// Costs of several nodes, added up.
@Suite struct MergedCostsTests {
    private static func part(_ node: String, windowMs: Int64, runs: Int64, databaseMs: Double) -> ReportPart {
        let costs: JSONValue = ["runs": .int(runs), "databaseMs": .double(databaseMs), "deliveries": 2]
        return ReportPart(
            node: NodeID(node),
            json: [
                "windowMs": .int(windowMs), "upMs": 100_000, "cpuMs": 90_000, "cores": 1, "peakBytes": 1_000,
                "sessions": 2,
                "operations": [
                    ["operation": "c/A", "window": costs, "total": costs],
                    ["operation": "c/B", "window": ["databaseMs": 10.0], "total": ["databaseMs": 10.0]],
                ],
            ])
    }

    private static func arguments(_ query: [(name: String, value: String)]) throws -> AdminArguments {
        try AdminArguments([], path: [:], query: query, isStrict: false)
    }

    @Test func ratesArePerMinuteAndSharesOfTheWhole() throws {
        let merged = MergedCosts.top(
            [
                Self.part("a", windowMs: 30_000, runs: 5, databaseMs: 20),
                Self.part("b", windowMs: 60_000, runs: 4, databaseMs: 30),
            ], try Self.arguments([("limit", "9")]))
        let rows = merged["operations"]?.arrayValue ?? []
        #expect(rows.map { $0["operation"] } == ["c/A", "c/B"])
        // 2 * 20 + 30 of 2 * 30 + 40.
        #expect(rows.first?["perMinute"]?["databaseMs"] == 70.0 && rows.first?["share"] == 0.7)
        #expect(rows.first?["perMinute"]?["runs"] == 14.0 && rows.first?["total"]?["runs"] == 9.0)
        #expect(merged["isIdle"] == false)
    }

    @Test func percentilesAreOfTheLastMinutesAndSinceTheStart() throws {
        let row: JSONValue = [
            "operation": "c/A", "window": ["databaseMs": 1.0],
            "statements": .array(Array(repeating: 0, count: 40) + [9]),
            "recentStatements": .array(Array(repeating: 0, count: 60) + [1]),
        ]
        let part = ReportPart(node: NodeID("a"), json: ["windowMs": 60_000, "operations": [row]])
        let merged = MergedCosts.top([part, part], try Self.arguments([("limit", "9")]))
        let shown = merged["operations"]?[0]
        // The upper bounds of buckets 40 and 60: 2^10 and 2^15 microseconds.
        #expect(shown?["statementMs"]?["p50"] == 1.024 && shown?["recentStatementMs"]?["p99"] == 32.768)
        let idle = MergedCosts.top(
            [Self.part("a", windowMs: 60_000, runs: 1, databaseMs: 1)], try Self.arguments([("limit", "9")]))
        #expect(idle["operations"]?[0]?["recentStatementMs"]?["p50"] == .null)
    }
}
