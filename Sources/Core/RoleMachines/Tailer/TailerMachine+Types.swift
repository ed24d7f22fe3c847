package import ChangeCapture
package import LiveModel

extension TailerMachine {
    package struct Settings: Sendable {
        /// The pause after a failed attempt to read the slot doubles from here to the maximum.
        package var retryMinMs: Int64 = 500
        package var retryMaxMs: Int64 = 10_000
        /// The interval at which a node asks whether the slot is free while another one reads it.
        package var standbyMs: Int64 = 1_000
        /// The interval at which the reader looks at its slot and the publications.
        package var inspectMs: Int64 = 10_000
        /// A reader that has not signed the record for this long is ended, so that another one can read.
        package var silenceMs: Int64 = 10_000
        /// The interval at which the reader signs the record.
        package var signMs: Int64 { silenceMs / 5 }
        /// The failures to write the record in a row after which the reading ends.
        package var recordFailuresMax = 5
        /// The interval at which the reader looks at its slot while transactions are open that may have changed rows
        /// unseen.
        package var inspectOpenMs: Int64 = 1_000
        /// The pause before a transaction is looked for again that is in the log but not visible yet; it doubles up to
        /// the maximum.
        package var visibilityMinMs: Int64 = 1
        package var visibilityMaxMs: Int64 = 100
        /// The pause before events are appended again that the broker refused; it doubles up to the maximum. After
        /// `appendingMaxMs` another node may read.
        package var appendRetryMinMs: Int64 = 20
        package var appendRetryMaxMs: Int64 = 1_000
        package var appendingMaxMs: Int64 = 5_000
        /// The time in which a node must have loaded a new deployment; after that another one may read.
        package var loadingMaxMs: Int64 = 5_000
        /// Transactions published together.
        package var batchMax = 1_000
        /// Bytes of events in one append; a larger event is sent alone.
        package var batchBytesMax = 4 << 20
        /// The most transactions, and changes of rows in them, that wait; then the log is not read on.
        package var queueMax = 10_000
        package var queuedChangesMax = 100_000
        package var queuedBytesMax = 64 << 20
        /// The interval at which the server learns how far the log was read; it keeps the rest.
        package var confirmMs: Int64 = 1_000
        /// The same while nothing was published and the log grew by so many bytes.
        package var idleConfirmMs: Int64 = 10_000
        package var idleConfirmBytes: UInt64 = 1 << 20

        package init() {}
    }

    /// Identifies an effect that awaits an answer, or a reading of the slot.
    package typealias CallID = UInt64

    /// A position in the write-ahead log.
    package typealias LSN = UInt64

    /// How far the log is published.
    package struct PositionRecord: Sendable, Hashable {
        package let position: LSN
        /// Whether the server may remove what lies before: nothing that was not read is left to publish.
        package let isConfirmable: Bool

        package init(position: LSN, isConfirmable: Bool) {
            self.position = position
            self.isConfirmable = isConfirmable
        }
    }

    /// The state of the database, as far as the reader depends on it.
    package struct Inspection: Sendable, Hashable {
        package struct Slot: Sendable, Hashable {
            package enum Health: String, Sendable, CaseIterable {
                /// The server keeps what is not confirmed yet.
                case ok
                /// It may remove some of it at the next checkpoint.
                case unreserved
                /// It has removed some of it.
                case lost
            }

            package var health: Health
            /// The process that reads the slot, and the milliseconds since its node signed the record.
            package var reader: Reader?
            package var confirmed: LSN
            package var retainedBytes: Int64
            /// The log that can be written before the slot may be lost; nil: without limit, or it is lost.
            package var safeBytes: Int64?

            package init(
                health: Health, reader: Reader?, confirmed: LSN, retainedBytes: Int64, safeBytes: Int64? = nil
            ) {
                self.health = health
                self.reader = reader
                self.confirmed = confirmed
                self.retainedBytes = retainedBytes
                self.safeBytes = safeBytes
            }
        }

        package struct Reader: Sendable, Hashable {
            package var pid: Int
            package var silentMs: Int64

            package init(pid: Int, silentMs: Int64) {
                self.pid = pid
                self.silentMs = silentMs
            }
        }

        /// The record of the slot in a table: see `TailerMachine`.
        package struct Record: Sendable, Hashable {
            package var incarnation: String
            package var confirmable: LSN
            /// The tables known to be published since all changes in them are read.
            package var published: Set<String>
            /// The publications when the slot was created.
            package var publications: String
            /// Whether some node leaves events in the log (`OutboxKind.wal`), or did.
            package var carriesEvents: Bool

            package init(
                incarnation: String, confirmable: LSN, published: Set<String> = [], publications: String = "",
                carriesEvents: Bool = false
            ) {
                self.carriesEvents = carriesEvents
                self.incarnation = incarnation
                self.confirmable = confirmable
                self.published = published
                self.publications = publications
            }
        }

        /// The reason why the slot cannot be read: a setting, right or publication that is missing, a foreign slot.
        package var obstacle: String?
        /// Nil if there is none.
        package var slot: Slot?
        package var record: Record?
        /// The tables that the queries read, as far as the publication has them.
        package var published: Set<String>
        /// The tables that it lacks, sorted.
        package var unpublished: [String]
        /// The publications, by numbers that others of the same names would not have.
        package var publications: String
        /// The number below which all transactions have ended.
        package var oldestOpen: UInt64
        /// Other slots of Freshet in the database that nobody reads, sorted.
        package var strays: [String]

        package init(
            obstacle: String?, slot: Slot?, record: Record?, published: Set<String> = [], unpublished: [String] = [],
            publications: String = "", oldestOpen: UInt64 = .max, strays: [String] = []
        ) {
            self.obstacle = obstacle
            self.slot = slot
            self.record = record
            self.published = published
            self.unpublished = unpublished
            self.publications = publications
            self.oldestOpen = oldestOpen
            self.strays = strays
        }
    }

