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

    init(
        _ envelope: MutationExecutor.Envelope, operation: OperationReference, variables: JSONObject, auth: Auth?,
        clock: ServiceClock
    ) {
        self.envelope = envelope
        self.operation = operation
        self.variables = variables
        self.auth = auth
        self.clock = clock
    }

    /// Returns the outbox row to insert just before the commit, and the step that does.
    func row(keysWritten: [EntityKey], rows: RowChanges?) -> (row: OutboxRow, insertion: PostgresStep) {
        let event = MutationEvent(
            id: envelope.eventID, operation: operation, variables: variables,
            auth: envelope.authReads.project(auth) ?? .null, authParts: envelope.authReads, keysWritten: keysWritten,
            rows: envelope.recordedFields.flatMap { rows?.telling($0) }, traceID: envelope.traceID,
            committedAtMs: clock.nowMs())
        let row = OutboxRow(event, shards: envelope.shards)
        return (row, row.insertion(loadedDeployment: envelope.loadedDeployment))
    }
}
