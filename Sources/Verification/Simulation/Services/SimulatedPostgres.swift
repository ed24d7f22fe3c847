import JSON
import LiveModel
import RoleMachines

/// The simulated Postgres: versioned entities, queries over them, and the outbox.
///
/// A result is a text with the identity of the live query and the versions read:
/// `op|version|variables|auth|life=0,e0=3,e1=7`. Every failover ends all connections and begins a new timeline. A
/// failover to a standby that lags behind loses commits, outbox rows and recorded epochs, and begins a new life:
/// versions of a later life are newer, even if smaller.
final class SimulatedPostgres {
    struct OutboxRow {
        let row: LiveModel.OutboxRow
        /// When the transaction began to write; it may have committed much later.
        let createdMs: Int64
        /// The sweep that holds the row's lock.
        var lockedBy: Sweep?
    }

    /// A sweeper's transaction; its end releases the locks.
    final class Sweep {
        var isOver = false
        /// The creation time of the newest row taken.
        var newestMs: Int64 = 0
    }

    static let entities = ["e0", "e1", "e2", "e3", "u0", "u1", "u2", "u3"]

    /// The longest time for which a transaction is in the log and not visible.
    static let invisibleMaxMs: Int64 = 300

    private(set) var versions: [String: Int] = [:]
    var log = SimulatedLog()
    /// The entities of transactions that are in the log and not visible, by their numbers, with the events of
    /// mutations.
    private var invisible: [UInt32: (number: UInt64, entity: String, event: String?)] = [:]
    private(set) var committed: Set<String> = []
    private(set) var outbox: [String: OutboxRow] = [:]
    /// A failover loses nothing of it.
    var deployments: DeploymentTable
    private(set) var isUp = true
    /// Increases with every outage; connections of earlier generations are closed.
    private(set) var generation = 0
    private var sweeps: [Sweep] = []
    private var epochs: [ShardID: UInt64] = [:]
    /// The number of failovers that lost commits.
    private(set) var life = 0
    private var promotions = 0
    /// The identity of the current timeline, which begins with the last promotion of a standby.
    var timeline: String { "\(promotions)" }
    private var standby: Standby?
    private var isStandbyCut = false
    private let clock: () -> Int64

    /// A standby's copy of the primary's data.
    private struct Standby {
        let versions: [String: Int]
        let outbox: [String: OutboxRow]
        let epochs: [ShardID: UInt64]
    }

    /// The clock that, together with recorded epochs, sets the floor of new ones; 0: an unusable clock.
    var clockMs: UInt64 { UInt64(clock()) }

    init(startMs: Int64, clock: @escaping () -> Int64) {
        self.clock = clock
        deployments = DeploymentTable(nowMs: startMs)
    }

    static func group(of entity: String) -> String {
        switch entity {
        case "e0", "e1": "a"
        case "e2", "e3": "b"
        default: "users"
        }
    }

    // MARK: Faults

    func goDown() {
        isUp = false
        generation += 1
        log.closeAll()
        // What is in the log is restored from there.
        for xid in invisible.keys { becomeVisible(xid) }
        for sweep in sweeps { sweep.isOver = true }
        sweeps = []
    }

    enum Return { case restart, promotion, stalePromotion }

    func comeUp(_ way: Return) {
        isUp = true
        isStandbyCut = false
        if way != .restart {
            promotions += 1
            // Under half of the promotions the standby has a copy of the slot.
            log.failOver(hasSlot: way == .promotion && promotions.isMultiple(of: 2))
        }
        guard way == .stalePromotion, let standby else { return }
        life += 1
        (versions, outbox, epochs) = (standby.versions, standby.outbox, standby.epochs)
        for id in outbox.keys { outbox[id]?.lockedBy = nil }
        self.standby = nil
    }

    func replicate() {
        if isUp, !isStandbyCut { standby = Standby(versions: versions, outbox: outbox, epochs: epochs) }
    }

    /// Stops replication to the standby until it is promoted.
    func cutStandby() { isStandbyCut = true }
    func healStandby() { isStandbyCut = false }

    // MARK: Statements

    /// Commits a transaction that writes the entity's next version and the outbox row, perhaps only for deployments
    /// after `loadedDeployment`.
    func commit(_ entity: String, _ row: OutboxRow, loadedDeployment: Int64) {
        versions[entity, default: 0] += 1
        if !row.row.isForLaterDeployments || deployments.newestID > loadedDeployment { outbox[row.row.id] = row }
        committed.insert(row.row.id)
    }

    /// Commits a transaction that only inserts the outbox row of a marker.
    func commitMarker(_ row: OutboxRow) { outbox[row.row.id] = row }

    /// Commits a transaction like `commit`, whose event is in the log alone, not visible yet.
    /// - Returns: its number.
    func commitToLog(_ entity: String, _ row: LiveModel.OutboxRow, loadedDeployment: Int64) -> UInt32? {
        guard !row.isForLaterDeployments || deployments.newestID > loadedDeployment else {
            versions[entity, default: 0] += 1
            committed.insert(row.id)
            return nil
        }
        let transaction = log.append(.event(row))
        invisible[transaction.xid] = (transaction.number, entity, row.id)
        return transaction.xid
    }

