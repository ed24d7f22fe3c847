import JSON
import ProtocolClients
import Testing

@testable import LoadDriver

@Suite struct ProtocolTests {
    private func message(_ text: String) -> SocketMessage {
        Array(text.utf8).withUnsafeBytes { SocketMessage($0) }
    }

    @Test func resultsAreRecognisedWithoutParsing() {
        let text = #"{"id":"1","type":"next","payload":{"data":{"a":1}}}"#
        guard case .next(let range) = message(text) else {
            Issue.record("not recognised")
            return
        }
        #expect(String(decoding: Array(text.utf8)[range], as: UTF8.self) == #"{"data":{"a":1}}"#)
        let rewritten = message(#"{"type": "next", "id": "1", "payload": {"data": 1}}"#)
        #expect(rewritten == .nextRewritten(Array(#"{"data":1}"#.utf8)))
    }

    @Test func messagesOfTheServerAreClassified() {
        #expect(message(#"{"type":"connection_ack"}"#) == .acknowledged)
        #expect(message(#"{"type":"ping"}"#) == .ping)
        #expect(message(#"{"id":"1","type":"complete"}"#) == .completed)
        #expect(message("nonsense") == .other)
        let error = #"{"id":"1","type":"error","payload":[{"message":"no","extensions":{"code":"C"}}]}"#
        #expect(message(error) == .refused(code: "C", message: "no"))
        #expect(message(#"{"type":"error"}"#) == .refused(code: "UNCODED", message: ""))
    }

    @Test func pathsAreEscaped() {
        let target = LiveQueryTarget(connector: "m", operation: "Get It", variables: ["id": "ä&="])
        #expect(target.path == "/v1/connectors/m/queries/Get%20It?variables=%7B%22id%22%3A%22%C3%A4%26%3D%22%7D")
    }

    @Test func failuresHaveCodes() {
        #expect(CodedFailure(status: 200, body: Array(#"{"data":{}}"#.utf8)) == nil)
        #expect(CodedFailure(status: 503, body: [])?.code == "HTTP_503")
        let body = Array(#"{"errors":[{"message":"m","extensions":{"code":"UNAVAILABLE"}}]}"#.utf8)
        #expect(CodedFailure(status: 503, body: body) == CodedFailure(code: "UNAVAILABLE", message: "m"))
        #expect(CodedFailure(ClientError(.closed(4_408), "")).code == "CLOSED_4408")
    }
}
