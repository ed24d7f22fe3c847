import LiveModel
import Sessions
import Testing

@Suite struct AppSyncRequestTests {
    private func read(_ headers: [String: String]) -> AppSyncRequest? { AppSyncRequest { headers[$0] } }

    @Test func aTokenNeedsNoScheme() {
        let request = read(["authorization": "eyJh.eyJz-_.c2ln"])
        #expect(request?.bareToken == "eyJh.eyJz-_.c2ln" && request?.isSigned == false)
    }

    @Test func signaturesAreKnown() {
        let signed = read(["authorization": "AWS4-HMAC-SHA256 Credential=A/20260101/eu/appsync/aws4_request"])
        #expect(signed?.isSigned == true && signed?.bareToken == nil)
    }

    @Test func amplifyWithAnAPIKeyIsKnownByItsHeaders() {
        #expect(read(["x-amz-user-agent": "aws-amplify/6", "x-api-key": "k"])?.bareToken == nil)
        #expect(read(["x-amz-user-agent": "aws-amplify/6"]) != nil)
    }

    @Test(arguments: ["Bearer a.b.c", "Basic x", "a.b", "a..c", "a.b.c.d", "a.b.ü", ""])
    func anythingElseIsNot(_ authorization: String) {
        #expect(read(["authorization": authorization]) == nil)
    }

    @Test func errorsHaveAMessageAtTheTop() {
        let error = RequestError(.permissionDenied, #"no "entry""#)
        let errors = #""errors":[{"message":"no \"entry\"","extensions":{"code":"PERMISSION_DENIED"}}]}"#
        #expect(String(decoding: AppSyncRequest.body(error), as: UTF8.self) == #"{"message":"no \"entry\"","# + errors)
        #expect(AppSyncRequest.errorType(of: .permissionDenied) == "UnauthorizedException")
        #expect(AppSyncRequest.errorType(of: .limitExceeded) == "LimitExceededException")
    }
}
