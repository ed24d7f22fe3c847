import ChangeCapture
import LiveModel
import RoleMachines
import SchemaModel
import Sharding
import Streams

/// Performs `TailerMachine` over simulated servers: calls are delayed and lost, answers arrive twice, the connection to
/// the database ends, and the process dies or is suspended in between.
final class SimulatedTailer: Process {
    /// The reading of the slot over one connection.
    private struct Reading {
        let id: TailerMachine.CallID
        let pid: Int
        let generation: Int
        /// The position up to which the messages were handed over.
        var sent: UInt64
        var isPaused = false
    }

    private static let tickMs: Int64 = 200
    /// The interval at which the server sends what it has.
    private static let sendMs: Int64 = 25
    /// The most transactions that it sends together.
    static let chunkMax = 4
    private(set) var machine = TailerMachine(settings: .init(), shardCount: 0)
    private lazy var streams = EventStreams(
        keys: world.redis.keys, shardCount: Workload.shardCount, lengthMax: World.eventsLengthMax)
    private lazy var overrideList = SimulatedOverrideList(self)
    private lazy var membership = newMembership()
    private var reading: Reading?

    override var roles: Set<Role> { [.tailer] }

    var settings: TailerMachine.Settings {
        var settings = TailerMachine.Settings()
        (settings.standbyMs, settings.silenceMs, settings.retryMaxMs) = (300, 2_000, 1_000)
        (settings.confirmMs, settings.idleConfirmMs, settings.idleConfirmBytes) = (400, 400, 1)
        (settings.inspectMs, settings.inspectOpenMs, settings.loadingMaxMs) = (2_000, 500, 3_000)
        (settings.batchMax, settings.batchBytesMax, settings.queueMax) = (3, 600, 6)
        return settings
    }

    override func prepare() {
        machine = TailerMachine(settings: settings, shardCount: Workload.shardCount)
        (overrideList, reading) = (SimulatedOverrideList(self), nil)
        membership = newMembership()
    }

    private func newMembership() -> SimulatedMembership {
        SimulatedMembership(self, NodeID(name), role: .tailer) { _ in }
    }

    override func start(_ part: NodePart, _ next: @escaping () -> Void) {
        switch part {
        case .membership:
            overrideList.read { _ in }
            every(1_000) { [self] in overrideList.read { _ in } }
            membership.start(then: next)
        case .deployments: deployments.start(then: next)
        case .tailer:
            every(Self.tickMs) { [self] in change { $0.tick(nowMs: $1) } }
            next()
        case .gateway, .sessions, .worker, .sweeper: next()
        }
    }

    override func stop(_ part: NodePart, _ next: @escaping () -> Void) {
        switch part {
        case .membership: membership.leave(then: next)
        case .tailer:
            change { machine, _ in machine.stop() }
            next()
        case .deployments, .gateway, .sessions, .worker, .sweeper: next()
        }
    }

    /// The system closes the connections of a process that ends.
    override func killed() {
        if let reading { world.postgres.log.close(reading.pid) }
        reading = nil
    }

    // MARK: Facts

    private func change(_ body: (inout TailerMachine, _ nowMs: Int64) -> [TailerMachine.Effect]) {
        for effect in machine.follow(knowledge, nowMs: nowMs) + body(&machine, nowMs) { perform(effect) }
    }

    private var knowledge: TailerMachine.Knowledge {
        TailerMachine.Knowledge(
            number: Int(deployments.served.loadedDeployment),
            loadedDeployment: deployments.served.loadedDeployment, tables: Self.tables, heedsMutations: true)
    }

    private var rules: TailerMachine.Rules {
        TailerMachine.Rules(captured: LogRules(), publishing: deployments.served)
    }

    private static let tables = CapturedTables(
        namespace: LogMessages.namespace,
        tables: [
            Table(
                typeName: "Outside", name: LogMessages.table, singular: "outside", plural: "outsides",
                columns: [Column(field: "id", name: "id", type: ColumnType(.string), isNullable: false)], key: ["id"])
        ], recordedFields: [LogMessages.table: RecordedFields(compared: ["id"])])

    /// Handles an answer, from time to time twice.
    private func answered(
        _ call: TailerMachine.CallID, _ body: @escaping (inout TailerMachine, _ nowMs: Int64) -> [TailerMachine.Effect]
    ) {
        change(body)
        sometimesAgain(call) { [self] in change(body) }
    }

    // MARK: Effects

