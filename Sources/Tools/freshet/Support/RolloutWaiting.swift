import Catalog
import LiveModel
import Settings

/// Waiting until every node has loaded, then serves, what is deployed.
extension Rollout {
    /// Between two looks at the nodes.
    private static let lookMs = 200
    /// A node that tells of the same problem for so long will not get over it.
    private static let problemMs = 10_000

    func waitUntilServed(_ id: Int64, _ version: Digest, _ roster: inout RolloutRoster) async throws {
        try await wait(for: "serve", id, version, &roster) { $0.switching }
        let count = roster.nodes.count
        Terminal.out(
            count == 0
                ? "deployed; no node is running, the next one to start serves it"
                : "deployed; \(count) \(count == 1 ? "node serves" : "nodes serve") it")
    }

    /// - Throws: when time is over or a node cannot, naming the nodes.
    func wait(
        for verb: String, _ id: Int64, _ version: Digest, _ roster: inout RolloutRoster,
        _ waiting: (RolloutProgress) -> [RolloutProgress.Waiting]
    ) async throws {
        let start = ContinuousClock.now
        var told = -1
        var problemSince: ContinuousClock.Instant?
        while true {
            let records = try? await nodes()
            let now = ContinuousClock.now
            let nowMs = Int64((now - begun) / .milliseconds(1))
            roster.looked(records, nowMs: nowMs)
            let progress = RolloutProgress(roster.nodes, deployment: id, version: version)
            let behind = waiting(progress)
            if told != behind.count, progress.nodes > 0 {
                told = behind.count
                Terminal.out("\(progress.nodes - behind.count) of \(progress.nodes) nodes \(verb) it")
            }
            if behind.isEmpty, roster.isSettled(nowMs: nowMs) { return }
            let hasProblem = behind.contains { !$0.problem.isEmpty }
            problemSince = hasProblem ? problemSince ?? now : nil
            let isHopeless = problemSince.map { now - $0 > .milliseconds(Self.problemMs) } ?? false
            if now - start > .seconds(timeoutSeconds) || isHopeless {
                let names = behind.map { "\($0.node)" + ($0.problem.isEmpty ? "" : " (\($0.problem))") }
                let reason =
                    names.isEmpty
                    ? "Redis, where nodes tell what they \(verb), does not answer"
                    : "these nodes do not \(verb) it: \(names.joined(separator: ", "))"
                let outcome =
                    verb == "load"
                    ? "nothing was changed but what the database was given"
                    : "it is current, and nodes follow when they can"
                throw RolloutRefused(description: "\(reason); \(outcome)")
            }
            try await Task.sleep(for: .milliseconds(Self.lookMs))
        }
    }
}
