import Clocks

/// A private Redis Cluster: three primaries, with a replica each if requested, and a short failover timeout.
package final class LocalRedisCluster: Sendable {
    package static let primaryCount = 3
    private static let slotCount = 16_384

    /// The initial primaries, then their replicas in the same order.
    package let nodes: [LocalRedis]

    private init(nodes: [LocalRedis]) { self.nodes = nodes }

    /// Starts everything in sub-folders of `folder` and returns when the cluster serves all slots and, with
    /// `hasReplicas`, every replica has its primary's data.
    package static func start(
        dataDirectory folder: String, hasReplicas: Bool, options: LocalRedisOptions = .forTests
    ) async throws(LocalServerError) -> LocalRedisCluster {
        var options = options
        options.isClusterNode = true
        options.settings.merge([
            "cluster-node-timeout": "500", "repl-diskless-sync-delay": "0", "cluster-replica-validity-factor": "0",
        ]) { given, _ in given }
        var nodes: [LocalRedis] = []
        do throws(LocalServerError) {
            for number in 0..<(hasReplicas ? 2 * primaryCount : primaryCount) {
                nodes.append(try await LocalRedis.start(dataDirectory: "\(folder)/node\(number)", options: options))
            }
            let cluster = LocalRedisCluster(nodes: nodes)
            try await cluster.join(timeoutMs: options.startTimeoutMs)
            return cluster
        } catch {
            for node in nodes { await node.stop() }
            throw error
        }
    }

    package var addresses: [String] { nodes.map(\.address) }

    package func stop() async {
        for node in nodes { await node.stop() }
    }

    /// Returns the node's id within the cluster.
    package func id(of node: LocalRedis) async -> String {
        let answer = await node.command("CLUSTER MYID") ?? ""
        return answer.split(whereSeparator: \.isNewline).last.map(String.init) ?? ""
    }

    /// Returns the current primary of a slot, as a cluster node sees it; nil if there is none.
    package func primary(ofSlot slot: Int) async -> LocalRedis? {
        for node in nodes {
            guard let answer = await node.command("CLUSTER NODES"), answer.contains("connected") else { continue }
            for line in answer.split(whereSeparator: \.isNewline) {
                let words = line.split(separator: " ")
                guard words.count > 8, words[2].contains("master"), !words[2].contains("fail") else { continue }
                let has = words[8...].contains { range in
                    let ends = range.split(separator: "-").compactMap { Int($0) }
                    return ends.first.map { $0 <= slot && slot <= ends[ends.count - 1] } ?? false
                }
                // The format is host:port@busPort[,name]. By the Unix socket, a TLS-only node reports its port as 0.
                let busPort = words[1].split(separator: "@").last?.prefix { $0 != "," } ?? ""
                if has { return nodes.first { busPort == String($0.busPort) } }
            }
        }
        return nil
    }

    private func join(timeoutMs: Int) async throws(LocalServerError) {
        for (number, node) in nodes.prefix(Self.primaryCount).enumerated() {
            let first = number * Self.slotCount / Self.primaryCount
            let last = (number + 1) * Self.slotCount / Self.primaryCount - 1
            _ = await node.command("CLUSTER ADDSLOTSRANGE \(first) \(last)")
            _ = await node.command("CLUSTER SET-CONFIG-EPOCH \(number + 1)")
        }
        for node in nodes.dropFirst() {
            _ = await node.command("CLUSTER MEET \(nodes[0].host) \(nodes[0].port) \(nodes[0].busPort)")
        }
        let wanted = "cluster_known_nodes:\(nodes.count)"
        try await until(timeoutMs, "all nodes know each other") { node in
            await node.command("CLUSTER INFO")?.contains(wanted) == true
        }
        for (number, replica) in nodes.dropFirst(Self.primaryCount).enumerated() {
            let id = await id(of: nodes[number])
            try await until(timeoutMs, "a replica follows its primary", [replica]) { node in
                await node.command("CLUSTER REPLICATE \(id)")?.hasPrefix("+OK") == true
            }
        }
        try await until(timeoutMs, "replicas have their data", Array(nodes.dropFirst(Self.primaryCount))) { node in
            await node.command("INFO replication")?.contains("master_link_status:up") == true
        }
        try await until(timeoutMs, "the cluster serves all slots") { node in
            await node.command("CLUSTER INFO")?.contains("cluster_state:ok") == true
        }
    }

    private func until(
        _ timeoutMs: Int, _ what: String, _ selected: [LocalRedis]? = nil,
        _ holds: (LocalRedis) async -> Bool
    ) async throws(LocalServerError) {
        let deadline = Deadline(afterMs: timeoutMs)
        for node in selected ?? nodes {
            while await !holds(node) {
                guard !deadline.isReached, !Task.isCancelled else {
                    throw LocalServerError(.startFailed, "not within \(timeoutMs) ms: \(what)")
                }
                try? await Task.sleep(for: .milliseconds(10))
            }
        }
    }
}
