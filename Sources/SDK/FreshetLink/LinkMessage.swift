import FreshetTypes
import JSON

/// Messages of `graphql-transport-ws` (docs/reference/protocols.md).
enum LinkMessage {
    static func connectionInit(token: String?) -> [UInt8] {
        var message: JSONObject = ["type": "connection_init"]
        if let token { message["payload"] = ["Authorization": .string("Bearer " + token)] }
        return JSONWriter.compact(.object(message))
    }

    static func subscribe(id: String, _ request: FeedRequest, resume: String?) -> [UInt8] {
        JSONWriter.compact(["id": .string(id), "type": "subscribe", "payload": payload(request, resume: resume)])
    }

    /// The operation, with results as patches and their resume tags.
    /// - Parameter resume: the tag of the result that the client holds.
    static func payload(_ request: FeedRequest, resume: String?) -> JSONValue {
        var extensions: JSONObject = [
            "connector": .string(request.connector), "delta": "json-patch", "resumeTags": true,
        ]
        if let resume { extensions["resume"] = .string(resume) }
        return [
            "query": "", "operationName": .string(request.operation), "variables": .object(request.variables),
            "extensions": .object(extensions),
        ]
    }

    static func complete(id: String) -> [UInt8] { JSONWriter.compact(["id": .string(id), "type": "complete"]) }

    static let ping = Array(#"{"type":"ping"}"#.utf8)

    static func pong(payload: JSONValue?) -> [UInt8] {
        var message: JSONObject = ["type": "pong"]
        if let payload { message["payload"] = payload }
        return JSONWriter.compact(.object(message))
    }

    static func errors(_ value: JSONValue?) -> [ResponseError] {
        (value?.arrayValue ?? []).map { ResponseError(AnyValue(json: $0)) }
    }
}
