import JSON
import LiveModel
import Sessions
import Testing

/// Actions in short, for comparison and for messages of failing tests.
func actionTexts(_ actions: [SessionAction]) -> [String] {
    actions.map { action in
        switch action {
        case .withdrawRefusal(let id): "withdraw refusal \(id)"
        case .send(let bytes), .refuse(_, let bytes): String(decoding: bytes, as: UTF8.self)
        case .close(let code, let reason): "close \(code) \(reason)"
        case .authenticate(let credentials):
            "authenticate \(credentials.bearer ?? credentials.apiKey.map { "key \($0)" } ?? "-")"
        case .start(let id, let request, .byText): "start \(id) \(request.operationName ?? "-")"
        case .start(let id, let request, let mode): "start \(id) \(request.operationName ?? "-") \(mode)"
        case .stop(let id): "stop \(id)"
        case .rerun(let id): "rerun \(id)"
        case .wait(let id, let position): "wait \(id) \(position ?? "-")"
        case .end(let error): "end \(error.code.rawValue)"
        }
    }
}

/// A protocol as the suite for all machines needs to know it.
struct MachineScript: Sendable, CustomTestStringConvertible {
    /// The meaning of a server's text for an operation.
    enum Reading: Hashable {
        case result(String)
        /// The last word on it.
        case end(String)
        case other
    }

    let name: String
    let make: @Sendable (SessionOpening) -> any SessionMachine
    /// The client's first messages; the service then accepts its token.
    let introduction: [String]
    let start: @Sendable (_ id: String) -> String
    let stop: @Sendable (_ id: String) -> String
    /// Frames that no client of the protocol sends.
    let badFrames: [String]
    let read: @Sendable (JSONValue) -> Reading
    /// Errors of a refresh look like those that end an operation.
    var readsErrorsAsEnd = false

    var testDescription: String { name }

    /// The protocols over WebSocket. `ConnectorStreamMachine<StreamProtobuf>`, which only gRPC uses, is not among them:
    /// the suite writes, damages and reads messages as JSON texts, so a script would need an encoder of requests and a
    /// decoder of responses that the sources do not have; and an unauthenticated stream ends with a status (`end`)
    /// where the suite requires a close code or an error for each id. `StreamProtobufTests` has what differs,
    /// `ProtobufTests` the encoding, and `MachinesFuzz` runs the machine on random messages.
    static let all: [MachineScript] = [.transportWS, .graphQLWS, .appSync, .sqlConnect]

    static let transportWS = MachineScript(
        name: "graphql-transport-ws", make: { GraphQLTransportWSMachine($0) },
        introduction: [#"{"type":"connection_init"}"#],
        start: { #"{"id":"\#($0)","type":"subscribe","payload":{"query":"","operationName":"A"}}"# },
        stop: { #"{"id":"\#($0)","type":"complete"}"# },
        badFrames: commonBadFrames + [#"{"type":"subscribe","id":"1"}"#, #"{"type":"next","id":"1"}"#],
        read: { message in
            let id = message["id"]?.stringValue ?? ""
            return switch message["type"]?.stringValue {
            case "next": .result(id)
            case "complete", "error": .end(id)
            default: .other
            }
        })

    static let graphQLWS = MachineScript(
        name: "graphql-ws", make: { GraphQLWSMachine($0) }, introduction: [#"{"type":"connection_init","payload":{}}"#],
        start: { #"{"id":"\#($0)","type":"start","payload":{"query":"","operationName":"A"}}"# },
        stop: { #"{"id":"\#($0)","type":"stop"}"# },
        badFrames: commonBadFrames + [
            #"{"type":"start","id":"9"}"#, #"{"type":"data","id":"9"}"#, #"{"type":"stop"}"#,
        ],
        read: readData)

    static let appSync = MachineScript(
        name: "appsync",
        make: { AppSyncMachine($0, handshake: $0.credentials.bearer.map { .bearer($0) } ?? .apiKey("k")) },
        introduction: [#"{"type":"connection_init"}"#],
        start: {
            #"""
            {"id":"\#($0)","type":"start","payload":{"data":"{\"query\":\"\",\"operationName\":\"A\"}",\#
            "extensions":{"authorization":{"x-api-key":"k"}}}}
            """#
        },
        stop: { #"{"id":"\#($0)","type":"stop"}"# },
        badFrames: commonBadFrames + [
            #"{"type":"start","id":"9"}"#, #"{"type":"start","id":"9","payload":{"data":{}}}"#,
            #"{"type":"start","id":"9","payload":{"data":"[]"}}"#, #"{"type":"stop"}"#,
        ],
        read: readData)

    static let sqlConnect = MachineScript(
        name: "sql-connect",
        make: {
            ConnectorStreamMachine<StreamJSON>(
                $0, service: ServiceIdentity(service: "s", location: "l", connectors: ["c"]))
        },
        introduction: [
            #"{"name":"projects/p/locations/l/services/s/connectors/c","headers":{"X-Firebase-Auth-Token":"forged"}}"#
        ],
        start: { #"{"requestId":"\#($0)","subscribe":{"operationName":"A"}}"# },
        stop: { #"{"requestId":"\#($0)","cancel":{}}"# },
        badFrames: commonBadFrames + [
            #"{"requestId":"9","subscribe":{}}"#, #"{"requestId":"9","subscribe":1}"#, #"{"requestId":9,"cancel":{}}"#,
            #"{"requestId":"9","execute":{"operationName":"A","variables":[]}}"#, #"{"requestId":"9","resume":{}}"#,
            #"{"requestId":"9","subscribe":{"operationName":"A"},"cancel":{}}"#, #"{"requestId":"9","headers":[]}"#,
        ],
        read: { message in
            guard let result = message["result"], let id = result["requestId"]?.stringValue else { return .other }
            return result["errors"] == nil ? .result(id) : .end(id)
        }, readsErrorsAsEnd: true)

    @Sendable private static func readData(_ message: JSONValue) -> Reading {
        let id = message["id"]?.stringValue ?? ""
        return switch message["type"]?.stringValue {
        case "data": .result(id)
        case "complete", "error": .end(id)
        default: .other
        }
    }

    static let commonBadFrames = [
        "", "nonsense", "[]", "1", "null", "{}", #"{"type":1}"#, #"{"type":"unknown"}"#, #"{"type":null,"id":{}}"#,
        "\u{0}", #"{"type":"connection_init","payload":"x"}"#, String(repeating: "[", count: 5_000),
        #"{"id":"toString","type":"__proto__","payload":{"__proto__":1}}"#,
    ]

    /// A machine whose client is authenticated.
    func ready(operationsMax: Int = 10) -> any SessionMachine {
        var machine = make(SessionOpening(operationsMax: operationsMax))
        var pending = machine.opened()
        for text in introduction { pending += machine.received(text: Array(text.utf8)) }
        #expect(pending.contains { if case .authenticate = $0 { true } else { false } })
        _ = machine.authenticated()
        return machine
    }

    func readings(_ actions: [SessionAction]) -> [Reading] {
        actions.compactMap { action in
            let bytes: [UInt8]
            switch action {
            case .send(let sent), .refuse(_, let sent): bytes = sent
            default: return nil
            }
            guard let message = try? JSONValue(parsing: bytes) else {
                Issue.record("not JSON: \(String(decoding: bytes, as: UTF8.self))")
                return nil
            }
            return read(message)
        }
    }
}
