import Failover
import LiveModel
import RoleMachines

/// The process of a node. It can be killed, restarted, suspended for a while (as by SIGSTOP), and cut off from Redis or
/// Postgres, and its clock is inaccurate.
///
/// Its work goes through `later`, `call` and `statement`: a killed process drops it, a suspended one performs it
/// afterwards in any order. Requests in transit are executed in either case.
class Process {
    unowned let world: World
    let name: String
    private(set) var isUp = false
    private(set) var incarnation = 0
    /// The release of the program in this incarnation.
    private(set) var release = 1
    /// The versions of the project that this incarnation serves.
    private(set) lazy var deployments = SimulatedDeployments(self)
    private var pausedUntilMs: Int64 = 0
    private var startedMs: Int64 = 0
    private var offsetMs: Int64 = 0
    private var driftPerThousand: Int64 = 0
    private var requestAtMs: Int64 = 0
    private var answerAtMs: Int64 = 0
    private var redisCutUntilMs: Int64 = 0
    /// The Redis server that answers.
    private var redisServer = ServerIdentity()
    /// The number of changes of the answering Redis server since the start.
    var serverChanges: Int { redisServer.changes }
    /// The connection to Redis, in a gateway's terms.
    private(set) var redisConnection = GatewayMachine.BrokerConnection(isConnected: true, reconnects: 0)
    /// The former primary of Redis while this process still uses it.
    private(set) var formerRedis: SimulatedRedis?
    private var postgresCutUntilMs: Int64 = 0
    /// The timeline of Postgres.
    private var database = ServerIdentity()
    /// The last known timeline of Postgres; nil before the first connection.
    var databaseTimeline: String? { database.current }
    /// The number of changes of the timeline since the start.
    var databaseChanges: Int { world.sabotage == .databaseChangesUnnoticed ? 0 : database.changes }
    private var generationMet = -1
    /// Whether its machines did something in the current step.
    private var isTouched = false

    /// The timeout of a request to Redis.
    private static let commandTimeoutMs: Int64 = 2_000

    init(_ name: String, _ world: World) {
        self.world = world
        self.name = name
    }

    var timeline: Timeline { world.timeline }

    /// The time of this process's clock: anchored to a wall clock with an error of up to a minute, different after each
    /// start, then monotonic with a drift of up to half a percent.
    var nowMs: Int64 {
        timeline.nowMs + offsetMs + (timeline.nowMs - startedMs) * driftPerThousand / 1_000
    }

    /// Identifies this incarnation. Under one seed in eight, all processes are on one machine and notice each
    /// other's ends.
    var identity: ProcessIdentity {
        let number = Int32(world.processes.firstIndex { $0 === self } ?? 0) + 1
        return ProcessIdentity(
            machine: world.seed % 8 == 5 ? "machine" : name, processID: number, startTicks: UInt64(incarnation))
    }

    /// Whether only this process knows of a loss: a second fault at the same time is beyond the guarantees.
    var mustLive: Bool { false }

    /// Prepares an incarnation, before its parts start.
    func prepare() {}
    func killed() {}

    // MARK: Parts

    /// The roles of the node; none for a process that is no node.
    var roles: Set<Role> { [] }
    /// Whether the node has been asked to stop.
    private(set) var isDraining = false
    /// Whether clients may begin sessions and send requests.
    private(set) var acceptsSessions = false

    /// Starts a part, then calls `next` once.
    func start(_ part: NodePart, _ next: @escaping () -> Void) { next() }
    /// Ends a part, then calls `next` once.
    func stop(_ part: NodePart, _ next: @escaping () -> Void) { next() }

    /// Handles SIGTERM: ends the parts, then the process.
    final func drain() {
        guard isUp, !isDraining else { return }
        isDraining = true
        acceptsSessions = false
        inTurn(NodePart.stopOrder(of: roles)[...], stop) { [self] in kill() }
    }

