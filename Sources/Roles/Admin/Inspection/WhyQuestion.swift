import Execution
import Inspection
import JSON
import LiveModel
import Operations

/// A question after one live query, as the query of a request gives it.
struct WhyQuestion: Sendable {
    enum Subject: Sendable {
        case key(LiveQueryKey)
        /// - Parameters:
        ///   - operation: picks the session's live queries of this operation; nil: all.
        ///   - key: picks one of its live queries.
        case session(node: String, id: UInt64, operation: String?, key: LiveQueryKey?)
        case operation(connector: String?, name: String, variables: JSONObject, auth: Auth?)
    }

    let subject: Subject
    /// The user whose sessions count; nil: any.
    let uid: String?
    let runsQuery: Bool
    let arms: Bool

    /// - Throws: `.badRequest` for a malformed question.
    init(_ arguments: AdminArguments) throws(RequestError) {
        runsQuery = arguments["truth"] != "no"
        arms = arguments["arm"] != "no"
        let key = try arguments["key"].map { text throws(RequestError) in
            guard let digest = Digest(hex: text) else {
                throw RequestError(.badRequest, "key must be 64 hexadecimal digits")
            }
            return LiveQueryKey(digest: digest)
        }
        if key != nil, arguments["operation"] != nil {
            throw RequestError(.badRequest, "give key or operation; either may be of a session")
        }
        if let session = arguments["session"] {
            let parts = session.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, let id = UInt64(parts[1]) else {
                throw RequestError(.badRequest, "session must be NODE/ID")
            }
            subject = .session(node: String(parts[0]), id: id, operation: arguments["operation"], key: key)
            uid = nil
            return
        }
        if let key {
            subject = .key(key)
            uid = arguments["uid"]
            return
        }
        guard let operation = arguments["operation"] else {
            throw RequestError(.badRequest, "one of key, session and operation is required")
        }
        let variables = try Self.object(arguments["variables"], "variables") ?? JSONObject()
        let claims = try Self.object(arguments["claims"], "claims")
        let user =
            arguments["uid"] ?? claims?["user_id"]?.stringValue ?? claims?["sub"]?.stringValue
        guard claims == nil || user != nil else {
            throw RequestError(.badRequest, "claims must have sub or user_id, or uid be given")
        }
        let auth = user.map { Auth(uid: $0, token: claims ?? ["sub": .string($0), "user_id": .string($0)]) }
        let parts = operation.split(separator: "/", maxSplits: 1)
        subject = .operation(
            connector: parts.count == 2 ? String(parts[0]) : nil, name: String(parts.last ?? ""),
            variables: variables, auth: auth)
        uid = user
    }

    private static func object(_ text: String?, _ name: String) throws(RequestError) -> JSONObject? {
        guard let text else { return nil }
        guard let value = try? JSONValue(parsing: Array(text.utf8)), case .object(let object) = value else {
            throw RequestError(.badRequest, "\(name) must be a JSON object")
        }
        return object
    }
}
