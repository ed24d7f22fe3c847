import JSON

/// The encoding of the stream over WebSocket: proto-JSON in text frames, with answers inside `result` as the emulator
/// sends them. Source: docs/reference/sql-connect.md §2.
package enum StreamJSON: StreamEncoding {
    package static let protocolName = "sql-connect"
    package static let format = ResultFormat.sqlConnect
    package static let endsWhenUnauthenticated = false

    package static func decode(_ bytes: [UInt8]) throws(StreamFrameError) -> StreamRequest {
        guard case .object(let object)? = try? JSONParser.parse(bytes) else {
            throw StreamFrameError(requestID: nil, message: "a message must be a JSON object")
        }
        guard let id = text(object, "requestId", "request_id") else {
            throw StreamFrameError(requestID: nil, message: "\"requestId\" must be a string")
        }
        var request = StreamRequest(requestID: id)
        guard let name = text(object, "name") else {
            throw StreamFrameError(requestID: id, message: "\"name\" must be a string")
        }
        request.name = name
        switch object["headers"] {
        case nil, .null?: break
        case .object(let headers)?:
            for entry in headers.entries {
                guard let value = entry.value.stringValue else {
                    throw StreamFrameError(requestID: id, message: "\"headers\" must be strings")
                }
                request.headers[entry.key.lowercased()] = value
            }
        default: throw StreamFrameError(requestID: id, message: "\"headers\" must be an object")
        }
        for name in ["subscribe", "execute", "resume", "cancel"] {
            guard let value = object[name], !value.isNull else { continue }
            guard case .object(let body) = value else {
                throw StreamFrameError(requestID: id, message: "\"\(name)\" must be an object")
            }
            guard request.kind == nil else {
                throw StreamFrameError(requestID: id, message: "a message may request one thing only")
            }
            switch name {
            case "subscribe": request.kind = .subscribe(try execute(body, id))
            case "execute": request.kind = .execute(try execute(body, id))
            case "resume": request.kind = .resume
            default: request.kind = .cancel
            }
        }
        return request
    }

    private static func execute(_ body: JSONObject, _ id: String) throws(StreamFrameError) -> StreamRequest.Execute {
        guard let name = text(body, "operationName", "operation_name"), !name.isEmpty else {
            throw StreamFrameError(requestID: id, message: "\"operationName\" must be a string that is not empty")
        }
        switch body["variables"] {
        case nil, .null?: return StreamRequest.Execute(operationName: name, variables: JSONObject())
        case .object(let variables)?: return StreamRequest.Execute(operationName: name, variables: variables)
        default: throw StreamFrameError(requestID: id, message: "\"variables\" must be an object")
        }
    }

    /// Proto-JSON readers accept both forms of a name. Empty if absent or null; nil for another type.
    private static func text(_ object: JSONObject, _ names: String...) -> String? {
        for name in names {
            guard let value = object[name], !value.isNull else { continue }
            return value.stringValue
        }
        return ""
    }

    package static func encode(_ response: StreamResponse) -> [UInt8] {
        var bytes = Array(#"{"result":{"requestId":"#.utf8)
        JSONWriter.append(.string(response.requestID), to: &bytes)
        bytes.append(UInt8(ascii: ","))
        bytes.append(contentsOf: response.answer.sqlConnectMembers)
        bytes.append(contentsOf: "}}".utf8)
        return bytes
    }
}