    /// The answer to `check`.
    package struct Check: Sendable, Hashable {
        /// Whether new snapshots see all of the transactions.
        package var areVisible: Bool
        /// Whether a deployment exists that the node had not loaded.
        package var isBehindDeployments: Bool
        /// If it was asked for: no transaction that is open now has a greater number, and the least that one has.
        package var open: Open?

        package struct Open: Sendable, Hashable {
            package var newest: UInt64
            package var oldest: UInt64

            package init(newest: UInt64, oldest: UInt64) {
                self.newest = newest
                self.oldest = oldest
            }
        }

        package init(areVisible: Bool, isBehindDeployments: Bool, open: Open? = nil) {
            self.areVisible = areVisible
            self.isBehindDeployments = isBehindDeployments
            self.open = open
        }
    }

    package enum Effect: Sendable {
        /// Look at the database, then call `inspected`.
        case inspect(CallID)
        /// End the server's process that reads the slot, then call `stepEnded`.
        case terminate(CallID, pid: Int)
        /// If the record still has the incarnation `seen`: drop the slot if it exists, record a new incarnation with
        /// nothing confirmable, and create the slot. Then call `stepEnded`.
        case create(CallID, seen: String?)
        /// Sign the record, if it has this incarnation. No answer is awaited.
        case sign(incarnation: String)
        /// Read the slot from where the server has it confirmed, as the reading of this name: call `received`,
        /// `reached` and `ended`.
        case open(CallID)
        /// End the reading. `ended` need not follow.
        case close(CallID)
        /// Whether the reading of this name shall go on; any other must end. Repeated with each tick, because effects
        /// of several calls may be performed in another order.
        case setReading(CallID, Bool)
        /// Tell the server that what lies before may be removed.
        case confirm(CallID, LSN)
        /// Ask, as of any moment from now on, whether the transactions are visible and whether a deployment after
        /// `loadedDeployment` exists; then call `checked`.
        /// - Parameter asksOpen: whether the answer tells which transactions are open.
        case check(CallID, xids: [UInt32], loadedDeployment: Int64, asksOpen: Bool)
        /// Call `checkDue` after this time.
        case wait(CallID, ms: Int64)
        /// Load the deployments, then call `checkDue`.
        case loadDeployments(CallID)
        /// Append one entry per shard, in order, then call `appended`.
        case append(CallID, [Publication])
        /// Read the overrides as of any moment from now on, then call `overridesConfirmed`.
        case confirmOverrides(CallID)
        /// Raise the record's positions and set its published tables, if it has this incarnation; then call `recorded`.
        case record(CallID, incarnation: String, PositionRecord, published: [String])
        /// Log and measure.
        case report(Report)
    }

    package enum Report: Sendable, Hashable {
        case state(State)
        case inspected(Inspection.Slot?)
        /// Changes may have been missed; all queries that depend on the log run again.
        case doubt(reason: String)
        /// Transactions published, with the events of mutations among them and the time of the oldest one's commit.
        case published(transactions: Int, changes: Int, events: Int, committedAtMs: Int64)
        /// The events of a transaction tell all of its changes.
        case covered
        case readerEnded(pid: Int, silentMs: Int64)
        /// Other slots of Freshet that nobody reads; the database keeps log for them.
        case strays([String])
    }

    /// The state for operators.
    package enum State: Sendable, Hashable {
        /// No query refreshes by the log, and no node leaves events in it.
        case idle
        /// Another node reads the slot.
        case standby(pid: Int)
        case reading(unpublished: [String])
        /// It tries again after a pause.
        case failing(reason: String)
    }

    /// The state of the node's catalogs, by which it decides.
    package struct Knowledge: Sendable {
        /// Another one for each state.
        package let number: Int
        package let loadedDeployment: Int64
        package let tables: CapturedTables
        /// Whether the queries also refresh by what events of mutations tell.
        package let heedsMutations: Bool
        /// Whether any query refreshes by the log.
        package let readsChanges: Bool
        /// Whether the node's own mutations leave their events in the log.
        package let writesEvents: Bool

        package init(
            number: Int, loadedDeployment: Int64, tables: CapturedTables, heedsMutations: Bool,
            readsChanges: Bool = true, writesEvents: Bool = false
        ) {
            self.readsChanges = readsChanges
            self.writesEvents = writesEvents
            self.number = number
            self.loadedDeployment = loadedDeployment
            self.tables = tables
            self.heedsMutations = heedsMutations
        }
    }
}

extension TailerMachine {
    /// The catalogs that the node has loaded, for the choice of shards.
    package struct Rules {
        /// Nil if no query refreshes by the log.
        let captured: (any CapturingRules)?
        let publishing: any PublishingRules

        package init(captured: (any CapturingRules)?, publishing: any PublishingRules) {
            self.captured = captured
            self.publishing = publishing
        }
    }
}

/// The queries that refresh by the log, for the choice of shards.
package protocol CapturingRules {
    /// Returns those that changes of rows in these tables may concern.
    func queries(reading tables: Set<String>) -> [OperationReference]
    var all: [OperationReference] { get }
}
