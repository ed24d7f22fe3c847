import Catalog
import JSON
import LiveModel
import Operations
import Testing

@Suite struct AuthRuleTests {
    private func answer(_ directive: String, _ auth: Auth?, _ variables: JSONObject = [:]) throws -> ErrorCode? {
        let operation = try CatalogHarness.operation(
            "query Q($id: String) \(directive) { users(where: {id: {eq: $id}}) { id } }")
        return operation.authorize(auth: auth, variables: variables, nowMs: 1_700_000_000_000)?.code
    }

    private let ann = Auth(
        uid: "ann",
        token: ["email_verified": true, "role": "editor", "firebase": ["sign_in_provider": "password"]])
    private let guest = Auth(uid: "g", token: ["firebase": ["sign_in_provider": "anonymous"]])
    private let other = Auth(uid: "o", token: [:])

    @Test func levelsAdmitTheirUsers() throws {
        #expect(try answer("@auth(level: PUBLIC)", nil) == nil)
        #expect(try answer("@auth(level: USER_ANON)", nil) == .unauthenticated)
        #expect(try answer("@auth(level: USER_ANON)", guest) == nil)
        #expect(try answer("@auth(level: USER)", nil) == .unauthenticated)
        #expect(try answer("@auth(level: USER)", guest) == .permissionDenied)
        #expect(try answer("@auth(level: USER)", ann) == nil)
        #expect(try answer("@auth(level: USER)", other) == nil)
        #expect(try answer("@auth(level: USER_EMAIL_VERIFIED)", other) == .permissionDenied)
        #expect(try answer("@auth(level: USER_EMAIL_VERIFIED)", ann) == nil)
        #expect(try answer("@auth(level: NO_ACCESS)", ann) == .permissionDenied)
        #expect(try answer("", ann) == .permissionDenied)
        #expect(try answer("", nil) == .permissionDenied)
    }

    /// Each level says what its expression says, whatever the token holds; but `USER` takes users of issuers that have
    /// no anonymous ones.
    @Test(arguments: AccessLevel.allCases) func levelsAreTheirExpressions(_ level: AccessLevel) throws {
        let claims: [JSONObject] = [
            [:], ["firebase": .null], ["firebase": "x"], ["firebase": [:]], ["firebase": ["sign_in_provider": .null]],
            ["firebase": ["sign_in_provider": "anonymous"]], ["firebase": ["sign_in_provider": "password"]],
            ["firebase": ["sign_in_provider": 5]], ["email_verified": true], ["email_verified": false],
            ["email_verified": "true"], ["email_verified": .null],
            ["email_verified": true, "firebase": ["sign_in_provider": "anonymous"]],
        ]
        for auth in claims.map({ Auth(uid: "u", token: $0) }) + [nil] {
            let byLevel = try answer("@auth(level: \(level.rawValue))", auth)
            let byExpression = try answer("@auth(expr: \"\(level.expression)\")", auth)
            let isOfOther = level == .user && auth.map { $0.token["firebase"] == nil } ?? false
            #expect((byLevel == nil) == (isOfOther || byExpression == nil), "\(String(describing: auth))")
        }
    }

    @Test func expressionsReadAuthAndVariables() throws {
        let own = "@auth(expr: \"auth.uid == vars.id\")"
        #expect(try answer(own, ann, ["id": "ann"]) == nil)
        #expect(try answer(own, ann, ["id": "bob"]) == .permissionDenied)
        #expect(try answer(own, nil, ["id": "ann"]) == .unauthenticated)
        // A variable that was not sent is an error, and an error says no.
        #expect(try answer(own, ann) == .permissionDenied)
        #expect(try answer("@auth(expr: \"auth.token.role == 'editor'\")", ann) == nil)
        #expect(try answer("@auth(expr: \"auth.token.role == 'editor'\")", other) == .permissionDenied)
        #expect(try answer("@auth(expr: \"request.operationName == 'Q'\")", nil) == nil)
        #expect(try answer("@auth(expr: \"request.time > timestamp('2020-01-01T00:00:00Z')\")", nil) == nil)
        #expect(try answer("@auth(expr: \"vars.id == 'x'\")", nil, ["id": "y"]) == .permissionDenied)
        #expect(try answer("@auth(expr: \"auth != nil\")", nil) == .unauthenticated)
    }

    @Test func rulesKnowWhetherTheyReadTheTime() throws {
        let operation = try CatalogHarness.operation(
            """
            query Q @auth(expr: "request.time > timestamp('2020-01-01T00:00:00Z')", insecureReason: "why not") {
              users { id }
            }
            """
        )
        #expect(operation.auth.readsRequestTime)
        #expect(operation.auth.insecureReason == "why not")
        #expect(operation.auth.level == nil)
        // Reads of @auth are decided for each subscriber and are no part of the live query.
        let reads = try CatalogHarness.operation("query Q @auth(expr: \"auth.token.role == 'x'\") { users { id } }")
            .authReads
        #expect(reads == .nothing)
    }

    @Test func mistakesInAuthAreNamed() {
        let rows = [
            ("@auth", "exactly one"), ("@auth(level: USER, expr: \"true\")", "exactly one"),
            ("@auth(level: \"USER\")", "without quotes"), ("@auth(level: USR)", "did you mean \"USER\""),
            ("@auth(expr: \"1 + 1\")", "bool"), ("@auth(expr: \"vars.nope == 1\")", "vars.nope"),
            ("@auth(lvl: USER)", "no argument"), ("@auth(level: USER) @auth(level: USER)", "once"),
        ]
        for (directive, part) in rows {
            let errors = CatalogHarness.errors("query Q \(directive) { users { id } }")
            #expect(errors.contains { $0.contains(part) }, "\(directive): \(errors)")
        }
    }
}
