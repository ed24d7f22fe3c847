import Execution
import JSON
import LiveModel
import Testing

/// The steps of a mutation that has an idempotency key.
@Suite struct KeyedMutationTests {
    private static let answer = KeptAnswer(data: Array(#"{"a":1}"#.utf8), errors: [])

    private func keyed(waitMs: Int64 = 1_000) -> KeyedMutation {
        var settings = KeyedMutation.Settings()
        settings.waitMs = waitMs
        return KeyedMutation(settings, nowMs: 0)
    }

    private func kept(
        same: Bool = true, expired: Bool = false, _ answer: KeptAnswer? = answer
    ) -> KeyedMutation.Kept {
        KeyedMutation.Kept(isSameRequest: same, isExpired: expired, answer: answer)
    }

    private func code(_ step: KeyedMutation.Step) -> ErrorCode? {
        if case .fail(let error) = step { error.code } else { nil }
    }

    @Test func aKeyThatWasUsedIsReadAndReplayed() {
        var keyed = keyed()
        #expect(keyed.refused(.taken, nowMs: 0) == .read)
        #expect(keyed.found(kept()) == .replay(Self.answer))
        #expect(!keyed.hasWaited)
    }

    @Test func anotherRequestIsAConflictWhateverWasKept() {
        var keyed = keyed()
        #expect(code(keyed.found(kept(same: false))) == .idempotencyKeyReused)
        #expect(code(keyed.found(kept(same: false, nil))) == .idempotencyKeyReused)
    }

    @Test func anAnswerThatWasTooLargeIsReportedAsApplied() {
        var keyed = keyed()
        #expect(code(keyed.found(kept(nil))) == .alreadyApplied)
    }

    /// Also for another request: after its time a key is free.
    @Test(arguments: [true, false]) func anExpiredRowIsRemovedAndTheMutationRuns(isSame: Bool) {
        var keyed = keyed()
        #expect(keyed.refused(.taken, nowMs: 0) == .read)
        #expect(keyed.found(kept(same: isSame, expired: true)) == .remove)
        #expect(keyed.removed() == .attempt)
    }

    @Test func aRowThatVanishedLeadsToAnotherAttemptButNotForEver() {
        var keyed = keyed()
        for _ in 1..<KeyedMutation.attemptsMax {
            #expect(keyed.refused(.taken, nowMs: 0) == .read)
            #expect(keyed.found(nil) == .attempt)
        }
        #expect(code(keyed.found(nil)) == .idempotencyKeyInUse)
    }

    @Test func pausesGrowUntilTheKeyIsFree() {
        var keyed = keyed()
        var pauses: [Int64] = []
        var step = keyed.refused(.inUse, nowMs: 0)
        for now in 0..<8 {
            guard case .look(let ms) = step else { break }
            pauses.append(ms)
            step = keyed.looked(isFree: false, nowMs: Int64(now))
        }
        #expect(pauses == [5, 10, 20, 40, 80, 100, 100, 100])
        #expect(keyed.looked(isFree: true, nowMs: 9) == .attempt)
        #expect(keyed.hasWaited)
        #expect(keyed.refused(.taken, nowMs: 10) == .read)
    }

    @Test func theWaitEndsAtItsTime() {
        var keyed = keyed(waitMs: 12)
        #expect(keyed.refused(.inUse, nowMs: 0) == .look(afterMs: 5))
        #expect(keyed.looked(isFree: false, nowMs: 5) == .look(afterMs: 7))
        #expect(code(keyed.looked(isFree: false, nowMs: 12)) == .idempotencyKeyInUse)
        #expect(code(keyed.looked(isFree: true, nowMs: 12)) == .idempotencyKeyInUse)
        var impatient = self.keyed(waitMs: 0)
        #expect(code(impatient.refused(.inUse, nowMs: 0)) == .idempotencyKeyInUse)
    }

    @Test func aKeyInUseInvitesARetry() {
        var keyed = keyed(waitMs: 0)
        guard case .fail(let error) = keyed.refused(.inUse, nowMs: 0) else {
            Issue.record("it does not fail")
            return
        }
        #expect(error.retryAfterMs == 1_000 && error.code.httpStatus == 409)
    }
}

@Suite struct KeptAnswerTests {
    @Test func errorsComeBackAsTheyWere() throws {
        var error = RequestError(.constraintViolation, "no \"such\" lot", path: [.key("a"), .index(3), .key("b")])
        error.violation = ConstraintViolation(
            table: "Lot", constraint: nil, fields: ["id", "title"], givenFields: ["title"])
        var late = RequestError(.timeout, "late", path: [.key("c")])
        late.retryAfterMs = 7
        let plain = RequestError(.permissionDenied, "(aborted)")
        let data = Array(#"{"a":null}"#.utf8)
        let answer = KeptAnswer(data: data, errors: [error, late, plain])
        #expect(try KeptAnswer(data: data, storedErrors: answer.storedErrors) == answer)
        let without = KeptAnswer(data: data, errors: [])
        #expect(without.storedErrors == nil)
        #expect(try KeptAnswer(data: data, storedErrors: nil) == without)
    }

    @Test func aCodeOfALaterReleaseIsInternal() throws {
        let answer = try KeptAnswer(
            data: [], storedErrors: Array(#"[{"code":"LATER","message":"m","path":["a"]}]"#.utf8))
        #expect(answer.errors == [RequestError(.internalError, "m", path: [.key("a")])])
        #expect(throws: RequestError.self) { try KeptAnswer(data: [], storedErrors: Array("nonsense".utf8)) }
    }
}
