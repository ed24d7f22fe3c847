import Foundation
import FreshetClient
import JSON
import LoadDriver
import LocalServers
import NIOCore
import NIOHTTP1
import Synchronization

/// Does to the cluster what a fault says, and makes it good again.
final class FaultInjector: Sendable {
    let cluster: ChaosCluster
    /// Nodes that this round ends on purpose.
    private let ended = Mutex<Set<String>>([])
    private let failures = Mutex<[String]>([])

    init(_ cluster: ChaosCluster) {
        self.cluster = cluster
    }

    /// Returns when the cause is gone; nodes may still be starting.
    func perform(_ fault: Fault) async {
        switch fault {
        case .kill(let name): await end(name, SIGKILL)
        case .drain(let name): await end(name, SIGTERM)
        case .pause(let name, let ms):
            let node = await cluster.node(name)
            node?.process.signal(SIGSTOP)
            await ChaosRun.pause(ms: ms)
            node?.process.signal(SIGCONT)
        case .link(let name, let peer, let trouble, let ms):
            if let node = await cluster.node(name) { await spoil([node.link(to: peer)], trouble, ms: ms) }
        case .links(let peer, let trouble, let ms):
            await spoil(await cluster.nodes.map { $0.link(to: peer) }, trouble, ms: ms)
        case .killRedis(let downMs, let data, let clockErrorMs):
            guard let redis = await cluster.redis else { return }
            let (folder, copy) = (redis.dataDirectory + "/data", redis.dataDirectory + "/old")
            if case .old(let ms) = data {
                // An append-only file that ends in the middle of a command is read up to there.
                try? FileManager.default.removeItem(atPath: copy)
                try? FileManager.default.copyItem(atPath: folder, toPath: copy)
                await ChaosRun.pause(ms: ms)
            }
            await redis.crash()
            if data != .kept { try? FileManager.default.removeItem(atPath: folder) }
            switch data {
            case .kept: break
            case .lost: try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            case .old: try? FileManager.default.moveItem(atPath: copy, toPath: folder)
            }
            await ChaosRun.pause(ms: downMs)
            await restart("Redis") {
                try await redis.restart(environment: try WrongClock.environment(byMs: clockErrorMs))
            }
        case .pauseRedis(let ms):
            let redis = await cluster.redis
            redis?.freeze()
            await ChaosRun.pause(ms: ms)
            redis?.resume()
        case .flushRedis: _ = await cluster.redis?.command("FLUSHALL")
        case .killPostgres(let downMs):
            guard let postgres = await cluster.postgres else { return }
            await postgres.crash()
            await ChaosRun.pause(ms: downMs)
            await restart("Postgres") { try await postgres.restart() }
        case .pausePostgres(let ms):
            let postgres = await cluster.postgres
            postgres?.freeze()
            await ChaosRun.pause(ms: ms)
            postgres?.resume()
        }
    }

    private func spoil(_ links: [FaultyLink], _ trouble: Fault.Trouble, ms: Int) async {
        for link in links { await link.set(trouble) }
        await ChaosRun.pause(ms: ms)
        for link in links { await link.set(nil) }
    }

    /// Whether a fault of this round explains it.
    func isExpected(_ end: ProcessEnds.End) -> Bool {
        guard ended.withLock({ $0.contains(end.name) }) else { return false }
        // Signal 15: it had only just been started, and did not know yet what to do when asked to end.
        return end.how == "signal 9" || end.how == "signal 15" || end.how == "exit code 0"
    }

    /// Servers that did not come back, in words: nothing after that says anything about the product.
    var serversLost: [String] { failures.withLock { $0 } }

    /// Of the live queries that a worker owns; empty when it cannot be asked.
    func operations(of name: String) async -> Set<String> {
        guard let node = await cluster.node(name),
            let address = try? ServerAddress("http://127.0.0.1:\(node.adminPort)"),
            let answer = try? await HTTPCall.send(
                .GET, address, path: "/admin/live-queries?limit=1000", timeoutMs: 2_000),
            let list = (try? JSONParser.parse(answer.body))?["liveQueries"]?.arrayValue
        else { return [] }
        return Set(
            list.compactMap { query in
                query["operation"]?.stringValue?.split(separator: "/").last.map(String.init)
            })
    }

    /// The clock of deliveries.
    static func nowNs() -> Int64 { Int64(clamping: NIODeadline.now().uptimeNanoseconds) }

    private func end(_ name: String, _ number: Int32) async {
        let node = await cluster.node(name)
        let before = node?.process.processID
        ended.withLock { _ = $0.insert(name) }
        node?.process.signal(number)
        // Until there is another one: a drain takes its time, and then comes the supervisor's pause.
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline {
            if let now = node?.process.processID, now != before { return }
            await ChaosRun.pause(ms: 50)
        }
    }

    private func restart(_ server: String, _ start: () async throws -> Void) async {
        let deadline = ContinuousClock.now + .milliseconds(ChaosCluster.readyMs)
        while true {
            do {
                return try await start()
            } catch {
                guard ContinuousClock.now < deadline else {
                    return failures.withLock { $0.append("\(server) could not be started again: \(error)") }
                }
                await ChaosRun.pause(ms: 500)
            }
        }
    }
}

/// Looks at the subscribers' connections all the time.
actor ConnectionWatch {
    static let lookMs = 50

    private let load: SteadyLoad
    private var beganNs: Int64?
    private var least = Int.max
    private var completeNs: Int64?
    private var task: Task<Void, Never>?

    init(_ load: SteadyLoad) {
        self.load = load
    }

    /// A gateway is about to end.
    func begin() {
        beganNs = FaultInjector.nowNs()
        task = Task { [weak self] in
            while !Task.isCancelled {
                await self?.look()
                await ChaosRun.pause(ms: Self.lookMs)
            }
        }
    }

    private func look() async {
        let look = await load.look()
        if look.open < look.subscribers {
            least = min(least, look.open)
            completeNs = nil
        } else if completeNs == nil, least < look.subscribers {
            completeNs = FaultInjector.nowNs()
        }
    }

    /// How many sessions were lost, and when all were back; nil when nothing was measured.
    func reconnected() async -> (sessions: Int, ms: Int)? {
        guard let beganNs, let completeNs, least < Int.max else { return nil }
        return (await load.look().subscribers - least, Int((completeNs - beganNs) / 1_000_000))
    }

    /// Subscribers that have no connection after that time; nil when all have.
    func missing(withinMs: Int) async -> Int? {
        let deadline = ContinuousClock.now + .milliseconds(withinMs)
        while true {
            let look = await load.look()
            if look.open >= look.subscribers { return nil }
            guard ContinuousClock.now < deadline else { return look.subscribers - look.open }
            await ChaosRun.pause(ms: Self.lookMs)
        }
    }

    func stop() { task?.cancel() }
}
