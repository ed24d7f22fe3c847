import ChangeCapture
import LiveModel
package import Sharding

/// Reads committed changes of rows from a logical replication slot and publishes those that no mutation's event tells,
/// so that live queries refresh after every write.
///
/// All nodes with the role try to read the same slot; Postgres lets one at a time. The reader signs the record of the
/// slot again and again; the others look whether the slot is free, and end a reader that has not signed for
/// `silenceMs`. The server's own times do not show that: only some roles see them, and they stand still while a large
/// transaction is decoded. Nothing that a former reader still does harms: an event more only costs a run, and its
/// confirmations reach a connection that has ended.
///
/// A transaction is published once new snapshots see it, because it is in the log a little earlier, with synchronous
/// replication much earlier: a run that starts after the event then reads the change. It is confirmed to the server
/// only after that, so that a crash anywhere costs a repetition and no change. As in `PublisherMachine`, the overrides
/// are confirmed after the transaction is visible, and a deployment that the node has not loaded is loaded first.
///
/// A table records, before each confirmation, the position that may be confirmed, and an incarnation of the slot. If
/// the slot's own position is beyond the recorded one, then this slot was created, or advanced, since: changes before
/// may have been missed, and every query that depends on the log runs once more. The same record covers a node that
/// dies between creating a slot and saying so. It also has the tables that were published: in a table that is published
/// later, any rows may have changed. Transactions that were open at such a time may have changed rows unseen as well,
/// so the event is repeated when all of them have ended.
///
/// Bounds: `queueMax` transactions and `queuedChangesMax` changes wait, then the log is not read on; the server keeps
/// the rest, up to its `max_slot_wal_keep_size`. A lost slot is created again. An answer to a call that is not in
/// flight is ignored.
package struct TailerMachine: Sendable {
    enum Phase: Sendable {
        case resting(untilMs: Int64)
        case inspecting(CallID)
        /// The slot is created, or its reader ended; then it is looked at again.
        case preparing(CallID)
        case reading(Reading)
    }

    package let settings: Settings
    let routing: EventRouting
    private(set) var knowledge: Knowledge?
    var phase = Phase.resting(untilMs: 0)
    var retryMs: Int64 = 0
    /// Whether the slot must be created again: it cannot be read from where it stands.
    private var isSlotUnusable = false
    private var lastCall: CallID = 0
    private var lastState: State?
    private var strays: [String] = []
    /// Whether any event was sent to the broker.
    package internal(set) var hasPublished = false

    package init(settings: Settings, shardCount: Int) {
        self.settings = settings
        routing = EventRouting(shardCount: shardCount)
    }

    /// The name of the reading; nil while there is none.
    package var readingID: CallID? { if case .reading(let reading) = phase { reading.id } else { nil } }

    /// The transactions that wait for publication.
    package var waiting: Int { if case .reading(let reading) = phase { reading.waiting } else { 0 } }

    package var state: State { lastState ?? .idle }

    // MARK: The slot

    /// Handles the passing of time; to be called several times a second.
    package mutating func tick(nowMs: Int64) -> [Effect] {
        switch phase {
        case .resting(let untilMs):
            guard knowledge != nil else { return entered(.idle) }
            guard nowMs >= untilMs else { return [] }
            return inspect()
        case .inspecting, .preparing: return []
        case .reading(var reading):
            var effects: [Effect] = [.setReading(reading.id, !reading.isPaused)]
            if nowMs >= reading.nextSignMs {
                reading.nextSignMs = nowMs + settings.signMs
                effects.append(.sign(incarnation: reading.incarnation))
            }
            if reading.inspection == nil, nowMs >= reading.nextInspectionMs {
                let call = newCall()
                reading.inspection = call
                reading.nextInspectionMs =
                    nowMs + (reading.unsettled.isEmpty ? settings.inspectMs : settings.inspectOpenMs)
                effects.append(.inspect(call))
            }
            if let position = reading.positionToRecord(settings, nowMs: nowMs) {
                let call = newCall()
                reading.recording = (call, position)
                reading.lastRecordMs = nowMs
                (reading.hasPublished, reading.hasNewTables) = (false, false)
                effects.append(
                    .record(
                        call, incarnation: reading.incarnation, position, published: reading.published.sorted()))
            }
            phase = .reading(reading)
            return effects
        }
    }

    private mutating func inspect() -> [Effect] {
        let call = newCall()
        phase = .inspecting(call)
        return [.inspect(call)]
    }

    package mutating func inspected(
        _ call: CallID, _ answer: Result<Inspection, StepFailure>, nowMs: Int64
    ) -> [Effect] {
        switch phase {
        case .inspecting(call): break
        case .reading(var reading) where reading.inspection == call:
            reading.inspection = nil
            phase = .reading(reading)
            guard case .success(let inspection) = answer else { return [] }
            return seen(inspection) + lookedAgain(inspection, nowMs: nowMs)
        default: return []
        }
        let inspection: Inspection
        switch answer {
        case .failure(let failure): return rest(failure.reason, nowMs: nowMs)
        case .success(let found): inspection = found
        }
        return seen(inspection) + decide(inspection, nowMs: nowMs)
    }

    private mutating func seen(_ inspection: Inspection) -> [Effect] {
        defer { strays = inspection.strays }
        return [.report(.inspected(inspection.slot))]
            + (inspection.strays == strays ? [] : [.report(.strays(inspection.strays))])
    }

    private mutating func decide(_ inspection: Inspection, nowMs: Int64) -> [Effect] {
        if let obstacle = inspection.obstacle { return rest(obstacle, nowMs: nowMs) }
        if let reader = inspection.slot?.reader {
            isSlotUnusable = false
            guard reader.silentMs > settings.silenceMs else {
                phase = .resting(untilMs: nowMs + settings.standbyMs)
                return entered(.standby(pid: reader.pid))
            }
            let call = newCall()
            phase = .preparing(call)
            return [
                .report(.readerEnded(pid: reader.pid, silentMs: reader.silentMs)), .terminate(call, pid: reader.pid),
            ]
        }
        guard let knowledge else {
            phase = .resting(untilMs: nowMs)
            return entered(.idle)
        }
        // A slot cannot be read where its publications do not exist yet.
        guard let slot = inspection.slot, slot.health != .lost, let record = inspection.record, !isSlotUnusable,
            record.publications == inspection.publications
        else {
            isSlotUnusable = false
            let call = newCall()
            phase = .preparing(call)
            return [.create(call, seen: inspection.record?.incarnation)]
        }
        let id = newCall()
        var reading = Reading(
            id: id, record: record, reader: TransactionReader(tables: knowledge.tables), nowMs: nowMs,
            settings: settings)
        let isNew = reading.publishes(inspection)
        var effects: [Effect] = [.sign(incarnation: record.incarnation), .open(id)]
        if slot.confirmed > record.confirmable {
            reading.append(.init(xids: [], rows: nil, committedAtMs: nowMs, through: slot.confirmed))
            effects.append(.report(.doubt(reason: "the replication slot is new")))
        } else {
            reading.changesUnknown(in: isNew, nowMs: nowMs)
        }
        phase = .reading(reading)
        return effects + entered(.reading(unpublished: inspection.unpublished)) + advance(nowMs: nowMs)
    }

    /// Handles the end of `terminate` or `create`.
    package mutating func stepEnded(_ call: CallID, _ answer: Result<Void, StepFailure>, nowMs: Int64) -> [Effect] {
        guard case .preparing(call) = phase else { return [] }
        switch answer {
        case .success: return inspect()
        case .failure(let failure): return rest(failure.reason, nowMs: nowMs)
        }
    }

    private mutating func rest(_ reason: String, nowMs: Int64) -> [Effect] {
        retryMs = min(max(2 * retryMs, settings.retryMinMs), settings.retryMaxMs)
        phase = .resting(untilMs: nowMs + retryMs)
        return entered(.failing(reason: reason))
    }

    private mutating func entered(_ state: State) -> [Effect] {
        defer { lastState = state }
        return state == lastState ? [] : [.report(.state(state))]
    }

    mutating func fail(_ reading: Reading, _ reason: String, nowMs: Int64) -> [Effect] {
        [.close(reading.id)] + rest(reason, nowMs: nowMs)
    }

    /// Ends the reading, because the node stops.
    package mutating func stop() -> [Effect] {
        defer { phase = .resting(untilMs: .max) }
        guard case .reading(let reading) = phase else { return [] }
        return [.close(reading.id)]
    }

    // MARK: What the queries read

    /// Takes over what the node knows now; nil if no query refreshes by the log. To be called before every other fact.
    package mutating func follow(_ new: Knowledge?, nowMs: Int64) -> [Effect] {
        let former = knowledge
        guard new?.number != former?.number else { return [] }
        knowledge = new
        guard let new else {
            guard case .reading(let reading) = phase else { return [] }
            phase = .resting(untilMs: nowMs)
            return [.close(reading.id)] + entered(.idle)
        }
        guard case .reading(var reading) = phase, let former else { return [] }
        reading.reader.follow(new.tables)
        // Transactions that are being read, or wait to become visible, were read without these tables.
        let tables =
            former.heedsMutations && !new.heedsMutations ? new.tables.names : new.tables.tables(beyond: former.tables)
        // Whether they are published is known only when the database has been asked.
        if !tables.isEmpty { reading.nextInspectionMs = nowMs }
        reading.changesUnknown(in: tables, nowMs: nowMs)
        phase = .reading(reading)
        return []
    }

    /// Handles what the reader sees of the database while it reads.
    private mutating func lookedAgain(_ inspection: Inspection, nowMs: Int64) -> [Effect] {
        guard case .reading(var reading) = phase else { return [] }
        if let record = inspection.record, record.publications != inspection.publications {
            return fail(reading, "the publications were made again", nowMs: nowMs)
        }
        reading.changesUnknown(in: reading.publishes(inspection), nowMs: nowMs)
        reading.settle(oldestOpen: inspection.oldestOpen, nowMs: nowMs)
        phase = .reading(reading)
        return entered(.reading(unpublished: inspection.unpublished)) + advance(nowMs: nowMs)
    }

    // MARK: The log

    /// Handles messages of the server, in their order.
    package mutating func received(_ id: CallID, _ messages: [[UInt8]], nowMs: Int64) -> [Effect] {
        guard case .reading(var reading) = phase, reading.id == id, let knowledge else { return [] }
        // Without a second holder, what waits is changed in place.
        phase = .resting(untilMs: .max)
        var effects: [Effect] = []
        do {
            for message in messages {
                guard let done = try reading.reader.read(ReplicationMessage(decoding: message)) else { continue }
                let (rows, isCovered) = uncovered(done, knowledge)
                if isCovered { effects.append(.report(.covered)) }
                reading.completed(done, rows)
            }
        } catch {
            return fail(reading, "\(error)", nowMs: nowMs)
        }
        if !reading.isPaused, reading.isFull(settings) {
            reading.isPaused = true
            effects.append(.setReading(id, false))
        }
        phase = .reading(reading)
        return effects + advance(nowMs: nowMs)
    }

    /// Handles that the server has sent everything before this position.
    package mutating func reached(_ id: CallID, _ position: LSN, nowMs: Int64) -> [Effect] {
        guard case .reading(var reading) = phase, reading.id == id else { return [] }
        reading.reached(position)
        phase = .reading(reading)
        return []
    }

    /// Handles the end of a reading.
    /// - Parameter isUnusable: whether the slot cannot be read from where it stands, as when the publication was
    ///   created later.
    package mutating func ended(_ id: CallID, _ reason: String, isUnusable: Bool, nowMs: Int64) -> [Effect] {
        guard case .reading(let reading) = phase, reading.id == id else { return [] }
        isSlotUnusable = isUnusable
        return rest(reason, nowMs: nowMs)
    }

    mutating func newCall() -> CallID {
        lastCall += 1
        return lastCall
    }
}
