import ChangeCapture
import LiveModel

/// Changes of what the node and the database know while the log is read.
extension TailerMachine {
    /// Takes over what the node knows now; nil if it knows nothing yet. To be called before every other fact.
    package mutating func follow(_ new: Knowledge?, nowMs: Int64) -> [Effect] {
        let former = knowledge
        guard new?.number != former?.number else { return [] }
        knowledge = new
        guard let new, isWanted(new) else {
            guard case .reading(let reading) = phase else { return [] }
            phase = .resting(untilMs: nowMs)
            return [.close(reading.id)] + entered(.idle)
        }
        if case .resting(let untilMs) = phase, untilMs != .max, former.map(isWanted) != true {
            phase = .resting(untilMs: nowMs)
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
    mutating func lookedAgain(_ inspection: Inspection, nowMs: Int64) -> [Effect] {
        guard case .reading(var reading) = phase else { return [] }
        carriesEvents = inspection.record?.carriesEvents ?? carriesEvents
        if let record = inspection.record, record.publications != inspection.publications {
            return fail(reading, "the publications were made again", nowMs: nowMs)
        }
        reading.changesUnknown(in: reading.publishes(inspection), nowMs: nowMs)
        reading.settle(oldestOpen: inspection.oldestOpen, nowMs: nowMs)
        phase = .reading(reading)
        return entered(.reading(unpublished: inspection.unpublished)) + advance(nowMs: nowMs)
    }
}
