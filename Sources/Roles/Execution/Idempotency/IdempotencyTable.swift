package import LiveModel
package import Postgres
import QuerySQL

/// The statements on `freshet.idempotency_keys`, whose rows are written in the transactions of their mutations.
///
/// The first step of a mutation inserts the row. It holds an advisory lock until the end of the transaction, so that
/// another mutation with the key neither waits on a connection nor does anything: its insert finds the lock taken, gets
/// a null for the time and fails. After the commit its insert violates the primary key. After a rollback it succeeds.
enum IdempotencyTable {
    static let name = "idempotency_keys"

    private static let claim = Statement(
        """
        INSERT INTO freshet.idempotency_keys (id, request, created_at) VALUES ($1::bytea, $2::bytea,
            CASE WHEN pg_try_advisory_xact_lock($3::bigint) THEN clock_timestamp() END)
        """)
    private static let keepStored = Statement(
        """
        UPDATE freshet.idempotency_keys k SET data = CASE WHEN octet_length(s.data) <= $2::bigint THEN s.data END
        FROM (SELECT \(AnswerSQL.data)) AS s (data) WHERE k.id = $1::bytea RETURNING k.data IS NOT NULL
        """)
    private static let keep = Statement(
        "UPDATE freshet.idempotency_keys SET data = $2::text, errors = $3::text WHERE id = $1::bytea")
    private static let read = Statement(
        """
        SELECT request = $2::bytea, created_at < clock_timestamp() - make_interval(secs => $3::double precision / 1000),
            data, errors
        FROM freshet.idempotency_keys WHERE id = $1::bytea
        """)
    private static let remove = Statement(
        """
        DELETE FROM freshet.idempotency_keys WHERE id = $1::bytea
        AND created_at < clock_timestamp() - make_interval(secs => $2::double precision / 1000)
        """)
    /// A lock of the session, so that it is not held to the end of a batch of reads.
    private static let look = Statement(
        """
        SELECT CASE WHEN pg_try_advisory_lock_shared($1::bigint) THEN pg_advisory_unlock_shared($1::bigint)
            ELSE FALSE END
        """)

    /// Makes the first step of a mutation's transaction.
    static func claiming(_ claim: IdempotencyClaim) -> PostgresStep {
        (Self.claim, [.binary(claim.id.bytes), .binary(claim.request.bytes), .text(String(claim.lockNumber))])
    }

    /// Makes the last step of a transaction whose steps have stored the answer (`AnswerSQL`). Its result is whether the
    /// answer was kept.
    static func keepingStored(_ claim: IdempotencyClaim, bytesMax: Int) -> PostgresStep {
        (keepStored, [.binary(claim.id.bytes), .text(String(bytesMax))])
    }

    /// Makes the step that keeps an answer.
    /// - Parameter answer: nil if it is too large.
    static func keeping(_ claim: IdempotencyClaim, _ answer: KeptAnswer?) -> PostgresStep {
        (
            keep,
            [
                .binary(claim.id.bytes), answer.map { .binary($0.data) } ?? .null,
                answer?.storedErrors.map { .binary($0) } ?? .null,
            ]
        )
    }

    /// Returns why the claim, the step of this number, failed; nil if the error is another one.
    static func refusal(of error: PostgresError, claimStep: Int) -> KeyedMutation.Refusal? {
        guard error.stepIndex == claimStep, error.table == name else { return nil }
        if error.isUniqueViolation { return .taken }
        return error.isNotNullViolation && error.column == "created_at" ? .inUse : nil
    }

    /// Whether the event's row could not be inserted because that of an earlier mutation with the key, whose answer is
    /// no longer kept, is not published yet: its event has the same id.
    static func isUnpublished(_ error: PostgresError, eventStep: Int) -> Bool {
        error.stepIndex == eventStep && error.table == "outbox" && error.isUniqueViolation
    }

    // MARK: Outside of the mutation's transaction

    static func read(
        _ claim: IdempotencyClaim, keepMs: Int64, _ pool: PostgresPool
    ) async throws(RequestError) -> KeyedMutation.Kept? {
        let parameters: [Parameter] = [
            .binary(claim.id.bytes), .binary(claim.request.bytes), .text(String(keepMs)),
        ]
        let found: Row?
        do throws(PostgresError) {
            found = try await pool.query(read, parameters).rows.first
        } catch {
            throw RequestError(error)
        }
        guard let found else { return nil }
        let answer = try found[2].map { data throws(RequestError) in
            try KeptAnswer(data: data, storedErrors: found[3])
        }
        return KeyedMutation.Kept(
            isSameRequest: found.bool(0) ?? false, isExpired: found.bool(1) ?? false, answer: answer)
    }

    static func remove(
        _ claim: IdempotencyClaim, keepMs: Int64, _ pool: PostgresPool
    ) async throws(RequestError) {
        do throws(PostgresError) {
            _ = try await pool.transaction([(remove, [.binary(claim.id.bytes), .text(String(keepMs))])])
        } catch {
            throw RequestError(error)
        }
    }

    static func isFree(_ claim: IdempotencyClaim, _ pool: PostgresPool) async throws(RequestError) -> Bool {
        do throws(PostgresError) {
            return try await pool.query(look, [.text(String(claim.lockNumber))]).rows.first?.bool(0) ?? false
        } catch {
            throw RequestError(error)
        }
    }
}
