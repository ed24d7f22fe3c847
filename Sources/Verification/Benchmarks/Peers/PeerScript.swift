import CBroadcaster
import JSON

/// The messages that subscribers and publishers of a server send, in the form that `peers.h` describes.
enum PeerScript {
    /// The subscription of one session.
    enum Subscription: Sendable, Equatable {
        case webSocket, longPoll
        /// A live query for each key, all of the row with this id.
        case sharedRow(id: String)

        fileprivate var isPoll: Bool { self == .longPoll }
    }

    // MARK: Subscribers

    static func subscribers(
        _ contender: Contender, _ subscription: Subscription, keys: [String], placeholder: String
    ) -> [UInt8] {
        let kind = contender == .nats ? CB_LINES : subscription.isPoll ? CB_POLL : CB_WEBSOCKET
        var bytes = number(UInt32(kind)) + text(placeholder) + number(UInt32(keys.count)) + keys.flatMap(text)
        let (next, opening) = steps(contender, subscription, placeholder)
        bytes += number(UInt32(next.count)) + next.flatMap { text($0.before) + text($0.field) }
        return bytes + opening.steps
    }

    private static func steps(
        _ contender: Contender, _ subscription: Subscription, _ key: String
    ) -> (next: [(before: String, field: String)], opening: ClientScript) {
        var opening = ClientScript()
        switch (contender, subscription) {
        case (.freshet, .longPoll):
            let request =
                "GET /v1/connectors/auctions/queries/PeerLot?variables=%7B%22id%22:%22\(key)%22%7D HTTP/1.1\r\n"
                + "Host: localhost\r\nPrefer: wait=60\r\n"
            opening.send(request + "\r\n")
            return ([(request + "If-None-Match: ", "etag"), ("\r\n\r\n", "")], opening)
        case (_, .longPoll):
            let request = "GET /sub/\(key) HTTP/1.1\r\nHost: localhost\r\n"
            opening.send(request + "\r\n")
            return (
                [
                    (request + "If-Modified-Since: ", "last-modified"), ("\r\nIf-None-Match: ", "etag"),
                    ("\r\n\r\n", ""),
                ], opening
            )
        case (.freshet, .webSocket):
            subscribe(&opening, "PeerLot", ["id": .string(key)])
        case (.freshet, .sharedRow(let id)):
            subscribe(&opening, "PeerShare", ["id": .string(id), "share": .string(key)])
        case (.bareC, _):
            opening.upgrade("/", subprotocol: nil)
        case (.nats, _):
            opening.send("CONNECT {\"verbose\":false}\r\nSUB \(key) 1\r\nPING\r\n", until: "PONG\r\n")
        case (.nchan, _), (.nchanRedis, _):
            opening.upgrade("/sub/\(key)", subprotocol: nil)
        }
        return ([], opening)
    }

    private static func subscribe(_ script: inout ClientScript, _ operation: String, _ variables: JSONObject) {
        script.upgrade("/graphql", subprotocol: "graphql-transport-ws")
        script.message(["type": "connection_init"], until: "connection_ack")
        script.message([
            "id": "1", "type": "subscribe",
            "payload": ["query": "", "operationName": .string(operation), "variables": .object(variables)],
        ])
    }

    // MARK: Publishers

    static func publishers(_ contender: Contender, _ subscription: Subscription, keys: [String]) -> [UInt8] {
        let kind = contender == .nats ? CB_LINES : CB_POLL
        let opening = contender == .nats ? "CONNECT {\"verbose\":false}\r\nPING\r\n" : ""
        return number(UInt32(kind)) + text(opening) + number(UInt32(keys.count))
            + keys.flatMap { text(publication(contender, subscription, $0)) }
    }

    private static func publication(_ contender: Contender, _ subscription: Subscription, _ key: String) -> String {
        let result = subscription.isPoll ? PeerMessage.response(key) : PeerMessage.envelope(key)
        switch contender {
        case .freshet:
            let description = PeerMessage.description
            return post(
                "/v1/connectors/auctions/mutations/EditLot", "application/json",
                #"{"variables":{"id":"\#(key)","category":"Books","description":"\#(description)"}}"#)
        case .nchan, .nchanRedis:
            return post("/pub/\(key)", "application/json", result)
        case .nats:
            return "PUB \(key) \(result.utf8.count)\r\n\(result)\r\nPING\r\n"
        case .bareC:
            preconditionFailure("the C loop sends its own frame")
        }
    }

    private static func post(_ path: String, _ type: String, _ body: String) -> String {
        "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: \(type)\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n" + body
    }

    // MARK: Encoding

    private static func number(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }

    private static func text(_ text: String) -> [UInt8] { number(UInt32(text.utf8.count)) + Array(text.utf8) }
}
