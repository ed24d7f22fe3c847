import ChangeCapture
import LiveModel
import Sharding

extension TailerMachine {
    /// Transactions that are published together.
    struct Batch: Sendable {
        struct Event: Sendable {
            /// Nil: any rows may have changed.
            var rows: RowChanges?
            /// The commit of the first transaction, in milliseconds since 1970, by the clock of the database.
            let committedAtMs: Int64
        }

        enum Step: Sendable {
            case checking(CallID)
            /// It is checked again after a pause, or when the deployments are loaded.
            case pausing(CallID)
            /// The first of the remaining groups is being appended. `isFirst`: the overrides are not confirmed yet.
            case appending(CallID, ArraySlice<[Publication]>, isFirst: Bool)
            case confirming(CallID)
        }

        var xids: [UInt32] = []
        /// The changes to publish again once the transactions have ended that are open now; nil for none.
        var repeated: Unknown?
        var open: Check.Open?
        /// Whether changes are among it that were not read.
        var hasUnknown = false
        var events: [Event] = []
        var transactions = 0
        var changes = 0
        var through: LSN = 0
        let beganMs: Int64
        var step = Step.pausing(0)
        var pauseMs: Int64 = 0
        /// The generation of the overrides by which the shards were chosen.
        var generation: UInt64 = 0
        /// The shards of each event.
        var shards: [Set<ShardID>] = []

        mutating func add(_ waiting: Waiting) {
            xids += waiting.xids
            transactions += waiting.xids.count
            through = max(through, waiting.through)
            changes += waiting.rows?.all.count ?? 0
            hasUnknown = hasUnknown || waiting.xids.isEmpty
            if let unknown = waiting.unknown { repeated = repeated.map { $0.adding(unknown) } ?? unknown }
            // Events are filled as far as none of their changes loses its details.
            if let rows = waiting.rows, let last = events.last?.rows,
                last.all.count + rows.all.count <= RowChanges.max
            {
                events[events.count - 1].rows?.append(contentsOf: rows.all)
            } else {
                events.append(Event(rows: waiting.rows, committedAtMs: waiting.committedAtMs))
            }
        }

        /// Returns the events, each for its shards.
        func publications(_ shards: [Set<ShardID>]) -> [Publication] {
            zip(events, shards).enumerated().compactMap { number, pair in
                let (event, shards) = pair
                if shards.isEmpty { return nil }
                let id = "wal-\(String(through, radix: 16))-\(number)"
                let encoded = MutationEvent(captured: event.rows, id: id, committedAtMs: event.committedAtMs).encoded
                let sorted = shards.sorted()
                return Publication(row: OutboxRow(id: id, shards: sorted, event: encoded), shards: sorted)
            }
        }
    }

    /// Changes that were not read: of any rows in tables.
    struct Unknown: Sendable {
        /// Nil: in all.
        let tables: Set<String>?

        func adding(_ other: Unknown) -> Unknown {
            Unknown(tables: tables.flatMap { tables in other.tables.map(tables.union) })
        }

        var rows: RowChanges? { tables.map { RowChanges($0.sorted().map(RowChange.anything(in:))) } }
    }

    /// A transaction, or changes that were not read, that wait to be published.
    struct Waiting: Sendable {
        let xids: [UInt32]
        /// Nil: any rows may have changed.
        let rows: RowChanges?
        let committedAtMs: Int64
        /// The position that is handled once it is published.
        var through: LSN
        /// Whether transactions that are still open may have made such changes, too.
        var mayFollow = true

        var unknown: Unknown? {
            guard xids.isEmpty, mayFollow else { return nil }
            return Unknown(tables: rows.map { Set($0.all.map(\.table)) })
        }
    }

    /// The reading of a slot, from its begin to its end.
    struct Reading: Sendable {
        let id: CallID
        let incarnation: String
        var reader: TransactionReader
        private var queue: [Waiting] = []
        private var queuedChanges = 0
        var batch: Batch?
        /// Whether the log is not read on, because too much waits.
        var isPaused = false
        /// Everything before is published.
        private var handled: LSN = 0
        /// The recorded position that may be confirmed.
        var recorded: LSN
        var recording: (call: CallID, position: LSN)?
        var lastRecordMs: Int64
        /// Whether anything was published since the last record.
        var hasPublished = false
        var inspection: CallID?
        var nextInspectionMs: Int64
        var nextSignMs: Int64
        /// The tables all changes of which are read.
        private(set) var published: Set<String>
        /// Whether `published` has changed since the last record.
        var hasNewTables = false
        var recordFailures = 0
        /// The changes to publish again once all transactions up to a number have ended.
        var unsettled: [(unknown: Unknown, newestOpen: UInt64)] = []
        /// Tables of which the open transaction may have changed rows that were not read.
        private var unknownAfterCommit: Set<String> = []

