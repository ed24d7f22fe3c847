import ChangeCapture
import JSON
import LiveModel
import RoleMachines
import SchemaModel
import SeededRandom
import Sharding
import Testing

/// A machine with the facts and answers of a test.
private final class Tailer {
    typealias Machine = TailerMachine

    struct Rules: CapturingRules {
        var readers: [String: [OperationReference]]

        func queries(reading tables: Set<String>) -> [OperationReference] {
            tables.flatMap { readers[$0] ?? [] }.sorted()
        }

        var all: [OperationReference] { Set(readers.values.flatMap(\.self)).sorted() }
    }

    static let bids = OperationReference(connector: "c", operation: "Bids")
    static let lots = OperationReference(connector: "c", operation: "Lots")
    static let shardCount = 64

    var machine: Machine
    var nowMs: Int64 = 1_000
    var rules = Rules(readers: ["bid": [bids], "lot": [lots]])
    var overrides = ClusterOverrides()
    private var number = 0

    private var allRules: Machine.Rules {
        .init(captured: readsChanges ? rules : nil, publishing: published)
    }
    var published = PublisherFixture.Rules()
    private var readsChanges = true

    init(_ settings: Machine.Settings = .init(), tables: [String] = ["bid", "lot"], heedsMutations: Bool = true) {
        machine = Machine(settings: settings, shardCount: Self.shardCount)
        follow(tables, heedsMutations: heedsMutations)
    }

    func follow(
        _ tables: [String], deployment: Int64 = 1, heedsMutations: Bool = true, readsChanges: Bool = true,
        writesEvents: Bool = false
    ) {
        number += 1
        self.readsChanges = readsChanges
        let captured = CapturedTables(
            namespace: "public", tables: tables.map(Self.table),
            recordedFields: Dictionary(uniqueKeysWithValues: tables.map { ($0, RecordedFields(compared: ["id"])) }))
        _ = machine.follow(
            .init(
                number: number, loadedDeployment: deployment, tables: captured, heedsMutations: heedsMutations,
                readsChanges: readsChanges, writesEvents: writesEvents), nowMs: nowMs)
    }

    private static func table(_ name: String) -> Table {
        Table(
            typeName: name, name: name, singular: name, plural: name + "s",
            columns: [Column(field: "id", name: "id", type: ColumnType(.string), isNullable: false)], key: ["id"])
    }

    static func inspection(
        _ slot: Machine.Inspection.Slot?, recorded: UInt64? = 0, obstacle: String? = nil, unpublished: [String] = [],
        known: Set<String> = ["bid", "lot"], publications: String = "1,2", oldestOpen: UInt64 = 1_000,
        carriesEvents: Bool = false
    ) -> Machine.Inspection {
        .init(
            obstacle: obstacle, slot: slot,
            record: recorded.map {
                .init(
                    incarnation: "i", confirmable: $0, published: known, publications: "1,2",
                    carriesEvents: carriesEvents)
            }, published: Set(["bid", "lot"]).subtracting(unpublished), unpublished: unpublished,
            publications: publications, oldestOpen: oldestOpen)
    }

    static func slot(
        confirmed: UInt64, reader: Machine.Inspection.Reader? = nil, health: Machine.Inspection.Slot.Health = .ok
    ) -> Machine.Inspection.Slot {
        .init(health: health, reader: reader, confirmed: confirmed, retainedBytes: 0)
    }

    func tick(afterMs: Int64 = 0) -> [Machine.Effect] {
        nowMs += afterMs
        return machine.tick(nowMs: nowMs)
    }

    func inspected(_ call: Machine.CallID, _ inspection: Machine.Inspection) -> [Machine.Effect] {
        machine.inspected(call, .success(inspection), nowMs: nowMs)
    }

    func stepEnded(_ call: Machine.CallID) -> [Machine.Effect] { machine.stepEnded(call, .success(()), nowMs: nowMs) }
    func checkDue(_ call: Machine.CallID) -> [Machine.Effect] { machine.checkDue(call, nowMs: nowMs) }
    func reached(_ id: Machine.CallID, _ position: UInt64) -> [Machine.Effect] {
        machine.reached(id, position, nowMs: nowMs)
    }
    func ended(_ id: Machine.CallID, isUnusable: Bool = false) -> [Machine.Effect] {
        machine.ended(id, "closed", isUnusable: isUnusable, nowMs: nowMs)
    }
    func recorded(_ call: Machine.CallID, _ answer: Result<Bool, StepFailure> = .success(true)) -> [Machine.Effect] {
        machine.recorded(call, answer, nowMs: nowMs)
    }

