import LiveModel
import Testing

@testable import Execution

@Suite struct BatchStatementTests {
    @Test func unknownDigestsAreNull() {
        let (first, second) = (Digest(of: "1".utf8), Digest(of: "2".utf8))
        #expect(BatchStatement.digests([]) == "{}")
        #expect(BatchStatement.digests([nil]) == "{NULL}")
        #expect(BatchStatement.digests([first, nil, second]) == "{\(first.hex),NULL,\(second.hex)}")
    }
}
