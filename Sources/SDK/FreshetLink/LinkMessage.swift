import FreshetTypes
import JSON

/// Messages of `graphql-transport-ws` (docs/reference/protocols.md).
enum LinkMessage {
    /// - Parameter position: up to where the client knows the history of invalidations; nil if it knows none.
    static func connectionInit(token: String?, invalidations position: String?) -> [UInt8] {
        var payload: JSONObject = ["freshet": ["invalidations": .string(position ?? "")]]
        if let token { payload["Authorization"] = .string("Bearer " + token) }
        return JSONWriter.compact(["type": "connection_init", "payload": .object(payload)])
    }

    /// Reads `{"position":…,"drop":…}`; nil for anything else.
    static func invalidation(_ told: JSONValue?) -> Invalidation? {
        guard let told, let position = told["position"]?.stringValue else { return nil }
        // What this version does not understand may name anything.
        let subjects = told["drop"]?.arrayValue?.map(Invalidation.Subject.init)
        guard let subjects, subjects.allSatisfy({ $0 != nil }) else {
            return Invalidation(position: position, subjects: nil)
        }
        return Invalidation(position: position, subjects: subjects.compactMap(\.self))
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

    static func wait(id: WaitID, _ position: MutationPosition?) -> [UInt8] {
        var wait: JSONObject = ["id": .string(String(id))]
        if let position { wait["position"] = .string(position.rawValue) }
        return JSONWriter.compact(["type": "ping", "payload": ["freshet": ["wait": .object(wait)]]])
    }

    static func pong(payload: JSONValue?) -> [UInt8] {
        var message: JSONObject = ["type": "pong"]
        if let payload { message["payload"] = payload }
        return JSONWriter.compact(.object(message))
    }

    static func errors(_ value: JSONValue?) -> [ResponseError] {
        (value?.arrayValue ?? []).map { ResponseError(AnyValue(json: $0)) }
    }
}
