package import JSON
package import LiveModel

/// An administrator's call: an ad-hoc text or a stored operation, run as administrator or as another user.
/// Source: docs/reference/sql-connect.md §7.
///
///     POST /v1/projects/P/locations/L/services/S:executeGraphql  and  :executeGraphqlRead
///     POST /v1/projects/P/locations/L/services/S/connectors/C:impersonateQuery  and  :impersonateMutation
package struct AdministratorCall: Sendable, Hashable {
    package enum Method: String, Sendable, Hashable, CaseIterable {
        case executeGraphql, executeGraphqlRead, impersonateQuery, impersonateMutation

        package var isAdHoc: Bool {
            switch self {
            case .executeGraphql, .executeGraphqlRead: true
            case .impersonateQuery, .impersonateMutation: false
            }
        }
    }

    package let method: Method
    package let location: String
    package let service: String
    /// Nil for ad-hoc texts.
    package let connector: String?

    /// Nil for other paths.
    package init?(path: String) {
        guard let colon = path.lastIndex(of: ":"),
            let method = Method(rawValue: String(path[path.index(after: colon)...]))
        else { return nil }
        let parts = path[..<colon].split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == (method.isAdHoc ? 8 : 10), parts[0].isEmpty, parts[1] == "v1", parts[2] == "projects",
            parts[4] == "locations", parts[6] == "services", !parts[7].isEmpty
        else { return nil }
        if !method.isAdHoc, parts[8] != "connectors" || parts[9].isEmpty { return nil }
        self.method = method
        location = parts[5]
        service = parts[7]
        connector = method.isAdHoc ? nil : parts[9]
    }
}

/// The body of an administrator's call:
/// `{query | operationName, variables?, extensions: {impersonate?, idempotencyKey?}}`.
package struct AdministratorRequest: Sendable, Hashable {
    package var query: String?
    package var operationName: String?
    package var variables: JSONObject
    /// The impersonated user; nil if that is a signed-out one, or if the call impersonates nobody.
    package var auth: Auth?
    /// Whether it runs as a user or signed out. Otherwise it runs as administrator, whom `@auth` does not concern.
    package var isImpersonated: Bool
    /// Makes a mutation apply once; without effect for queries.
    package var idempotencyKey: IdempotencyKey?

    /// - Throws: `.badRequest` naming the field that has the wrong type or is missing.
    package init(_ body: JSONObject, _ method: AdministratorCall.Method) throws(RequestError) {
        func text(_ name: String, in object: JSONObject) throws(RequestError) -> String? {
            guard let value = object[name], !value.isNull else { return nil }
            guard let text = value.stringValue else { throw RequestError(.badRequest, "\"\(name)\" must be a string") }
            return text.isEmpty ? nil : text
        }
        func object(_ name: String, in object: JSONObject) throws(RequestError) -> JSONObject? {
            guard let value = object[name], !value.isNull else { return nil }
            guard let object = value.objectValue else {
                throw RequestError(.badRequest, "\"\(name)\" must be an object")
            }
            return object
        }
        query = try text("query", in: body)
        operationName = try text("operationName", in: body)
        variables = try object("variables", in: body) ?? JSONObject()
        let extensions = try object("extensions", in: body)
        let impersonate = try extensions.flatMap { extensions throws(RequestError) in
            try object("impersonate", in: extensions)
        }
        isImpersonated = impersonate != nil
        idempotencyKey = try extensions.flatMap { extensions throws(RequestError) in
            try text(IdempotencyKey.extensionName, in: extensions)
        }.map { text throws(RequestError) in try IdempotencyKey(text) }
        if method.isAdHoc {
            guard query != nil else { throw RequestError(.badRequest, "\"query\" is missing") }
        } else {
            guard operationName != nil else { throw RequestError(.badRequest, "\"operationName\" is missing") }
        }
        guard let impersonate else { return }
        let claims = try object("authClaims", in: impersonate)
        guard (claims != nil) != (impersonate["unauthenticated"]?.boolValue == true) else {
            throw RequestError(.badRequest, "\"impersonate\" takes \"authClaims\" or \"unauthenticated\": true")
        }
        guard let claims else { return }
        guard let uid = claims["user_id"]?.stringValue ?? claims["sub"]?.stringValue, !uid.isEmpty else {
            throw RequestError(.badRequest, "\"authClaims\" must have \"sub\"")
        }
        auth = Auth(uid: uid, token: claims)
    }
}
