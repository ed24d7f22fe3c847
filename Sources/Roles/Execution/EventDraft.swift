import JSON
import LiveModel
import Postgres

/// A mutation's event before its commit: all but the rows that the mutation writes.
struct EventDraft: Sendable {
    private let envelope: MutationExecutor.Envelope
    private let operation: OperationReference
    private let variables: JSONObject
    private let auth: Auth?
    private let clock: ServiceClock
    private let outbox: OutboxKind

    init(
        _ envelope: MutationExecutor.Envelope, operation: OperationReference, variables: JSONObject, auth: Auth?,
        clock: ServiceClock, outbox: OutboxKind
    ) {
        self.envelope = envelope
        self.operation = operation
        self.variables = variables
        self.auth = auth
        self.clock = clock
        self.outbox = outbox
    }

    /// Returns the event to insert just before the commit.
    /// - Parameter hasImages: whether the transaction has stored images of further rows (`RowImages`).
    func event(keysWritten: [EntityKey], rows: RowChanges?, hasImages: Bool = false) -> InsertedEvent {
        let event = MutationEvent(
            id: envelope.eventID, operation: operation, variables: variables,
            auth: envelope.authReads.project(auth) ?? .null, authParts: envelope.authReads, keysWritten: keysWritten,
            rows: envelope.recordedFields.flatMap { rows?.telling($0) }, traceID: envelope.traceID,
            committedAtMs: clock.nowMs(), isTraced: envelope.isTraced)
        return InsertedEvent(
            event, envelope.shards, loadedDeployment: envelope.loadedDeployment,
            hasImages: hasImages && event.rows != nil, into: outbox)
    }
}

/// An event with the step that inserts its outbox row. The database completes an event with the images of rows that
/// the transaction has stored, and returns them, so that the node publishes the same bytes.
struct InsertedEvent: Sendable {
    private enum Form: Sendable {
        case whole(OutboxRow)
        /// The images follow the head.
        case parts(MutationEvent, [ShardID], head: [UInt8], tail: [UInt8])
    }

    private let form: Form
    let insertion: PostgresStep

    init(
        _ event: MutationEvent, _ shards: [ShardID], loadedDeployment: Int64, hasImages: Bool, into outbox: OutboxKind
    ) {
        guard hasImages else {
            let row = OutboxRow(event, shards: shards)
            form = .whole(row)
            insertion = row.insertion(loadedDeployment: loadedDeployment, into: outbox)
            return
        }
        let (head, tail) = event.encodedParts
        form = .parts(event, shards, head: head, tail: tail)
        insertion = OutboxRow.insertion(
            of: event, head: head, tail: tail, shards: shards, loadedDeployment: loadedDeployment, into: outbox)
    }

    /// Returns the row as inserted.
    /// - Parameter result: that of `insertion`. Without images, because a row for later deployments was not needed, any
    ///   rows may have changed.
    func row(_ result: ResultSet?) -> OutboxRow {
        switch form {
        case .whole(let row): return row
        case .parts(var event, let shards, let head, let tail):
            if let images = result?.rows.first?[0] {
                return OutboxRow(id: event.id, shards: shards, event: head + images + tail)
            }
            event.rows = nil
            return OutboxRow(event, shards: shards)
        }
    }
}