    /// Answers the inspection that a wait has caused.
    func answerInspection(oldestOpen: UInt64) {
        let answer = Self.inspection(Self.slot(confirmed: 10), recorded: 10, oldestOpen: oldestOpen)
        for call in pendingInspections { _ = inspected(call, answer) }
        pendingInspections = []
    }
    private var pendingInspections: [Machine.CallID] = []

    /// Looks at the slot.
    func inspect(_ inspection: Machine.Inspection) throws -> [Machine.Effect] {
        let call = try #require(machine.tick(nowMs: nowMs).inspection)
        return machine.inspected(call, .success(inspection), nowMs: nowMs)
    }

    /// Begins to read a slot of which everything is recorded.
    func open(unpublished: [String] = []) throws -> Machine.CallID {
        let effects = try inspect(
            Self.inspection(
                Self.slot(confirmed: 10), recorded: 10, unpublished: unpublished,
                known: Set(["bid", "lot"]).subtracting(unpublished)))
        return try #require(effects.opened)
    }

    func receive(_ id: Machine.CallID, _ messages: [[UInt8]]) -> [Machine.Effect] {
        machine.received(id, messages, nowMs: nowMs)
    }

    func checked(
        _ effects: [Machine.Effect], visible: Bool = true, behind: Bool = false,
        open: Machine.Check.Open? = nil
    ) throws -> [Machine.Effect] {
        let (call, _) = try #require(effects.check)
        return machine.checked(
            call, .success(.init(areVisible: visible, isBehindDeployments: behind, open: open)), overrides,
            rules: allRules,
            nowMs: nowMs)
    }

    func appended(_ effects: [Machine.Effect], fails: Bool = false) throws -> [Machine.Effect] {
        let (call, _) = try #require(effects.append)
        return machine.appended(call, fails ? .failure(StepFailure("away")) : .success(()), nowMs: nowMs)
    }

    func confirmed(_ effects: [Machine.Effect]) throws -> [Machine.Effect] {
        let call = try #require(effects.overrides)
        return machine.overridesConfirmed(call, .success(overrides), rules: allRules, nowMs: nowMs)
    }

    /// Publishes what the check in `effects` is about; returns the publications and what follows.
    func publish(
        _ effects: [Machine.Effect], open: Machine.Check.Open? = nil
    ) throws -> ([Publication], [Machine.Effect]) {
        let append = try checked(effects, open: open)
        let publications = try #require(append.append).1
        let confirm = try appended(append)
        return (publications, try confirmed(confirm))
    }

    /// Returns the position that is recorded, after enough time.
    func record() -> (Machine.CallID, UInt64)? {
        nowMs += 100_000
        let effects = machine.tick(nowMs: nowMs)
        if let call = effects.inspection { pendingInspections.append(call) }
        return effects.record
    }

    static func shards(_ query: OperationReference) -> [ShardID] {
        ShardRouting.shards(of: [query], shardCount: shardCount, overrides: ClusterOverrides(), nowMs: 0).sorted()
    }
}

extension [TailerMachine.Effect] {
    fileprivate func first<Value>(_ find: (TailerMachine.Effect) -> Value?) -> Value? { lazy.compactMap(find).first }

