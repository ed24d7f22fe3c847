import Catalog
import JSON
import LiveModel
import Operations
import Postgres
import QuerySQL

/// Runs a mutation field by field in one transaction: values may read the results of earlier fields, and a failed
/// `@check` ends it. `MutationProgress` decides what each result means.
///
/// The effects of a custom resolver cannot be undone. Leading resolver fields run before the transaction, so that a
/// slow resolver holds no connection; later ones run inside it, in order. With an idempotency key all run inside it,
/// because the key must be claimed before, and get a key of their own for it. A resolver that may have acted counts as
/// one that has: the event is published, and a later failure is reported as OUTCOME_UNKNOWN, because repeating the
/// mutation is not safe.
struct StepwiseMutation {
    let pool: PostgresPool
    let operation: StoredOperation
    let run: MutationRun
    let resolvers: (any ResolverTransport)?
    let draft: EventDraft
    let claim: MutationExecutor.Claim?
    /// The caller to whom the session is charged.
    let caller: Caller

    private struct State {
        var run: MutationRun
        var progress: MutationProgress
    }

    func execute() async throws(RequestError) -> MutationExecutor.Attempt {
        var before = State(run: run, progress: MutationProgress(run))
        if claim == nil {
            while case .field(let index) = before.progress.step, let call = run.remoteCall(index) {
                await perform(call, index, &before)
            }
        }
        do {
            let begun = before
            return try await pool.withSession(caller: caller) { session in
                if let refusal = try await MutationExecutor.begin(claim, session) { return .refused(refusal) }
                var state = begun
                return try await runFields(session, &state)
            }
        } catch {
            throw claim.repeatable(before.progress.failure(after: Self.failure(error)))
        }
    }

    private func runFields(
        _ session: PostgresSession, _ state: inout State
    ) async throws -> MutationExecutor.Attempt {
        // The fields at the beginning that call a custom resolver, of which there are some only with a claim.
        var leading = 0
        do {
            while case .field(let index) = state.progress.step {
                if let call = run.remoteCall(index) {
                    await perform(call, index, &state)
                    if index == leading { leading += 1 }
                } else {
                    try await perform(index, session, &state)
                }
            }
            if state.progress.step == .commit {
                do throws(RequestError) {
                    try state.run.finish()
                } catch {
                    state.progress.wholeFailed(error)
                }
            }
            return try await MutationExecutor.end(state.progress, draft, claim, session)
        } catch {
            guard claim != nil, leading > 0 else { throw error }
            throw state.progress.failure(after: Self.failure(error))
        }
    }

    private static func failure(_ error: any Error) -> RequestError {
        switch error {
        case let error as PostgresError: RequestError(error)
        case let error as RequestError: error
        default: RequestError(.internalError, "the mutation failed")
        }
    }

    private func perform(_ call: RemoteCall, _ index: Int, _ state: inout State) async {
        let value: [UInt8]
        do throws(RequestError) {
            guard let resolvers else {
                throw RequestError(.internalError, "custom resolvers are not set up on this node")
            }
            value = try await resolvers.call(call, idempotencyKey: claim?.key.resolverKey(call.responseKey))
        } catch {
            return state.progress.resolverFailed(error)
        }
        do throws(RequestError) {
            state.progress.succeeded(try state.run.accept(index, value))
        } catch {
            state.progress.checkFailed(error, hasActed: true)
        }
    }

    private func perform(_ index: Int, _ session: PostgresSession, _ state: inout State) async throws {
        let step: MutationStep
        do throws(RequestError) {
            step = try state.run.step(index)
        } catch {
            return state.progress.failed(error)
        }
        try await session.savepoint("field")
        do {
            let result = try await session.execute(Statement(step.sql), step.parameters.map { Parameter($0) })
            let shown = try state.run.accept(index, MutationExecutor.value(of: step, result))
            try await session.release("field")
            state.progress.succeeded(
                shown, keysWritten: MutationExecutor.keysWritten(by: step, result), rows: step.rows,
                hasImages: step.storesImages)
        } catch let error as PostgresError {
            guard case .server = error.code else { throw error }
            try await session.rollback(to: "field")
            state.progress.failed(RequestError(error, of: operation))
        } catch let error as RequestError {
            try await session.rollback(to: "field")
            state.progress.checkFailed(error)
        }
    }
}
