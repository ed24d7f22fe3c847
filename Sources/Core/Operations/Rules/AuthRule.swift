package import CEL
package import JSON
package import LiveModel

/// An access level of `@auth`. Source: docs/reference/sql-connect.md §5.1.
package enum AccessLevel: String, Sendable, Hashable, CaseIterable {
    case everyone = "PUBLIC"
    case userAnonymous = "USER_ANON"
    case user = "USER"
    case userEmailVerified = "USER_EMAIL_VERIFIED"
    case noAccess = "NO_ACCESS"

    /// The equivalent CEL expression, for display and tools; `AuthRule` evaluates levels directly.
    package var expression: String {
        switch self {
        case .everyone: "true"
        case .userAnonymous: "auth.uid != nil"
        case .user: "auth.uid != nil && auth.token.firebase.sign_in_provider != 'anonymous'"
        case .userEmailVerified: "auth.uid != nil && auth.token.email_verified"
        case .noAccess: "false"
        }
    }
}

/// The rule that determines who may run an operation: `@auth`.
package struct AuthRule: Sendable {
    /// Nil if the rule is an expression.
    package let level: AccessLevel?
    package let expression: ExpressionProgram
    package let insecureReason: String?

    package var program: Program { expression.program }

    /// Whether the decision may change as time passes.
    package var readsRequestTime: Bool { level == nil && expression.readsRequestTime }

    /// Decides whether a request may run the operation. An expression that throws denies access.
    /// - Returns: nil if allowed; `.unauthenticated` if no user is signed in and signing in could help; otherwise
    ///   `.permissionDenied`.
    package func authorize(
        auth: Auth?, variables: JSONObject, nowMs: Int64, operationName: String
    ) -> RequestError? {
        if isAllowed(auth, variables, nowMs, operationName) { return nil }
        let userCouldHelp = level.map { $0 != .noAccess } ?? expression.authReads.presence
        if auth == nil, userCouldHelp {
            return RequestError(.unauthenticated, "\"\(operationName)\" needs a signed-in user")
        }
        return RequestError(.permissionDenied, "\"\(operationName)\" is not allowed")
    }

    private func isAllowed(_ auth: Auth?, _ variables: JSONObject, _ nowMs: Int64, _ operationName: String) -> Bool {
        switch level {
        case .everyone: return true
        case .noAccess: return false
        case .userAnonymous: return auth != nil
        case .user: return auth?.isUser ?? false
        case .userEmailVerified: return auth?.token["email_verified"]?.boolValue ?? false
        case nil: break
        }
        let answer = try? expression.evaluate(
            variables: variables, auth: auth, nowMs: nowMs, operationName: operationName)
        if case .bool(true)? = answer { return true }
        return false
    }
}

extension Auth {
    /// Whether the caller is a non-anonymous user. Tokens of other issuers have no `firebase` claim and count as such;
    /// otherwise `USER` would exclude all their users. With the claim, the level's expression applies.
    fileprivate var isUser: Bool {
        guard let firebase = token["firebase"] else { return true }
        return firebase["sign_in_provider"].map { $0 != "anonymous" } ?? false
    }
}
