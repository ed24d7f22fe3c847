import JSON
import LiveModel
import Sessions
import Testing

@Suite struct AdministratorCallTests {
    private static let service = "/v1/projects/p/locations/l/services/s"

    @Test(arguments: [
        ("\(service):executeGraphql", "executeGraphql", nil as String?),
        ("\(service):executeGraphqlRead", "executeGraphqlRead", nil),
        ("\(service)/connectors/c:impersonateQuery", "impersonateQuery", "c"),
        ("\(service)/connectors/c:impersonateMutation", "impersonateMutation", "c"),
    ]) func pathsAreRead(path: String, method: String, connector: String?) throws {
        let call = try #require(AdministratorCall(path: path))
        #expect(call.method.rawValue == method && call.connector == connector)
        #expect(call.location == "l" && call.service == "s")
    }

    @Test(arguments: [
        "", "\(service):executeQuery", "\(service)/connectors/c:executeGraphql", "\(service):impersonateQuery",
        "\(service)/connectors/:impersonateQuery", "/v1/x/p/locations/l/services/s:executeGraphql", "\(service):",
        "/v2/projects/p/locations/l/services/s:executeGraphql",
    ]) func otherPathsAreNoCalls(path: String) { #expect(AdministratorCall(path: path) == nil) }

    private func request(_ text: String, _ method: AdministratorCall.Method) throws -> AdministratorRequest {
        let body = try #require(try JSONParser.parse(Array(text.utf8)).objectValue)
        return try AdministratorRequest(body, method)
    }

    @Test func callsRunAsTheImpersonatedUser() throws {
        let plain = try request(#"{"query":"{ a }"}"#, .executeGraphql)
        #expect(plain.query == "{ a }" && plain.auth == nil && !plain.isImpersonated && plain.variables.isEmpty)
        let impersonated = try request(
            """
            {"operationName":"Q","variables":{"n":1},"extensions":{"impersonate":{"authClaims":{"sub":"ann",\
            "email":"e"}}}}
            """,
            .impersonateQuery)
        #expect(
            impersonated.auth == Auth(uid: "ann", token: ["sub": "ann", "email": "e"])
                && impersonated.variables["n"] == 1)
        let signedOut = try request(
            #"{"operationName":"Q","extensions":{"impersonate":{"unauthenticated":true}}}"#, .impersonateMutation)
        #expect(signedOut.auth == nil && signedOut.isImpersonated)
    }

    @Test(arguments: [
        #"{"operationName":"Q"}"#, #"{"operationName":"Q","extensions":{}}"#,
        #"{"operationName":"Q","extensions":{"impersonate":null}}"#,
    ]) func callsThatImpersonateNobodyRunAsAdministrator(text: String) throws {
        let request = try request(text, .impersonateMutation)
        #expect(!request.isImpersonated && request.auth == nil && request.operationName == "Q")
    }

    @Test(arguments: [
        (#"{}"#, "executeGraphql"), (#"{"query":3}"#, "executeGraphql"),
        (#"{"query":"{ a }"}"#, "impersonateQuery"),
        (#"{"query":"{a}","variables":[]}"#, "executeGraphql"), (#"{"query":"{a}","extensions":3}"#, "executeGraphql"),
        (#"{"query":"{a}","extensions":{"impersonate":{}}}"#, "executeGraphql"),
        (#"{"query":"{a}","extensions":{"impersonate":{"authClaims":{},"unauthenticated":true}}}"#, "executeGraphql"),
        (#"{"query":"{a}","extensions":{"impersonate":{"authClaims":{}}}}"#, "executeGraphql"),
    ]) func mistakesAreNamed(text: String, method: String) throws {
        let method = try #require(AdministratorCall.Method(rawValue: method))
        let error = #expect(throws: RequestError.self) { try request(text, method) }
        #expect(error?.code == .badRequest)
    }
}
