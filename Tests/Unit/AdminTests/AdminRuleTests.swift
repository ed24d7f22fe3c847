import JSON
import LiveModel
import TestSupport
import Testing

@testable import Admin

/// The users whom rules of the admin port admit.
@Suite struct AdminRuleTests {
    private static let ann = Auth(
        uid: "42",
        token: ["sub": "42", "email": "ann@example.com", "email_verified": true, "groups": ["readers", "on call"]])

    private func refusal(_ rule: String, _ auth: Auth = ann, _ path: String = "/admin/v1/status") throws -> String? {
        try AdminRule(rule, setting: "admin.rule").refusal(of: auth, method: "GET", path: path)?.message
    }

    @Test(arguments: [
        "true", #"auth.uid == "42""#, #"auth.token.email.endsWith("@example.com") && auth.token.email_verified"#,
        #""on call" in request.auth.token.groups"#,
        #"request.method == "GET" && request.path.startsWith("/admin/v1/")"#,
        #"has(auth.token.groups) ? auth.token.groups.exists(g, g == "readers") : false"#,
    ])
    func rulesThatAdmit(_ rule: String) throws {
        #expect(try refusal(rule) == nil)
    }

    @Test(arguments: [
        ("false", "admin.rule does not admit this user"),
        (#"auth.token.email == "bob@example.com""#, "admin.rule does not admit this user"),
        (#"auth.token.team == "ops""#, "it reads a claim that the token lacks"),
        // A value of another type than a bool admits nobody.
        ("auth.token.email", "does not admit"),
    ])
    func rulesThatRefuse(_ rule: String, _ part: String) throws {
        let message = try #require(try refusal(rule))
        #expect(message.contains(part) && !message.contains("ann@"), "\(message)")
    }

    @Test(
        arguments: [
            "", "1 + 1", "auth.token.", "user.name", "auth.name == 'x'", "request.auth.claims == 1", "vars.x",
        ])
    func rulesThatAreMistakes(_ rule: String) throws {
        let error = #expect(throws: AdminRule.Invalid.self) { try AdminRule(rule, setting: "admin.writeRule") }
        #expect(error?.description.hasPrefix("admin.writeRule: ") == true)
    }

    @Test func aCallerIsNamedInPrintableText() {
        let forged = Auth(uid: "a\nadmin action", token: ["email": "\u{1B}[2J"])
        #expect(AdminCaller.user(forged).description == "user a?admin action (?[2J)")
        #expect(AdminCaller.user(Self.ann).name == "42 (ann@example.com)")
        #expect(AdminCaller.tokenHolder.name == nil)
    }
}
