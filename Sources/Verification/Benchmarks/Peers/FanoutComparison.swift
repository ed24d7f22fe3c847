import CBroadcaster
import Postgres
import Settings

/// One result to all sessions: rounds one after the other, then changes at a fixed rate for their latency.
struct FanoutComparison {
    /// The measures of one pass of one contender.
    struct Pass: Sendable {
        let contender: Contender
        let connectSeconds: Double
        let deliveries: Int
        let cpu: PeerCPU
        let received: cb_received
        /// Refusals while the clients connected; `received` has those of the rounds.
        let refusedConnecting: Int
        /// Changes at a fixed rate: the time from before the request that changes to the client.
        let latency: cb_received?
        /// The same: the time until the response to that request.
        let publishing: Samples

        var cpuSecondsPerMillion: Double { cpu.server * 1e6 / Double(deliveries) }
        var deliveriesPerSecond: Double { Double(deliveries) / cpu.seconds }
    }

    static let changesPerSecond = 15.0
    /// A bound on the rounds of a contender that refuses clients.
    private static let roundsSecondsMax = 60.0

    let clients: PeerClients
    let servers: PeerServers
    let pool: PostgresPool
    let subscription: PeerScript.Subscription
    let sessions: Int
    let rounds: Int
    /// The duration of the changes at a fixed rate; 0 without.
    let latencySeconds: Double
    let key: String

    func measure(_ contender: Contender) async throws -> Pass {
        try await servers.with(contender) { peer in
            try await measure(peer)
        }
    }

    private func measure(_ peer: RunningPeer) async throws -> Pass {
        let contender = peer.contender
        let isBare = contender == .bareC
        if !isBare {
            let script = PeerScript.publishers(contender, subscription, keys: [key])
            try clients.connectPublishers(script, templates: 1, port: peer.port, count: 1)
            // The result that a new subscriber gets first.
            _ = try clients.publish()
        }
        let publish = { try isBare ? clients.publishBare() : clients.publish() }
        let start = Clock.now
        try clients.connectSubscribers(
            PeerScript.subscribers(contender, subscription, keys: [key], placeholder: PeerMessage.placeholder),
            keys: 1, port: peer.port, count: sessions, perSecond: contender.connectionsPerSecond)
        let connected = Clock.now
        let refusedConnecting = Int(try clients.received().refused)
        try clients.awaitAll(try publish().sequence)
        try clients.awaitAll(try publish().sequence)

        try clients.beginCounting()
        let before = ProcessTimes.now()
        var last: UInt32 = 0
        for _ in 0..<rounds where Clock.now - before.at < Self.roundsSecondsMax {
            last = try publish().sequence
            try clients.awaitAll(last)
        }
        let cpu = PeerCPU(peer, from: before, to: .now())
        let received = try clients.received()
        guard received.deliveries > 0, received.lost == 0, received.backwards == 0 else {
            throw BenchmarkFailure(
                "\(contender.rawValue): \(received.deliveries) deliveries, \(received.lost) connections lost,"
                    + " \(received.backwards) older results after newer ones")
        }
        let (latency, publishing) = try await changes(publish)
        if contender == .freshet { try await PeerOperations.verify(pool, [key], try clients.published()) }
        try clients.disconnectSubscribers()
        return Pass(
            contender: contender, connectSeconds: connected - start, deliveries: Int(received.deliveries), cpu: cpu,
            received: received, refusedConnecting: refusedConnecting, latency: latency, publishing: publishing)
    }

    private func changes(
        _ publish: () throws -> (sequence: UInt32, seconds: Double)
    ) async throws -> (cb_received?, Samples) {
        var publishing = Samples()
        guard latencySeconds > 0 else { return (nil, publishing) }
        try clients.beginCounting()
        let start = Clock.now
        for number in 0..<Int(latencySeconds * Self.changesPerSecond) {
            let wait = start + Double(number) / Self.changesPerSecond - Clock.now
            if wait > 0 { try await Task.sleep(for: .seconds(wait)) }
            let published = try publish()
            publishing.add(published.seconds)
            if number == Int(latencySeconds * Self.changesPerSecond) - 1 { try clients.awaitAll(published.sequence) }
        }
        return (try clients.received(), publishing)
    }
}

extension Contender {
    /// A little less than a node accepts by default; the others have no such limit.
    var connectionsPerSecond: Int {
        self == .freshet ? Settings(profile: .serve).gateway.acceptPerSecond * 9 / 10 : 50_000
    }
}
