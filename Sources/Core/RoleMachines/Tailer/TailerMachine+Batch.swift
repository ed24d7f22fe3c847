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
            /// The first of the remaining groups is being appended.
            case appending(CallID, ArraySlice<[Publication]>, before: Next)
            case confirming(CallID)
        }

        /// The step that follows appends.
        enum Next: Sendable {
            /// A deployment is loaded, for which further shards may be concerned.
            case loading
            /// The overrides are confirmed.
            case confirmation
            case end
        }

        var xids: [UInt32] = []
        /// The changes to publish again once the transactions have ended that are open now; nil for none.
        var repeated: Unknown?
        var open: Check.Open?
        /// Whether changes are among it that were not read.
        var hasUnknown = false
        var events: [Event] = []
        /// The events that mutations left in the log.
        var logged: [SweeperMachine.TakenRow] = []
        /// The commit of the first transaction.
        var committedAtMs: Int64?
        var transactions = 0
        var changes = 0
        var through: LSN = 0
        let beganMs: Int64
        var step = Step.pausing(0)
        var pauseMs: Int64 = 0
        /// The generation of the overrides by which the shards were chosen.
        var generation: UInt64 = 0
        var shards = Shards()
        /// The shards that have the logged events before a deployment is loaded; nil if none have.
        var early: [Set<ShardID>]?

        /// The shards of each event.
        struct Shards: Sendable {
            var ofLogged: [Set<ShardID>] = []
            var ofEvents: [Set<ShardID>] = []

            func subtracting(_ others: Shards) -> Shards {
                /// Others that are left out have none.
                func rest(_ all: [Set<ShardID>], _ others: [Set<ShardID>]) -> [Set<ShardID>] {
                    others.isEmpty ? all : zip(all, others).map { $0.subtracting($1) }
                }
                return Shards(ofLogged: rest(ofLogged, others.ofLogged), ofEvents: rest(ofEvents, others.ofEvents))
            }
        }

        mutating func add(_ waiting: Waiting) {
            committedAtMs = committedAtMs ?? waiting.committedAtMs
            logged += waiting.logged.map { SweeperMachine.TakenRow($0) }
            if waiting.isResync {
                logged.append(
                    .init(OutboxRow(id: "", shards: [], event: Array(SweeperMachine.foldedEvent.utf8))))
            }
            xids += waiting.xids
            transactions += waiting.xids.count
            through = max(through, waiting.through)
            changes += waiting.rows?.all.count ?? 0
            hasUnknown = hasUnknown || waiting.xids.isEmpty
            if let unknown = waiting.unknown { repeated = repeated.map { $0.adding(unknown) } ?? unknown }
            // What mutations themselves tell is all, or their events are.
            if waiting.rows?.all.isEmpty == true { return }
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
        func publications(_ shards: Shards) -> [Publication] {
            let logged = zip(logged, shards.ofLogged).compactMap { taken, shards in
                shards.isEmpty ? nil : Publication(row: taken.row, shards: shards.sorted())
            }
            return logged + captured(shards.ofEvents)
        }

        private func captured(_ shards: [Set<ShardID>]) -> [Publication] {
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
        /// Whether events of mutations may have been missed as well.
        let isResync: Bool

        func adding(_ other: Unknown) -> Unknown {
            Unknown(
                tables: tables.flatMap { tables in other.tables.map(tables.union) },
                isResync: isResync || other.isResync)
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
        /// The events that a mutation left in the log.
        var logged: [OutboxRow] = []
        /// Whether every live query runs once more, because events of mutations may have been missed.
        var isResync = false

        var unknown: Unknown? {
            guard xids.isEmpty, mayFollow else { return nil }
            return Unknown(tables: rows.map { Set($0.all.map(\.table)) }, isResync: isResync)
        }

        var byteCount: Int { logged.reduce(0) { $0 + $1.event.count } }
    }
}
