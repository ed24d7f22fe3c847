import CBroadcaster
import Postgres

/// One commit that changes the result of every live query, each of one session: the time from before the mutation's
/// request to the last delivery.
struct WideCommit {
    static let sessionsMax = 10_000
    private static let pauseMs = 500
    /// A bound on the wait for the first results of all sessions.
    private static let firstResultsMs = 180_000

    let clients: PeerClients
    let servers: PeerServers
    let pool: PostgresPool
    let sessions: Int
    let rounds: Int
    let row: String

    struct Pass: Sendable {
        var longest = Samples()
        var medians = Samples()
        let cpu: PeerCPU
    }

    func measure() async throws -> Pass {
        try await servers.with(.freshet) { peer in
            let script = PeerScript.publishers(.freshet, .webSocket, keys: [row])
            try clients.connectPublishers(script, templates: 1, port: peer.port, count: 1)
            _ = try clients.publish()
            let shares = (0..<sessions).map { number in
                let digits = String(number)
                return String(PeerMessage.placeholder.dropLast(digits.count)) + digits
            }
            try clients.connectSubscribers(
                PeerScript.subscribers(
                    .freshet, .sharedRow(id: row), keys: shares, placeholder: PeerMessage.placeholder),
                keys: shares.count, port: peer.port, count: sessions,
                perSecond: Contender.freshet.connectionsPerSecond)
            try clients.awaitAll(try clients.published()[0], timeoutMs: Self.firstResultsMs)
            try clients.awaitAll(try clients.publish().sequence)
            var longest = Samples()
            var medians = Samples()
            let before = ProcessTimes.now()
            for _ in 0..<rounds {
                // Longer than the minimum gap between two runs of a live query.
                try await Task.sleep(for: .milliseconds(Self.pauseMs))
                try clients.beginCounting()
                try clients.awaitAll(try clients.publish().sequence)
                let received = try clients.received()
                longest.add(received.longest)
                medians.add(received.median)
            }
            let cpu = PeerCPU(peer, from: before, to: .now())
            try await PeerOperations.verify(pool, [row], try clients.published())
            try clients.disconnectSubscribers()
            return Pass(longest: longest, medians: medians, cpu: cpu)
        }
    }
}
