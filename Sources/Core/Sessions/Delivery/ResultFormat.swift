import JSON
package import LiveModel

/// The form of a live query's results in each protocol: a prefix with the operation's id, and the rest, which all
/// sessions of the protocol share. So a result is encoded once per protocol, whatever the number of sessions.
package enum ResultFormat: Sendable, Hashable, CaseIterable {
    /// `graphql-transport-ws`: `{"id":…,"type":"next","payload":{"data":…}}`
    case next
    /// The same with the result's resume tag: `…,"extensions":{"resume":"…"}}}`, for clients that ask for it.
    case taggedNext
    /// `graphql-ws` (subscriptions-transport-ws) and AppSync: `{"id":…,"type":"data","payload":{"data":…}}`
    case data
    /// graphql-sse with one connection for all operations: an event `next` with the data
    /// `{"id":…,"payload":{"data":…}}`
    case event
    /// SQL Connect over WebSocket: `{"result":{"requestId":…,"data":…,"extensions":…}}`
    case sqlConnect
    /// SQL Connect over gRPC: a `StreamResponse`.
    case sqlConnectProtobuf

    /// The text before the body.
    package func prefix(id: String) -> [UInt8] {
        switch self {
        case .next, .taggedNext: Self.prefix(#"{"id":"#, id, #","type":"next","payload":{"data":"#)
        case .data: Self.prefix(#"{"id":"#, id, #","type":"data","payload":{"data":"#)
        case .event: Self.prefix("event: next\ndata: {\"id\":", id, #","payload":{"data":"#)
        case .sqlConnect: Self.prefix(#"{"result":{"requestId":"#, id, #","data":"#)
        case .sqlConnectProtobuf: StreamProtobuf.prefix(requestID: id)
        }
    }

    private static func prefix(_ before: String, _ id: String, _ after: String) -> [UInt8] {
        var bytes = Array(before.utf8)
        JSONWriter.append(.string(id), to: &bytes)
        bytes.append(contentsOf: after.utf8)
        return bytes
    }

    /// The text before a patch: `{"id":…,"type":"next","payload":{"extensions":{"delta":{"patch":[…]}}}}`. Nil if the
    /// protocol has only whole results.
    package func deltaPrefix(id: String) -> [UInt8]? { textBeforePatch.map { Self.prefix(#"{"id":"#, id, $0) } }

    /// Whether clients may request results as patches (`deltaPrefix`).
    package var hasDeltas: Bool { textBeforePatch != nil }

    /// The text between the id and a patch. A literal, which costs no allocation.
    private var textBeforePatch: String? {
        switch self {
        case .next, .taggedNext: #","type":"next","payload":{"extensions":{"delta":{"patch":"#
        case .data, .event, .sqlConnect, .sqlConnectProtobuf: nil
        }
    }

    /// The patch and the text after it.
    /// - Parameter tag: the resume tag of the result that the patch leads to; nil to leave it out.
    package static func deltaRest(_ patch: [UInt8], tag: EntityTag? = nil) -> [UInt8] {
        patch + Array(tag.map { #"},"resume":"\#($0.bare)"}}}"# }?.utf8 ?? "}}}}".utf8)
    }

    /// The form with resume tags; nil if the protocol has none.
    package var tagged: ResultFormat? {
        switch self {
        case .next, .taggedNext: .taggedNext
        case .data, .event, .sqlConnect, .sqlConnectProtobuf: nil
        }
    }

    /// The message that the client holds the present result:
    /// `{"id":…,"type":"next","payload":{"extensions":{"resume":"…","unchanged":true}}}`
    package static func unchanged(id: String, _ tag: EntityTag) -> [UInt8] {
        prefix(#"{"id":"#, id, #","type":"next","payload":"#) + tag.unchangedPayload + Array("}".utf8)
    }

    /// The body and the text after it.
    /// - Parameter key: the result's live query, which its tag names.
    package func rest(of result: LiveResult, key: LiveQueryKey) -> [UInt8] {
        switch self {
        case .taggedNext:
            Self.members(result.answer)
                + Array(#","extensions":{"resume":"\#(EntityTag(result, of: key).bare)"}}}"#.utf8)
        case .next, .data: Self.members(result.answer) + Array("}}".utf8)
        // A raw line break, which can only stand between tokens, would end the event.
        case .event:
            Self.members(result.answer).map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: " ") : $0 }
                + Array("}}\n\n".utf8)
        case .sqlConnect: result.answer.sqlConnectValue + Array("}}".utf8)
        case .sqlConnectProtobuf: StreamProtobuf.rest(result.answer)
        }
    }

    /// The body, and `,"errors":[…]` if there are any: the part of an envelope after `{"data":`.
    private static func members(_ answer: OperationAnswer) -> [UInt8] {
        answer.errors.isEmpty ? answer.body : Array(answer.envelope.dropFirst(ResultEnvelope.dataKey.count).dropLast())
    }
}
