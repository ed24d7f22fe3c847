package import CEL
package import JSON

/// The identity for which a request acts. A nil `Auth?` means signed out.
package struct Auth: Hashable, Sendable {
    /// Firebase's `auth.uid`: the token's `user_id` or `sub`.
    package let uid: String
    /// All claims of the token (`auth.token`).
    package let token: JSONObject

    package init(uid: String, token: JSONObject) {
        self.uid = uid
        self.token = token
    }
}

/// The parts of `auth` that an operation or its rules may read.
///
/// Subscribers whose claims differ only in other parts share one live query. Computed at compile time from the
/// attributes of every CEL program of the operation.
package struct AuthReads: Hashable, Sendable {
    /// Whether anything is read, even only whether the user is signed in.
    package private(set) var presence = false
    package private(set) var uid = false
    /// Claim names read under `auth.token`, sorted.
    package private(set) var claims: [String] = []
    /// Whether the token is read as a whole or by a computed name.
    package private(set) var wholeToken = false

    package static let nothing = AuthReads()

    package init() {}

    /// Adds a path read below `auth`: `[]` is auth itself, `["token", "org"]` one claim.
    package mutating func add(path: some Collection<String>) {
        presence = true
        var rest = path.makeIterator()
        switch rest.next() {
        case nil: (uid, wholeToken) = (true, true)
        case "uid": uid = true
        case "token":
            guard let claim = rest.next() else {
                wholeToken = true
                return
            }
            if !claims.contains(claim) {
                claims.append(claim)
                claims.sort()
            }
        default: break
        }
    }

    package mutating func formUnion(_ other: AuthReads) {
        presence = presence || other.presence
        uid = uid || other.uid
        wholeToken = wholeToken || other.wholeToken
        claims = Set(claims).union(other.claims).sorted()
    }

    /// Whether a path below `auth` is among what is read.
    package func includes(path: some Collection<String>) -> Bool {
        var rest = path.makeIterator()
        switch rest.next() {
        case nil: return uid && wholeToken
        case "uid": return uid
        case "token": return wholeToken || rest.next().map { claims.contains($0) } ?? false
        default: return presence
        }
    }

    /// Returns the parts of `auth` that are read: `nil` if none is, `null` if signed out, otherwise `{uid?, token?}`.
    package func project(_ auth: Auth?) -> JSONValue? {
        guard presence else { return nil }
        guard let auth else { return .null }
        var object = JSONObject()
        if uid { object["uid"] = .string(auth.uid) }
        if wholeToken {
            object["token"] = .object(auth.token)
        } else {
            var token = JSONObject()
            for claim in claims { token[claim] = auth.token[claim] }
            object["token"] = .object(token)
        }
        return .object(object)
    }
}

/// Conversions of JSON to CEL values: integers become `int`, other numbers `double`. Source:
/// docs/reference/sql-connect.md §5.7.
extension Value {
    package init(json: JSONValue) {
        switch json {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .int(let value): self = .int(value)
        case .double(let value): self = .double(value)
        case .string(let value): self = .string(value)
        case .array(let values): self = .list(values.map(Value.init(json:)))
        case .object(let object): self = Value(jsonObject: object)
        }
    }

    package init(jsonObject object: JSONObject) {
        self = .map(MapValue(object.entries.map { ($0.key, Value(json: $0.value)) }))
    }

    /// Creates CEL's `auth`: null if signed out, otherwise `{uid, token}`.
    package init(auth: Auth?) {
        guard let auth else {
            self = .null
            return
        }
        self = .map(MapValue([("uid", .string(auth.uid)), ("token", Value(jsonObject: auth.token))]))
    }
}