    private func perform(_ effect: TailerMachine.Effect) {
        touch()
        switch effect {
        case .inspect(let call):
            let forgetsEvents = world.sabotage == .missedEventsForgotten
            statement { [timeline] in
                var found = $0.inspection(nowMs: timeline.nowMs)
                if forgetsEvents { found.record?.carriesEvents = false }
                return found
            } then: { [self] outcome in
                answered(call) { $0.inspected(call, outcome.answer, nowMs: $1) }
            }
        case .terminate(let call, let pid):
            statement {
                $0.log.close(pid)
            } then: { [self] outcome in
                answered(call) { $0.stepEnded(call, outcome.answer, nowMs: $1) }
            }
        case .sign:
            statement { [timeline] in
                if let pid = $0.log.slot?.reader?.pid { $0.log.heard(from: pid, nowMs: timeline.nowMs) }
            } then: { (_: Process.Statement<Void>) in
            }
        case .create(let call, let seen):
            let isUndoubted = world.sabotage == .newSlotUndoubted
            statement {
                $0.log.create(seen: seen)
                if isUndoubted, let end = $0.log.slot?.confirmed { $0.log.record?.confirmable = end }
            } then: { [self] outcome in
                answered(call) { $0.stepEnded(call, outcome.answer, nowMs: $1) }
            }
        case .open(let id): open(id)
        case .close(let id):
            guard let reading, reading.id == id else { return }
            self.reading = nil
            timeline.after(world.databaseDelay()) { [world] in world.postgres.log.close(reading.pid) }
        case .setReading(let id, let isReading): if reading?.id == id { reading?.isPaused = !isReading }
        case .confirm(let id, let position):
            guard let reading, reading.id == id else { return }
            timeline.after(world.databaseDelay()) { [world] in world.postgres.log.confirm(position, by: reading.pid) }
        case .check(let call, let xids, let loadedDeployment, let asksOpen):
            let isIgnored = world.sabotage == .invisiblePublished
            statement {
                TailerMachine.Check(
                    areVisible: isIgnored || $0.areVisible(xids),
                    isBehindDeployments: $0.deployments.newestID > loadedDeployment, open: asksOpen ? $0.open() : nil)
            } then: { [self] outcome in
                answered(call) { [self] in
                    $0.checked(call, outcome.answer, overrideList.overrides, rules: rules, nowMs: $1)
                }
            }
        case .wait(let call, let ms): later(ms) { [self] in answered(call) { $0.checkDue(call, nowMs: $1) } }
        case .loadDeployments(let call):
            deployments.look { [self] _ in later(100) { [self] in answered(call) { $0.checkDue(call, nowMs: $1) } } }
        case .append(let call, let publications):
            append(streams.appends(of: publications)) { [self] answer in
                answered(call) { $0.appended(call, answer, nowMs: $1) }
            }
        case .confirmOverrides(let call):
            overrideList.confirm { [self] overrides in
                let answer = overrides.map { Result<_, StepFailure>.success($0) } ?? .failure(StepFailure("no answer"))
                answered(call) { [self] in $0.overridesConfirmed(call, answer, rules: rules, nowMs: $1) }
            }
        case .record(let call, let incarnation, let position, _):
            statement {
                $0.log.record(
                    position.position, incarnation: incarnation, isConfirmable: position.isConfirmable)
            } then: { [self] outcome in
                answered(call) { $0.recorded(call, outcome.answer, nowMs: $1) }
            }
        case .report(let report): world.note("\(name) \(report)")
        }
    }

    // MARK: The reading

    private func open(_ id: TailerMachine.CallID) {
        statement { [timeline] postgres -> (pid: Int, from: UInt64, generation: Int)? in
            guard let pid = postgres.log.open(nowMs: timeline.nowMs), let slot = postgres.log.slot else { return nil }
            return (pid, slot.confirmed, postgres.generation)
        } then: { [self] outcome in
            guard case .done(let opened?) = outcome else {
                return change { $0.ended(id, "not opened", isUnusable: false, nowMs: $1) }
            }
            reading = Reading(id: id, pid: opened.pid, generation: opened.generation, sent: opened.from)
            change { $0.received(id, LogMessages.head, nowMs: $1) }
            receiveAgain(opened.pid)
        }
    }

    /// Hands over what the server has, again and again.
    private func receiveAgain(_ pid: Int) {
        later(Self.sendMs) { [self] in
            guard let current = reading, current.pid == pid else { return }
            let postgres = world.postgres
            if isCutFromPostgres {
                // Nothing passes; the server hears nothing either. The connection lives on, if it comes back in time.
                return receiveAgain(pid)
            }
            guard postgres.generation == current.generation, postgres.log.isRead(by: pid),
                postgres.log.slot?.isLost == false
            else {
                reading = nil
                postgres.log.close(pid)
                return change { $0.ended(current.id, "closed", isUnusable: false, nowMs: $1) }
            }
            defer { receiveAgain(pid) }
            if current.isPaused { return }
            let end = postgres.log.end
            let transactions = postgres.log.transactions.filter { $0.end > current.sent }.prefix(Self.chunkMax)
            reading?.sent = transactions.last?.end ?? end
            if world.sabotage == .logConfirmedEarly, let last = transactions.last {
                _ = postgres.log.record.map {
                    postgres.log.record($0.confirmable + 1_000_000, incarnation: $0.incarnation)
                }
                postgres.log.confirm(last.end, by: pid)
            }
            if world.sabotage == .markRecordedEarly, let mark = transactions.last(where: \.isMark) {
                _ = postgres.log.record.map {
                    postgres.log.record(mark.end, incarnation: $0.incarnation, isConfirmable: false)
                }
            }
            let messages = transactions.flatMap(LogMessages.messages)
            if !messages.isEmpty { change { $0.received(current.id, messages, nowMs: $1) } }
            if transactions.count < Self.chunkMax { change { $0.reached(current.id, end, nowMs: $1) } }
        }
    }
}

extension SimulatedLog.Transaction {
    fileprivate var isMark: Bool { if case .mark = content { true } else { false } }
}

/// Every query that refreshes by the log.
private struct LogRules: CapturingRules {
    func queries(reading tables: Set<String>) -> [OperationReference] { tables.isEmpty ? [] : all }
    var all: [OperationReference] { [Workload.operation(Workload.outside)] }
}