    /// Commits a transaction of another program, not visible yet; returns its number.
    func writeOutside(_ entity: String) -> UInt32 {
        let transaction = log.append(.outside(entity))
        invisible[transaction.xid] = (transaction.number, entity, nil)
        return transaction.xid
    }

    func becomeVisible(_ xid: UInt32) {
        guard let (_, entity, event) = invisible.removeValue(forKey: xid) else { return }
        versions[entity, default: 0] += 1
        if let event { committed.insert(event) }
    }

    private var oldestOpen: UInt64 { invisible.values.map(\.number).min() ?? log.count + 1 }

    /// Returns the transactions that are open, by their whole numbers; takes a number itself.
    func open() -> TailerMachine.Check.Open {
        let oldest = oldestOpen
        return .init(newest: log.takeNumber(), oldest: oldest)
    }

    func inspection(nowMs: Int64) -> TailerMachine.Inspection {
        log.inspection(oldestOpen: oldestOpen, nowMs: nowMs)
    }

    func areVisible(_ xids: [UInt32]) -> Bool { !xids.contains { invisible[$0] != nil } }

    func recordedEpoch(of shard: ShardID) -> UInt64 { epochs[shard] ?? 0 }

    func recordEpoch(_ epoch: UInt64, of shard: ShardID) -> Bool {
        guard epoch > recordedEpoch(of: shard) else { return false }
        epochs[shard] = epoch
        return true
    }

    /// Removes rows unless a deployment after `loadedDeployment` exists.
    /// - Returns: the number of removed rows.
    func remove(_ ids: [String], loadedDeployment: Int64) -> Int {
        guard deployments.newestID <= loadedDeployment else { return 0 }
        return ids.count { outbox.removeValue(forKey: $0) != nil }
    }

    /// Takes the oldest rows as with `FOR UPDATE SKIP LOCKED`.
    func take(olderThanMs: Int64, limit: Int, after lastMs: Int64? = nil) -> (sweep: Sweep, rows: [OutboxRow]) {
        let sweep = Sweep()
        sweeps.removeAll(where: \.isOver)
        sweeps.append(sweep)
        let rows = outbox.values.filter { row in
            row.createdMs < olderThanMs && row.lockedBy?.isOver != false && lastMs.map { row.createdMs > $0 } != false
        }
        .sorted { ($0.createdMs, $0.row.id) < ($1.createdMs, $1.row.id) }.prefix(limit)
        for row in rows { outbox[row.row.id]?.lockedBy = sweep }
        sweep.newestMs = rows.last?.createdMs ?? 0
        return (sweep, Array(rows))
    }

    func measure(countMax: Int, nowMs: Int64) -> (rows: Int, oldestMs: Int64) {
        let oldestMs = outbox.values.map(\.createdMs).min().map { nowMs - $0 }
        return (min(outbox.count, countMax), oldestMs ?? 0)
    }

    /// Replaces the oldest rows, if there are two or more, with one that holds this event.
    func fold(limit: Int, into id: String, event: [UInt8]) -> Int {
        let rows = outbox.values.filter { $0.lockedBy?.isOver != false }
            .sorted { ($0.createdMs, $0.row.id) < ($1.createdMs, $1.row.id) }.prefix(limit)
        guard let oldest = rows.first, rows.count > 1 else { return 0 }
        for row in rows { outbox[row.row.id] = nil }
        outbox[id] = OutboxRow(row: .init(id: id, shards: [], event: event), createdMs: oldest.createdMs)
        return rows.count
    }

    func result(of query: LiveQuery) -> [UInt8] {
        let read: [String] =
            switch query.operation.operation {
            case "Lookup": [query.variables["id"]?.stringValue ?? ""]
            case let name where name.hasPrefix("Late"):
                [Workload.lateEntity]
                    + (Workload.readsRareEntity(Workload.number(of: query.version)) ? [Workload.rareEntity] : [])
            case "Group": Self.entities.filter { Self.group(of: $0) == query.variables["group"]?.stringValue }
            case "Mine": [query.projectedAuth?.uid ?? ""]
            case Workload.outside: Workload.outsideEntities
            case Workload.nested:
                [
                    Workload.nestedParent,
                    Workload.nestedChild(parentVersion: versions[Workload.nestedParent] ?? 0),
                ]
            default: Self.entities
            }
        var parts = ["life=\(life)"] + read.map { "\($0)=\(versions[$0] ?? 0)" }
        // A later result has a greater sum, also where another child has a smaller version.
        if query.operation.operation == Workload.nested {
            parts.append("weight=\(1_000 * (versions[Workload.nestedParent] ?? 0))")
        }
        return Array((Self.identity(of: query) + parts.joined(separator: ",")).utf8)
    }

    /// The prefix of every result text of a live query.
    static func identity(of query: LiveQuery) -> String {
        "\(query.operation.operation)|\(query.version.prefix % 997)|"
            + "\(JSONValue.object(query.variables).text)|\(query.auth?.text ?? "")|"
    }

    static func versions(in body: [UInt8]) -> [String: Int] {
        let text = String(decoding: body, as: UTF8.self).split(separator: "|").last ?? ""
        var versions: [String: Int] = [:]
        for pair in text.split(separator: ",") {
            let parts = pair.split(separator: "=")
            if parts.count == 2 { versions[String(parts[0])] = Int(parts[1]) }
        }
        return versions
    }
}
