import CBroadcaster
import Glibc
import Postgres

/// Measures Freshet beside other servers that push results, and beside a bare C loop, in one run: every server in a
/// process of its own, the same C clients, and the contenders in turn, so that other load on the machine affects all.
///
/// A server's CPU time is that of its own process (nginx: with its worker), read from `/proc`; Postgres, Redis, clients
/// and publishers are other processes. Freshet's includes the mutations that it runs as API node.
package enum PeersBenchmark {
    package enum Row: String, CaseIterable, Sendable {
        case longPoll = "long-poll"
        case webSocket = "websocket"
        case queries
        case commit
        case idle
    }

    /// - Parameters:
    ///   - rows: the rows to measure; empty for all.
    ///   - sessions: the number of clients of the first two rows, and of the last two up to their usual number.
    package static func run(
        _ clients: PeerClients, project: String, rows: [Row], sessions: Int?, isQuick: Bool
    ) async throws -> [BenchmarkResult] {
        print(versions)
        let rows = rows.isEmpty ? Row.allCases : rows
        return try await PeerServers.with(project: project, clients) { servers in
            try await servers.servers.withPool { pool in
                let measurement = Measurement(
                    clients: clients, servers: servers, pool: pool, sessions: sessions, isQuick: isQuick,
                    keys: try await servers.servers.lotIDs(pool, 1_000))
                var results: [BenchmarkResult] = []
                for row in rows {
                    fflush(nil)
                    do {
                        results += try await measurement.results(of: row)
                    } catch {
                        // The other rows are measured all the same.
                        results.append(
                            BenchmarkResult(
                                name: "\(row.rawValue): failed", measured: "\(error)", ratio: .infinity,
                                limit: .atMost(0)))
                    }
                }
                return results
            }
        }
    }

    private static var versions: String {
        let packages = "nginx libnginx-mod-nchan nats-server redis-server"
        return Shell.output(of: "dpkg-query -W -f '${Package} ${Version}\\n' \(packages) 2>/dev/null")
    }
}

/// The rows with one set of servers.
private struct Measurement {
    let clients: PeerClients
    let servers: PeerServers
    let pool: PostgresPool
    /// The number that was asked for; nil for the usual one of each row.
    let sessions: Int?
    let isQuick: Bool
    let keys: [String]

    private var oneResultSessions: Int { sessions ?? 5_000 }
    private var passes: Int { isQuick ? 1 : 3 }

    func results(of row: PeersBenchmark.Row) async throws -> [BenchmarkResult] {
        switch row {
        case .longPoll: try await longPoll()
        case .webSocket: try await webSocket()
        case .queries: try await queries()
        case .commit: try await commit()
        case .idle: try await idle()
        }
    }

    /// Measures the contenders in turn, again for each pass.
    private func inTurn<T>(
        _ contenders: [Contender], _ measure: (Contender) async throws -> T
    ) async throws -> [Contender: [T]] {
        var found: [Contender: [T]] = [:]
        for _ in 0..<passes {
            for contender in contenders { found[contender, default: []].append(try await measure(contender)) }
        }
        return found
    }

    private func fanout(
        _ subscription: PeerScript.Subscription, latencySeconds: Double
    ) -> FanoutComparison {
        FanoutComparison(
            clients: clients, servers: servers, pool: pool, subscription: subscription, sessions: oneResultSessions,
            rounds: isQuick ? 15 : 30, latencySeconds: latencySeconds, key: keys[0])
    }

    private func longPoll() async throws -> [BenchmarkResult] {
        let comparison = fanout(.longPoll, latencySeconds: 0)
        let contenders: [Contender] = [.freshet, .nchan]
        let passes = try await inTurn(contenders, comparison.measure)
        let title = "long-polls of one result, \(Text.grouped(oneResultSessions)) clients"
        print(PeersReport.table(title, contenders, passes))
        let refused = passes[.freshet, default: []].reduce(0) { $0 + Int($1.received.refused) + $1.refusedConnecting }
        return [
            PeersReport.ratio(
                "long-poll: CPU for a delivery, Freshet / nchan", passes, .freshet, .nchan, \.cpuSecondsPerMillion,
                "s/M", .atMost(BenchmarkLimits.longPollOverNchanCPUMax)),
            PeersReport.ratio(
                "long-poll: deliveries per second, Freshet / nchan", passes, .freshet, .nchan, \.deliveriesPerSecond,
                "/s", .none),
            BenchmarkResult(
                name: "long-poll: polls of Freshet refused", measured: "\(refused)", ratio: Double(refused),
                limit: .atMost(0)),
        ]
    }

