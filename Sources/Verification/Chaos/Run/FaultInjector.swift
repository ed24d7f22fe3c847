import Clocks
import Foundation
import JSON
import LoadDriver
import LocalServers
import NIOCore
import NIOHTTP1
import ProtocolClients
import Synchronization

/// Injects faults into the cluster and ends them again.
final class FaultInjector: Sendable {
    let cluster: ChaosCluster
    /// Nodes that this round ended on purpose.
    private let ended = Mutex<Set<String>>([])
    private let failures = Mutex<[String]>([])

    init(_ cluster: ChaosCluster) {
        self.cluster = cluster
    }

    /// Performs a fault. Returns when its cause is over; nodes may still be starting.
    func perform(_ fault: Fault) async {
        switch fault {
        case .kill(let name): await end(name, SIGKILL)
        case .drain(let name): await end(name, SIGTERM)
        case .pause(let name, let ms):
            let node = await cluster.node(name)
            node?.process.signal(SIGSTOP)
            await ChaosRun.pause(ms: ms)
            node?.process.signal(SIGCONT)
        case .link(let name, let peer, let impairment, let ms):
            if let node = await cluster.node(name) { await impair([node.link(to: peer)], impairment, ms: ms) }
        case .links(let peer, let impairment, let ms):
            await impair(await cluster.nodes.map { $0.link(to: peer) }, impairment, ms: ms)
        case .killRedis(let downMs, let data, let clockErrorMs):
            guard let redis = await cluster.redis else { return }
            let (folder, copy) = (redis.dataDirectory + "/data", redis.dataDirectory + "/old")
            if case .old(let ms) = data {
                // Redis reads an append-only file up to its last complete command.
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

    private func impair(_ links: [FaultyLink], _ impairment: Fault.Impairment, ms: Int) async {
        for link in links { await link.set(impairment) }
        await ChaosRun.pause(ms: ms)
        for link in links { await link.set(nil) }
    }

    /// Returns whether a fault of this round explains an exit.
    func isExpected(_ end: ProcessEnds.End) -> Bool {
        guard ended.withLock({ $0.contains(end.name) }) else { return false }
        // Signal 15: the node had just started and did not handle the signal yet.
        return end.how == "signal 9" || end.how == "signal 15" || end.how == "exit code 0"
    }

    /// Servers that could not be restarted; later failures do not concern the product.
    var serversLost: [String] { failures.withLock { $0 } }

    /// Returns the operations of a worker's live queries; empty if it does not respond.
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

    private func end(_ name: String, _ number: Int32) async {
        let node = await cluster.node(name)
        let before = node?.process.processID
        ended.withLock { _ = $0.insert(name) }
        node?.process.signal(number)
        // Until a new process runs: first the drain, then the supervisor's pause.
        let deadline = Deadline(afterMs: 30_000)
        while !deadline.isReached {
            if let now = node?.process.processID, now != before { return }
            await ChaosRun.pause(ms: 50)
        }
    }

    private func restart(_ server: String, _ start: () async throws -> Void) async {
        let deadline = Deadline(afterMs: ChaosCluster.readyMs)
        while true {
            do {
                return try await start()
            } catch {
                guard !deadline.isReached else {
                    return failures.withLock { $0.append("\(server) could not be started again: \(error)") }
                }
                await ChaosRun.pause(ms: 500)
            }
        }
    }
}

/// Samples the subscribers' connections.
actor ConnectionWatch {
    static let sampleMs = 50

    private let load: SteadyLoad
    private var beganNs: Int64?
    private var least = Int.max
    private var completeNs: Int64?
    private var task: Task<Void, Never>?

    init(_ load: SteadyLoad) {
        self.load = load
    }

    /// Starts sampling before a gateway is killed.
    func begin() {
        beganNs = DeliveryClock.nowNs()
        task = Task { [weak self] in
            while !Task.isCancelled {
                await self?.sample()
                await ChaosRun.pause(ms: Self.sampleMs)
            }
        }
    }

    private func sample() async {
        let snapshot = await load.snapshot()
        if snapshot.open < snapshot.subscribers {
            least = min(least, snapshot.open)
            completeNs = nil
        } else if completeNs == nil, least < snapshot.subscribers {
            completeNs = DeliveryClock.nowNs()
        }
    }

    /// Returns how many sessions were lost and when all were reconnected; nil if nothing was measured.
    func reconnected() async -> (sessions: Int, ms: Int)? {
        guard let beganNs, let completeNs, least < Int.max else { return nil }
        let subscribers = await load.snapshot().subscribers
        return (subscribers - least, Int((completeNs - beganNs) / 1_000_000))
    }

    /// Returns the number of subscribers without a connection after that time; nil if there are none.
    func missing(withinMs: Int) async -> Int? {
        let deadline = Deadline(afterMs: withinMs)
        while true {
            let snapshot = await load.snapshot()
            if snapshot.open >= snapshot.subscribers { return nil }
            guard !deadline.isReached else { return snapshot.subscribers - snapshot.open }
            await ChaosRun.pause(ms: Self.sampleMs)
        }
    }

    func stop() { task?.cancel() }
}