    private func inTurn(
        _ parts: ArraySlice<NodePart>, _ perform: @escaping (NodePart, @escaping () -> Void) -> Void,
        _ end: @escaping () -> Void
    ) {
        guard let part = parts.first else { return end() }
        let (incarnation, wasDraining) = (incarnation, isDraining)
        perform(part) { [self] in
            // A stop interrupts the start.
            guard isUp, self.incarnation == incarnation, isDraining == wasDraining else { return }
            if part == .sessions { acceptsSessions = !isDraining }
            inTurn(parts.dropFirst(), perform, end)
        }
    }

    final func start() {
        guard !isUp else { return }
        isUp = true
        incarnation += 1
        release = world.release
        pausedUntilMs = 0
        (redisServer, database, generationMet) = (ServerIdentity(), ServerIdentity(), -1)
        (redisConnection, formerRedis) = (.init(isConnected: true, reconnects: 0), nil)
        (isDraining, acceptsSessions) = (false, false)
        touch()
        startedMs = timeline.nowMs
        offsetMs = timeline.pick(-60_000...60_000)
        driftPerThousand = timeline.pick(-5...5)
        if !roles.isEmpty {
            deployments = SimulatedDeployments(self)
            deployments.load()
        }
        prepare()
        inTurn(NodePart.startOrder(of: roles)[...], start) {}
    }

    final func kill() {
        guard isUp else { return }
        isUp = false
        killed()
    }

    final func pause(ms: Int64) { pausedUntilMs = max(pausedUntilMs, timeline.nowMs + ms) }

    final func cutFromRedis(ms: Int64) {
        redisCutUntilMs = max(redisCutUntilMs, timeline.nowMs + ms)
        timeline.at(redisCutUntilMs) { [self] in if isUp { poke(nil) } }
    }

    /// Continues to use the former primary for a while after a replica took over.
    func stay(with former: SimulatedRedis, ms: Int64) {
        formerRedis = former
        timeline.after(ms) { [self] in if formerRedis === former { formerRedis = nil } }
    }

    final func cutFromPostgres(ms: Int64) { postgresCutUntilMs = max(postgresCutUntilMs, timeline.nowMs + ms) }

    /// Ends all faults of this process.
    final func heal() {
        (pausedUntilMs, redisCutUntilMs, postgresCutUntilMs, formerRedis) = (0, 0, 0, nil)
        start()
        poke(nil)
    }

    /// Reports that a stream may have new entries; nil: any stream.
    func poke(_ stream: String?) {}

    var isCutFromRedis: Bool { !world.redis.isUp || redisCutUntilMs > timeline.nowMs }
    var isCutFromPostgres: Bool { !world.postgres.isUp || postgresCutUntilMs > timeline.nowMs }

    // MARK: Time

    final func later(_ ms: Int64, _ body: @escaping () -> Void) {
        let incarnation = incarnation
        timeline.after(ms) { [self] in wake(incarnation, body) }
    }

    private func wake(_ incarnation: Int, _ body: @escaping () -> Void) {
        guard isUp, self.incarnation == incarnation else { return }
        if pausedUntilMs > timeline.nowMs {
            timeline.at(pausedUntilMs + timeline.pick(0...20)) { [self] in wake(incarnation, body) }
        } else {
            body()
        }
    }

    /// Marks the process to be checked after this step.
    final func touch() {
        guard !isTouched else { return }
        isTouched = true
        world.touched.append(self)
    }

    final func forgetTouch() { isTouched = false }

    /// Repeats an answer from time to time, although its call is over.
    final func sometimesAgain(_ body: @escaping () -> Void) {
        if world.hasFaults, timeline.chance(1) { later(timeline.pick(0...900), body) }
    }

    /// Repeats the answer to one call in 16, although the call is over. The call's number decides, and nothing is drawn
    /// at random: an answer that changes nothing must not change the run.
    final func sometimesAgain(_ call: UInt64, _ body: @escaping () -> Void) {
        guard world.hasFaults, call % 16 == 7 else { return }
        let incarnation = incarnation
        timeline.after(Int64(call * 37 % 900)) { [self] in
            if isUp, self.incarnation == incarnation, pausedUntilMs <= timeline.nowMs { body() }
        }
    }

