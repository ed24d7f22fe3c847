package import Catalog
package import JSON
package import LiveModel
package import Postgres
import QuerySQL

/// Runs stored mutations, each in one transaction together with the outbox row of its event.
package final class MutationExecutor: Sendable {
    package struct Outcome: Sendable {
        /// JSON text of `data`.
        package let body: [UInt8]
        /// Errors of single fields; the other fields were committed.
        package var errors: [RequestError]
        /// The event's row, as committed; nil if nothing was.
        package let event: OutboxRow?
        /// The error of the first failed field, when nothing was committed; nil otherwise.
        package var failure: RequestError?
        /// How the idempotency key was used; nil without one, and when nothing was committed.
        package var keyUse: KeyUse?
        /// The id of the event that was committed, by this mutation or by an earlier one with its key; nil if there is
        /// none. Clients wait for it (`SessionAction.wait`).
        package var position: String?
    }

    /// The data that the outbox row needs in addition to the mutation.
    package struct Envelope: Sendable {
        package var eventID: String
        package let traceID: String
        /// Shards that own a query which this mutation could refresh; if empty, an event is written only for
        /// deployments after `loadedDeployment`.
        package let shards: [ShardID]
        /// The part of `mutation.auth` that conditions may read.
        package let authReads: AuthReads
        /// The fields, by table, whose values the event tells of changed rows; nil if it tells no changes.
        package let recordedFields: [String: RecordedFields]?
        /// The deployment that was loaded when the shards were chosen.
        package let loadedDeployment: Int64
        /// Whether the steps of the event's way are noted.
        package let isTraced: Bool

        package init(
            eventID: String, traceID: String, shards: [ShardID], authReads: AuthReads,
            recordedFields: [String: RecordedFields]? = nil, loadedDeployment: Int64, isTraced: Bool = false
        ) {
            self.isTraced = isTraced
            self.eventID = eventID
            self.traceID = traceID
            self.shards = shards
            self.authReads = authReads
            self.recordedFields = recordedFields
            self.loadedDeployment = loadedDeployment
        }
    }

    let pool: PostgresPool
    private let clock: ServiceClock
    private let makeUUID: @Sendable () -> String
    private let resolvers: (any ResolverTransport)?
    private let embeddings: (any EmbeddingTransport)?
    let idempotency: KeyedMutation.Settings
    private let outbox: OutboxKind
    private let statements = StatementCache()

    /// - Parameters:
    ///   - resolvers: nil where no operation has custom resolvers.
    ///   - embeddings: nil where no operation needs embeddings.
    ///   - outbox: where events are left.
    package init(
        pool: PostgresPool, clock: ServiceClock, makeUUID: @escaping @Sendable () -> String,
        resolvers: (any ResolverTransport)? = nil, embeddings: (any EmbeddingTransport)? = nil,
        idempotency: KeyedMutation.Settings = .init(), outbox: OutboxKind = .table
    ) {
        self.outbox = outbox
        self.idempotency = idempotency
        self.resolvers = resolvers
        self.embeddings = embeddings
        self.pool = pool
        self.clock = clock
        self.makeUUID = makeUUID
    }

    /// - Parameters:
    ///   - key: makes the mutation apply once.
    ///   - sender: whose key it is.
    /// - Throws: when nothing was committed and the error belongs to no single field; `.outcomeUnknown` when the commit
    ///   is uncertain; the errors of idempotency keys.
    package func run(
        _ operation: StoredOperation, variables: JSONObject, auth: Auth?, caller: Caller = .unknown,
        key: IdempotencyKey? = nil, sender: IdempotencyClaim.Sender = .client, envelope: Envelope
    ) async throws(RequestError) -> Outcome {
        let claim = try key.map { key throws(RequestError) in
            Claim(
                key: try IdempotencyClaim(
                    key, of: operation.reference, variables: variables, auth: auth, sender: sender),
                answerBytesMax: idempotency.answerBytesMax)
        }
        var envelope = envelope
        if let claim { envelope.eventID = claim.key.eventID }
        // Not inside a transaction, which would hold a connection and locks while the server works.
        let embeddings = try await embeddings.embeddings(for: operation, variables)
        let draft = EventDraft(
            envelope, operation: operation.reference, variables: variables, auth: auth, clock: clock, outbox: outbox)
        if operation.isStepwise {
            let run = operation.mutationRun(
                variables: variables, auth: auth, nowMs: clock.nowMs(), embeddings: embeddings,
                recordedFields: envelope.recordedFields, makeUUID: makeUUID)
            let mutation = StepwiseMutation(
                pool: pool, operation: operation, run: run, resolvers: resolvers, draft: draft, claim: claim,
                caller: caller)
            return try await once(claim) { () async throws(RequestError) -> Attempt in
                try await mutation.execute()
            }
        }
        let call = try operation.mutationCall(
            variables: variables, auth: auth, nowMs: clock.nowMs(), embeddings: embeddings,
            recordedFields: envelope.recordedFields, makeUUID: makeUUID)
        // Where every field is left out there is an event nevertheless: the mutation was executed, and some refresh
        // rules ask for no more. A key that Postgres generates is known too late for an outbox row in the same round
        // trip.
        let canRunAtOnce = call.isTransaction || call.steps.count <= 1
        if canRunAtOnce, !call.steps.contains(where: { $0.returnsKey || claim != nil && $0.resultKind != .json }) {
            return try await once(claim) { () async throws(RequestError) -> Attempt in
                try await runAtOnce(operation, call, draft, claim, caller)
            }
        }
        return try await once(claim) { () async throws(RequestError) -> Attempt in
            try await runInSequence(operation, call, draft, claim, caller)
        }
    }

    /// Sends the steps and the outbox row as one transaction in one round trip. With a claim, its row comes first, each
    /// step stores its part of the answer, and the last one keeps it.
    private func runAtOnce(
        _ operation: StoredOperation, _ call: MutationCall, _ draft: EventDraft, _ claim: Claim?, _ caller: Caller
    ) async throws(RequestError) -> Attempt {
        var steps: [PostgresStep] = call.steps.map { step in
            claim == nil
                ? (statements.statement(for: step.statement, of: operation), step.parameters.map { Parameter($0) })
                : (statements.storing(step, of: operation), step.storingParameters.map { Parameter($0) })
        }
        let event = draft.event(keysWritten: call.keysWritten, rows: call.rows, hasImages: call.hasImages)
        steps.append(event.insertion)
        var first = 0
        if let claim {
            first = 1
            steps.insert(IdempotencyTable.claiming(claim.key), at: 0)
            steps.append(IdempotencyTable.keepingStored(claim.key, bytesMax: claim.answerBytesMax))
        }
        let results: [ResultSet]
        do {
            results = try await pool.transaction(steps, caller: caller, measuring: first)
        } catch {
            if claim != nil, let refusal = IdempotencyTable.refusal(of: error, claimStep: 0) {
                return .refused(refusal)
            }
            if claim != nil, IdempotencyTable.isUnpublished(error, eventStep: first + call.steps.count) {
                return .refused(.inUse)
            }
            guard case .server = error.code, let failed = error.stepIndex,
                call.steps.indices.contains(failed - first)
            else { throw claim.repeatable(RequestError(error)) }
            return .ended(
                MutationProgress.rolledBack(
                    call.steps.map(\.responseKey), failedStep: failed - first, RequestError(error, of: operation)))
        }
        let fields = zip(call.steps, results.dropFirst(first)).map { step, result in
            (step.responseKey, Self.value(of: step, result))
        }
        var outcome = Outcome(
            body: Self.object(fields), errors: [], event: event.row(results[first + call.steps.count]))
        if claim != nil { outcome.keyUse = KeyUse(isAnswerMissing: results.last?.rows.first?.bool(0) == false) }
        return .ended(outcome)
    }

    /// Runs the fields one after the other. Without `@transaction` a failed field does not undo the others; they still
    /// commit together, so that the event cannot be lost between two of them.
    private func runInSequence(
        _ operation: StoredOperation, _ call: MutationCall, _ draft: EventDraft, _ claim: Claim?, _ caller: Caller
    ) async throws(RequestError) -> Attempt {
        do {
            return try await pool.withSession(caller: caller) { session in
                if let refusal = try await Self.begin(claim, session) { return .refused(refusal) }
                var progress = MutationProgress(
                    responseKeys: call.steps.map(\.responseKey), isTransaction: call.isTransaction)
                while case .field(let index) = progress.step {
                    let step = call.steps[index]
                    try await session.savepoint("field")
                    do {
                        let result = try await session.execute(
                            statements.statement(for: step.statement, of: operation),
                            step.parameters.map { Parameter($0) })
                        try await session.release("field")
                        progress.succeeded(
                            .value(Self.value(of: step, result)), keysWritten: Self.keysWritten(by: step, result),
                            rows: step.rows, hasImages: step.storesImages)
                    } catch let error as PostgresError {
                        guard case .server = error.code else { throw error }
                        // The whole transaction is rolled back at its end.
                        if !call.isTransaction { try await session.rollback(to: "field") }
                        progress.failed(RequestError(error, of: operation))
                    }
                }
                return try await Self.end(progress, draft, claim, session)
            }
        } catch let error as PostgresError {
            throw claim.repeatable(RequestError(error))
        } catch let error as RequestError {
            throw error
        } catch {
            throw RequestError(.internalError, "the mutation failed")
        }
    }

    /// Commits the transaction with the outbox row and the kept answer, or rolls it back.
    static func end(
        _ progress: MutationProgress, _ draft: EventDraft, _ claim: Claim?, _ session: PostgresSession
    ) async throws -> Attempt {
        // A mutation of which no field took effect leaves no claim, so that a retry runs it again.
        guard progress.step == .commit, progress.isKept || claim == nil else {
            try await session.rollback()
            return .ended(progress.outcome())
        }
        guard progress.isKept else {
            try await session.commit()
            return .ended(progress.outcome())
        }
        let inserted = draft.event(
            keysWritten: progress.keysWritten, rows: progress.rows, hasImages: progress.hasImages)
        var steps = [inserted.insertion]
        var keyUse: KeyUse?
        if let claim {
            let outcome = progress.outcome()
            let answer = KeptAnswer(data: outcome.body, errors: outcome.errors)
            let bytes = answer.data.count + (answer.storedErrors?.count ?? 0)
            keyUse = KeyUse(isAnswerMissing: bytes > claim.answerBytesMax)
            steps.append(IdempotencyTable.keeping(claim.key, bytes > claim.answerBytesMax ? nil : answer))
        }
        let results: [ResultSet]
        do throws(PostgresError) {
            results = try await session.execute(steps)
        } catch {
            guard claim != nil, IdempotencyTable.isUnpublished(error, eventStep: 0) else { throw error }
            try await session.rollback()
            return .refused(.inUse)
        }
        let event = inserted.row(results.first)
        try await session.commit()
        var outcome = progress.outcome(event: event)
        outcome.keyUse = keyUse
        return .ended(outcome)
    }

    /// Returns the JSON text of one field; nil for null.
    static func value(of step: MutationStep, _ result: ResultSet) -> [UInt8]? {
        switch step.resultKind {
        case .json: result.rows.first?[0]
        case .affectedCount: Array(String(result.affectedRows).utf8)
        }
    }

    static func keysWritten(by step: MutationStep, _ result: ResultSet) -> [EntityKey] {
        step.keysWritten(returned: step.returnsKey ? result.rows.first?[1] : nil)
    }

    /// Returns `{"key":JSON,…}`, with the fields' texts as Postgres made them.
    static func object(_ fields: [(String, [UInt8]?)]) -> [UInt8] {
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        for (index, (key, json)) in fields.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONWriter.append(.string(key), to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            bytes.append(contentsOf: json ?? Array("null".utf8))
        }
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }
}
