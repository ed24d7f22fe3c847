import JSON
import Postgres
import Testing

@testable import Admin

/// Read replicas in reports and in words.
@Suite struct ReplicaViewTests {
    @Test(
        arguments: [
            (.used, 0, nil, nil),
            (.behind, 20_480, 800, "The replica db-2:5432 is 20 KiB, 800 ms, behind and not used: "),
            (.behind, 3 << 20, 42_000, "The replica db-2:5432 is 3 MiB, 42 s, behind and not used: "),
            (.behind, 1, nil, "The replica db-2:5432 is 1 KiB behind and not used: "),
            (.behind, nil, nil, "The replica db-2:5432 is behind and not used: "),
            (.otherTimeline, nil, nil, "The replica db-2:5432 is on another timeline"),
            (.notStandby, nil, nil, "db-2:5432, a replica by the settings, takes writes itself"),
            (.notConnected, nil, nil, "worker-1 has no connection to the replica db-2:5432."),
            (.unknown, nil, nil, nil),
        ] as [(ReplicaReport.State, Int64?, Int64?, String?)])
    func aReplicaThatIsNotUsedHasAReason(
        _ state: ReplicaReport.State, _ lagBytes: Int64?, _ lagMs: Int64?, _ words: String?
    ) {
        let view = ReplicaView(
            ReplicaReport(address: "db-2:5432", state: state, lagBytes: lagBytes, lagMs: lagMs))
        let problem = view.problem(seenBy: "worker-1")
        #expect(words.map { problem?.hasPrefix($0) == true } ?? (problem == nil), "\(problem ?? "")")
        let json = view.json(seenBy: "worker-1")
        #expect(ReplicaView(json: json) == view)
        #expect(json["isUsed"] == .bool(state == .used) && json["problem"]?.stringValue == problem)
    }

    @Test func aStateOfALaterReleaseIsUnknown() {
        #expect(ReplicaView(json: ["address": "a:1", "state": "catchingUp"]).state == .unknown)
    }

    @Test func theOverviewNamesAReplicaOnce() {
        let replica = ReplicaView(ReplicaReport(address: "db-2:5432", state: .behind, lagBytes: 8, lagMs: 5))
        func status(_ node: String) -> JSONValue {
            ["node": .string(node), "ready": true, "replicas": [replica.json(seenBy: node)]]
        }
        let overview = ClusterOverview(
            .init(status: ["nodes": [status("a"), status("b")]], nodes: [["id": "a"], ["id": "b"]]))
        #expect(overview.level == "warning" && overview.problems.count == 1)
        #expect(overview.verdict.hasPrefix("The replica db-2:5432 is 1 KiB"), "\(overview.verdict)")
    }
}
