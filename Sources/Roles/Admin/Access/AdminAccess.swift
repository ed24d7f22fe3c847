import Crypto
package import HTTPServer
import JSON
package import LiveModel
package import PublicAPI
import NIOHTTP1
import Sessions
package import Tokens

/// Decides who may use the admin port: holders of `admin.token`, and users whose ID tokens an OpenID provider signed
/// and a rule admits.
package struct AdminAccess: Sendable {
    /// The users of `admin.auth.mode: oidc`.
    package struct Users: Sendable {
        private let verifier: TokenVerifier
        private let rule: AdminRule
        private let writeRule: AdminRule

        /// - Parameter writeRule: the rule for requests that may change something, besides `rule`; nil: `rule` alone.
        package init(verifier: TokenVerifier, rule: AdminRule, writeRule: AdminRule?) {
            self.verifier = verifier
            self.rule = rule
            self.writeRule = writeRule ?? rule
        }

        /// Verifies an ID token without waiting; nil if keys must be fetched first.
        fileprivate func verifyNow(_ token: String, nowMs: Int64) throws(RequestError) -> Auth? {
            try verifier.verifyNow(token, nowMs: nowMs)?.auth
        }

        fileprivate func verify(_ token: String, nowMs: Int64) async throws(RequestError) -> Auth {
            try await verifier.verify(token, nowMs: nowMs).auth
        }

        fileprivate func refusal(
            of auth: Auth, method: HTTPMethod, path: String, mayChange: Bool
        ) -> RequestError? {
            if let refusal = rule.refusal(of: auth, method: method.rawValue, path: path) { return refusal }
            return mayChange ? writeRule.refusal(of: auth, method: method.rawValue, path: path) : nil
        }
    }

    enum Answer: Sendable {
        case admitted(AdminCaller)
        /// - Parameter caller: the caller, if the token was proven; a rule refused it.
        case refused(RequestError, AdminCaller?)
        /// The provider's keys must be fetched first: call `decide`.
        case undecided
    }

    private let token: SHA256.Digest?
    private let users: Users?
    /// The hosts that requests without a token may name.
    private let hosts: CrossSiteCheck.Hosts

    /// - Parameters:
    ///   - token: nil, without users, admits programs that can reach the port, but no web pages (`CrossSiteCheck`);
    ///     settings allow that on loopback only.
    ///   - hosts: the hosts that requests without a token may name.
    package init(token: String?, users: Users? = nil, hosts: CrossSiteCheck.Hosts = .loopback) {
        self.token = token.map { SHA256.hash(data: Array($0.utf8)) }
        self.users = users
        self.hosts = hosts
    }

    /// Whether a request may change something: all but reads, and the administrators' calls that run queries only.
    static func mayChange(_ request: HTTPRequest) -> Bool {
        if request.method == .GET || request.method == .HEAD { return false }
        if let found = try? AdminRoutes.find(request.method, request.path), found.route.isRead { return false }
        switch AdministratorCall(path: request.path)?.method {
        case .executeGraphqlRead, .impersonateQuery: return false
        case .executeGraphql, .impersonateMutation, nil: return true
        }
    }

    /// Decides at once, if no keys must be fetched.
    func decideNow(_ request: HTTPRequest, nowMs: Int64) -> Answer {
        guard token != nil || users != nil else {
            if let error = CrossSiteCheck.refusal(of: request, hosts: hosts) { return .refused(error, nil) }
            return .admitted(.anyone)
        }
        guard let sent = Self.bearer(request) else {
            guard users != nil else { return .refused(Self.noToken, nil) }
            return .refused(RequestError(.unauthenticated, "an ID token or the admin token is needed"), nil)
        }
        // Compared in constant time. A token is proof enough: no page of another site has it.
        if let token, SHA256.hash(data: Array(sent.utf8)) == token { return .admitted(.tokenHolder) }
        guard let users else { return .refused(Self.noToken, nil) }
        do throws(RequestError) {
            guard let auth = try users.verifyNow(sent, nowMs: nowMs) else { return .undecided }
            return Self.answer(auth, users, request)
        } catch {
            return .refused(error, nil)
        }
    }

    /// Decides after fetching the provider's keys.
    func decide(_ request: HTTPRequest, nowMs: Int64) async -> Answer {
        guard let users, let sent = Self.bearer(request) else { return .refused(Self.noToken, nil) }
        do throws(RequestError) {
            return Self.answer(try await users.verify(sent, nowMs: nowMs), users, request)
        } catch {
            return .refused(error, nil)
        }
    }

    /// The path of mutations that administrators run, with its parameters in braces.
    private static let mutationPath =
        "/v1/projects/{project}/locations/{location}/services/{service}/connectors/{connector}:impersonateMutation"

    /// Returns the actions of the API that rules refuse a caller, by their paths, with the reason.
    ///
    /// Actions with parameters in their paths, which a rule may read, count as refused if all others are; otherwise a
    /// rule decides when the action is tried.
    func refusedActions(of caller: AdminCaller) -> JSONObject {
        guard let users, case .user(let auth) = caller else { return [:] }
        var refused: JSONObject = [:]
        let paths = AdminRoutes.all.filter { $0.method == .POST && !$0.isRead }.map(\.path) + [Self.mutationPath]
        for path in paths {
            let refusal = users.refusal(of: auth, method: .POST, path: path, mayChange: true)
            if let refusal { refused[path] = .string(refusal.message) }
        }
        let isAnyAdmitted = paths.contains { !$0.contains("{") && refused[$0] == nil }
        if isAnyAdmitted { for path in paths where path.contains("{") { refused[path] = nil } }
        return refused
    }

    private static let noToken = RequestError(.unauthenticated, "the admin token is missing or invalid")

    private static func answer(_ auth: Auth, _ users: Users, _ request: HTTPRequest) -> Answer {
        let caller = AdminCaller.user(auth)
        let refusal = users.refusal(
            of: auth, method: request.method, path: request.path, mayChange: mayChange(request))
        return refusal.map { .refused($0, caller) } ?? .admitted(caller)
    }

    private static func bearer(_ request: HTTPRequest) -> String? {
        guard let header = request.header("authorization"), header.lowercased().hasPrefix("bearer ") else {
            return nil
        }
        return String(header.dropFirst(7))
    }

    /// Returns the header `WWW-Authenticate` of a refusal; nil if another token would not help.
    /// Source: RFC 6750 §3.
    static func challenge(_ error: RequestError, to request: HTTPRequest) -> String? {
        let code: String
        switch error.code {
        case .unauthenticated where bearer(request) == nil: return #"Bearer realm="freshet admin""#
        case .unauthenticated: code = "invalid_token"
        case .permissionDenied where bearer(request) != nil: code = "insufficient_scope"
        default: return nil
        }
        // A quoted string of RFC 6750 §3 has neither.
        let reason = error.message.replacing("\"", with: "'").replacing("\\", with: "/")
        return #"Bearer realm="freshet admin", error="\#(code)", error_description="\#(reason)""#
    }
}
