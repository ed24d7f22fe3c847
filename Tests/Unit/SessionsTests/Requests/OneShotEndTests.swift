import LiveModel
import Sessions
import Testing

@Suite struct OneShotEndTests {
    private static let error = RequestError(.timeout, "slow")

    @Test func failureOfAQueryHasDataAndThatOfAMutationHasNone() {
        #expect(OneShotEnd<Int>(.failure(Self.error), isQuery: true) == .queryFailed(Self.error))
        #expect(OneShotEnd<Int>(.failure(Self.error), isQuery: false) == .failed(Self.error))
    }

    @Test(arguments: [true, false]) func successIsTheAnswer(isQuery: Bool) {
        #expect(OneShotEnd(.success(7), isQuery: isQuery) == .finished(7))
    }
}
