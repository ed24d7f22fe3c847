import JSON
import LiveModel
import Sessions
import Testing

@Suite struct ResultFormatTests {
    @Test func deltasAreThoseOfGraphQLTransportWS() throws {
        let prefix = try #require(ResultFormat.next.deltaPrefix(id: "x\""))
        #expect(
            String(decoding: prefix + ResultFormat.deltaRest(Array("[]".utf8)), as: UTF8.self)
                == #"{"id":"x\"","type":"next","payload":{"extensions":{"delta":{"patch":[]}}}}"#)
        #expect(ResultFormat.allCases.filter(\.hasDeltas) == [.next, .taggedNext])
    }

    @Test func theTaggedFormCarriesTheResumeTag() throws {
        let result = SessionFixture.live(1, 1)
        let key = SessionFixture.query().key
        let tag = EntityTag(result, of: key)
        func message(_ rest: [UInt8], _ prefix: [UInt8]) throws -> JSONValue { try JSONParser.parse(prefix + rest) }
        let whole = try message(
            ResultFormat.taggedNext.rest(of: result, key: key), ResultFormat.taggedNext.prefix(id: "x"))
        #expect(whole["payload"] == ["data": 1, "extensions": ["resume": .string(tag.bare)]])
        var partial = result
        partial.answer.errors = [RequestError(.permissionDenied, "no")]
        let withErrors = try message(
            ResultFormat.taggedNext.rest(of: partial, key: key), ResultFormat.taggedNext.prefix(id: "x"))
        #expect(withErrors["payload"]?["errors"]?.arrayValue?.count == 1)
        #expect(withErrors["payload"]?["extensions"]?["resume"]?.stringValue == tag.bare)
        let patch = try message(
            ResultFormat.deltaRest(Array("[]".utf8), tag: tag),
            try #require(ResultFormat.taggedNext.deltaPrefix(id: "x")))
        #expect(patch["payload"] == ["extensions": ["delta": ["patch": []], "resume": .string(tag.bare)]])
        let unchanged = try JSONParser.parse(ResultFormat.unchanged(id: "x", tag))
        #expect(
            unchanged == [
                "id": "x", "type": "next",
                "payload": ["extensions": ["resume": .string(tag.bare), "unchanged": true]],
            ])
        #expect(ResultFormat.allCases.filter { $0.tagged != nil } == [.next, .taggedNext])
    }

    @Test(arguments: ResultFormat.allCases) func deltaPrefixExistsWhereClientsMayRequestDeltas(format: ResultFormat) {
        #expect((format.deltaPrefix(id: "1") != nil) == format.hasDeltas)
    }
}