        init(
            id: CallID, record: Inspection.Record, reader: TransactionReader, nowMs: Int64, settings: Settings
        ) {
            self.id = id
            incarnation = record.incarnation
            recorded = record.confirmable
            published = record.published
            self.reader = reader
            nextSignMs = nowMs + settings.signMs
            lastRecordMs = nowMs
            nextInspectionMs = nowMs + settings.inspectMs
        }

        var waiting: Int { queue.count }

        func isFull(_ settings: Settings) -> Bool {
            queue.count >= settings.queueMax || queuedChanges >= settings.queuedChangesMax
        }

        func isHalfEmpty(_ settings: Settings) -> Bool {
            queue.count <= settings.queueMax / 2 && queuedChanges <= settings.queuedChangesMax / 2
        }

        mutating func append(_ waiting: Waiting) {
            queue.append(waiting)
            queuedChanges += waiting.rows?.all.count ?? 0
        }

        mutating func completed(_ transaction: CapturedTransaction, _ rows: RowChanges) {
            let unknown = unknownAfterCommit.sorted()
            unknownAfterCommit = []
            let rows = rows.adding(RowChanges(unknown.map(RowChange.anything(in:)))) ?? rows
            guard !rows.all.isEmpty else { return reached(transaction.endLSN) }
            append(
                Waiting(
                    xids: [transaction.xid], rows: rows, committedAtMs: transaction.committedAtMs,
                    through: transaction.endLSN))
        }

        /// Handles that nothing else comes before this position.
        mutating func reached(_ position: LSN) {
            guard !reader.isWithinTransaction else { return }
            if !queue.isEmpty {
                queue[queue.count - 1].through = max(queue[queue.count - 1].through, position)
            } else if let through = batch?.through {
                batch?.through = max(through, position)
            } else {
                handled(through: position)
            }
        }

        mutating func handled(through position: LSN) { handled = max(handled, position) }

        /// Whether nothing is left to publish about changes that were not read.
        private var isSettled: Bool {
            unsettled.isEmpty && batch?.hasUnknown != true && !queue.contains { $0.xids.isEmpty }
        }

        /// Takes over which tables are published; returns those that were not before.
        mutating func publishes(_ inspection: Inspection) -> [String] {
            let new = inspection.published.subtracting(published)
            if inspection.published != published { hasNewTables = true }
            published = inspection.published
            return new.sorted()
        }

        /// Publishes again what transactions may have changed unseen that were open, now that they have ended.
        mutating func settle(oldestOpen: UInt64, nowMs: Int64) {
            for (unknown, newest) in unsettled where newest < oldestOpen {
                append(
                    Waiting(
                        xids: [], rows: unknown.rows, committedAtMs: nowMs,
                        through: queue.last?.through ?? batch?.through ?? handled, mayFollow: false))
            }
            unsettled.removeAll { $0.newestOpen < oldestOpen }
        }

        /// Handles that rows of these tables may have changed without being read.
        mutating func changesUnknown(in tables: [String], nowMs: Int64) {
            if tables.isEmpty { return }
            if reader.isWithinTransaction { unknownAfterCommit.formUnion(tables) }
            append(
                Waiting(
                    xids: [], rows: RowChanges(tables.map(RowChange.anything(in:))), committedAtMs: nowMs,
                    through: queue.last?.through ?? batch?.through ?? handled))
        }

        /// Moves what waits into a batch.
        /// - Returns: false if nothing waits.
        mutating func takeBatch(_ settings: Settings, nowMs: Int64) -> Bool {
            if queue.isEmpty { return false }
            var next = Batch(beganMs: nowMs)
            let count = min(queue.count, settings.batchMax)
            for waiting in queue.prefix(count) {
                next.add(waiting)
                queuedChanges -= waiting.rows?.all.count ?? 0
            }
            queue.removeFirst(count)
            batch = next
            return true
        }

        /// Returns the position to record now; nil if there is none.
        func positionToRecord(_ settings: Settings, nowMs: Int64) -> LSN? {
            // Changes that were not read are published first; a successor would not know of them.
            guard recording == nil, isSettled else { return nil }
            if hasNewTables { return max(handled, recorded) }
            guard handled > recorded else { return nil }
            if hasPublished { return nowMs >= lastRecordMs + settings.confirmMs ? handled : nil }
            // A record is itself written to the log: it alone is no reason for another one.
            guard handled - recorded >= settings.idleConfirmBytes else { return nil }
            return nowMs >= lastRecordMs + settings.idleConfirmMs ? handled : nil
        }
    }
}
