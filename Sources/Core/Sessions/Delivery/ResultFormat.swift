import JSON
package import LiveModel

/// How a result of a live query is written in each protocol: a prefix that holds the operation's id, and the rest, which
/// all sessions of the protocol share. So a result is encoded once per protocol, whatever the number of its sessions.
package enum ResultFormat: Sendable, Hashable {
    /// `graphql-transport-ws`: `{"id":…,"type":"next","payload":{"data":…}}`
    case next
    /// `graphql-ws` (subscriptions-transport-ws) and AppSync: `{"id":…,"type":"data","payload":{"data":…}}`
    case data
    /// graphql-sse, a connection for all operations: an event `next` with the data `{"id":…,"payload":{"data":…}}`
    case event
    /// SQL Connect over WebSocket: `{"result":{"requestId":…,"data":…,"extensions":…}}`
    case sqlConnect
    /// SQL Connect over gRPC: a `StreamResponse`.
    case sqlConnectProtobuf

    /// What stands before the body.
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

    /// What stands before a patch: `{"id":…,"type":"next","payload":{"extensions":{"delta":{"patch":[…]}}}}`. Nil: the
    /// protocol knows whole results only.
    package func deltaPrefix(id: String) -> [UInt8]? {
        switch self {
        case .next: Self.prefix(#"{"id":"#, id, #","type":"next","payload":{"extensions":{"delta":{"patch":"#)
        case .data, .event, .sqlConnect, .sqlConnectProtobuf: nil
        }
    }

    package var hasDeltas: Bool { self == .next }

    /// A patch and what follows it.
    package static func deltaRest(_ patch: [UInt8]) -> [UInt8] { patch + Array("}}}}".utf8) }

    /// The body and what follows it.
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

    /// The body, and `,"errors":[…]` where there are any: what stands in an envelope after `{"data":`.
    private static func members(_ answer: OperationAnswer) -> [UInt8] {
        answer.errors.isEmpty ? answer.body : Array(answer.envelope.dropFirst(ResultEnvelope.dataKey.count).dropLast())
    }
}
