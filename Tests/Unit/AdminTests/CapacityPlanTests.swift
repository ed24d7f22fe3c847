import JSON
import LiveModel
import Testing

@testable import Admin

/// Plans for more load, by the busiest minute.
@Suite struct CapacityPlanTests {
    private static func arguments(_ query: [(name: String, value: String)] = []) throws -> AdminArguments {
        try AdminArguments([], path: [:], query: query, isStrict: false)
    }

    private static func part(_ node: String, minutes: [JSONValue]) -> ReportPart {
        let costs: JSONValue = ["runs": 10, "databaseMs": 20.0, "deliveries": 2]
        return ReportPart(
            node: NodeID(node),
            json: [
                "upMs": 100_000, "cpuMs": 90_000, "cores": 1, "peakBytes": 1_000, "sessions": 2, "connections": 10,
                "operations": [["operation": "c/A", "total": costs]], "minutes": .array(minutes),
            ])
    }

    private static func minute(_ number: Int64, cpuMs: Int64, databaseMs: Double, runs: Int64 = 4) -> JSONValue {
        [
            "minute": .int(number), "ms": 60_000, "cpuMs": .int(cpuMs), "databaseMs": .double(databaseMs),
            "runs": .int(runs), "deliveries": 6,
        ]
    }

    @Test func withoutAWholeMinuteTheCostsSinceTheStartCount() throws {
        let merged = CapacityPlan.report([Self.part("a", minutes: [])], try Self.arguments([("factor", "10")]))
        // 0.9 cores busy, ten times, at 60 % of one core each.
        #expect(merged["needed"]?["nodes"] == 15.0 && merged["needed"]?["sessions"] == 20.0)
        #expect(merged["measured"]?["cpuMsPerDelivery"] == 45_000.0 && merged["busiestMinuteMs"] == .null)
        #expect(merged["measured"]?["databaseMsPerRun"] == 2.0)
        let assumed = (merged["assumptions"]?.arrayValue ?? []).compactMap(\.stringValue)
        #expect(assumed.contains { $0.hasPrefix("Measured") } && assumed.contains { $0.hasPrefix("Assumed") })
        let idle = CapacityPlan.report([], try Self.arguments())
        #expect(idle["measured"]?["cpuMsPerDelivery"] == .null && idle["measured"]?["databaseShare"] == .null)
    }

    @Test func theBusiestMinuteOfAllNodesCountsAndNotTheMean() throws {
        let parts = [
            Self.part(
                "a",
                minutes: [Self.minute(7, cpuMs: 600, databaseMs: 600), Self.minute(8, cpuMs: 30_000, databaseMs: 0)]),
            Self.part(
                "b",
                minutes: [
                    Self.minute(7, cpuMs: 1_200, databaseMs: 59_400), Self.minute(8, cpuMs: 6_000, databaseMs: 60),
                    // The other node has no such minute.
                    Self.minute(9, cpuMs: 60_000, databaseMs: 60_000),
                ]),
        ]
        let merged = CapacityPlan.report(parts, try Self.arguments([("factor", "2")]))
        #expect(merged["busiestMinuteMs"] == .int(8 * 60_000))
        #expect(merged["measured"]?["coresBusy"] == 0.6)
        #expect(merged["measured"]?["cpuMsPerDelivery"] == 3_000.0)
        // The database was busiest in another minute: one statement at a time, of twenty connections.
        #expect(merged["measured"]?["connectionsBusy"] == 1.0 && merged["measured"]?["databaseShare"] == 0.05)
        #expect(merged["needed"]?["databaseShare"] == 0.1)
        // By its own busiest minute, each node needs two of its kind at most.
        #expect(merged["nodes"]?[0]?["coresBusy"] == 0.5 && merged["nodes"]?[0]?["nodesNeeded"] == 2.0)
        #expect(merged["nodes"]?[1]?["coresBusy"] == 1.0 && merged["nodes"]?[1]?["nodesNeeded"] == 4.0)
    }
}

/// Reports about rules, adoption, live queries and versions, put together from several nodes.
@Suite struct MergedUseTests {
    private static func part(_ node: String, _ json: JSONValue) -> ReportPart {
        ReportPart(node: NodeID(node), json: json)
    }

    private static func arguments(_ query: [(name: String, value: String)] = []) throws -> AdminArguments {
        let parameters = [
            AdminRoutes.limit(1_000), .query("user", .text(bytesMax: 9), ""), .query("key", .text(bytesMax: 9), ""),
        ]
        return try AdminArguments(parameters, path: [:], query: query)
    }

    @Test func rulesAreAddedUpAndThoseThatNeverFiredAreLast() {
        func rule(_ rule: String, fired: Int64, changed: Int64, ms: Double) -> JSONValue {
            [
                "operation": "c/A", "rule": .string(rule), "kind": "trigger", "fired": .int(fired),
                "changed": .int(changed), "databaseMs": .double(ms),
            ]
        }
        let merged = MergedReports.rules([
            Self.part(
                "a",
                [
                    "upMs": 900,
                    "rules": [rule("idle", fired: 0, changed: 0, ms: 0), rule("good", fired: 9, changed: 9, ms: 1)],
                ]),
            Self.part(
                "b",
                [
                    "upMs": 500,
                    "rules": [rule("bad", fired: 4, changed: 1, ms: 2), rule("good", fired: 1, changed: 1, ms: 0.5)],
                ]),
        ])
        let rows = merged["rules"]?.arrayValue ?? []
        #expect(rows.map { $0["rule"] } == ["bad", "good", "idle"])
        #expect(rows.map { $0["wasted"] } == [3, 0, 0] && rows.map { $0["wastedShare"] } == [0.75, 0.0, 0.0])
        #expect(rows[1]["fired"] == 10 && rows[1]["databaseMs"] == 1.5 && merged["countedForMs"] == 500)
    }