    fileprivate var inspection: TailerMachine.CallID? {
        first { if case .inspect(let call) = $0 { call } else { nil } }
    }
    fileprivate var creation: TailerMachine.CallID? {
        first { if case .create(let call, _) = $0 { call } else { nil } }
    }
    fileprivate var opened: TailerMachine.CallID? { first { if case .open(let id) = $0 { id } else { nil } } }
    fileprivate var closed: TailerMachine.CallID? { first { if case .close(let id) = $0 { id } else { nil } } }
    fileprivate var check: (TailerMachine.CallID, [UInt32])? {
        first { if case .check(let call, let xids, _, _) = $0 { (call, xids) } else { nil } }
    }
    fileprivate var append: (TailerMachine.CallID, [Publication])? {
        first { if case .append(let call, let publications) = $0 { (call, publications) } else { nil } }
    }
    fileprivate var overrides: TailerMachine.CallID? {
        first { if case .confirmOverrides(let call) = $0 { call } else { nil } }
    }
    fileprivate var record: (TailerMachine.CallID, UInt64)? {
        first { if case .record(let call, _, let record, _) = $0 { (call, record.position) } else { nil } }
    }
    fileprivate var wait: (TailerMachine.CallID, Int64)? {
        first { if case .wait(let call, let ms) = $0 { (call, ms) } else { nil } }
    }
    fileprivate var loading: TailerMachine.CallID? {
        first { if case .loadDeployments(let call) = $0 { call } else { nil } }
    }
    fileprivate var confirmation: UInt64? { first { if case .confirm(_, let position) = $0 { position } else { nil } } }
    fileprivate var isReading: Bool? { first { if case .setReading(_, let reads) = $0 { reads } else { nil } } }
    fileprivate var terminated: Int? { first { if case .terminate(_, let pid) = $0 { pid } else { nil } } }
    fileprivate var state: TailerMachine.State? {
        first { if case .report(.state(let state)) = $0 { state } else { nil } }
    }
}

extension Publication {
    fileprivate func event() throws -> MutationEvent { try MutationEvent(encoded: row.event) }
}

@Suite struct TailerMachineTests {
    private static let bidRelation = LogBytes.relation(2, "bid")
    private static let lotRelation = LogBytes.relation(3, "lot")
    private static let outbox = LogBytes.relation(LogBytes.outboxRelation, "outbox", namespace: "freshet")

    private static func bid(_ value: String) -> RowChange {
        RowChange(table: "bid", before: nil, after: ["id": .string(value)])
    }

    // MARK: The slot

