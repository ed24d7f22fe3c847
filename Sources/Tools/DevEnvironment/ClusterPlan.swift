package import Settings

/// The plan of `freshet cluster`: its processes, where each listens, and each node's settings file. Starts nothing.
package struct ClusterPlan: Sendable {
    package struct Node: Sendable {
        package let name: String
        package let roles: [String]
        package let publicPort: Int
        package let adminPort: Int

        package var address: String { "\(ClusterPlan.host):\(publicPort)" }
    }

    /// The address that every node listens on; only the proxy can listen elsewhere.
    package static let host = "127.0.0.1"
    /// The interval of the proxy's health checks, shorter than for real machines.
    static let checkMs = 400

    package let nodes: [Node]

    /// Returns the number of free ports that a plan for these nodes needs.
    static func portsNeeded(api: Int, workers: Int, gateways: Int) -> Int { 2 * (api + workers + gateways) }

    /// - Parameters:
    ///   - ports: `portsNeeded` of them.
    ///   - adminPort: the first node's, which `freshet admin` uses by default; 0: one of `ports`.
    init(api: Int, workers: Int, gateways: Int, ports: [Int], adminPort: Int) {
        var ports = ports[...]
        var nodes: [Node] = []
        // Gateways also run mutations that arrive over their WebSockets.
        for (kind, count, roles) in [
            ("api", api, ["api", "admin"]), ("worker", workers, ["worker", "admin"]),
            ("gateway", gateways, ["gateway", "api", "admin"]),
        ] {
            for number in 0..<count {
                let own = ports.removeFirst()
                let admin = ports.removeFirst()
                nodes.append(
                    Node(
                        name: "\(kind)-\(number + 1)", roles: roles, publicPort: own,
                        adminPort: nodes.isEmpty && adminPort != 0 ? adminPort : admin))
            }
        }
        self.nodes = nodes
    }

    func servers(_ kind: String) -> [(name: String, address: String)] {
        nodes.filter { $0.name.hasPrefix(kind + "-") }.map { ($0.name, $0.address) }
    }

    /// Returns the text of a node's settings file: the user's settings for all nodes, then this node's own.
    func settingsFile(for node: Node, given: LoadedSettings, postgresURL: String, redisURL: String) -> String {
        var values: [String: SettingValue] = [
            // All processes share the machine, and a person waits after Ctrl-C.
            "http.eventLoops": .int(1), "log.level": .string("info"), "drain.delayMs": .int(3 * Self.checkMs),
            "drain.sessionsMs": .int(200), "drain.graceMs": .int(2_000),
            // The proxy reports the sender of the requests that it forwards.
            "http.trustedProxies": .stringList([Self.host]),
        ]
        for (key, value, _) in given.values where given.isGiven(key.path) { values[key.path] = value }
        values.merge([
            "cluster.nodeId": .string(node.name), "cluster.roles": .stringList(node.roles),
            "cluster.advertiseAddress": .string(node.address), "http.host": .string(Self.host),
            "http.port": .int(node.publicPort), "admin.host": .string(Self.host), "admin.port": .int(node.adminPort),
            "postgres.url": .string(postgresURL), "redis.url": .string(redisURL),
        ]) { $1 }
        var text = "# \(node.name) of `freshet cluster`; rewritten at every start.\n"
        for section in SettingTable.sections {
            let keys = SettingTable.keys.filter { $0.section == section.name && values[$0.path] != nil }
            guard !keys.isEmpty else { continue }
            text += "\(section.name):\n"
            for key in keys { text += "  \(key.name): \(values[key.path]?.yaml ?? "")\n" }
        }
        return text
    }
}
