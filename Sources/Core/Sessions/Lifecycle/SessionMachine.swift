package import JSON
package import LiveModel

/// An action of a session's machine, for its shell to perform.
package enum SessionAction: Sendable, Hashable {
    /// One text message.
    case send([UInt8])
    case close(code: UInt16, reason: String)
    /// Verify these; answered with `authenticated` or `rejected`. The machine requests no further verification before
    /// the answer.
    case authenticate(Credentials)
    /// Start an operation; answered with `started` and then deliveries or `finished`, or with `failed`.
    case start(id: String, OperationRequest, StartMode)
    /// The client ended the operation.
    case stop(id: String)
    /// Send the refusal of a subscription shortly later, unless the operation is started or refused again before: a
    /// client that asks twice in a row gets one answer to both.
    case refuse(id: String, [UInt8])
    /// Do not send the refusal, if it still waits: the client has cancelled.
    case withdrawRefusal(id: String)
    /// Run the live query of this operation again; the result is delivered even if it is the same.
    case rerun(id: String)
    /// Report with `waited` when the session has the results of whatever was committed before.
    /// - Parameter position: the id of a mutation's event, a UUID; nil: what is known to the cluster by now.
    case wait(id: String, position: String?)
    /// End the connection with this status; with a close code if the protocol has no status.
    case end(RequestError)
}

/// The data that a client sent while it connected.
package struct SessionOpening: Sendable, Hashable {
    /// The credentials in the headers or the query of the upgrade.
    package var credentials: Credentials
    /// The maximum of concurrent operations of a session; one more is refused.
    package var operationsMax: Int
    /// Bytes of messages that wait until the client's token is verified.
    package var waitingBytesMax: Int
    /// The maximum of concurrent waits of a session; one more is refused.
    package var waitsMax: Int

    package init(
        credentials: Credentials = .none, operationsMax: Int, waitingBytesMax: Int = 1 << 20, waitsMax: Int = 16
    ) {
        self.credentials = credentials
        self.operationsMax = operationsMax
        self.waitingBytesMax = waitingBytesMax
        self.waitsMax = waitsMax
    }
}

/// The fixed properties of a client protocol that its sessions' shell needs.
package struct SessionTraits: Sendable, Hashable {
    /// The name that operators see.
    package let protocolName: String
    /// The form of results of live queries.
    package let format: ResultFormat
    /// Whether clients may send new tokens during a session; live operations are then authorized again.
    package var takesNewTokens = false
    /// Whether `keepAliveDue` sends anything.
    package var sendsKeepAlives = false
    /// Whether clients receive every run of an `every` rule, even if the result is the same.
    package var reportsTimerRuns = false
}

/// One session of a client protocol over WebSocket: messages come in, actions come out. What is live, who may do what
/// and when results arrive is decided elsewhere; one shell (`Gateway/Session`) performs the actions of all machines.
///
/// Rules that the shell relies on, and that every machine is tested for: after `close`, nothing comes out any more;
/// nothing is sent for an operation that is not active; an id that was started is active until `finished`, `failed` or
/// `stop`; results of live queries bypass the machine, in the form of `traits.format`.
package protocol SessionMachine: Sendable {
    static var traits: SessionTraits { get }

    var operationCount: Int { get }
    func isActive(_ id: String) -> Bool

    // MARK: From the client

    /// The connection is open. Protocols without an opening message of the client start at once.
    mutating func opened() -> [SessionAction]
    mutating func received(text: [UInt8]) -> [SessionAction]
    mutating func received(binary: [UInt8]) -> [SessionAction]

    // MARK: From the service

    mutating func authenticated() -> [SessionAction]
    mutating func rejected(_ error: RequestError) -> [SessionAction]
    /// The client's opening message (`connection_init`) did not arrive in time. Slow verification of one that arrived
    /// does not count.
    mutating func initTimedOut() -> [SessionAction]
    /// The operation runs or, if it is live, is registered; its results follow.
    mutating func started(id: String) -> [SessionAction]
    /// The result of an operation that runs once.
    mutating func finished(id: String, answer: OperationAnswer) -> [SessionAction]
    /// The operation is refused or ends with errors; nothing follows.
    mutating func failed(id: String, _ errors: [RequestError]) -> [SessionAction]
    /// A query that runs once failed while it ran.
    mutating func queryFailed(id: String, _ errors: [RequestError]) -> [SessionAction]
    /// Errors of one refresh; the operation continues.
    mutating func refreshFailed(id: String, _ errors: [RequestError]) -> [SessionAction]
    /// The session's token expired or was revoked, as the error says. Its live operations, `ids`, have been ended and
    /// are to be reported as such, or the session ends. If there are none, a protocol that takes new tokens continues:
    /// what it follows needs no token.
    mutating func expired(ids: [String], _ error: RequestError) -> [SessionAction]
    /// The protocol's keep-alive message is due.
    mutating func keepAliveDue() -> [SessionAction]
    /// The history of invalidations, after `authenticated` and whenever it has changed. Nothing is sent to a client
    /// that did not ask for it.
    mutating func invalidated(_ invalidations: Invalidations) -> [SessionAction]
    /// A wait is over; nil: the results before it were handed to the session.
    mutating func waited(id: String, _ error: RequestError?) -> [SessionAction]
    /// The server closes the session: 1001 when it shuts down, 1013 for a client that reads too slowly.
    mutating func close(_ code: UInt16, _ reason: String) -> [SessionAction]
}

