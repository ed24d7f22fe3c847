import LoadDriver
package import SeededRandom

/// The schedule of faults: a function of the seed, the nodes and the lease's duration.
///
/// Kinds of faults come from a shuffled deck, so that a short run has most of them and a long one all, equally often.
package struct ChaosSchedule: Sendable {
    package struct Round: Sendable, Hashable {
        /// The number of the round, from 1.
        package let number: Int
        /// The faults and when they begin, since the round's start.
        package let faults: [Timed]
        /// When the load of a quiet round ends, since the round's start: before the first fault or while it lasts. No
        /// later event can then hide that one was lost. Nil if the load continues until `afterMs`.
        package let quietFromMs: Int?
        /// Time from recovery to the verdict.
        package let afterMs: Int
    }

    package struct Timed: Sendable, Hashable {
        package let atMs: Int
        package let fault: Fault
    }

    /// One in this many rounds has two faults.
    package static let doubleEvery = 4
    /// One in this many rounds is quiet.
    package static let quietEvery = 3
    /// The longest time before a fault at which the load of a quiet round ends, so that mutations are in flight.
    static let quietBeforeMs = 150
    /// The duration attributed to a fault that is over at once, such as a kill, for its consequences.
    static let aftermathMs = 1_000

    /// The clock difference of another machine that takes over from Redis.
    static let clockErrorMaxMs = 30_000

    private enum Kind: CaseIterable {
        case killWorker, killWorkerAgain, killGateway, killAPI, drainWorker, drainGateway, drainAPI
        case pauseWorkerShort, pauseWorkerLong, pauseGateway, pauseAPI
        case cutWorkerRedis, cutGatewayRedis, cutAPIRedis, cutWorkerPostgres, cutGatewayPostgres, cutAPIPostgres
        case silenceWorkerRedis, silenceGatewayRedis, silenceAPIRedis
        case silenceWorkerPostgres, silenceGatewayPostgres, silenceAPIPostgres
        case cutGatewayClients, cutAPIClients, silenceGatewayClients, silenceAPIClients
        case slowRedis, slowPostgres
        case cutAllRedis, silenceAllRedis, cutAllPostgres, silenceAllPostgres
        case killRedis, loseRedis, ageRedis, replaceRedis, replaceRedisLate, pauseRedis, flushRedis
        case killPostgres, pausePostgres
    }

    private let nodes: [String]
    private let leaseMs: Int
    private let only: Set<String>
    private var random: SeededRandom
    private var deck: [Kind] = []
    private var rounds = 0

    /// - Parameters:
    ///   - nodes: `api-1`, `worker-2`, …; at least one of each role.
    ///   - only: the kinds of faults allowed; empty allows all.
    package init(seed: UInt64, nodes: [String], leaseMs: Int, only: Set<String> = []) {
        self.only = only.isEmpty ? [] : only.intersection(Self.kinds(nodes, leaseMs))
        self.nodes = nodes
        self.leaseMs = leaseMs
        random = SeededRandom(seed: seed, stream: 7)
    }

    package mutating func next() -> Round {
        rounds += 1
        var faults = [Timed(atMs: .random(in: 200...1_200, using: &random), fault: draw(excluding: nil))]
        if Int.random(in: 1...Self.doubleEvery, using: &random) == 1, only.isEmpty {
            let second = draw(excluding: faults[0].fault.target)
            // Often while the first one is active.
            faults.append(Timed(atMs: faults[0].atMs + .random(in: 0...1_500, using: &random), fault: second))
        }
        return Round(
            number: rounds, faults: faults, quietFromMs: quietFrom(faults[0]),
            afterMs: .random(in: 500...1_500, using: &random))
    }

    private mutating func quietFrom(_ first: Timed) -> Int? {
        guard Int.random(in: 1...Self.quietEvery, using: &random) == 1 else { return nil }
        let isBefore = Bool.random(using: &random)
        let duringMs = max(first.fault.ms, Self.aftermathMs)
        return first.atMs + (isBefore ? -ms(0...Self.quietBeforeMs) : ms(1...duringMs))
    }

    /// Returns all kinds of faults.
    package static func kinds(_ nodes: [String], _ leaseMs: Int) -> Set<String> {
        var schedule = ChaosSchedule(seed: 0, nodes: nodes, leaseMs: leaseMs)
        return Set(Kind.allCases.map { schedule.fault($0).kind })
    }

    private mutating func draw(excluding target: String?) -> Fault {
        var skipped: [Kind] = []
        // Kinds that were passed over come next.
        defer { deck += skipped.reversed() }
        while true {
            if deck.isEmpty { deck = Kind.allCases.shuffled(using: &random) }
            let kind = deck.removeLast()
            let fault = fault(kind)
            guard only.isEmpty || only.contains(fault.kind) else { continue }
            if fault.target != target { return fault }
            skipped.append(kind)
        }
    }

    private mutating func fault(_ kind: Kind) -> Fault {
        switch kind {
        case .killWorker, .killWorkerAgain: .kill(node: node("worker"))
        case .killGateway: .kill(node: node("gateway"))
        case .killAPI: .kill(node: node("api"))
        case .drainWorker: .drain(node: node("worker"))
        case .drainGateway: .drain(node: node("gateway"))
        case .drainAPI: .drain(node: node("api"))
        case .pauseWorkerShort: .pause(node: node("worker"), ms: ms(100...max(101, leaseMs / 2)))
        case .pauseWorkerLong: .pause(node: node("worker"), ms: longMs())
        case .pauseGateway: .pause(node: node("gateway"), ms: ms(100...2 * leaseMs))
        case .pauseAPI: .pause(node: node("api"), ms: ms(100...2 * leaseMs))
        case .cutWorkerRedis: link("worker", .redis, .cut)
        case .cutGatewayRedis: link("gateway", .redis, .cut)
        case .cutAPIRedis: link("api", .redis, .cut)
        case .cutWorkerPostgres: link("worker", .postgres, .cut)
        case .cutGatewayPostgres: link("gateway", .postgres, .cut)
        case .cutAPIPostgres: link("api", .postgres, .cut)
        case .silenceWorkerRedis: link("worker", .redis, .silent)
        case .silenceGatewayRedis: link("gateway", .redis, .silent)
        case .silenceAPIRedis: link("api", .redis, .silent)
        case .silenceWorkerPostgres: link("worker", .postgres, .silent)
        case .silenceGatewayPostgres: link("gateway", .postgres, .silent)
        case .silenceAPIPostgres: link("api", .postgres, .silent)
        case .cutGatewayClients: link("gateway", .clients, .cut)
        case .cutAPIClients: link("api", .clients, .cut)
        case .silenceGatewayClients: link("gateway", .clients, .silent)
        case .silenceAPIClients: link("api", .clients, .silent)
        case .slowRedis: link(nil, .redis, .slow(delayMs: ms(20...300)))
        case .slowPostgres: link(nil, .postgres, .slow(delayMs: ms(20...300)))
        case .cutAllRedis: .links(.redis, .cut, ms: linkMs())
        case .silenceAllRedis: .links(.redis, .silent, ms: linkMs())
        case .cutAllPostgres: .links(.postgres, .cut, ms: linkMs())
        case .silenceAllPostgres: .links(.postgres, .silent, ms: linkMs())
        case .killRedis: .killRedis(downMs: ms(0...3_000), .kept)
        case .loseRedis: .killRedis(downMs: ms(0...3_000), .lost)
        case .ageRedis: .killRedis(downMs: ms(0...3_000), .old(ms: ms(200...3_000)))
        case .replaceRedis: .killRedis(downMs: ms(0...3_000), .lost, clockErrorMs: clockErrorMs())
        case .replaceRedisLate:
            .killRedis(downMs: ms(0...3_000), .old(ms: ms(200...3_000)), clockErrorMs: clockErrorMs())
        case .pauseRedis: .pauseRedis(ms: ms(100...2 * leaseMs))
        case .flushRedis: .flushRedis
        case .killPostgres: .killPostgres(downMs: ms(0...3_000))
        case .pausePostgres: .pausePostgres(ms: ms(100...2 * leaseMs))
        }
    }

    private mutating func link(_ role: String?, _ peer: Fault.Peer, _ impairment: Fault.Impairment) -> Fault {
        .link(node: node(role), peer, impairment, ms: linkMs())
    }

    /// Returns a duration shorter or longer than the lease.
    private mutating func linkMs() -> Int {
        Bool.random(using: &random) ? longMs() : ms(100...max(101, leaseMs / 2))
    }

    /// Returns a duration longer than the lease.
    private mutating func longMs() -> Int { ms((leaseMs + 300)...(leaseMs + 3_000)) }

    private mutating func clockErrorMs() -> Int {
        (Bool.random(using: &random) ? 1 : -1) * ms(1...Self.clockErrorMaxMs)
    }

    private mutating func ms(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }

    private mutating func node(_ role: String?) -> String {
        let candidates = nodes.filter { role == nil || Fault.role($0) == role }
        return candidates[.random(in: candidates.indices, using: &random)]
    }
}
