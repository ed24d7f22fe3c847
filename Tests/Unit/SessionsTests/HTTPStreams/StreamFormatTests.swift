import JSON
import LiveModel
import Sessions
import Testing

/// The bytes of a response that stays open. Sources: Apollo Router's multipart subscriptions, the graphql-sse protocol.
@Suite struct StreamFormatTests {
    private static let result = LiveResult(
        position: SessionFixture.position(1), digest: SessionFixture.digest(1),
        answer: OperationAnswer(body: Array(#"{"a":1}"#.utf8))
    )

    private static let key = SessionFixture.query().key

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func aMultipartAnswerIsByteForByteThatOfApolloRouter() {
        let format = StreamFormat.multipart
        #expect(
            text(format.opening) == "\r\n--graphql\r\ncontent-type: application/json\r\n\r\n{}\r\n--graphql",
            "a line break before the first delimiter, or Apollo iOS loses the first part")
        #expect(
            text(format.result(Self.result, of: Self.key))
                == "\r\ncontent-type: application/json\r\n\r\n{\"payload\":{\"data\":{\"a\":1}}}\r\n--graphql")
        #expect(text(format.keepAlive) == "\r\ncontent-type: application/json\r\n\r\n{}\r\n--graphql")
        #expect(text(format.completed) == "--\r\n")
        let failed = text(format.failed([RequestError(.permissionDenied, "no")]))
        #expect(
            failed
                == "\r\ncontent-type: application/json\r\n\r\n"
                + #"{"payload":null,"errors":[{"message":"no","extensions":{"code":"PERMISSION_DENIED"}}]}"#
                + "\r\n--graphql--\r\n")
        #expect(text(format.leaving).contains("UNAVAILABLE") && text(format.leaving).hasSuffix("--graphql--\r\n"))
    }

    @Test func partsHaveTheirLengthsForClientsThatAskForTheBoundary() {
        let format = StreamFormat.multipartWithLengths
        #expect(
            text(format.result(Self.result, of: Self.key))
                == "\r\ncontent-type: application/json\r\ncontent-length: 28\r\n\r\n"
                + "{\"payload\":{\"data\":{\"a\":1}}}\r\n--graphql")
        #expect(text(format.keepAlive).contains("\r\ncontent-length: 2\r\n\r\n{}\r\n"))
        #expect(format.contentType == StreamFormat.multipart.contentType)
    }

    @Test func theMultipartTypeHasSubscriptionSpecUnquotedAndLast() {
        let fields = StreamFormat.multipart.contentType.split(separator: ";")
        #expect(fields == ["multipart/mixed", "boundary=graphql", "subscriptionSpec=1.0"])
    }

    @Test func anErrorOfOneRefreshStaysInsideThePayload() {
        let multipart = text(StreamFormat.multipart.refreshFailed([RequestError(.timeout, "slow")]))
        #expect(multipart.contains(#"{"payload":{"data":null,"errors":[{"message":"slow""#))
        #expect(multipart.hasSuffix("\r\n--graphql"))
        let sse = text(StreamFormat.graphQLSSE.refreshFailed([RequestError(.timeout, "slow")]))
        #expect(sse.hasPrefix("event: next\ndata: {\"data\":null,\"errors\":[{") && sse.hasSuffix("}\n\n"))
    }

    @Test func anEventStreamCarriesResultsErrorsAndTheEnd() {
        let format = StreamFormat.graphQLSSE
        #expect(format.contentType == "text/event-stream")
        #expect(text(format.opening) == ":\n\n")
        #expect(text(format.result(Self.result, of: Self.key)) == "event: next\ndata: {\"data\":{\"a\":1}}\n\n")
        #expect(text(format.completed) == "event: complete\ndata: \n\n", "empty, but present")
        let failed = text(format.failed([RequestError(.operationNotFound, "none")]))
        #expect(
            failed.hasPrefix("event: next\ndata: {\"errors\":[{\"message\":\"none\"") && failed.hasSuffix("data: \n\n"))
        #expect(format.leaving.isEmpty, "clients reconnect when there was no complete")
    }

    @Test func aTaggedEventStreamCarriesTheResumeTag() throws {
        let format = try #require(StreamFormat.graphQLSSE.tagged)
        let tag = EntityTag(Self.result, of: Self.key)
        let extensions = "\"extensions\":{\"resume\":\"\(tag.bare)\"}"
        #expect(
            text(format.result(Self.result, of: Self.key))
                == "event: next\ndata: {\"data\":{\"a\":1},\(extensions)}\n\n")
        let patch = try #require(format.delta(Array("[]".utf8), to: Self.result, of: Self.key))
        #expect(
            text(patch)
                == "event: next\ndata: {\"extensions\":{\"delta\":{\"patch\":[]},\"resume\":\"\(tag.bare)\"}}\n\n")
        #expect(
            text(format.unchanged(tag))
                == "event: next\ndata: {\"extensions\":{\"resume\":\"\(tag.bare)\",\"unchanged\":true}}\n\n")
        #expect(StreamFormat.allCases.filter { $0.tagged != nil } == [.graphQLSSE, .taggedGraphQLSSE])
    }

    @Test func thePlainResourceHasTheEntityTagAsId() {
        let event = text(StreamFormat.resource.result(Self.result, of: Self.key))
        let tag = EntityTag(KnownResult(digest: Self.result.digest, position: Self.result.position), of: Self.key)
        #expect(event == "id: \(tag.bare)\nevent: next\ndata: {\"data\":{\"a\":1}}\n\n")
    }

    /// A result of which a check withheld a part, in every form.
    @Test func errorsStandBesideTheData() throws {
        var result = Self.result
        result.answer.errors = [RequestError(.permissionDenied, "no", path: [.key("b"), .index(0)])]
        let error = #"{"message":"no","path":["b",0],"extensions":{"code":"PERMISSION_DENIED"}}"#
        let envelope = #"{"data":{"a":1},"errors":[\#(error)]}"#
        for format in [StreamFormat.resource, .graphQLSSE] {
            #expect(text(format.result(result, of: Self.key)).hasSuffix("event: next\ndata: \(envelope)\n\n"))
        }
        #expect(text(StreamFormat.multipart.result(result, of: Self.key)).contains("{\"payload\":\(envelope)}\r\n"))
        func message(_ format: ResultFormat) -> String { text(format.prefix(id: "x") + format.rest(of: result)) }
        #expect(message(.next) == #"{"id":"x","type":"next","payload":\#(envelope)}"#)
        #expect(message(.data) == #"{"id":"x","type":"data","payload":\#(envelope)}"#)
        #expect(message(.event) == "event: next\ndata: {\"id\":\"x\",\"payload\":\(envelope)}\n\n")
        let sqlConnect = message(.sqlConnect)
        #expect(sqlConnect.hasPrefix(#"{"result":{"requestId":"x","data":{"a":1},"errors":[{"#), "\(sqlConnect)")
        #expect(sqlConnect.contains(#""path":["b",0]"#) && sqlConnect.hasSuffix("]}}"))
        let protobuf = text(message(.sqlConnectProtobuf).utf8.map { $0 })
        #expect(protobuf.contains("no"))
        #expect(try JSONParser.parse(Array(sqlConnect.utf8))["result"]?["data"] == ["a": 1])
    }

    @Test func lineBreaksBetweenTokensDoNotEndAnEvent() {
        var result = Self.result
        result.answer.body = Array("{\"a\":\n1}".utf8)
        let format = ResultFormat.event
        let event = text(format.prefix(id: "x") + format.rest(of: result))
        #expect(event == "event: next\ndata: {\"id\":\"x\",\"payload\":{\"data\":{\"a\": 1}}}\n\n")
    }
}
