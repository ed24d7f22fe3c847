import LiveModel
import RoleMachines

/// The write-ahead log of the simulated Postgres, with its one replication slot and the record of it.
///
/// A transaction is in the log before others see it. The slot is lost if the database fails over to a standby, unless
/// that has a copy; a slot that was created later knows nothing of what came before.
struct SimulatedLog {
    struct Transaction {
        let xid: UInt32
        /// The whole number, of which `xid` has the lower bits.
        let number: UInt64
        /// The position after its end.
        let end: UInt64
        let content: Content
    }

    enum Content {
        /// The entity outside of the service's own that it writes.
        case outside(String)
        /// The event that a mutation leaves in the log alone; what else it writes is not read.
        case event(LiveModel.OutboxRow)
        /// Somebody waits for what comes before.
        case mark
    }

    /// The process at the end of the connection that reads the slot; a number for each reading.
    struct Reader {
        let pid: Int
        var heardMs: Int64
    }

    struct Slot {
        var confirmed: UInt64
        var reader: Reader?
        var isLost = false
    }

    private(set) var transactions: [Transaction] = []
    private(set) var end: UInt64 = 16
    var slot: Slot?
    var record: TailerMachine.Inspection.Record?
    /// Everything before is published, by the slot of the record.
    private(set) var reached: UInt64 = 0
    private var lastXID: UInt32 = 4_294_967_200
    /// The number of transactions so far.
    private(set) var count: UInt64 = 0
    private var lastPID = 100
    private var lastIncarnation = 0

    mutating func takeNumber() -> UInt64 {
        count += 1
        return count
    }

    mutating func append(_ content: Content) -> Transaction {
        // Numbers of transactions begin again after the greatest.
        count += 1
        lastXID = lastXID == .max ? 3 : lastXID + 1
        end += 16
        let transaction = Transaction(xid: lastXID, number: count, end: end, content: content)
        transactions.append(transaction)
        return transaction
    }

    /// Removes what the slot has confirmed, and all if there is none.
    mutating func tidy() {
        let kept = slot?.confirmed ?? end
        transactions.removeAll { $0.end <= kept }
    }

    func inspection(oldestOpen: UInt64, nowMs: Int64) -> TailerMachine.Inspection {
        let slot = slot.map { slot in
            TailerMachine.Inspection.Slot(
                health: slot.isLost ? .lost : .ok,
                reader: slot.reader.map { .init(pid: $0.pid, silentMs: nowMs - $0.heardMs) },
                confirmed: slot.confirmed, retainedBytes: Int64(end - slot.confirmed))
        }
        return TailerMachine.Inspection(obstacle: nil, slot: slot, record: record, oldestOpen: oldestOpen)
    }

    /// Creates the slot, unless another reader has.
    mutating func create(seen: String?) {
        guard slot?.reader == nil, record?.incarnation == seen else { return }
        lastIncarnation += 1
        record = .init(
            incarnation: "\(lastIncarnation)", confirmable: 0, carriesEvents: record?.carriesEvents ?? false)
        reached = 0
        slot = Slot(confirmed: end)
        tidy()
    }

    /// Records that mutations leave their events in the log.
    mutating func announceEvents() {
        if record == nil { record = .init(incarnation: "0", confirmable: 0) }
        record?.carriesEvents = true
    }

    /// - Returns: the number of the reading; nil if the slot cannot be read.
    mutating func open(nowMs: Int64) -> Int? {
        guard let slot, !slot.isLost, slot.reader == nil else { return nil }
        lastPID += 1
        self.slot?.reader = Reader(pid: lastPID, heardMs: nowMs)
        return lastPID
    }

    func isRead(by pid: Int) -> Bool { slot?.reader?.pid == pid }

    mutating func heard(from pid: Int, nowMs: Int64) {
        if isRead(by: pid) { slot?.reader?.heardMs = nowMs }
    }

    mutating func close(_ pid: Int) {
        if isRead(by: pid) { slot?.reader = nil }
    }

    mutating func closeAll() { slot?.reader = nil }

    mutating func confirm(_ position: UInt64, by pid: Int) {
        guard isRead(by: pid), let slot else { return }
        self.slot?.confirmed = max(slot.confirmed, min(position, end))
        tidy()
    }

    mutating func record(_ position: UInt64, incarnation: String, isConfirmable: Bool = true) -> Bool {
        guard let record, record.incarnation == incarnation else { return false }
        reached = max(reached, position)
        if isConfirmable { self.record?.confirmable = max(record.confirmable, position) }
        return true
    }

    /// Fails over to a standby, whose log lacks the transactions after `end`, if any.
    mutating func failOver(hasSlot: Bool) {
        if !hasSlot { slot = nil }
        closeAll()
        tidy()
    }
}
