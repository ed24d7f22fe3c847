import JSON
import LiveModel
import Sessions
import Testing

/// AppSync's real-time protocol: acknowledgement with `connectionTimeoutMs`, `ka`, `start_ack` before data, `stop`
/// answered by `complete`, the ways of authorization. Sources: AWS AppSync developer guide, amplify-swift, gql 4.4.
@Suite struct AppSyncMachineTests {
    private static let ack = #"{"type":"connection_ack","payload":{"connectionTimeoutMs":300000}}"#

    private func machine(_ handshake: AppSyncAuthorization = .apiKey("k"), operationsMax: Int = 10) -> AppSyncMachine {
        AppSyncMachine(SessionOpening(operationsMax: operationsMax), handshake: handshake)
    }

    private func ready(_ handshake: AppSyncAuthorization = .apiKey("k")) -> AppSyncMachine {
        var machine = machine(handshake)
        _ = receive(&machine, #"{"type":"connection_init"}"#)
        _ = machine.authenticated()
        return machine
    }

    private func receive(_ machine: inout AppSyncMachine, _ text: String) -> [String] {
        actionTexts(machine.received(text: Array(text.utf8)))
    }

    private func start(_ id: String, token: String? = nil) -> String {
        let authorization = token.map { #"{"host":"h","Authorization":"\#($0)"}"# } ?? #"{"host":"h","x-api-key":"k"}"#
        return
            #"""
            {"id":"\#(id)","type":"start","payload":{"data":"{\"query\":\"subscription A { a }\",\#
            \"operationName\":\"A\",\"variables\":{\"n\":1}}","extensions":{"authorization":\#(authorization)}}}
            """#
    }

    @Test func theAcknowledgementNamesTheTimeOutAndKeepAlivesFollow() {
        var machine = machine(.bearer("t"))
        #expect(receive(&machine, #"{"type":"connection_init"}"#) == ["authenticate t"])
        #expect(actionTexts(machine.authenticated()) == [Self.ack, #"{"type":"ka"}"#])
        #expect(actionTexts(machine.keepAliveDue()) == [#"{"type":"ka"}"#])
    }

    @Test func aStartIsAcknowledgedBeforeItsData() {
        var machine = ready()
        let text = start("u-1")
        let actions = machine.received(text: Array(text.utf8))
        let request = OperationRequest(operationName: "A", document: "subscription A { a }", variables: ["n": 1])
        #expect(actions == [.start(id: "u-1", request, .byText)])
        #expect(actionTexts(machine.started(id: "u-1")) == [#"{"id":"u-1","type":"start_ack"}"#])
        #expect(
            receive(&machine, #"{"id":"u-1","type":"stop"}"#) == ["stop u-1", #"{"id":"u-1","type":"complete"}"#])
        #expect(receive(&machine, #"{"id":"u-1","type":"stop"}"#) == [#"{"id":"u-1","type":"complete"}"#])
    }

    @Test func theIntroductionIsOptional() {
        var machine = machine()
        #expect(receive(&machine, start("1")) == ["authenticate key k"])
        #expect(actionTexts(machine.authenticated()) == [Self.ack, #"{"type":"ka"}"#, "start 1 A"])
    }

    @Test func aRefusedHandshakeIsAConnectionError() {
        var machine = machine(.bearer("forged"))
        _ = receive(&machine, #"{"type":"connection_init"}"#)
        #expect(
            actionTexts(machine.rejected(RequestError(.unauthenticated, "forged"))) == [
                """
                {"type":"connection_error","payload":{"errors":[{"errorType":"UnauthorizedException","errorCode":401,\
                "message":"forged"}]}}
                """,
                "close 4403 Forbidden",
            ])
    }

    @Test func aHeaderThatCannotBeReadIsAConnectionError() {
        var machine = machine(AppSyncAuthorization(base64: "%%%"))
        let actions = receive(&machine, #"{"type":"connection_init"}"#)
        #expect(actions.first?.contains("connection_error") == true && actions.last?.hasPrefix("close 4400") == true)
    }

    @Test func anotherTokenOfAStartIsVerifiedFirst() {
        var machine = ready(.bearer("a"))
        #expect(receive(&machine, start("1", token: "a")) == ["start 1 A"])
        #expect(receive(&machine, start("2", token: "Bearer b")) == ["authenticate b"])
        #expect(receive(&machine, start("3", token: "b")).isEmpty)
        #expect(receive(&machine, start("4", token: "c")).isEmpty)
        #expect(actionTexts(machine.authenticated()) == ["start 2 A", "start 3 A", "authenticate c"])
        let refused = actionTexts(machine.rejected(RequestError(.unauthenticated, "no")))
        #expect(refused.count == 1 && refused[0].hasPrefix(#"{"id":"4","type":"error""#))
        #expect(receive(&machine, start("5", token: "b")) == ["start 5 A"])
    }

    @Test func aKeyIsVerifiedOnceAndDoesNotSignAUserOut() {
        var machine = machine(.signedOut)
        _ = receive(&machine, #"{"type":"connection_init"}"#)
        _ = machine.authenticated()
        #expect(receive(&machine, start("1")) == ["authenticate key k"])
        #expect(actionTexts(machine.authenticated()) == ["start 1 A"])
        #expect(receive(&machine, start("2")) == ["start 2 A"])
        var user = ready(.bearer("a"))
        #expect(receive(&user, start("1")) == ["start 1 A"], "beside a token it changes nothing")
    }

    @Test func aVerificationCountsForItsTokenOnly() {
        var machine = ready()
        #expect(receive(&machine, start("1", token: "a")) == ["authenticate a"])
        _ = receive(&machine, start("2", token: "b"))
        _ = receive(&machine, #"{"id":"1","type":"stop"}"#)
        #expect(actionTexts(machine.authenticated()) == ["authenticate b"], "2 was not verified yet")
    }

    @Test func anExpiredTokenEndsOperationsAndTheSocket() {
        var machine = ready(.bearer("a"))
        _ = receive(&machine, start("1", token: "a"))
        let sent = actionTexts(machine.expired(ids: ["1"], .tokenExpired))
        #expect(sent.count == 2 && sent[0].contains("UnauthorizedException") && sent[1] == "close 4403 Token expired")
    }

    @Test func subscriptionsWithoutClaimsKeepTheSocketOpen() {
        var machine = ready(.bearer("a"))
        _ = receive(&machine, start("1", token: "a"))
        #expect(machine.expired(ids: [], .tokenExpired).isEmpty && machine.isActive("1"))
        #expect(receive(&machine, start("2", token: "a")) == ["authenticate a"], "it is verified again")
    }

    @Test func errorTypesAreThoseThatAmplifyKnows() {
        var machine = AppSyncMachine(SessionOpening(operationsMax: 1), handshake: .apiKey("k"))
        _ = receive(&machine, #"{"type":"connection_init"}"#)
        _ = machine.authenticated()
        _ = receive(&machine, start("1"))
        #expect(receive(&machine, start("1"))[0].contains("DuplicatedOperationError"))
        #expect(receive(&machine, start("2"))[0].contains("MaxSubscriptionsReachedError"))
        #expect(receive(&machine, "nonsense")[0].contains("BadRequestException"))
        let denied = actionTexts(machine.failed(id: "1", [RequestError(.permissionDenied, "no")]))
        #expect(denied[0].contains(#""errorType":"UnauthorizedException","errorCode":403"#))
    }

    // MARK: Authorization

    @Test func authorizationComesInThreeWays() {
        // {"host":"h","Authorization":"tok"}, in both alphabets, with and without padding
        let text = "eyJob3N0IjoiaCIsIkF1dGhvcml6YXRpb24iOiJ0b2sifQ=="
        #expect(AppSyncAuthorization(base64: text) == .bearer("tok"))
        #expect(AppSyncAuthorization(base64: text.dropLast(2)) == .bearer("tok"))
        #expect(AppSyncAuthorization(base64: "eyJ4LWFwaS1rZXkiOiLDv8O/In0=") == .apiKey("ÿÿ"))
        #expect(AppSyncAuthorization(base64: "eyJ4LWFwaS1rZXkiOiLDv8O_In0") == .apiKey("ÿÿ"))
        #expect(AppSyncAuthorization(header: { $0 == "x-api-key" ? "k" : nil }) == .apiKey("k"))
        #expect(AppSyncAuthorization(header: { _ in "both" }) == .bearer("both"), "a token goes before a key")
        #expect(AppSyncAuthorization(authorization: "tok") == .bearer("tok"))
        #expect(AppSyncAuthorization(authorization: "Bearer tok") == .bearer("tok"))
        #expect(AppSyncAuthorization(authorization: nil) == .signedOut)
    }

    @Test(arguments: ["e", "bm90IGpzb24=", "W10=", "eyJ", "ä"])
    func otherTextIsNoAuthorization(text: String) {
        #expect(AppSyncAuthorization(base64: text) == .malformed)
    }
}
