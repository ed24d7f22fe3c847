import Endpoint
import JSON
import LiveModel
import Testing

@Suite struct VariableLimitsTests {
    private func refusal(_ text: String, depthMax: Int = 3, bytesMax: Int = 1_000) throws -> RequestError? {
        guard case .object(let variables) = try JSONValue(parsing: Array(text.utf8)) else { return nil }
        do throws(RequestError) {
            try VariableLimits(depthMax: depthMax, bytesMax: bytesMax).check(variables)
            return nil
        } catch {
            return error
        }
    }

    /// The variables' own object is the first level.
    @Test(arguments: [
        (#"{}"#, 1, true), (#"{"a":1}"#, 1, true), (#"{"a":[]}"#, 1, false), (#"{"a":{}}"#, 1, false),
        (#"{"a":[1]}"#, 2, true), (#"{"a":[[1]]}"#, 2, false), (#"{"a":{"b":[1]}}"#, 3, true),
        (#"{"a":{"b":[{}]}}"#, 3, false), (#"{"a":1,"b":[{"c":[1]}]}"#, 3, false),
    ])
    func depth(_ text: String, _ depthMax: Int, _ isFine: Bool) throws {
        let refusal = try refusal(text, depthMax: depthMax)
        #expect((refusal == nil) == isFine)
        #expect(isFine || refusal?.code == .payloadTooLarge && refusal?.message.contains("\(depthMax)") == true)
    }

    /// Of the text that is kept, whatever blanks the client sent.
    @Test func bytes() throws {
        #expect(try refusal(#"{ "a" :   "12345" }"#, bytesMax: 13) == nil)
        #expect(try refusal(#"{"a":"123456"}"#, bytesMax: 13)?.code == .payloadTooLarge)
        #expect(try refusal(#"{"a":"é23456"}"#, bytesMax: 14)?.code == .payloadTooLarge)
    }

    /// What nobody would send is judged without a deep recursion.
    @Test func hostileDepth() throws {
        let deep = #"{"a":"# + String(repeating: "[", count: 100) + String(repeating: "]", count: 100) + "}"
        #expect(try refusal(deep, depthMax: 16)?.code == .payloadTooLarge)
    }
}