    private func webSocket() async throws -> [BenchmarkResult] {
        let comparison = fanout(.webSocket, latencySeconds: isQuick ? 5 : 20)
        let contenders: [Contender] = [.freshet, .bareC, .nchan, .nats]
        let passes = try await inTurn(contenders, comparison.measure)
        print(
            PeersReport.table(
                "WebSockets with one result, \(Text.grouped(oneResultSessions)) clients", contenders, passes))
        return [
            PeersReport.ratio(
                "WebSocket: CPU for a delivery, Freshet / bare C loop", passes, .freshet, .bareC,
                \.cpuSecondsPerMillion, "s/M", .atMost(BenchmarkLimits.nodeOverBareCPUMax)),
            PeersReport.ratio(
                "WebSocket: CPU for a delivery, Freshet / nchan", passes, .freshet, .nchan, \.cpuSecondsPerMillion,
                "s/M", .atMost(BenchmarkLimits.nodeOverNchanCPUMax)),
            PeersReport.ratio(
                "WebSocket: deliveries per second, Freshet / nchan", passes, .freshet, .nchan,
                \.deliveriesPerSecond, "/s", .atLeast(BenchmarkLimits.nodeOverNchanRateMin)),
        ]
    }

    private func queries() async throws -> [BenchmarkResult] {
        let comparison = ManyQueriesComparison(
            clients: clients, servers: servers, pool: pool, seconds: isQuick ? 5 : 15, keys: keys)
        let contenders: [Contender] = [.freshet, .nchanRedis]
        let passes = try await inTurn(contenders, comparison.measure)
        print(PeersReport.table(contenders, passes, queries: keys.count))
        return [
            PeersReport.ratio(
                "many live queries: deliveries per second, Freshet / nchan over Redis", passes, .freshet, .nchanRedis,
                \.deliveriesPerSecond, "/s", .atLeast(BenchmarkLimits.manyQueriesOverNchanRateMin)),
            PeersReport.ratio(
                "many live queries: CPU for a delivery, Freshet / nchan over Redis", passes, .freshet, .nchanRedis,
                \.cpuSecondsPerMillion, "s/M", .none),
        ]
    }

    private func commit() async throws -> [BenchmarkResult] {
        let comparison = WideCommit(
            clients: clients, servers: servers, pool: pool,
            sessions: min(sessions ?? WideCommit.sessionsMax, WideCommit.sessionsMax),
            rounds: isQuick ? 5 : 20, row: keys[0])
        let pass = try await comparison.measure()
        let sessions = Text.grouped(comparison.sessions)
        print(
            "one commit that changes \(sessions) live queries of \(sessions) sessions, \(pass.longest.values.count)"
                + " times: last delivery after \(Text.milliseconds(pass.longest.median)) in the median, at most"
                + " \(Text.milliseconds(pass.longest.quantile(1))); half of them after"
                + " \(Text.milliseconds(pass.medians.median)); other work on the machine"
                + " \(Text.fixed(pass.cpu.foreignCores)) cores\n")
        return [
            BenchmarkResult(
                name: "one commit, \(sessions) live queries: seconds to the last delivery",
                measured: Text.milliseconds(pass.longest.median), ratio: pass.longest.median,
                limit: .atMost(BenchmarkLimits.wideCommitSecondsMax))
        ]
    }

    private func idle() async throws -> [BenchmarkResult] {
        let comparison = IdleSessions(
            clients: clients, servers: servers, sessions: min(sessions ?? 10_000, 10_000), seconds: isQuick ? 25 : 75,
            row: keys[0])
        let pass = try await comparison.measure()
        let microseconds = pass.microsecondsPerSession(comparison.sessions)
        let sessions = Text.grouped(comparison.sessions)
        print(
            "\(sessions) idle sessions: the node takes \(Text.fixed(pass.with.server / pass.with.seconds, decimals: 3))"
                + " cores, without them \(Text.fixed(pass.without.server / pass.without.seconds, decimals: 3)); other"
                + " work on the machine \(Text.fixed(pass.with.foreignCores)) cores\n")
        return [
            BenchmarkResult(
                name: "\(sessions) idle sessions: CPU of each in a second, in us",
                measured: Text.microseconds(microseconds / 1e6), ratio: microseconds,
                limit: .atMost(BenchmarkLimits.idleSessionMicrosecondsMax))
        ]
    }
}
