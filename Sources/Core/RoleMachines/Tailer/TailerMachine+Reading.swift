import ChangeCapture
import LiveModel
import Sharding

extension TailerMachine {
    /// The reading of a slot, from its begin to its end.
    struct Reading: Sendable {
        let id: CallID
        let incarnation: String
        var reader: TransactionReader
        private var queue: [Waiting] = []
        private var queuedChanges = 0
        private var queuedBytes = 0
        var batch: Batch?
        /// Whether the log is not read on, because too much waits.
        var isPaused = false
        /// Everything before is published.
        private var handled: LSN = 0
        /// The recorded position that may be confirmed.
        var recorded: LSN
        var recording: (call: CallID, record: PositionRecord)?
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
        /// The first and the last mark that are not recorded yet, as far as they are known.
        private var marks: ClosedRange<LSN>?
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
                || queuedBytes >= settings.queuedBytesMax
        }

        func isHalfEmpty(_ settings: Settings) -> Bool {
            queue.count <= settings.queueMax / 2 && queuedChanges <= settings.queuedChangesMax / 2
                && queuedBytes <= settings.queuedBytesMax / 2
        }

        mutating func append(_ waiting: Waiting) {
            queue.append(waiting)
            queuedChanges += waiting.rows?.all.count ?? 0
            queuedBytes += waiting.byteCount
        }

        mutating func completed(_ transaction: CapturedTransaction, _ rows: RowChanges) {
            let unknown = unknownAfterCommit.sorted()
            unknownAfterCommit = []
            let rows = rows.adding(RowChanges(unknown.map(RowChange.anything(in:)))) ?? rows
            if transaction.isMark {
                marks = min(marks?.lowerBound ?? .max, transaction.endLSN)...transaction.endLSN
            }
            let hasEvents = !transaction.loggedEvents.isEmpty
            guard !rows.all.isEmpty || hasEvents else { return reached(transaction.endLSN) }
            append(
                Waiting(
                    xids: [transaction.xid], rows: rows, committedAtMs: transaction.committedAtMs,
                    through: transaction.endLSN, logged: transaction.loggedEvents,
                    isResync: transaction.hasMoreEvents))
        }

        /// Whether everything up to a mark is published.
        var hasReachedMark: Bool { marks.map { handled >= $0.lowerBound } ?? false }

        mutating func forgetMarks(through position: LSN) {
            guard let marks, position >= marks.lowerBound else { return }
            // Others may lie between.
            self.marks = position < marks.upperBound ? position + 1...marks.upperBound : nil
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
                        through: queue.last?.through ?? batch?.through ?? handled, mayFollow: false,
                        isResync: unknown.isResync))
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
                queuedBytes -= waiting.byteCount
            }
            queue.removeFirst(count)
            batch = next
            return true
        }

        /// Returns what to record now; nil if nothing.
        func recordDue(_ settings: Settings, nowMs: Int64) -> PositionRecord? {
            if recording != nil { return nil }
            // Changes that were not read are published first; a successor would not know of them.
            guard isSettled else { return hasReachedMark ? .init(position: handled, isConfirmable: false) : nil }
            return positionToConfirm(settings, nowMs: nowMs).map { .init(position: $0, isConfirmable: true) }
        }

        private func positionToConfirm(_ settings: Settings, nowMs: Int64) -> LSN? {
            if hasNewTables { return max(handled, recorded) }
            if hasReachedMark { return max(handled, recorded) }
            guard handled > recorded else { return nil }
            if hasPublished { return nowMs >= lastRecordMs + settings.confirmMs ? handled : nil }
            // A record is itself written to the log: it alone is no reason for another one.
            guard handled - recorded >= settings.idleConfirmBytes else { return nil }
            return nowMs >= lastRecordMs + settings.idleConfirmMs ? handled : nil
        }
    }
}