extension SessionMachine {
    package mutating func opened() -> [SessionAction] { [] }
    package mutating func started(id: String) -> [SessionAction] { [] }
    package mutating func keepAliveDue() -> [SessionAction] { [] }
    package mutating func invalidated(_ invalidations: Invalidations) -> [SessionAction] { [] }
    package mutating func waited(id: String, _ error: RequestError?) -> [SessionAction] { [] }
    package mutating func queryFailed(id: String, _ errors: [RequestError]) -> [SessionAction] {
        failed(id: id, errors)
    }
}

/// Ids are stored per operation in several places; a longer one is refused like an empty one.
package let operationIDBytesMax = 256

/// The common parts of machines with JSON messages.
enum SessionMessage {
    /// Nil: not a JSON object.
    static func object(_ text: [UInt8]) -> JSONObject? {
        guard case .object(let message)? = try? JSONValue(parsing: text) else { return nil }
        return message
    }

    /// A non-empty string within bounds; nil otherwise.
    static func id(of message: JSONObject) -> String? {
        guard let id = message["id"]?.stringValue, !id.isEmpty, id.utf8.count <= operationIDBytesMax else {
            return nil
        }
        return id
    }

    /// `payload`, which may be absent. Nil: present but not an object; `.some(nil)`: absent or null.
    static func payload(of message: JSONObject) -> JSONObject?? {
        switch message["payload"] {
        case nil, .null?: .some(nil)
        case .object(let object)?: .some(object)
        default: nil
        }
    }

    /// A message of the GraphQL family: `{"id"?, "type", "payload"?}`.
    static func text(_ type: String, id: String? = nil, payload: JSONValue? = nil) -> [UInt8] {
        var object = JSONObject()
        if let id { object["id"] = .string(id) }
        object["type"] = .string(type)
        if let payload { object["payload"] = payload }
        return JSONWriter.compact(.object(object))
    }

    /// The same with a payload that is JSON text already.
    static func text(_ type: String, id: String, payload: [UInt8]) -> [UInt8] {
        var bytes = Array(#"{"id":"#.utf8)
        JSONWriter.append(.string(id), to: &bytes)
        bytes.append(contentsOf: ",\"type\":\"\(type)\",\"payload\":".utf8)
        bytes.append(contentsOf: payload)
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    /// A close frame's payload has at most 125 bytes, two of which are the code (RFC 6455 §5.5).
    static func closing(_ code: UInt16, _ reason: String) -> SessionAction {
        var bounded = reason
        while bounded.utf8.count > 123 { bounded.removeLast() }
        return .close(code: code, reason: bounded)
    }
}

extension RequestError {
    package static let tokenExpired = RequestError(.unauthenticated, "the token has expired")
    package static let credentialsRevoked = RequestError(.unauthenticated, "the token or API key has been revoked")

    /// The reason in a close frame.
    var closeReason: String { self == .tokenExpired ? "Token expired" : "Forbidden: \(message)" }

    static let tooMuchWaits = RequestError(.limitExceeded, "too many messages are waiting for the token to be verified")

    package static func operationsMaximum(_ maximum: Int) -> RequestError {
        RequestError(.limitExceeded, "this connection has reached its maximum of \(maximum) operations")
    }
}
