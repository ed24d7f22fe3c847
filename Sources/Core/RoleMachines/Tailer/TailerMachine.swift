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
/// Mutations of nodes with `outbox.kind: wal` leave their events in the log alone. These are published in the same
/// way, for the shards that the catalogs now name, as the sweepers publish rows of the outbox. Where changes may have
/// been missed, so may events: every live query then runs once more. A wait for an event leaves a mark behind it, at
/// which the position is recorded at once.
///
/// Bounds: `queueMax` transactions, `queuedChangesMax` changes and `queuedBytesMax` bytes of events wait, then the
/// log is not read on; the server keeps the rest, up to its `max_slot_wal_keep_size`. A lost slot is created again.
/// An answer to a call that is not in flight is ignored.
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
    var knowledge: Knowledge?
    /// Whether some node leaves events in the log, as the record of the slot says.
    var carriesEvents = false
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
            phase = .reading(reading)
            return effects + record(nowMs: nowMs)
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
        case .failure(let failure):
            guard knowledge.map(isWanted) == true else { return stayIdle(nowMs: nowMs) }
            return rest(failure.reason, nowMs: nowMs)
        case .success(let found): inspection = found
        }
        return decide(inspection, nowMs: nowMs)
    }

    /// Looks again later whether events are in the log.
    private mutating func stayIdle(nowMs: Int64) -> [Effect] {
        phase = .resting(untilMs: nowMs + settings.inspectMs)
        return entered(.idle)
    }

    private mutating func seen(_ inspection: Inspection) -> [Effect] {
        defer { strays = inspection.strays }
        return [.report(.inspected(inspection.slot))]
            + (inspection.strays == strays ? [] : [.report(.strays(inspection.strays))])
    }

    /// Whether the log has something to publish, as far as the node knows.
    func isWanted(_ knowledge: Knowledge) -> Bool {
        knowledge.readsChanges || knowledge.writesEvents || carriesEvents
    }

    private mutating func decide(_ inspection: Inspection, nowMs: Int64) -> [Effect] {
        carriesEvents = inspection.record?.carriesEvents ?? false
        guard let knowledge, isWanted(knowledge) else { return stayIdle(nowMs: nowMs) }
        return seen(inspection) + decide(inspection, knowledge, nowMs: nowMs)
    }

    private mutating func decide(_ inspection: Inspection, _ knowledge: Knowledge, nowMs: Int64) -> [Effect] {
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
            reading.append(
                .init(
                    xids: [], rows: nil, committedAtMs: nowMs, through: slot.confirmed,
                    isResync: carriesEvents || knowledge.writesEvents))
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

    mutating func rest(_ reason: String, maxMs: Int64 = .max, nowMs: Int64) -> [Effect] {
        retryMs = min(max(2 * retryMs, settings.retryMinMs), settings.retryMaxMs, maxMs)
        phase = .resting(untilMs: nowMs + retryMs)
        return entered(.failing(reason: reason))
    }

    mutating func entered(_ state: State) -> [Effect] {
        defer { lastState = state }
        return state == lastState ? [] : [.report(.state(state))]
    }

    /// - Parameter maxMs: the longest pause.
    mutating func fail(_ reading: Reading, _ reason: String, maxMs: Int64 = .max, nowMs: Int64) -> [Effect] {
        [.close(reading.id)] + rest(reason, maxMs: maxMs, nowMs: nowMs)
    }

    /// Ends the reading, because the node stops.
    package mutating func stop() -> [Effect] {
        defer { phase = .resting(untilMs: .max) }
        guard case .reading(let reading) = phase else { return [] }
        return [.close(reading.id)]
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
                if isCovered, done.loggedEvents.isEmpty { effects.append(.report(.covered)) }
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
        return effects + advance(nowMs: nowMs) + recordMark(nowMs: nowMs)
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
