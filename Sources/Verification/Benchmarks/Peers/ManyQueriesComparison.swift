import CBroadcaster
import LocalServers
import Postgres

/// A thousand results of ten sessions each, which publishers change as fast as they can.
struct ManyQueriesComparison {
    struct Pass: Sendable {
        let contender: Contender
        let cpu: PeerCPU
        let received: cb_received
        let published: Int
        let refused: Int
        /// Commands of the contender's Redis, by name, for one publication.
        let redisCommands: [(name: String, perPublication: Double)]

        var deliveriesPerSecond: Double { Double(received.deliveries) / cpu.seconds }
        var publishedPerSecond: Double { Double(published) / cpu.seconds }
        var cpuSecondsPerMillion: Double { cpu.server * 1e6 / Double(received.deliveries) }
    }

    static let publishers = 16
    static let sessionsOfEach = 10

    let clients: PeerClients
    let servers: PeerServers
    let pool: PostgresPool
    let seconds: Double
    let keys: [String]

    func measure(_ contender: Contender) async throws -> Pass {
        try await servers.with(contender) { peer in
            try await measure(peer)
        }
    }

    private func measure(_ peer: RunningPeer) async throws -> Pass {
        let contender = peer.contender
        let redis = contender == .freshet ? servers.servers.redis : servers.nchanRedis
        try clients.connectPublishers(
            PeerScript.publishers(contender, .webSocket, keys: keys), templates: keys.count, port: peer.port,
            count: Self.publishers)
        // The result that a new subscriber gets first.
        let first = try clients.publish(seconds: 0)
        guard first.published == keys.count else { throw BenchmarkFailure("\(first.refused) publications refused") }
        try clients.connectSubscribers(
            PeerScript.subscribers(contender, .webSocket, keys: keys, placeholder: PeerMessage.placeholder),
            keys: keys.count, port: peer.port, count: keys.count * Self.sessionsOfEach,
            perSecond: contender.connectionsPerSecond)
        try clients.awaitAll(try clients.published())
        _ = try clients.publish(seconds: 1)
        try clients.awaitAll(try clients.published())

        let commands = Self.commands(redis)
        try clients.beginCounting()
        let before = ProcessTimes.now()
        let (published, refused) = try clients.publish(seconds: seconds)
        let cpu = PeerCPU(peer, from: before, to: .now())
        let received = try clients.received()
        let used = Self.commands(redis).compactMap { name, calls -> (name: String, perPublication: Double)? in
            let more = calls - (commands[name] ?? 0)
            return more > 0 && published > 0 ? (name, Double(more) / Double(published)) : nil
        }
        let last = try clients.published()
        try clients.awaitAll(last)
        if contender == .freshet { try await PeerOperations.verify(pool, keys, last) }
        try clients.disconnectSubscribers()
        guard received.deliveries > 0, received.lost == 0, received.backwards == 0 else {
            throw BenchmarkFailure(
                "\(contender.rawValue): \(received.deliveries) deliveries, \(received.lost) connections lost,"
                    + " \(received.backwards) older results after newer ones")
        }
        return Pass(
            contender: contender, cpu: cpu, received: received, published: published, refused: refused,
            redisCommands: used.sorted { $0.perPublication > $1.perPublication })
    }

    /// Returns how often each command ran; those of scripts count, too.
    private static func commands(_ redis: LocalRedis) -> [String: Int] {
        let text = Shell.output(of: "redis-cli -p \(redis.port) info commandstats")
        var calls: [String: Int] = [:]
        // "cmdstat_xadd:calls=12,usec=…"
        for line in text.split(whereSeparator: \.isNewline) where line.hasPrefix("cmdstat_") {
            let parts = line.dropFirst("cmdstat_".count).split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let number = parts[1].split(separator: ",").first?.dropFirst("calls=".count)
            else { continue }
            calls[String(parts[0])] = Int(number)
        }
        calls["info"] = nil
        return calls
    }
}
