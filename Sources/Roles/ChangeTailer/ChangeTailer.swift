import APINode
package import Broker
package import Catalog
import ChangeCapture
import Clocks
package import Cluster
package import Execution
package import LiveModel
package import Logging
import Metrics
import Migrations
package import Postgres
package import Recording
package import RoleMachines
import Sharding
package import Streams
import Synchronization

/// Performs the effects of `TailerMachine` on the broker and Postgres.
///
/// Locking: the machine changes under a mutex; its effects are performed after the lock is released, in their order
/// for one change.
package final class ChangeTailer: Sendable {
    private static let tickMs = 200

    /// The knowledge of the machine, made once for a state of the catalogs.
    fileprivate struct Known {
        let writesEvents: Bool
        var snapshot: ServedCatalogs.Snapshot?
        var knowledge: TailerMachine.Knowledge?
        var layout = ChangeSlot.Layout()
        var number = 0
    }

    private let broker: any Broker
    private let configuration: PostgresConfiguration
    let slot: ChangeSlot
    private let catalogs: ServedCatalogs
    let overrideList: OverrideList
    private let streams: EventStreams
    private let streamSettings: ReplicationStream.Settings
    private let machine: Mutex<TailerMachine>
    private let known: Mutex<Known>
    private let reading = Mutex<(id: TailerMachine.CallID, stream: ReplicationStream)?>(nil)
    let latestInspection = Mutex<TailerMachine.Inspection.Slot?>(nil)
    private let makeUUID: @Sendable () -> String
    private let loadCatalogs: @Sendable () async -> Void
    private let recorder: NodeRecorder?
    let logger: Logger
    let metrics = TailerMetrics()

    /// - Parameters:
    ///   - configuration: of the database; the reader has a connection of its own.
    ///   - eventsLengthMax: the entries that an events stream keeps at least.
    ///   - outbox: where the node's own mutations leave their events.
    ///   - loadCatalogs: loads the versions now in service into `catalogs`.
    package init(
        broker: any Broker, configuration: PostgresConfiguration, slot: ChangeSlot, catalogs: ServedCatalogs,
        overrideList: OverrideList, settings: TailerMachine.Settings, streamSettings: ReplicationStream.Settings,
        eventsLengthMax: Int = 100_000, outbox: OutboxKind = .table, recorder: NodeRecorder? = nil,
        makeUUID: @escaping @Sendable () -> String,
        loadCatalogs: @escaping @Sendable () async -> Void = {}, logger: Logger
    ) {
        self.broker = broker
        self.configuration = configuration
        self.slot = slot
        self.catalogs = catalogs
        self.overrideList = overrideList
        self.streamSettings = streamSettings
        self.makeUUID = makeUUID
        self.loadCatalogs = loadCatalogs
        self.logger = logger
        self.recorder = recorder
        known = Mutex(Known(writesEvents: outbox == .wal))
        streams = EventStreams(keys: broker.keys, shardCount: overrideList.shardCount, lengthMax: eventsLengthMax)
        machine = Mutex(TailerMachine(settings: settings, shardCount: overrideList.shardCount))
    }

    /// Whether any event was sent to the broker.
    package var hasPublished: Bool { machine.withLock { $0.hasPublished } }
    package var state: TailerMachine.State { machine.withLock { $0.state } }
    package var slotName: String { slot.name }
    /// The slot as this node last saw it; nil: not yet, or there is none.
    package var slotSeen: TailerMachine.Inspection.Slot? { latestInspection.withLock { $0 } }

    /// Runs until its task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            change { $0.tick(nowMs: $1) }
            endIfUnread()
            try? await Task.sleep(for: .milliseconds(Self.tickMs))
        }
        change { machine, _ in machine.stop() }
        // An opening may have been performed after that.
        endIfUnread()
    }

    /// Ends a stream that was opened after the machine had closed it.
    private func endIfUnread() {
        guard machine.withLock({ $0.readingID }) == nil else { return }
        let stream = reading.withLock { reading in
            defer { reading = nil }
            return reading?.stream
        }
        stream?.stop()
    }

    // MARK: Facts

    private func change(_ body: (inout TailerMachine, _ nowMs: Int64) -> [TailerMachine.Effect]) {
        let knowledge = knowledge
        let nowMs = overrideList.nowMs()
        let effects = machine.withLock { machine in
            machine.follow(knowledge, nowMs: nowMs) + body(&machine, nowMs)
        }
        for effect in effects { perform(effect) }
    }

    private var knowledge: TailerMachine.Knowledge? {
        let snapshot = catalogs.snapshot
        return known.withLock { known in
            if known.snapshot !== snapshot { known.remember(snapshot) }
            return known.knowledge
        }
    }

    private var rules: TailerMachine.Rules {
        let snapshot = catalogs.snapshot
        return TailerMachine.Rules(captured: snapshot.set.captured, publishing: snapshot)
    }

    // MARK: Effects

    private func perform(_ effect: TailerMachine.Effect) {
        switch effect {
        case .inspect(let call): Task { await inspect(call) }
        case .terminate(let call, let pid):
            Task {
                let answer = await attempt { try await slot.terminate(pid: pid) }
                change { $0.stepEnded(call, answer, nowMs: $1) }
            }
        case .create(let call, let seen):
            Task {
                let answer = await attempt { try await slot.create(incarnation: makeUUID(), seen: seen) }
                change { $0.stepEnded(call, answer, nowMs: $1) }
            }
        case .open(let id): open(id)
        case .close(let id): withStream(id, andForget: true) { $0.stop() }
        case .sign(let incarnation): Task { await attempt { try await slot.sign(incarnation: incarnation) } }
        case .setReading(let id, let isReading):
            endOthers(than: id)
            withStream(id) { $0.setReading(isReading) }
        case .confirm(let id, let position): withStream(id) { $0.confirm(position) }
        case .check(let call, let xids, let loadedDeployment, let asksOpen):
            Task {
                let answer = await attempt {
                    try await slot.check(xids, loadedDeployment: loadedDeployment, asksOpen: asksOpen)
                }
                let (overrides, rules) = (overrideList.overrides, rules)
                change { $0.checked(call, answer, overrides, rules: rules, nowMs: $1) }
            }
        case .wait(let call, let ms):
            Task {
                try? await Task.sleep(for: .milliseconds(ms))
                change { $0.checkDue(call, nowMs: $1) }
            }
        case .loadDeployments(let call):
            Task {
                await loadCatalogs()
                // Another node may not have announced it completely yet.
                try? await Task.sleep(for: .milliseconds(Self.tickMs))
                change { $0.checkDue(call, nowMs: $1) }
            }
        case .append(let call, let publications):
            broker.append(streams.appends(of: publications)) { [self] answer in
                if let recorder, recorder.awaitsPublication, case .success = answer {
                    for publication in publications { recorder.published(publication.row.id, to: publication.shards) }
                }
                change { $0.appended(call, answer.map { _ in }.mapError { StepFailure("\($0)") }, nowMs: $1) }
            }
        case .confirmOverrides(let call):
            Task {
                let answer = await attempt { try await overrideList.confirmed() }
                let rules = rules
                change { $0.overridesConfirmed(call, answer, rules: rules, nowMs: $1) }
            }
        case .record(let call, let incarnation, let record, let published):
            Task {
                let answer = await attempt {
                    try await slot.record(record, incarnation: incarnation, published: published)
                }
                change { $0.recorded(call, answer, nowMs: $1) }
            }
        case .report(let report): note(report)
        }
    }

    private func inspect(_ call: TailerMachine.CallID) async {
        let tables = catalogs.snapshot.set.captured?.tableNames ?? []
        let answer = await attempt { try await slot.inspect(tables) }
        if case .success(let found) = answer {
            known.withLock { known in
                guard known.layout != found.1 else { return }
                known.layout = found.1
                known.snapshot = nil
            }
        }
        change { $0.inspected(call, answer.map(\.0), nowMs: $1) }
    }

    private func open(_ id: TailerMachine.CallID) {
        let stream = ReplicationStream(
            configuration, slot: slot.name, publications: [ChangePublications.changes, ChangePublications.outbox],
            settings: streamSettings,
            handlers: .init(
                messages: { [weak self] messages in self?.change { $0.received(id, messages, nowMs: $1) } },
                reached: { [weak self] position in self?.change { $0.reached(id, position, nowMs: $1) } },
                ended: { [weak self] error in
                    // A publication that is younger than the slot's position does not exist there.
                    let isUnusable = error.sqlState == "42704"
                    self?.change { $0.ended(id, error.sentence, isUnusable: isUnusable, nowMs: $1) }
                }))
        let former = reading.withLock { reading in
            defer { reading = (id, stream) }
            return reading
        }
        former?.stream.stop()
        stream.start()
    }

    /// Ends a reading that the machine does not know any more.
    private func endOthers(than id: TailerMachine.CallID) {
        let other = reading.withLock { reading -> ReplicationStream? in
            guard let current = reading, current.id < id else { return nil }
            reading = nil
            return current.stream
        }
        other?.stop()
    }

    private func withStream(
        _ id: TailerMachine.CallID, andForget forgets: Bool = false, _ body: (ReplicationStream) -> Void
    ) {
        let found = reading.withLock { reading -> ReplicationStream? in
            guard let current = reading, current.id == id else { return nil }
            if forgets { reading = nil }
            return current.stream
        }
        if let found { body(found) }
    }

    @discardableResult
    private func attempt<Value>(_ body: () async throws -> Value) async -> Result<Value, StepFailure> {
        do {
            return .success(try await body())
        } catch let error as PostgresError {
            return .failure(StepFailure(error.sentence))
        } catch {
            return .failure(StepFailure("\(error)"))
        }
    }
}

extension ChangeTailer.Known {
    fileprivate mutating func remember(_ snapshot: ServedCatalogs.Snapshot) {
        self.snapshot = snapshot
        number += 1
        let captured = snapshot.set.captured
        knowledge = TailerMachine.Knowledge(
            number: number, loadedDeployment: snapshot.loadedDeployment,
            tables: CapturedTables(
                namespace: layout.namespace, tables: captured?.tables ?? [],
                recordedFields: captured?.recordedFields ?? [:], partitioned: layout.partitioned,
                derived: layout.derived),
            heedsMutations: captured?.heedsMutations ?? true, readsChanges: captured != nil,
            writesEvents: writesEvents)
    }
}

extension CapturedReads: CapturingRules {}
