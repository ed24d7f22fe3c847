import CBroadcaster
import Postgres

/// Sessions of `graphql-transport-ws` that follow a live query which does not change, under default settings: what
/// their pings cost, beside the node without them.
struct IdleSessions {
    let clients: PeerClients
    let servers: PeerServers
    let sessions: Int
    /// The duration of each of both measurements: whole intervals of pings.
    let seconds: Double
    let row: String

    struct Pass: Sendable {
        let without: PeerCPU
        let with: PeerCPU

        /// CPU of the node for one session in a second; microseconds.
        func microsecondsPerSession(_ sessions: Int) -> Double {
            (with.server / with.seconds - without.server / without.seconds) * 1e6 / Double(sessions)
        }
    }

    func measure() async throws -> Pass {
        try await servers.with(.freshet) { peer in
            let script = PeerScript.publishers(.freshet, .webSocket, keys: [row])
            try clients.connectPublishers(script, templates: 1, port: peer.port, count: 1)
            _ = try clients.publish()
            let without = try await cpu(of: peer)
            try clients.connectSubscribers(
                PeerScript.subscribers(.freshet, .webSocket, keys: [row], placeholder: PeerMessage.placeholder),
                keys: 1, port: peer.port, count: sessions, perSecond: Contender.freshet.connectionsPerSecond)
            try clients.awaitAll(try clients.publish().sequence)
            try clients.beginCounting()
            let with = try await cpu(of: peer)
            guard try clients.received().lost == 0 else { throw BenchmarkFailure("idle sessions were closed") }
            try clients.awaitAll(try clients.publish().sequence)
            try clients.disconnectSubscribers()
            return Pass(without: without, with: with)
        }
    }

    private func cpu(of peer: RunningPeer) async throws -> PeerCPU {
        let before = ProcessTimes.now()
        try await Task.sleep(for: .seconds(seconds))
        return PeerCPU(peer, from: before, to: .now())
    }
}
