import JSON
import LiveModel
import Sessions
import TestSupport
import Testing

@Suite struct VariableLimitsTests {
    private func refusal(_ text: String, depthMax: Int = 3, bytesMax: Int = 1_000) throws -> RequestError? {
        guard case .object(let variables) = try JSONValue(parsing: Array(text.utf8)) else { return nil }
        return failure { () throws(RequestError) in
            try VariableLimits(depthMax: depthMax, bytesMax: bytesMax).check(variables)
        }
    }

    /// The variables' own object is the first level.
    @Test(arguments: [
        (#"{}"#, 1, true), (#"{"a":1}"#, 1, true), (#"{"a":[]}"#, 1, false), (#"{"a":{}}"#, 1, false),
        (#"{"a":[1]}"#, 2, true), (#"{"a":[[1]]}"#, 2, false), (#"{"a":{"b":[1]}}"#, 3, true),
        (#"{"a":{"b":[{}]}}"#, 3, false), (#"{"a":1,"b":[{"c":[1]}]}"#, 3, false),
    ])
    func depthOfVariablesIsBounded(_ text: String, _ depthMax: Int, _ isFine: Bool) throws {
        let refusal = try refusal(text, depthMax: depthMax)
        #expect((refusal == nil) == isFine)
        #expect(isFine || refusal?.code == .payloadTooLarge && refusal?.message.contains("\(depthMax)") == true)
    }

    /// Counts the bytes of the text that is kept, without the blanks that the client sent.
    @Test func bytesOfTheKeptTextAreBounded() throws {
        #expect(try refusal(#"{ "a" :   "12345" }"#, bytesMax: 13) == nil)
        #expect(try refusal(#"{"a":"123456"}"#, bytesMax: 13)?.code == .payloadTooLarge)
        #expect(try refusal(#"{"a":"é23456"}"#, bytesMax: 14)?.code == .payloadTooLarge)
    }

    /// Whether it is judged by the estimate or by the text: never otherwise than by the text.
    @Test(arguments: [
        #"{"a":"plain"}"#, #"{"a":"\u0001\u0002\u0003"}"#,
        #"{"\u0001":[-2.2250738585072014e-308,-9223372036854775808]}"#, #"{"a":{"b":[null,true,false]},"c":""}"#,
        #"{"":[-1.9643901380568704e-06,-1.9643901380568704e-06,-1.9643901380568704e-06,-1.9643901380568704e-06]}"#,
    ])
    func theEstimateRefusesNothingThatFits(_ text: String) throws {
        let bytes = try JSONValue(parsing: Array(text.utf8)).compactBytes.count
        #expect(try refusal(text, bytesMax: bytes) == nil)
        #expect(try refusal(text, bytesMax: bytes - 1)?.code == .payloadTooLarge)
    }

    /// Deeply nested values are judged without a deep recursion.
    @Test func hostileDepthIsRefusedWithoutRecursion() throws {
        let deep = #"{"a":"# + String(repeating: "[", count: 100) + String(repeating: "]", count: 100) + "}"
        #expect(try refusal(deep, depthMax: 16)?.code == .payloadTooLarge)
    }
}
