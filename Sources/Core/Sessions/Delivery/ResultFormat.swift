import JSON
package import LiveModel

/// The form of a live query's results in each protocol: a prefix with the operation's id, and the rest, which all
/// sessions of the protocol share. So a result is encoded once per protocol, whatever the number of sessions.
package enum ResultFormat: Sendable, Hashable, CaseIterable {
    /// `graphql-transport-ws`: `{"id":…,"type":"next","payload":{"data":…}}`
    case next
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
        case .next: Self.prefix(#"{"id":"#, id, #","type":"next","payload":{"data":"#)
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
        case .next: #","type":"next","payload":{"extensions":{"delta":{"patch":"#
        case .data, .event, .sqlConnect, .sqlConnectProtobuf: nil
        }
    }

    /// The patch and the text after it.
    package static func deltaRest(_ patch: [UInt8]) -> [UInt8] { patch + Array("}}}}".utf8) }

    /// The body and the text after it.
    package func rest(of result: LiveResult) -> [UInt8] {
        switch self {
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