    @Test func aMissingSlotIsCreatedAndEverythingRunsOnceMore() throws {
        for slot in [nil, Tailer.slot(confirmed: 5, health: .lost)] {
            let tailer = Tailer()
            let call = try #require(try tailer.inspect(Tailer.inspection(slot, recorded: 5)).creation)
            let again = tailer.stepEnded(call)
            let effects = tailer.inspected(
                try #require(again.inspection), Tailer.inspection(Tailer.slot(confirmed: 90)))
            #expect(effects.opened != nil)
            let (publications, _) = try tailer.publish(effects)
            #expect(publications.map(\.shards) == [(Tailer.shards(Tailer.bids) + Tailer.shards(Tailer.lots)).sorted()])
            #expect(try publications[0].event().isDoubt)
            // Only then is the position recorded, so that a node that dies before it says so again.
            let (record, position) = try #require(tailer.record())
            #expect(position == 90)
            #expect(tailer.recorded(record).confirmation == 90)
        }
    }

    @Test func aSlotThatIsReadOnTellsNoDoubt() throws {
        let tailer = Tailer()
        let effects = try tailer.inspect(Tailer.inspection(Tailer.slot(confirmed: 7), recorded: 9))
        #expect(effects.opened != nil && effects.check == nil)
        #expect(effects.state == .reading(unpublished: []))
    }

    @Test func anotherReaderIsLeftAloneUntilItFallsSilent() throws {
        let tailer = Tailer()
        let busy = Tailer.slot(confirmed: 1, reader: .init(pid: 42, silentMs: 900))
        #expect(try tailer.inspect(Tailer.inspection(busy)).state == .standby(pid: 42))
        #expect(tailer.tick().isEmpty)
        tailer.nowMs += tailer.machine.settings.standbyMs
        let silent = Tailer.slot(confirmed: 1, reader: .init(pid: 42, silentMs: tailer.machine.settings.silenceMs + 1))
        #expect(try tailer.inspect(Tailer.inspection(silent)).terminated == 42)
    }

    @Test func anObstacleIsToldOnceAndTriedAgainAfterGrowingPauses() throws {
        let tailer = Tailer()
        for (attempt, pause) in ([500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000] as [Int64]).enumerated() {
            let effects = try tailer.inspect(Tailer.inspection(nil, obstacle: "wal_level is replica"))
            #expect(effects.state == (attempt == 0 ? .failing(reason: "wal_level is replica") : nil))
            #expect(tailer.tick(afterMs: pause - 1).isEmpty)
            tailer.nowMs += 1
        }
    }

    @Test func aSlotThatIsOlderThanThePublicationIsCreatedAnew() throws {
        let tailer = Tailer()
        let id = try tailer.open()
        _ = tailer.ended(id, isUnusable: true)
        tailer.nowMs += 10_000
        #expect(try tailer.inspect(Tailer.inspection(Tailer.slot(confirmed: 10), recorded: 10)).creation != nil)
    }

    @Test func withoutAQueryThatNeedsItNothingIsRead() throws {
        let tailer = Tailer()
        let id = try tailer.open()
        #expect(tailer.machine.follow(nil, nowMs: tailer.nowMs).closed == id)
        #expect(tailer.tick(afterMs: 100_000).isEmpty)
    }

    // MARK: Events of mutations

    private static func event(_ id: String, _ shards: [ShardID] = []) -> OutboxRow {
        OutboxRow(id: id, shards: shards, event: PublisherFixture.row(id).event)
    }

    private static func logged(xid: UInt32, end: UInt64, _ rows: [OutboxRow], isMark: Bool = false) -> [[UInt8]] {
        LogBytes.transaction(
            xid: xid, end: end,
            messages: rows.map { ("freshet.event", $0.logHead + $0.event) } + (isMark ? [("freshet.mark", [])] : []))
    }

    @Test func anEventInTheLogIsPublishedForTheShardsOfItsRowAndOfTheCatalogs() throws {
        let tailer = Tailer()
        let id = try tailer.open()
        let row = Self.event("e1", [ShardID(63)])
        let (publications, _) = try tailer.publish(tailer.receive(id, Self.logged(xid: 7, end: 100, [row])))
        let expected = Set(Tailer.shards(PublisherFixture.first) + [ShardID(63)]).sorted()
        #expect(publications.map(\.row) == [row] && publications.map(\.shards) == [expected])
        #expect(tailer.record()?.1 == 100)
    }

    /// The log is read for events alone where the record or the node's own settings ask for it.
    @Test func theLogIsReadForEventsAlone() throws {
        let tailer = Tailer()
        tailer.follow([], readsChanges: false)
        let slot = Tailer.slot(confirmed: 10)
        #expect(try tailer.inspect(Tailer.inspection(slot, recorded: 10)).state == .idle)
        tailer.nowMs += tailer.machine.settings.inspectMs
        let effects = try tailer.inspect(Tailer.inspection(slot, recorded: 10, carriesEvents: true))
        let id = try #require(effects.opened)
        let (publications, _) = try tailer.publish(
            tailer.receive(id, Self.logged(xid: 7, end: 100, [Self.event("e1")])))
        #expect(publications.map(\.row.id) == ["e1"])
        let own = Tailer()
        own.follow([], readsChanges: false, writesEvents: true)
        #expect(try own.inspect(Tailer.inspection(slot, recorded: 10)).opened != nil)
    }

    /// A new slot lacks the events of before: every live query runs once more, also those that read no changes.
    @Test func aNewSlotMakesEveryLiveQueryRunIfItCarriesEvents() throws {
        for carriesEvents in [false, true] {
            let tailer = Tailer()
            let effects = try tailer.inspect(
                Tailer.inspection(Tailer.slot(confirmed: 90), carriesEvents: carriesEvents))
            let (publications, _) = try tailer.publish(effects)
            let whole = publications.filter { (try? $0.event()) == nil }
            #expect(whole.map(\.shards) == (carriesEvents ? [ShardID.all(count: Tailer.shardCount)] : []))
        }
    }

    @Test func aMarkDoesNotWaitForTheNextRecord() throws {
        let tailer = Tailer()
        let id = try tailer.open()
        // Behind an event that is not published yet, and alone.
        let effects = tailer.receive(
            id, Self.logged(xid: 7, end: 100, [Self.event("e1")]) + Self.logged(xid: 8, end: 120, [], isMark: true))
        #expect(effects.record == nil)
        let (_, after) = try tailer.publish(effects)
        let (record, position) = try #require(after.record)
        #expect(position == 120)
        // A mark that comes meanwhile has a record of its own.
        #expect(tailer.receive(id, Self.logged(xid: 9, end: 140, [], isMark: true)).record == nil)
        let next = tailer.recorded(record)
        #expect(next.confirmation == 120 && next.record?.1 == 140)
        #expect(tailer.recorded(try #require(next.record).0).record == nil)
    }

    /// A transaction that is open for long keeps the position from being confirmed, and waits from nothing.
    @Test func aMarkIsToldWhileChangesAreUnsettled() throws {
        let tailer = Tailer()
        let effects = try tailer.inspect(Tailer.inspection(Tailer.slot(confirmed: 90)))
        let id = try #require(effects.opened)
        _ = try tailer.publish(effects, open: .init(newest: 50, oldest: 40))
        #expect(tailer.record() == nil)
        let marked = tailer.receive(id, Self.logged(xid: 8, end: 120, [], isMark: true))
        let (record, position) = try #require(marked.record)
        #expect(position == 120)
        #expect(tailer.recorded(record).confirmation == nil)
        #expect(tailer.record() == nil)
    }

    /// A failed look says nothing where nobody needs the log.
    @Test func aNodeThatNeedsNoLogStaysIdle() throws {
        let tailer = Tailer()
        tailer.follow([], readsChanges: false)
        let call = try #require(tailer.tick().inspection)
        let effects = tailer.machine.inspected(call, .failure(StepFailure("away")), nowMs: tailer.nowMs)
        #expect(effects.state == .idle)
        #expect(tailer.tick(afterMs: tailer.machine.settings.inspectMs - 1).isEmpty)
    }

    @Test func eventsThatTakeTooMuchRoomPauseTheReading() throws {
        var settings = TailerMachine.Settings()
        settings.queuedBytesMax = 1_000
        let tailer = Tailer(settings)
        let id = try tailer.open()
        let first = tailer.receive(id, Self.logged(xid: 7, end: 100, [Self.event("e1")]))
        var last: [TailerMachine.Effect] = []
        for number in 0..<20 as Range<UInt32> where last.isReading == nil {
            last = tailer.receive(
                id, Self.logged(xid: 8 + number, end: 101 + UInt64(number), [Self.event("e\(number)")]))
        }
        #expect(last.isReading == false)
        let (_, resumed) = try tailer.publish(first)
        let (_, done) = try tailer.publish(resumed)
        #expect((resumed + done).isReading == true)
    }

    // MARK: Publishing

    @Test func aTransactionIsPublishedThenRecordedThenConfirmed() throws {
        let tailer = Tailer()
        let id = try tailer.open()
        let effects = tailer.receive(
            id, [Self.bidRelation] + LogBytes.transaction(xid: 7, end: 100, 2, "a"))
        #expect(effects.check?.1 == [7])
        #expect(tailer.record() == nil)
        let append = try tailer.checked(effects)
        let publication = try #require(append.append?.1.first)
        #expect(publication.shards == Tailer.shards(Tailer.bids))
        #expect(try publication.event().rows?.all == [Self.bid("a")])
        let confirm = try tailer.appended(append)
        #expect(tailer.record() == nil)
        _ = try tailer.confirmed(confirm)
        let (record, position) = try #require(tailer.record())
        #expect(position == 100)
        // Nothing is confirmed that is not recorded.
        #expect(tailer.recorded(record, .failure(StepFailure("away"))).isEmpty)
        let (repeated, _) = try #require(tailer.record())
        #expect(tailer.recorded(repeated).confirmation == 100)
        #expect(tailer.record() == nil)
    }

    @Test func invisibleTransactionsAreNotPublished() throws {
        let tailer = Tailer()
        let id = try tailer.open()
        var effects = tailer.receive(id, [Self.bidRelation] + LogBytes.transaction(xid: 7, end: 100, 2, "a"))
        for pause in [1, 2, 4, 8, 16, 32, 64, 100, 100] as [Int64] {
            let (call, ms) = try #require(try tailer.checked(effects, visible: false).wait)
            #expect(ms == pause)
            effects = tailer.checkDue(call)
        }
        #expect(try tailer.publish(effects).0.count == 1)
    }

    @Test func aDeploymentThatIsNotLoadedIsLoadedFirst() throws {
        let tailer = Tailer(tables: ["bid"])
        let id = try tailer.open()
        let effects = tailer.receive(id, [Self.bidRelation] + LogBytes.transaction(xid: 7, end: 100, 2, "a"))
        let call = try #require(try tailer.checked(effects, behind: true).loading)
        tailer.follow(["bid", "lot"], deployment: 2)
        let again = tailer.checkDue(call)
        let (_, next) = try tailer.publish(again)
        // What was read before may have lacked the new table.
        let rows = try #require(try tailer.publish(next).0.first).event().rows
        #expect(rows?.all == [.anything(in: "lot")])
    }

    /// Events of mutations do not wait for a deployment that no node can load.
    @Test func eventsAreAppendedBeforeADeploymentIsLoaded() throws {
        let tailer = Tailer()
        let id = try tailer.open()
        let effects = tailer.receive(id, Self.logged(xid: 7, end: 100, [Self.event("e1")]))
        let early = try tailer.checked(effects, behind: true)
        #expect(early.append?.1.map(\.shards) == [Tailer.shards(PublisherFixture.first)])
        let call = try #require(try tailer.appended(early).loading)
        #expect(tailer.record() == nil)
        // The deployment adds shards.
        tailer.published.loadedDeployment = 2
        let later = try tailer.checked(tailer.checkDue(call))
        #expect(later.append?.1.map(\.shards) == [Tailer.shards(PublisherFixture.second)])
        _ = try tailer.confirmed(try tailer.appended(later))
        #expect(tailer.record()?.1 == 100)
    }

    @Test func aNodeThatCannotLoadADeploymentLeavesTheSlot() throws {
        let tailer = Tailer()
        let id = try tailer.open()
        var effects = tailer.receive(id, [Self.bidRelation] + LogBytes.transaction(xid: 7, end: 100, 2, "a"))
        while true {
            let next = try tailer.checked(effects, behind: true)
            guard let call = next.loading else {
                #expect(next.closed == id)
                break
            }
            tailer.nowMs += 1_000
            effects = tailer.checkDue(call)
        }
        #expect(tailer.record() == nil)
    }

    @Test func shardsThatASplitAddsReceiveTheEventToo() throws {
        let tailer = Tailer()
        let id = try tailer.open()
        let effects = tailer.receive(id, [Self.bidRelation] + LogBytes.transaction(xid: 7, end: 100, 2, "a"))
        let append = try tailer.checked(effects)
        let confirm = try tailer.appended(append)
        tailer.overrides = ClusterOverrides(generation: 2, fields: ["splits:c/Bids": (version: 2, value: "4 1 0")])
        let split = ShardRouting.shards(
            of: [Tailer.bids], shardCount: Tailer.shardCount, overrides: tailer.overrides, nowMs: tailer.nowMs)
        #expect(split.count > 1)
        let added = try tailer.confirmed(confirm)
        let shards = Set(try #require(added.append).1.flatMap(\.shards))
        #expect(shards == Set(split).subtracting(Tailer.shards(Tailer.bids)))
        #expect(tailer.record() == nil)
        _ = try tailer.appended(added)
        #expect(tailer.record()?.1 == 100)
    }

    @Test func aFailedAppendEndsTheReadingAndConfirmsNothing() throws {
        let tailer = Tailer()
        let id = try tailer.open()
        let effects = tailer.receive(id, [Self.bidRelation] + LogBytes.transaction(xid: 7, end: 100, 2, "a"))
        let (call, pause) = try #require(try tailer.appended(try tailer.checked(effects), fails: true).wait)
        #expect(pause == 20)
        #expect(tailer.record() == nil)
        // Another node may have more luck.
        #expect(tailer.nowMs > tailer.machine.settings.appendingMaxMs)
        let again = tailer.checkDue(call)
        #expect(try tailer.appended(try tailer.checked(again), fails: true).closed == id)
        #expect(tailer.receive(id, LogBytes.transaction(xid: 8, end: 200, 2, "b")).isEmpty)
        #expect(tailer.ended(id).isEmpty)
        tailer.nowMs += 1_000
        #expect(tailer.tick().inspection != nil)
    }

    @Test func transactionsThatComeTogetherArePublishedTogether() throws {
        let tailer = Tailer()
        let id = try tailer.open()
        let first = tailer.receive(id, [Self.bidRelation] + LogBytes.transaction(xid: 7, end: 100, 2, "a"))
        for number in 0..<300 {
            let effects = tailer.receive(
                id, LogBytes.transaction(xid: UInt32(8 + number), end: UInt64(200 + number), 2, "\(number)"))
            #expect(effects.check == nil)
        }
        let (_, next) = try tailer.publish(first)
        #expect(next.check?.1.count == 300)
        let (publications, _) = try tailer.publish(next)
        // No event loses details of its changes.
        #expect(try publications.map { try $0.event().rows?.all.count } == [256, 44])
        #expect(tailer.record()?.1 == 499)
    }

    @Test func tooMuchThatWaitsStopsTheReading() throws {
        var settings = TailerMachine.Settings()
        (settings.queueMax, settings.batchMax) = (4, 2)
        let tailer = Tailer(settings)
        let id = try tailer.open()
        let first = tailer.receive(id, [Self.bidRelation] + LogBytes.transaction(xid: 1, end: 101, 2, "x"))
        for number in 2..<6 as Range<UInt32> {
            let more = tailer.receive(id, LogBytes.transaction(xid: number, end: UInt64(100 + number), 2, "x"))
            #expect(more.isReading == (number == 5 ? false : nil))
        }
        let (_, second) = try tailer.publish(first)
        #expect(second.isReading == nil)
        #expect(try tailer.publish(second).1.isReading == true)
    }

    // MARK: Own mutations

    private static func outboxEvent(_ rows: RowChanges?) -> String {
        let event = MutationEvent(
            id: "e", operation: .init(connector: "c", operation: "Place"), variables: JSONObject(), auth: .null,
            keysWritten: [], rows: rows, traceID: "t", committedAtMs: 1)
        return String(decoding: event.encoded, as: UTF8.self)
    }

    private static func mutation(_ rows: RowChanges?) -> [[UInt8]] {
        [
            bidRelation, outbox, LogBytes.begin(xid: 9), LogBytes.insert(2, "a"), LogBytes.insert(2, "b"),
            LogBytes.insert(LogBytes.outboxRelation, outboxEvent(rows)), LogBytes.commit(end: 300),
        ]
    }

    @Test func changesThatAnEventTellsAreNotRepeated() throws {
        let tailer = Tailer()
        let id = try tailer.open()
        #expect(tailer.receive(id, Self.mutation(RowChanges([Self.bid("a"), Self.bid("b")]))).check == nil)
        _ = tailer.reached(id, 400)
        // Nothing was published, so the position is recorded only once the log has grown.
        #expect(tailer.record() == nil)
        _ = tailer.reached(id, 400 + tailer.machine.settings.idleConfirmBytes)
        #expect(tailer.record()?.1 == 400 + tailer.machine.settings.idleConfirmBytes)
    }

    @Test func changesOfATriggerBesideAMutationArePublished() throws {
        let tailer = Tailer()
        let id = try tailer.open()
        let effects = tailer.receive(id, Self.mutation(RowChanges([Self.bid("a")])))
        #expect(try tailer.publish(effects).0.first?.event().rows?.all == [Self.bid("b")])
    }

    @Test func anEventThatTellsNothingCoversNothing() throws {
        for (rows, heeds) in [(nil, true), (RowChanges([Self.bid("a"), Self.bid("b")]), false)] {
            let tailer = Tailer(heedsMutations: heeds)
            let id = try tailer.open()
            let effects = tailer.receive(id, Self.mutation(rows))
            #expect(try tailer.publish(effects).0.first?.event().rows?.all == [Self.bid("a"), Self.bid("b")])
        }
    }

    // MARK: What the queries read

    @Test func tablesThatAreReadFromNowOnMayHaveChangedBefore() throws {
        let tailer = Tailer(tables: ["bid"])
        let id = try tailer.open()
        #expect(tailer.receive(id, [Self.bidRelation, Self.lotRelation, LogBytes.begin(xid: 7)]).isEmpty)
        #expect(tailer.receive(id, [LogBytes.insert(3, "unread")]).isEmpty)
        tailer.follow(["bid", "lot"])
        let now = tailer.receive(id, [])
        let (first, _) = try tailer.publish(now)
        #expect(try first[0].event().rows?.all == [.anything(in: "lot")])
        // The transaction that was open then has it again, when it is visible.
        let effects = tailer.receive(id, [LogBytes.commit(end: 100)])
        #expect(effects.check?.1 == [7])
        #expect(try tailer.publish(effects).0[0].event().rows?.all == [.anything(in: "lot")])
        #expect(tailer.receive(id, LogBytes.transaction(xid: 8, end: 200, 3, "read")).check != nil)
    }

    @Test func aTableThatIsPublishedAtLastMayHaveChangedBefore() throws {
        let tailer = Tailer()
        _ = try tailer.open(unpublished: ["lot"])
        tailer.nowMs += tailer.machine.settings.inspectMs
        let call = try #require(tailer.tick().inspection)
        let effects = tailer.inspected(call, Tailer.inspection(Tailer.slot(confirmed: 10), recorded: 10))
        #expect(effects.state == .reading(unpublished: []))
        #expect(try tailer.publish(effects).0[0].event().rows?.all == [.anything(in: "lot")])
    }

    /// A node dies between the publication of a table and the event about it; the next one knows from the record.
    @Test func aTableThatWasPublishedBetweenTwoReadingsMayHaveChanged() throws {
        let tailer = Tailer()
        let effects = try tailer.inspect(
            Tailer.inspection(Tailer.slot(confirmed: 10), recorded: 10, known: ["bid"]))
        #expect(try tailer.publish(effects).0[0].event().rows?.all == [.anything(in: "lot")])
        #expect(tailer.record()?.1 == 10)
    }

    /// A transaction may have written to a table before it was published, and commit later: the log lacks it.
    @Test func changesUnseenAreToldAgainWhenOpenTransactionsHaveEnded() throws {
        let tailer = Tailer()
        let effects = try tailer.inspect(
            Tailer.inspection(Tailer.slot(confirmed: 10), recorded: 10, known: ["bid"]))
        _ = try tailer.publish(effects, open: .init(newest: 70, oldest: 60))
        func look(_ oldestOpen: UInt64) throws -> [TailerMachine.Effect] {
            let call = try #require(tailer.tick(afterMs: tailer.machine.settings.inspectMs).inspection)
            return tailer.inspected(
                call, Tailer.inspection(Tailer.slot(confirmed: 10), recorded: 10, oldestOpen: oldestOpen))
        }
        #expect(try look(70).check == nil)
        #expect(tailer.record() == nil)
        tailer.answerInspection(oldestOpen: 70)
        let again = try tailer.publish(try look(71), open: .init(newest: 90, oldest: 80)).0
        #expect(try again[0].event().rows?.all == [.anything(in: "lot")])
        // That was the last time.
        #expect(tailer.record()?.1 == 10)
    }

    @Test func publicationsThatWereMadeAgainNeedANewSlot() throws {
        let tailer = Tailer()
        let effects = try tailer.inspect(
            Tailer.inspection(Tailer.slot(confirmed: 10), recorded: 10, publications: "3,4"))
        #expect(effects.creation != nil)
        let reading = Tailer()
        let id = try reading.open()
        let call = try #require(reading.tick(afterMs: reading.machine.settings.inspectMs).inspection)
        let seen = reading.inspected(
            call, Tailer.inspection(Tailer.slot(confirmed: 10), recorded: 10, publications: "3,4"))
        #expect(seen.closed == id)
    }

    @Test func aRecordThatCannotBeWrittenEndsTheReading() throws {
        let tailer = Tailer()
        let id = try tailer.open()
        _ = try tailer.publish(
            tailer.receive(id, [Self.bidRelation] + LogBytes.transaction(xid: 7, end: 100, 2, "a")))
        for attempt in 1...tailer.machine.settings.recordFailuresMax {
            let (call, _) = try #require(tailer.record())
            let effects = tailer.recorded(call, .failure(StepFailure("permission denied")))
            #expect((effects.closed == id) == (attempt == tailer.machine.settings.recordFailuresMax))
        }
    }

    /// The last query that needs the log goes while the database is asked.
    @Test func aQueryThatComesBackIsReadForAgain() throws {
        let tailer = Tailer()
        let call = try #require(tailer.tick().inspection)
        _ = tailer.machine.follow(nil, nowMs: tailer.nowMs)
        #expect(tailer.inspected(call, Tailer.inspection(Tailer.slot(confirmed: 10), recorded: 10)).opened == nil)
        tailer.follow(["bid"])
        #expect(tailer.tick().inspection != nil)
    }

    @Test func aStopEndsEveryPhase() throws {
        let tailer = Tailer()
        let call = try #require(tailer.tick().inspection)
        #expect(tailer.machine.stop().isEmpty)
        let late = Tailer.inspection(Tailer.slot(confirmed: 10), recorded: 10)
        #expect(tailer.inspected(call, late).isEmpty)
        #expect(tailer.tick(afterMs: 100_000).isEmpty)
    }

    @Test func aMessageThatCannotBeReadEndsTheReading() throws {
        let tailer = Tailer()
        let id = try tailer.open()
        #expect(tailer.receive(id, [[UInt8(ascii: "?")]]).closed == id)
        #expect(tailer.record() == nil)
    }
}