    /// Handles an answer some time after it arrived, as a task does that waits for a thread: of two answers, the later
    /// one may be handled first.
    final func sometimesLate(_ body: @escaping () -> Void) {
        if world.hasFaults, timeline.chance(5) { later(timeline.pick(0...900), body) } else { body() }
    }

    final func every(_ ms: Int64, _ body: @escaping () -> Void) {
        later(ms) { [self] in
            body()
            every(ms, body)
        }
    }

    // MARK: Redis

    /// Sends a request to Redis over one connection: requests are executed in order, and answers arrive in order. Nil:
    /// no answer, and the request may have been executed.
    final func call<Answer>(_ request: @escaping (SimulatedRedis) -> Answer, then: @escaping (Answer?) -> Void) {
        let sentMs = timeline.nowMs
        requestAtMs = max(requestAtMs, sentMs + world.networkDelay())
        let incarnation = incarnation
        func giveUp() {
            let waitMs = timeline.chance(50) ? 0 : max(0, sentMs + Self.commandTimeoutMs - timeline.nowMs)
            answerAtMs = max(answerAtMs, timeline.nowMs + waitMs)
            if isCutFromRedis { redisConnection = .init(isConnected: false, reconnects: redisConnection.reconnects) }
            timeline.at(answerAtMs) { [self] in wake(incarnation) { then(nil) } }
        }
        timeline.at(requestAtMs) { [self] in
            if isCutFromRedis { return giveUp() }
            let redis = formerRedis ?? world.redis
            let answer = request(redis)
            let server = redis.serverID
            if world.hasFaults, timeline.chance(1) { return giveUp() }
            answerAtMs = max(answerAtMs, timeline.nowMs + world.networkDelay())
            timeline.at(answerAtMs) { [self] in
                if isCutFromRedis { return giveUp() }
                wake(incarnation) { [self] in
                    answered(by: server)
                    then(answer)
                }
            }
        }
    }

    private func answered(by server: String) {
        if !redisConnection.isConnected {
            redisConnection = .init(isConnected: true, reconnects: redisConnection.reconnects + 1)
        }
        redisServer.met(server)
    }

    // MARK: Postgres

    enum Statement<Answer> {
        case done(Answer)
        /// The statement was not executed.
        case failed
        /// The connection was lost before the answer.
        case unknown
    }

    /// Opens connections before they are needed, as a pool does.
    final func connectToPostgres() {
        if !isCutFromPostgres { met(world.postgres.timeline, generation: world.postgres.generation) }
    }

    /// Records the timeline, which every new connection reports.
    private func met(_ timeline: String, generation: Int) {
        guard generation > generationMet else { return }
        generationMet = generation
        database.met(timeline)
    }

    /// Executes one statement, or one pipelined transaction, on a separate connection; statements are not ordered.
    final func statement<Answer>(
        _ execute: @escaping (SimulatedPostgres) -> Answer, then: @escaping (Statement<Answer>) -> Void
    ) {
        let incarnation = incarnation
        let generation = world.postgres.generation
        func end(_ answer: Statement<Answer>) {
            timeline.after(world.databaseDelay()) { [self] in wake(incarnation) { then(answer) } }
        }
        timeline.after(world.databaseDelay()) { [self] in
            if isCutFromPostgres || generation != world.postgres.generation { return end(.failed) }
            let answer = execute(world.postgres)
            let met = world.postgres.timeline
            timeline.after(world.databaseDelay()) { [self] in
                let isLost = isCutFromPostgres || generation != world.postgres.generation
                if !isLost, isUp, self.incarnation == incarnation { self.met(met, generation: generation) }
                end(isLost || world.hasFaults && timeline.chance(1) ? .unknown : .done(answer))
            }
        }
    }
}
