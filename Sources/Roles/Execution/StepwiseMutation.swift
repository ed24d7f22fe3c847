import Catalog
import JSON
import LiveModel
import Operations
import Postgres
import QuerySQL

/// Runs a mutation field by field in one transaction: values may read the results of earlier fields, and a failed
/// `@check` ends it. Source: docs/reference/sql-connect.md §5.1.
///
/// Without `@transaction`, a failed field alone is undone and the others stay; after a failed check, later fields do
/// not run. With it, the first failure undoes everything.
///
/// The effects of a custom resolver cannot be undone. Leading resolver fields run before the transaction, so that a
/// slow resolver holds no connection; later ones run inside it, in order. A resolver that may have acted counts as one
/// that has: the event is published, and a later failure is reported as OUTCOME_UNKNOWN, because repeating the mutation
/// is not safe.
struct StepwiseMutation {
    let pool: PostgresPool
    let operation: StoredOperation
    let run: MutationRun
    let resolvers: (any ResolverTransport)?
    let draft: EventDraft
    /// Is charged for the session.
    let caller: Caller

    func execute() async throws(RequestError) -> MutationExecutor.Outcome {
        let run = run
        var before = State(run: run)
        var first = 0
        while first < run.responseKeys.count, let call = run.remoteCall(first) {
            await perform(call, first, &before)
            first += 1
        }
        do {
            let (begun, first) = (before, first)
            return try await pool.withSession(caller: caller) { session in
                try await session.begin()
                var state = begun
                for index in run.responseKeys.indices.dropFirst(first) {
                    if let call = run.remoteCall(index) {
                        await perform(call, index, &state)
                    } else {
                        try await perform(index, session, &state)
                    }
                    if let failure = state.rollback {
                        try await session.rollback()
                        return MutationExecutor.rolledBack(
                            run.responseKeys, failedStep: index, failure, isRedacted: run.isRedacted)
                    }
                }
                do throws(RequestError) {
                    try state.run.finish()
                } catch {
                    try await session.rollback()
                    return MutationExecutor.Outcome(
                        body: Array("null".utf8), errors: [error], event: nil, failure: error)
                }
                let row = state.isKept ? draft.row(keysWritten: state.keys) : nil
                if let insertion = row?.insertion {
                    _ = try await session.execute(insertion.statement, insertion.parameters)
                }
                try await session.commit()
                return MutationExecutor.Outcome(
                    body: MutationExecutor.object(state.fields), errors: state.errors, event: row,
                    failure: state.isKept ? nil : state.errors.first)
            }
        } catch {
            let failure: RequestError =
                switch error {
                case let error as PostgresError: RequestError(error)
                case let error as RequestError: error
                default: RequestError(.internalError, "the mutation failed")
                }
            throw before.succeededCount > 0 ? Self.unknown(failure) : failure
        }
    }

    private static func unknown(_ failure: RequestError) -> RequestError {
        var unknown = RequestError(
            .outcomeUnknown, "a custom resolver may have acted, and then: \(failure.message)", path: failure.path)
        unknown.cause = failure.cause
        return unknown
    }

    private func perform(_ call: RemoteCall, _ index: Int, _ state: inout State) async {
        let key = state.run.responseKeys[index]
        if state.isAborted {
            return state.fail(key, RequestError(.permissionDenied, "(aborted)"))
        }
        let value: [UInt8]
        do throws(RequestError) {
            guard let resolvers else { throw RequestError(.internalError, "this node reaches no custom resolvers") }
            value = try await resolvers.call(call)
        } catch {
            switch error.code {
            case .unavailable, .limitExceeded, .internalError:
                // The request was not sent.
                return state.fail(key, error)
            case .timeout, .outcomeUnknown:
                state.succeededCount += 1
                return state.fail(key, Self.unknown(error))
            default:
                // The resolver answered with its own error.
                state.succeededCount += 1
                return state.fail(key, error)
            }
        }
        // It has acted, even if its answer is not accepted.
        state.succeededCount += 1
        do throws(RequestError) {
            if case .value(let json) = try state.run.accept(index, value) { state.fields.append((key, json)) }
        } catch {
            state.isAborted = true
            state.fail(key, error)
        }
    }

    private struct State {
        var run: MutationRun
        var fields: [(String, [UInt8]?)] = []
        var errors: [RequestError] = []
        var keys: [EntityKey] = []
        /// A check failed, so later fields do not run.
        var isAborted = false
        /// The failure that rolls a `@transaction` back.
        var rollback: RequestError?
        var succeededCount = 0

        init(run: MutationRun) { self.run = run }

        var isKept: Bool { succeededCount > 0 || run.responseKeys.isEmpty }

        mutating func fail(_ key: String, _ error: RequestError) {
            if run.isTransaction {
                rollback = error
                return
            }
            var error = error
            if error.path.isEmpty { error.path = [.key(key)] }
            errors.append(error)
            if !run.isRedacted(key) { fields.append((key, nil)) }
        }
    }

    private func perform(_ index: Int, _ session: PostgresSession, _ state: inout State) async throws {
        let key = state.run.responseKeys[index]
        if state.isAborted {
            state.fail(key, RequestError(.permissionDenied, "(aborted)"))
            return
        }
        let step: MutationStep
        do throws(RequestError) {
            step = try state.run.step(index)
        } catch {
            state.fail(key, error)
            return
        }
        try await session.savepoint("field")
        do {
            let result = try await session.execute(Statement(step.sql), step.parameters.map { Parameter($0) })
            let shown = try state.run.accept(index, MutationExecutor.value(of: step, result))
            try await session.release("field")
            if case .value(let json) = shown { state.fields.append((key, json)) }
            state.keys += MutationExecutor.keysWritten(by: step, result)
            state.succeededCount += 1
        } catch let error as PostgresError {
            guard case .server = error.code else { throw error }
            try await session.rollback(to: "field")
            state.fail(key, RequestError(error, of: operation))
        } catch let error as RequestError {
            // A failed check: undo this field and run no further one.
            try await session.rollback(to: "field")
            state.isAborted = true
            state.fail(key, error)
        }
    }
}
