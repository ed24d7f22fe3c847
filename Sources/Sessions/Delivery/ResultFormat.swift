internal import JSON
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

    /// What stands before the body.
    package func prefix(id: String) -> [UInt8] {
        var bytes: [UInt8] = []
        if case .event = self { bytes.append(contentsOf: "event: next\ndata: ".utf8) }
        bytes.append(contentsOf: #"{"id":"#.utf8)
        JSONWriter.append(.string(id), to: &bytes)
        switch self {
        case .next: bytes.append(contentsOf: #","type":"next","payload":{"data":"#.utf8)
        case .data: bytes.append(contentsOf: #","type":"data","payload":{"data":"#.utf8)
        case .event: bytes.append(contentsOf: #","payload":{"data":"#.utf8)
        }
        return bytes
    }

    /// The body and what follows it.
    package func rest(of result: LiveResult) -> [UInt8] {
        switch self {
        case .next, .data: result.body + Array("}}".utf8)
        // A raw line break, which can only stand between tokens, would end the event.
        case .event: result.body.map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: " ") : $0 } + Array("}}\n\n".utf8)
        }
    }
}
