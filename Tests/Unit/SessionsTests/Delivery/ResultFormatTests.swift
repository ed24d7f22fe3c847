import Sessions
import Testing

@Suite struct ResultFormatTests {
    @Test func deltasAreThoseOfGraphQLTransportWS() throws {
        let prefix = try #require(ResultFormat.next.deltaPrefix(id: "x\""))
        #expect(
            String(decoding: prefix + ResultFormat.deltaRest(Array("[]".utf8)), as: UTF8.self)
                == #"{"id":"x\"","type":"next","payload":{"extensions":{"delta":{"patch":[]}}}}"#)
        #expect(ResultFormat.allCases.filter(\.hasDeltas) == [.next])
    }

    @Test(arguments: ResultFormat.allCases) func deltaPrefixExistsWhereClientsMayRequestDeltas(format: ResultFormat) {
        #expect((format.deltaPrefix(id: "1") != nil) == format.hasDeltas)
    }
}
