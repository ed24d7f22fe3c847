import JSON

/// A message of `graphql-transport-ws` from the server.
package enum SocketMessage: Sendable, Hashable {
    case acknowledged
    case ping
    /// The range of the result in the message.
    case next(Range<Int>)
    /// The result, from a message with another layout.
    case nextRewritten([UInt8])
    case refused(code: String, message: String)
    case completed
    case other

    /// The bytes that Freshet writes before a result; most messages are recognised by it and never parsed.
    private static let nextPrefix = Array(#"{"id":"1","type":"next","payload":"#.utf8)

    package init(_ bytes: UnsafeRawBufferPointer) {
        let prefix = Self.nextPrefix
        if bytes.count > prefix.count, bytes[bytes.count - 1] == UInt8(ascii: "}"),
            ByteSearch.isEqual(prefix, UnsafeRawBufferPointer(rebasing: bytes[..<prefix.count]))
        {
            self = .next(prefix.count..<bytes.count - 1)
            return
        }
        guard let message = try? JSONParser.parse(bytes), let type = message["type"]?.stringValue else {
            self = .other
            return
        }
        switch type {
        case "connection_ack": self = .acknowledged
        case "ping": self = .ping
        case "next": self = .nextRewritten(JSONWriter.compact(message["payload"] ?? .null))
        case "error":
            let failure = CodedFailure(message["payload"]?[0] ?? .null)
            self = .refused(code: failure.code, message: failure.message)
        case "complete": self = .completed
        default: self = .other
        }
    }

    static func initialize(token: String?) -> [UInt8] {
        var message: JSONObject = ["type": "connection_init"]
        if let token { message["payload"] = ["Authorization": .string("Bearer " + token)] }
        return JSONWriter.compact(.object(message))
    }

    static func subscribe(_ target: LiveQueryTarget) -> [UInt8] {
        JSONWriter.compact([
            "id": "1", "type": "subscribe",
            "payload": [
                "query": "", "operationName": .string(target.operation), "variables": .object(target.variables),
                "extensions": ["connector": .string(target.connector)],
            ],
        ])
    }

    static let pong = Array(#"{"type":"pong"}"#.utf8)
}
