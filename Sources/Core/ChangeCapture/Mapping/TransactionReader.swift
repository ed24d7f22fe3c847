package import LiveModel

/// A committed transaction, as far as live queries can notice it.
package struct CapturedTransaction: Sendable, Hashable {
    package let xid: UInt32
    package let committedAtMs: Int64
    /// The position to confirm once the transaction is dealt with.
    package let endLSN: UInt64
    package let rows: RowChanges
    /// The events of the outbox rows that the transaction inserted, as far as the reader keeps them: it is then a
    /// mutation of Freshet, and its events tell some of the changes themselves.
    package let outboxEvents: [[UInt8]]
    /// The events that the transaction left in the log alone, for the reader to publish (`OutboxKind.wal`).
    package var loggedEvents: [OutboxRow] = []
    /// Whether it left more of them than the reader keeps.
    package var hasMoreEvents = false
    /// Whether somebody waits for everything up to here.
    package var isMark = false
}

/// Messages of `pgoutput` put together to transactions.
///
/// Holds one transaction at a time, whose changes `RowChanges` bounds, and the forms of at most `relationsMax` tables.
package struct TransactionReader: Sendable {
    package enum Mistake: Error, Hashable, CustomStringConvertible {
        /// Messages in an order that the protocol does not have.
        case order(String)
        case unknownRelation(UInt32)
        case tooManyRelations

        package var description: String {
            switch self {
            case .order(let message): "the server sent \(message)"
            case .unknownRelation(let id): "the server sent a change of relation \(id) without its columns"
            case .tooManyRelations:
                "the publication has more than \(TransactionReader.relationsMax) tables"
            }
        }
    }

    private struct Open {
        let xid: UInt32
        let committedAtMs: Int64
        var rows = RowChanges()
        var outboxEvents: [[UInt8]] = []
        var loggedEvents: [OutboxRow] = []
        var hasMoreEvents = false
        var isMark = false
    }

    /// The most tables whose form is remembered, partitions and forms of former versions included.
    package static let relationsMax = 10_000
    /// The most events of one transaction that are kept. A mutation has one; changes of others are then not covered.
    package static let outboxEventsMax = 4
    /// The prefix of messages of those who wait until the log is published up to there.
    package static let markPrefix = "freshet.mark"

    private var tables: CapturedTables
    private var relations: [UInt32: ReplicationMessage.Relation] = [:]
    private var mappings: [UInt32: RowMapping] = [:]
    private var open: Open?

    package init(tables: CapturedTables) { self.tables = tables }

    /// Whether a transaction has begun whose end has not been read yet.
    package var isWithinTransaction: Bool { open != nil }

    /// Replaces the tables, for messages that are read from now on.
    package mutating func follow(_ tables: CapturedTables) {
        self.tables = tables
        mappings = relations.compactMapValues { relation in
            tables.table(of: relation).map { RowMapping(relation, table: $0) }
        }
    }

    /// Takes the next message; returns the transaction that it completes.
    package mutating func read(_ message: ReplicationMessage) throws(Mistake) -> CapturedTransaction? {
        switch message {
        case .begin(_, let committedAtMs, let xid):
            guard open == nil else { throw .order("a transaction within another") }
            open = Open(xid: xid, committedAtMs: committedAtMs)
        case .commit(let endLSN):
            guard let done = open else { throw .order("the end of a transaction that had no begin") }
            open = nil
            return CapturedTransaction(
                xid: done.xid, committedAtMs: done.committedAtMs, endLSN: endLSN, rows: done.rows,
                outboxEvents: done.outboxEvents, loggedEvents: done.loggedEvents, hasMoreEvents: done.hasMoreEvents,
                isMark: done.isMark)
        case .relation(let relation): try learn(relation)
        case .insert(let id, let new):
            try append(id) { $0.insert(new) }
            keepOutboxEvent(of: new, in: try relation(id))
        case .update(let id, let old, let new): try append(id) { $0.update(old, new) }
        case .delete(let id, let old): try append(id) { $0.delete(old) }
        case .truncate(let ids):
            for id in ids {
                let name = try relation(id).name
                try append(id) { _ in .anything(in: name) }
            }
        case .message(let isTransactional, _, let prefix, let content):
            if isTransactional { try take(prefix, content) }
        case .type, .origin: break
        }
        return nil
    }

    private mutating func learn(_ relation: ReplicationMessage.Relation) throws(Mistake) {
        let former = relations.updateValue(relation, forKey: relation.id)
        guard relations.count <= Self.relationsMax else { throw .tooManyRelations }
        mappings[relation.id] = tables.table(of: relation).map { RowMapping(relation, table: $0) }
        // A migration may have rewritten the values, which no message tells.
        guard let former, former.columns != relation.columns, mappings[relation.id] != nil else { return }
        open?.rows.append(.anything(in: relation.name))
    }

    private mutating func keepOutboxEvent(
        of new: [ReplicationMessage.Value], in relation: ReplicationMessage.Relation
    ) {
        guard relation.namespace == "freshet", relation.name == "outbox", new.count == relation.columns.count,
            let position = relation.columns.firstIndex(where: { $0.name == "event" }),
            case .text(let event) = new[position], let count = open?.outboxEvents.count, count < Self.outboxEventsMax
        else { return }
        open?.outboxEvents.append(event)
    }

    /// Takes a message of `pg_logical_emit_message`; those of others are left out.
    private mutating func take(_ prefix: String, _ content: [UInt8]) throws(Mistake) {
        guard let count = open?.loggedEvents.count else { throw .order("a message outside of its transaction") }
        switch prefix {
        case OutboxRow.logPrefix where count < Self.outboxEventsMax:
            open?.loggedEvents.append(OutboxRow(logMessage: content))
        case OutboxRow.logPrefix: open?.hasMoreEvents = true
        case Self.markPrefix: open?.isMark = true
        default: break
        }
    }

    private func relation(_ id: UInt32) throws(Mistake) -> ReplicationMessage.Relation {
        guard let relation = relations[id] else { throw .unknownRelation(id) }
        return relation
    }

    private mutating func append(_ id: UInt32, _ change: (RowMapping) -> RowChange) throws(Mistake) {
        guard open != nil else { throw .order("a change outside of a transaction") }
        _ = try relation(id)
        guard let mapping = mappings[id] else { return }
        open?.rows.append(change(mapping))
    }
}
