import Clocks

/// A private Redis master with replicas and three sentinels, with a short failover timeout.
package final class LocalRedisSentinels: Sendable {
    /// The sentinels' name for the master.
    package static let masterName = "freshet"
    package static let downAfterMs = 500

    /// The servers; the first one is the initial master.
    package let servers: [LocalRedis]
    package let sentinels: [LocalRedis]

    private init(servers: [LocalRedis], sentinels: [LocalRedis]) {
        self.servers = servers
        self.sentinels = sentinels
    }

    /// Starts everything in sub-folders of `folder` and returns when the replicas have the master's data and the
    /// sentinels know each other and all replicas.
    package static func start(
        dataDirectory folder: String, replicaCount: Int, options: LocalRedisOptions = .forTests
    ) async throws(LocalServerError) -> LocalRedisSentinels {
        var options = options
        options.settings["repl-diskless-sync-delay"] = "0"
        var servers: [LocalRedis] = []
        var sentinels: [LocalRedis] = []
        do throws(LocalServerError) {
            servers.append(try await LocalRedis.start(dataDirectory: folder + "/server0", options: options))
            for number in 1...replicaCount {
                var options = options
                options.settings["replicaof"] = "\(servers[0].host) \(servers[0].port)"
                servers.append(try await LocalRedis.start(dataDirectory: "\(folder)/server\(number)", options: options))
            }
            for number in 0..<3 {
                var options = options
                options.settings = [:]
                options.sentinelLines = [
                    "sentinel monitor \(masterName) \(servers[0].host) \(servers[0].port) 2",
                    "sentinel down-after-milliseconds \(masterName) \(downAfterMs)",
                    "sentinel failover-timeout \(masterName) 5000",
                ]
                sentinels.append(
                    try await LocalRedis.start(dataDirectory: "\(folder)/sentinel\(number)", options: options))
            }
            let group = LocalRedisSentinels(servers: servers, sentinels: sentinels)
            try await group.awaitReady(replicaCount, timeoutMs: options.startTimeoutMs)
            return group
        } catch {
            for server in sentinels + servers { await server.stop() }
            throw error
        }
    }

    package var addresses: [String] { sentinels.map(\.address) }

    /// Returns the master that all sentinels report and that has that role itself; nil while they disagree. On a busy
    /// machine two sentinels can each lead a failover, so one sentinel's view may not last.
    package func master() async -> LocalRedis? {
        var named: LocalRedis?
        for sentinel in sentinels {
            let answer = await sentinel.command("SENTINEL GET-MASTER-ADDR-BY-NAME \(Self.masterName)") ?? ""
            guard let server = servers.first(where: { answer.contains("\r\n\($0.port)\r\n") }),
                named == nil || named === server
            else { return nil }
            named = server
        }
        guard let named, await named.command("INFO replication")?.contains("role:master") == true else { return nil }
        return named
    }

    /// Returns the reports of sentinels and servers about themselves, for the message of a timeout.
    package func report() async -> String {
        var lines: [String] = []
        for sentinel in sentinels {
            let answer = await sentinel.command("SENTINEL GET-MASTER-ADDR-BY-NAME \(Self.masterName)") ?? "no answer"
            lines.append(
                "sentinel \(sentinel.port): \(answer.split(whereSeparator: \.isNewline).joined(separator: " "))")
        }
        for server in servers {
            let words = ["role:", "master_port:", "master_link_status:", "connected_slaves:"]
            let answer = await server.command("INFO replication") ?? "no answer"
            let fields = answer.split(whereSeparator: \.isNewline).filter { line in
                words.contains { line.hasPrefix($0) }
            }
            lines.append("server \(server.port): \(fields.joined(separator: " "))")
        }
        return lines.joined(separator: "\n")
    }

    package func stop() async {
        for server in sentinels + servers { await server.stop() }
    }

    private func awaitReady(_ replicaCount: Int, timeoutMs: Int) async throws(LocalServerError) {
        let deadline = Deadline(afterMs: timeoutMs)
        func until(_ what: String, _ holds: () async -> Bool) async throws(LocalServerError) {
            while await !holds() {
                guard !deadline.isReached, !Task.isCancelled else {
                    throw LocalServerError(.startFailed, "not within \(timeoutMs) ms: \(what)")
                }
                try? await Task.sleep(for: .milliseconds(10))
            }
        }
        for replica in servers.dropFirst() {
            try await until("a replica has its data") {
                await replica.command("INFO replication")?.contains("master_link_status:up") == true
            }
        }
        for sentinel in sentinels {
            try await until("a sentinel knows the others and the replicas") {
                let line = await sentinel.command("INFO sentinel") ?? ""
                return line.contains("slaves=\(replicaCount),sentinels=3")
            }
        }
    }
}