    @Test func adoptionIsCountedOverAllNodes() throws {
        func operation(_ version: String, _ sessions: Int64, isCurrent: Bool) -> JSONValue {
            [
                "operation": "c/A", "version": .string(version), "sessions": .int(sessions),
                "isCurrent": .bool(isCurrent),
            ]
        }
        let merged = MergedAdoption.merged(
            [
                Self.part(
                    "a",
                    [
                        "count": 3, "clients": [["client": "ios", "sessions": 2], ["client": "web", "sessions": 1]],
                        "operations": [operation("v1", 1, isCurrent: false), operation("v2", 1, isCurrent: true)],
                    ]),
                // This node does not serve the new version yet.
                Self.part(
                    "b",
                    [
                        "count": 2, "clients": [["client": "web", "sessions": 2]],
                        "operations": [operation("v2", 2, isCurrent: false)],
                    ]),
            ], try Self.arguments())
        let clients: JSONValue = [["client": "web", "sessions": 3], ["client": "ios", "sessions": 2]]
        #expect(merged["count"] == 5 && merged["clients"] == clients)
        let operations: JSONValue = [operation("v2", 3, isCurrent: true), operation("v1", 1, isCurrent: false)]
        #expect(merged["operations"] == operations)
    }

    @Test func liveQueriesAreFilteredByKeyAndUser() throws {
        let parts = [
            Self.part(
                "w",
                [
                    "count": 3, "matching": 7, "followed": [],
                    "liveQueries": [["key": "aa1"], ["key": "ab2"], ["key": "b3"]],
                ]),
            Self.part(
                "g",
                ["count": 0, "liveQueries": [], "followed": [["key": "ab2"], ["key": "b3"], ["key": "c4"]]]),
        ]
        func keys(_ query: [(name: String, value: String)]) throws -> (JSONValue?, [JSONValue?]) {
            let merged = MergedReports.liveQueries(parts, try Self.arguments(query))
            return (merged["matching"], (merged["liveQueries"]?.arrayValue ?? []).map { $0["key"] })
        }
        #expect(try keys([]) == (3, ["aa1", "ab2", "b3"]))
        #expect(try keys([("key", "A")]) == (7, ["aa1", "ab2"]), "workers count those that they do not list, too")
        // No worker reports the last one.
        #expect(try keys([("user", "ann")]) == (3, ["ab2", "b3", "c4"]))
        #expect(try keys([("user", "ann"), ("key", "b"), ("limit", "1")]) == (1, ["b3"]))
        #expect(try keys([("limit", "1")]) == (3, ["aa1"]))
    }

    @Test func recordingsAreSummedAndSayWhatWasDone() {
        let parts = [
            Self.part("a", ["node": "a", "isArmed": true, "untilMs": 9, "traceRate": 1.0, "spans": 2, "tails": 1]),
            Self.part("b", ["node": "b", "isArmed": false, "traceRate": 0.0, "spans": 3, "tails": 0]),
        ]
        let all = MergedReports.recording(parts, verb: "trace", "10 % of the mutations for 600 s")
        #expect(all["done"] == "2 nodes trace 10 % of the mutations for 600 s")
        #expect(all["isArmed"] == true && all["untilMs"] == 9 && all["traceRate"] == 1.0)
        #expect(all["spans"] == 5 && all["tails"] == 1 && all["nodes"]?.arrayValue?.count == 2)
        let one = MergedReports.recording([parts[1]], verb: "record", "nothing any more")
        #expect(one["done"] == "b records nothing any more" && one["untilMs"] == nil)
    }

    @Test func sessionsAreThoseOfTheNewestRowOfAVersion() {
        let status: (String, String, Int64, Bool) -> JSONValue = { node, version, sessions, isCurrent in
            [
                "projects": [
                    ["version": .string(version), "sessions": .int(sessions), "current": .bool(isCurrent)]
                ]
            ]
        }
        let served = ServedVersions([
            Self.part("b", status("b", "v1", 2, true)), Self.part("a", status("a", "v1", 3, true)),
            Self.part("c", status("c", "v9", 1, false)),
        ])
        let rows = served.added(to: [
            ["deployment": 3, "version": "v1"], ["deployment": 2, "version": "v0"], ["deployment": 1, "version": "v1"],
        ])
        #expect(rows.map { $0["sessions"] } == [5, .null, .null, 1])
        #expect(rows[0]["nodes"] == ["a", "b"] && rows[0]["isCurrent"] == true)
        #expect(rows[3]["version"] == "v9" && rows[3]["deployment"] == .null && rows[3]["isCurrent"] == false)
    }
}
