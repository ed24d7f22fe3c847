package import JSON
package import LiveModel

/// One session of the `graphql-transport-ws` subprotocol. Source: enisdenjo/graphql-ws PROTOCOL.md.
///
/// Messages come in, actions come out; what is live, who may do what and when results arrive is decided elsewhere.
package struct GraphQLTransportWSMachine: Sendable {
    package static let subprotocol = "graphql-transport-ws"

    /// Ids are kept per operation in several places; a longer one is refused like an empty one.
    package static let idBytesMax = 256

    package enum Action: Sendable, Hashable {
        /// One text message.
        case send([UInt8])
        case close(code: UInt16, reason: String)
        /// Judge the payload of `connection_init`; answer with `authenticated` or `rejected`.
        case authenticate(JSONObject)
        /// Begin an operation; answer with `started`-less results through `finish`, or by deliveries.
        case start(id: String, OperationRequest)
        /// The client wants no more of it.
        case stop(id: String)
    }

    private enum State: Sendable {
        case awaitingInit
        case authenticating
        case ready
        case closed
    }

    private var state = State.awaitingInit
    private var operations: Set<String> = []
    private let operationsMax: Int

    /// - Parameter operationsMax: operations of this session at one time; one more gets an error message.
    package init(operationsMax: Int) {
        self.operationsMax = operationsMax
    }

    package var operationCount: Int { operations.count }

    // MARK: From the client

    package mutating func received(_ text: [UInt8]) -> [Action] {
        guard case .object(let message)? = try? JSONValue(parsing: text), let type = message["type"]?.stringValue else {
            return close(4400, "Invalid message received")
        }
        switch (type, state) {
        case (_, .closed): return []
        case ("ping", _):
            guard let payload = payload(of: message) else { return close(4400, "\"payload\" must be an object") }
            return [.send(Self.message(type: "pong", payload: payload.map(JSONValue.object)))]
        case ("pong", _): return []
        case ("connection_init", .awaitingInit):
            guard let payload = payload(of: message) else { return close(4400, "\"payload\" must be an object") }
            state = .authenticating
            return [.authenticate(payload ?? JSONObject())]
        case ("connection_init", _): return close(4429, "Too many initialisation requests")
        // Apollo iOS 1.x says goodbye with the old protocol's message.
        case ("connection_terminate", _): return close(1000, "Normal Closure")
        case ("subscribe", .awaitingInit), ("subscribe", .authenticating): return close(4401, "Unauthorized")
        case ("subscribe", .ready): return subscribe(message)
        case ("complete", _):
            guard let id = id(of: message) else { return close(4400, "\"id\" must be a non-empty string") }
            return operations.remove(id) == nil ? [] : [.stop(id: id)]
        default: return close(4400, "Invalid message received")
        }
    }

    private mutating func subscribe(_ message: JSONObject) -> [Action] {
        guard let id = id(of: message) else { return close(4400, "\"id\" must be a non-empty string") }
        guard case .object(let payload)? = message["payload"] else {
            return close(4400, "\"payload\" must be an object")
        }
        guard payload["query"]?.stringValue != nil else { return close(4400, "\"payload.query\" must be a string") }
        let request: OperationRequest
        do {
            request = try OperationRequest(graphQL: payload)
        } catch {
            return close(4400, "payload: \(error.message)")
        }
        guard !operations.contains(id) else { return close(4409, "Subscriber for \(id.prefix(80)) already exists") }
        guard operations.count < operationsMax else {
            let error = RequestError(.limitExceeded, "this connection has its maximum of \(operationsMax) operations")
            return [.send(Self.errorMessage(id: id, [error]))]
        }
        operations.insert(id)
        return [.start(id: id, request)]
    }

    /// Nil: present but not an object. `.some(nil)`: absent or null.
    private func payload(of message: JSONObject) -> JSONObject?? {
        switch message["payload"] {
        case nil, .null?: .some(nil)
        case .object(let object)?: .some(object)
        default: nil
        }
    }

    private func id(of message: JSONObject) -> String? {
        guard let id = message["id"]?.stringValue, !id.isEmpty, id.utf8.count <= Self.idBytesMax else {
            return nil
        }
        return id
    }

    // MARK: From the service

    package mutating func authenticated() -> [Action] {
        guard case .authenticating = state else { return [] }
        state = .ready
        return [.send(Array(#"{"type":"connection_ack"}"#.utf8))]
    }

    package mutating func rejected() -> [Action] {
        close(4403, "Forbidden")
    }

    /// The time for `connection_init` is over. A slow judgement of one that came does not count.
    package mutating func initTimedOut() -> [Action] {
        guard case .awaitingInit = state else { return [] }
        return close(4408, "Connection initialisation timeout")
    }

    /// One result and no more: `next`, then `complete`.
    package mutating func finished(id: String, envelope: [UInt8]) -> [Action] {
        guard operations.remove(id) != nil else { return [] }
        return [
            .send(Self.nextMessage(id: id, envelope: envelope)),
            .send(Self.message(type: "complete", id: id, payload: nil)),
        ]
    }

    /// The operation ends with errors; nothing follows.
    package mutating func failed(id: String, _ errors: [RequestError]) -> [Action] {
        guard operations.remove(id) != nil else { return [] }
        return [.send(Self.errorMessage(id: id, errors))]
    }

    /// Errors of one refresh; the operation lives on.
    package func refreshFailed(id: String, _ errors: [RequestError]) -> [Action] {
        guard operations.contains(id) else { return [] }
        return [.send(Self.nextMessage(id: id, envelope: ResultEnvelope.errors(errors, body: Array("null".utf8))))]
    }

    package func isActive(_ id: String) -> Bool { operations.contains(id) }

    /// The server goes away or the token ran out.
    package mutating func close(_ code: UInt16, _ reason: String) -> [Action] {
        if case .closed = state { return [] }
        state = .closed
        operations = []
        // A close frame's payload has at most 125 bytes, two of which are the code (RFC 6455 §5.5).
        var bounded = reason
        while bounded.utf8.count > 123 { bounded.removeLast() }
        return [.close(code: code, reason: bounded)]
    }

    // MARK: Texts

    /// What stands before the body of a result: only the id differs between sessions, so the rest is shared.
    package static func nextPrefix(id: String) -> [UInt8] {
        var bytes = Array(#"{"id":"#.utf8)
        JSONWriter.append(.string(id), to: &bytes)
        bytes.append(contentsOf: #","type":"next","payload":{"data":"#.utf8)
        return bytes
    }

    /// The body of a result and what closes the message.
    package static func nextRest(body: [UInt8]) -> [UInt8] {
        body + Array("}}".utf8)
    }

    private static func nextMessage(id: String, envelope: [UInt8]) -> [UInt8] {
        var bytes = Array(#"{"id":"#.utf8)
        JSONWriter.append(.string(id), to: &bytes)
        bytes.append(contentsOf: #","type":"next","payload":"#.utf8)
        bytes.append(contentsOf: envelope)
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    private static func errorMessage(id: String, _ errors: [RequestError]) -> [UInt8] {
        message(type: "error", id: id, payload: .array(errors.map(\.graphQLError)))
    }

    private static func message(type: String, id: String? = nil, payload: JSONValue?) -> [UInt8] {
        var object = JSONObject()
        if let id { object["id"] = .string(id) }
        object["type"] = .string(type)
        if let payload { object["payload"] = payload }
        return JSONWriter.compact(.object(object))
    }
}
