import Clocks
package import LiveModel
import Postgres

/// The performance of `KeyedMutation`.
extension MutationExecutor {
    /// How a committed mutation used its idempotency key.
    package struct KeyUse: Sendable, Hashable {
        /// Whether the answer is that of an earlier mutation.
        package var isReplay = false
        /// Whether the answer was too large to keep.
        package var isAnswerMissing = false
        /// Whether it waited for another mutation.
        package var hasWaited = false
    }

    /// The end of one attempt to run a mutation.
    enum Attempt: Sendable {
        case ended(Outcome)
        /// Another mutation has the idempotency key; nothing was done.
        case refused(KeyedMutation.Refusal)
    }

    /// A mutation's claim of its idempotency key, with the bound of its answer.
    struct Claim: Sendable {
        let key: IdempotencyClaim
        let answerBytesMax: Int
    }

    /// Attempts a mutation until it, or an earlier one with its idempotency key, was applied.
    func once(
        _ claim: Claim?, _ attempt: () async throws(RequestError) -> Attempt
    ) async throws(RequestError) -> Outcome {
        guard let claim else {
            guard case .ended(var outcome) = try await attempt() else {
                preconditionFailure("a mutation without a claim was refused")
            }
            outcome.position = outcome.event?.id
            return outcome
        }
        let nowMs = { Int64(MonotonicClock.nowMs()) }
        var keyed = KeyedMutation(idempotency, nowMs: nowMs())
        var step = KeyedMutation.Step.attempt
        while true {
            switch step {
            case .attempt:
                switch try await attempt() {
                case .ended(var outcome):
                    outcome.keyUse?.hasWaited = keyed.hasWaited
                    outcome.position = outcome.event?.id
                    return outcome
                case .refused(let refusal): step = keyed.refused(refusal, nowMs: nowMs())
                }
            case .look(let ms):
                try? await Task.sleep(for: .milliseconds(ms))
                if Task.isCancelled { throw RequestError(.unavailable, "the client no longer waits") }
                step = keyed.looked(isFree: try await IdempotencyTable.isFree(claim.key, pool), nowMs: nowMs())
            case .read:
                step = keyed.found(try await IdempotencyTable.read(claim.key, keepMs: idempotency.keepMs, pool))
            case .remove:
                try await IdempotencyTable.remove(claim.key, keepMs: idempotency.keepMs, pool)
                step = keyed.removed()
            case .replay(let answer):
                return Outcome(
                    body: answer.data, errors: answer.errors, event: nil,
                    keyUse: KeyUse(isReplay: true, hasWaited: keyed.hasWaited), position: claim.key.eventID)
            case .fail(let error): throw error
            }
        }
    }

    /// Begins the transaction, and in the same round trip claims the idempotency key.
    static func begin(
        _ claim: Claim?, _ session: PostgresSession
    ) async throws(PostgresError) -> KeyedMutation.Refusal? {
        guard let claim else {
            try await session.begin()
            return nil
        }
        do throws(PostgresError) {
            _ = try await session.execute([PostgresSession.beginning, IdempotencyTable.claiming(claim.key)])
            return nil
        } catch {
            guard let refusal = IdempotencyTable.refusal(of: error, claimStep: 1) else { throw error }
            return refusal
        }
    }
}

extension MutationExecutor.Claim? {
    /// Returns the error with a time for the retry if that is safe: with its key, a mutation whose commit is uncertain
    /// can be sent again.
    func repeatable(_ error: RequestError) -> RequestError {
        guard self != nil, error.code == .outcomeUnknown else { return error }
        var error = error
        error.retryAfterMs = error.retryAfterMs ?? 1_000
        return error
    }
}
