import JSON
import LiveModel
import Testing

@Suite struct ErrorsTests {
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func envelopesSpliceTheBody() {
        #expect(text(ResultEnvelope.data(Array("{ }".utf8))) == #"{"data":{ }}"#)
        let errors = [RequestError(.constraintViolation, "taken", path: [.key("a"), .index(2)])]
        #expect(
            text(ResultEnvelope.errors(errors))
                == #"{"errors":[{"message":"taken","path":["a",2],"extensions":{"code":"CONSTRAINT_VIOLATION"}}]}"#)
        #expect(text(ResultEnvelope.errors(errors, body: Array("null".utf8))).hasPrefix(#"{"data":null,"errors":["#))
    }

    @Test(arguments: ErrorCode.allCases)
    func everyCodeHasAStatusAndOnlyRetryableOnesATime(code: ErrorCode) {
        #expect((400...599).contains(code.httpStatus))
        #expect((RequestError(code, "m").retryAfterMs != nil) == code.isRetryable)
        #expect(RequestError(code, "m").graphQLError["extensions"]?["code"]?.stringValue == code.rawValue)
    }
}
