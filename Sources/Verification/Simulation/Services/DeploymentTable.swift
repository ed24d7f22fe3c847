import DeploymentPlan
import LiveModel

/// The simulated table `freshet.deployments`. The first version is active from the start.
struct DeploymentTable {
    /// Ordered by id.
    private(set) var rows: [Deployment]
    private var lastID: Int64 = 1

    init(nowMs: Int64) {
        rows = [
            Deployment(
                id: 1, version: Workload.version(1), origin: .deploy, createdAtMs: nowMs, activeAtMs: nowMs,
                seenAtMs: nowMs)
        ]
    }

    var lastActive: Deployment? { rows.last { $0.activeAtMs != nil } }
    var newestID: Int64 { rows.last?.id ?? 0 }

    func history(nowMs: Int64) -> DeploymentHistory { DeploymentHistory(deployments: rows, nowMs: nowMs) }

    mutating func announce(_ version: Digest, nowMs: Int64) -> Int64 {
        lastID += 1
        rows.append(
            Deployment(
                id: lastID, version: version, origin: .deploy, createdAtMs: nowMs, activeAtMs: nil, seenAtMs: nowMs))
        return lastID
    }

    /// - Returns: false when the announcement was withdrawn.
    mutating func activate(_ id: Int64, nowMs: Int64) -> Bool {
        guard let index = rows.firstIndex(where: { $0.id == id && $0.activeAtMs == nil }) else { return false }
        rows[index].activeAtMs = nowMs
        return true
    }

    mutating func withdrawAnnounced() { rows.removeAll { $0.activeAtMs == nil } }

    mutating func prune(keeping versions: [Digest], historyMax: Int) {
        let newest = Set(rows.suffix(historyMax).map(\.id))
        rows.removeAll { !versions.contains($0.version) && !newest.contains($0.id) }
    }
}
