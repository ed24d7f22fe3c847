import JSON
import LiveModel

/// A client's wait for what was committed before: `{"freshet":{"wait":{"id","position"?}}}` in the payload of a `ping`
/// of `graphql-transport-ws`, answered in that of a `pong`. Source: docs/reference/protocols.md.
///
/// Servers that do not know it echo the payload, as the protocol allows, so the answer has another name.
enum SessionWait {
    /// Reads the payload of a ping; nil: it asks for no wait.
    static func request(in payload: JSONObject?) -> JSONValue? { payload?["freshet"]?["wait"] }

    /// - Throws: `.badRequest`.
    static func read(_ request: JSONValue) throws(RequestError) -> (id: String, position: String?) {
        guard let id = request["id"]?.stringValue, !id.isEmpty, id.utf8.count <= operationIDBytesMax else {
            throw RequestError(.badRequest, "\"wait.id\" must be a non-empty string")
        }
        switch request["position"] {
        case nil, .null?: return (id, nil)
        case .string(let text)? where isUUID(text): return (id, text.lowercased())
        default: throw RequestError(.badRequest, "\"wait.position\" must be a UUID")
        }
    }

    /// The text form of RFC 9562 section 4.
    private static func isUUID(_ text: String) -> Bool {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        return groups.map(\.utf8.count) == [8, 4, 4, 4, 12] && groups.allSatisfy { $0.utf8.allSatisfy(\.isHexDigit) }
    }

    static func answer(id: String, _ error: RequestError?) -> [UInt8] {
        var waited: JSONObject = ["id": .string(id)]
        if let error { waited["error"] = ["code": .string(error.code.rawValue), "message": .string(error.message)] }
        return SessionMessage.text("pong", payload: ["freshet": ["waited": .object(waited)]])
    }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
