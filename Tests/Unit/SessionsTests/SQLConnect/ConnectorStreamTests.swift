import JSON
import LiveModel
import Sessions
import Testing

/// One stream over WebSocket, row by row. Source: docs/reference/sql-connect.md §2 and §8.
@Suite struct ConnectorStreamTests {
    private typealias Machine = ConnectorStreamMachine<StreamJSON>
    private static let name = "projects/p/locations/us-central1/services/auctions/connectors/default"

    private func machine(operationsMax: Int = 10, bearer: String? = nil) -> Machine {
        Machine(
            SessionOpening(credentials: Credentials(bearer: bearer), operationsMax: operationsMax),
            service: ServiceIdentity(service: "auctions", location: "us-central1", connectors: ["default", "admin"]))
    }

    private func receive(_ machine: inout Machine, _ text: String) -> [String] {
        actionTexts(machine.received(text: Array(text.utf8)))
    }

    /// Signed out, connector bound.
    private func bound(operationsMax: Int = 10) -> Machine {
        var machine = machine(operationsMax: operationsMax)
        #expect(receive(&machine, #"{"name":"\#(Self.name)"}"#) == [])
        return machine
    }

    private func error(_ id: String, _ message: String, _ code: String, _ details: String? = nil) -> String {
        let details = details.map { #","debugDetails":"\#($0)""# } ?? ""
        return
            #"""
            {"result":{"requestId":"\#(id)","data":null,"errors":[{"message":"\#(message)","path":[],\#
            "extensions":{"code":"\#(code)"\#(details)}}]}}
            """#
    }

    private func subscribe(_ id: String, _ operation: String = "GetLot") -> String {
        #"{"requestId":"\#(id)","subscribe":{"operationName":"\#(operation)","variables":{"id":"m1"}}}"#
    }

    // MARK: First frames

    /// The web SDK: the first frame is the first request and carries name and token.
    @Test func firstFrameOfTheWebSDK() {
        var machine = machine()
        #expect(machine.opened().isEmpty)
        let frame =
            #"""
            {"requestId":"1","subscribe":{"operationName":"GetLot","variables":{"id":"m1"}},\#
            "name":"\#(Self.name)","headers":{"x-firebase-gmpid":"1:123:web:abc",\#
            "X-Goog-Api-Client":"gl-js/ fire/12.18.0","X-Firebase-Auth-Token":"idtoken",\#
            "X-Client-Version":"web/12.18.0"}}
            """#
        #expect(receive(&machine, frame) == ["authenticate idtoken"])
        #expect(actionTexts(machine.authenticated()) == ["start 1 GetLot follow"])
    }

    /// Also in a message that waits until its token is verified.
    @Test(arguments: [true, false]) func theIdempotencyKeyIsAHeaderOfItsMessage(hasToken: Bool) {
        func key(_ actions: [SessionAction]) -> String? {
            guard case .start(_, let request, .once)? = actions.first else { return nil }
            return request.idempotencyKey?.text
        }
        var machine = machine()
        let token = hasToken ? #","X-Firebase-Auth-Token":"t""# : ""
        let frame =
            #"""
            {"requestId":"1","name":"\#(Self.name)","headers":{"Idempotency-Key":"k"\#(token)},\#
            "execute":{"operationName":"EditLot"}}
            """#
        let actions = machine.received(text: Array(frame.utf8))
        #expect(key(hasToken ? machine.authenticated() : actions) == "k")
        // A key of its own for each message, or none.
        #expect(
            receive(&machine, #"{"requestId":"2","execute":{"operationName":"EditLot"}}"#) == ["start 2 EditLot once"])
        let bad = #"{"requestId":"3","headers":{"idempotency-key":"\""},"execute":{"operationName":"EditLot"}}"#
        #expect(receive(&machine, bad).first?.contains("the header Idempotency-Key must be") == true)
        #expect(!machine.isActive("3"))
    }

    /// Flutter has neither id nor kind in it, iOS an id, Android the id "init".
    @Test(arguments: ["", #""requestId":"8F|0","#, #""requestId":"init","#])
    func firstFramesWithoutAKindAreTakenSilently(_ id: String) {
        var machine = machine()
        #expect(
            receive(&machine, #"{\#(id)"name":"\#(Self.name)","headers":{"x-firebase-auth-token":"t"}}"#)
                == ["authenticate t"])
        #expect(machine.authenticated().isEmpty)
        #expect(receive(&machine, subscribe("a")) == ["start a GetLot follow"])
    }

    @Test func signedOutClientsBeginAtOnce() {
        var machine = machine()
        let frame = #"{"requestId":"1","name":"\#(Self.name)","execute":{"operationName":"A"}}"#
        #expect(receive(&machine, frame) == ["start 1 A once"])
        let request = OperationRequest(connector: "default", operationName: "B", variables: ["id": "m1"])
        #expect(machine.received(text: Array(subscribe("2", "B").utf8)) == [.start(id: "2", request, .follow)])
    }

    @Test func aWrongNameIsAnErrorUnderEachID() {
        for (name, message) in [
            ("projects/p/locations/us-central1/services/auctions/connectors/x", "no connector \\\"x\\\""),
            ("projects/p/locations/eu/services/auctions/connectors/default", "not in \\\"eu\\\""),
            ("projects/p/locations/us-central1/services/films/connectors/default", "no service \\\"films\\\" here"),
            ("auctions", "must be projects/P"),
        ] {
            var machine = machine()
            #expect(receive(&machine, #"{"name":"\#(name)"}"#) == [])
            for id in ["1", "2"] {
                let answer = receive(&machine, subscribe(id))
                #expect(
                    answer.count == 1 && answer[0].contains(message) && answer[0].contains(#""requestId":"\#(id)""#))
            }
        }
        var nameless = machine()
        #expect(receive(&nameless, subscribe("1")).first?.contains("must have a") == true)
    }

    // MARK: Ids

    @Test(arguments: ["1", "getLot_a8Kd0-{x}", "8F2A|0", "ü\u{1F600}", #"a\"b\\c"#, ""])
    func idsComeBackByteForByte(_ id: String) {
        var machine = bound()
        _ = receive(&machine, #"{"requestId":"\#(id)","execute":{"operationName":"A"}}"#)
        let plain = try? JSONParser.parse("\"\(id)\"").stringValue
        let sent = actionTexts(machine.finished(id: plain ?? "", answer: OperationAnswer(body: Array("{}".utf8))))
        #expect(sent == [#"{"result":{"requestId":"\#(id)","data":{}}}"#])
        let format = Machine.traits.format
        #expect(String(decoding: format.prefix(id: plain ?? ""), as: UTF8.self).contains(#""requestId":"\#(id)""#))
    }

    @Test func theSameIDOnANewSocket() {
        for _ in 0..<2 {
            var machine = bound()
            #expect(receive(&machine, subscribe("1")) == ["start 1 GetLot follow"])
        }
    }

    @Test func theSameIDOnTheSameSocketReplacesTheSubscription() {
        var machine = bound()
        _ = receive(&machine, subscribe("1"))
        #expect(receive(&machine, subscribe("1", "Other")) == ["stop 1", "start 1 Other follow"])
        #expect(machine.operationCount == 1)
        #expect(
            receive(&machine, #"{"requestId":"1","execute":{"operationName":"A"}}"#)
                == [error("1", #"this \"requestId\" is in use"#, "INVALID_ARGUMENT", "BAD_REQUEST")])
    }

    // MARK: Kinds

    @Test func resumeRunsALiveSubscriptionAgain() {
        var machine = bound()
        _ = receive(&machine, subscribe("1"))
        #expect(receive(&machine, #"{"requestId":"1","resume":{},"headers":{}}"#) == ["rerun 1"])
        #expect(receive(&machine, #"{"requestId":"1","resume":{}}"#) == ["rerun 1"])
    }

    /// The web SDK asks again for as long as the component is mounted.
    @Test func resumeOfARefusedOrFailedSubscriptionRunsItAgain() {
        var machine = bound()
        let resume = #"{"requestId":"1","resume":{}}"#
        #expect(receive(&machine, subscribe("1")) == ["start 1 GetLot follow"])
        for _ in 0..<2 {
            #expect(
                actionTexts(machine.failed(id: "1", [RequestError(.permissionDenied, "no")]))
                    == [error("1", "no", "PERMISSION_DENIED")])
            #expect(machine.operationCount == 0)
            #expect(receive(&machine, resume) == ["start 1 GetLot follow"])
        }
        #expect(receive(&machine, resume) == ["rerun 1"], "live")
        #expect(!machine.failed(id: "1", [RequestError(.permissionDenied, "no")]).isEmpty)
        #expect(receive(&machine, #"{"requestId":"1","cancel":{}}"#) == ["withdraw refusal 1"])
        #expect(receive(&machine, resume)[0].contains("NOT_FOUND"), "cancelled")
    }

    @Test func resumeIsAuthorizedByTheToken() {
        var machine = bound()
        #expect(
            receive(&machine, #"{"requestId":"0","headers":{"x-firebase-auth-token":"bad"}}"#) == ["authenticate bad"])
        _ = machine.rejected(RequestError(.unauthenticated, "bad"))
        let refused = [error("1", "bad", "UNAUTHENTICATED")]
        #expect(receive(&machine, subscribe("1")) == refused)
        #expect(receive(&machine, #"{"requestId":"1","resume":{}}"#) == refused)
        #expect(
            receive(&machine, #"{"requestId":"1","resume":{},"headers":{"x-firebase-auth-token":"good"}}"#)
                == ["authenticate good"])
        #expect(actionTexts(machine.authenticated()) == ["start 1 GetLot follow"])
    }

    @Test func fewSubscriptionsThatFailedAreRemembered() {
        var machine = bound(operationsMax: 2)
        for id in ["1", "2", "3"] {
            #expect(receive(&machine, subscribe(id)) == ["start \(id) GetLot follow"])
            #expect(!machine.failed(id: id, [RequestError(.permissionDenied, "no")]).isEmpty)
        }
        #expect(receive(&machine, #"{"requestId":"3","resume":{}}"#)[0].contains("NOT_FOUND"))
        #expect(receive(&machine, #"{"requestId":"2","resume":{}}"#) == ["start 2 GetLot follow"])
    }

    @Test func resumeOfAnythingElseIsAnswered() {
        var machine = bound()
        let unknown = error(
            "7", #"nothing is subscribed under this \"requestId\""#, "NOT_FOUND", "OPERATION_NOT_FOUND")
        #expect(receive(&machine, #"{"requestId":"7","resume":{}}"#) == [unknown])
        _ = receive(&machine, subscribe("7"))
        #expect(receive(&machine, #"{"requestId":"7","cancel":{}}"#) == ["stop 7"])
        // After a cancel neither kills the stream.
        #expect(receive(&machine, #"{"requestId":"7","cancel":{}}"#) == [])
        #expect(receive(&machine, #"{"requestId":"7","resume":{}}"#) == [unknown])
        #expect(receive(&machine, subscribe("8")) == ["start 8 GetLot follow"])
    }

    @Test func oneBadOperationClosesNothing() {
        var machine = bound()
        _ = receive(&machine, subscribe("live"))
        for (frame, message) in [
            (#"{"requestId":"9","subscribe":{}}"#, "operationName"), (#"{"requestId":"9","subscribe":1}"#, "subscribe"),
            (#"{"requestId":"9","execute":{"operationName":"A","variables":[]}}"#, "variables"),
            (#"{"requestId":"9","execute":{"operationName":"A"},"cancel":{}}"#, "one thing only"),
            (#"{"requestId":"9","headers":{"a":1}}"#, "headers"), (#"{"requestId":"9","name":1}"#, "name"),
        ] {
            let answer = receive(&machine, frame)
            #expect(answer.count == 1 && answer[0].hasPrefix(#"{"result":{"requestId":"9","#), "\(frame)")
            #expect(answer[0].contains(message), "\(answer)")
        }
        #expect(machine.isActive("live"))
        let failed = actionTexts(machine.failed(id: "live", [RequestError(.operationNotFound, "no such operation")]))
        #expect(failed == [error("live", "no such operation", "NOT_FOUND", "OPERATION_NOT_FOUND")])
        // Text that is no message has no id to answer under.
        #expect(receive(&machine, "nonsense").first?.hasPrefix("close 1007") == true)
    }

    @Test func protoJSONIsReadLeniently() throws {
        let snake = try StreamJSON.decode(
            Array(
                """
                {"request_id":"1","execute":{"operation_name":"A","variables":null},"subscribe":null,"data_etag":"x"}
                """
                .utf8))
        #expect(
            snake
                == StreamRequest(
                    requestID: "1", kind: .execute(.init(operationName: "A", variables: JSONObject()))))
        #expect(try StreamJSON.decode(Array(#"{"headers":{"X-A":"1"},"future":{}}"#.utf8)).headers == ["x-a": "1"])
    }

    @Test func binaryFramesAreReadLikeText() {
        var machine = bound()
        #expect(actionTexts(machine.received(binary: Array(subscribe("1").utf8))) == ["start 1 GetLot follow"])
    }

    // MARK: Tokens

    @Test func aTokenCountsFromItsFrameOn() {
        var machine = bound()
        #expect(receive(&machine, subscribe("before")) == ["start before GetLot follow"])
        #expect(
            receive(
                &machine,
                #"{"requestId":"2","execute":{"operationName":"A"},"headers":{"X-FIREBASE-AUTH-TOKEN":"t2"}}"#)
                == ["authenticate t2"])
        // Messages that arrive meanwhile wait for the verdict, in order.
        #expect(receive(&machine, subscribe("3")) == [])
        #expect(receive(&machine, #"{"requestId":"before","cancel":{}}"#) == [])
        #expect(
            actionTexts(machine.authenticated()) == ["start 2 A once", "start 3 GetLot follow", "stop before"])
        // The same token again is no news.
        #expect(
            receive(&machine, #"{"requestId":"auth_x1","headers":{"X-Firebase-Auth-Token":"t2"}}"#) == [])
    }

    @Test func anAuthUpdateHasNoAnswer() {
        var machine = bound()
        #expect(
            receive(&machine, #"{"requestId":"auth_x1","headers":{"X-Firebase-Auth-Token":"t"}}"#) == ["authenticate t"]
        )
        #expect(machine.authenticated().isEmpty)
        #expect(receive(&machine, #"{"headers":{"X-Firebase-Auth-Token":""}}"#) == ["authenticate -"])
        #expect(machine.authenticated().isEmpty)
    }

    @Test func twoTokensAreVerifiedOneAfterTheOther() {
        var machine = bound()
        #expect(receive(&machine, #"{"headers":{"x-firebase-auth-token":"a"}}"#) == ["authenticate a"])
        #expect(receive(&machine, #"{"headers":{"x-firebase-auth-token":"b"}}"#) == [])
        #expect(receive(&machine, subscribe("1")) == [])
        #expect(actionTexts(machine.authenticated()) == ["authenticate b"])
        #expect(actionTexts(machine.authenticated()) == ["start 1 GetLot follow"])
    }

    @Test func aRefusedTokenIsAnErrorUnderEachIDUntilABetterOne() {
        var machine = bound()
        _ = receive(&machine, subscribe("live"))
        let frame = #"{"requestId":"2","execute":{"operationName":"A"},"headers":{"x-firebase-auth-token":"bad"}}"#
        _ = receive(&machine, frame)
        let refused = actionTexts(machine.rejected(RequestError(.unauthenticated, "bad signature")))
        #expect(refused == [error("2", "bad signature", "UNAUTHENTICATED")])
        #expect(receive(&machine, subscribe("3")) == [error("3", "bad signature", "UNAUTHENTICATED")])
        #expect(machine.isActive("live"))
        #expect(receive(&machine, #"{"headers":{"x-firebase-auth-token":"good"}}"#) == ["authenticate good"])
        #expect(machine.authenticated().isEmpty)
        #expect(receive(&machine, subscribe("4")) == ["start 4 GetLot follow"])
    }

    @Test func aTokenIsVerifiedAgainAfterKeysWereUnavailable() {
        var machine = bound()
        _ = receive(&machine, #"{"headers":{"x-firebase-auth-token":"t"}}"#)
        _ = machine.rejected(RequestError(.unavailable, "no keys yet"))
        #expect(receive(&machine, #"{"headers":{"x-firebase-auth-token":"t"}}"#) == ["authenticate t"])
    }

    /// Web clients connect again with a new token when the socket closes, and not before.
    @Test func anExpiredTokenIsAnErrorPerIDAndTheEndOfTheSocket() {
        var machine = bound()
        for id in ["1", "2", "public"] { _ = receive(&machine, subscribe(id)) }
        #expect(
            actionTexts(machine.expired(ids: ["1", "2"], .tokenExpired))
                == ["1", "2"].map { error($0, "the token has expired", "UNAUTHENTICATED") }
                + ["close 4403 Token expired"])
        #expect(machine.operationCount == 0)
    }

    @Test func subscriptionsWithoutClaimsOutliveTheToken() {
        var machine = bound()
        _ = receive(&machine, subscribe("1"))
        #expect(machine.expired(ids: [], .tokenExpired).isEmpty)
        #expect(machine.isActive("1"))
        #expect(receive(&machine, subscribe("2")) == [error("2", "the token has expired", "UNAUTHENTICATED")])
        #expect(receive(&machine, #"{"headers":{"x-firebase-auth-token":"new"}}"#) == ["authenticate new"])
        #expect(machine.authenticated().isEmpty)
        #expect(receive(&machine, #"{"requestId":"2","resume":{}}"#) == ["start 2 GetLot follow"])
    }

    // MARK: Bounds and ends

    @Test func messagesThatWaitForAVerdictAreBounded() {
        var machine = bound()
        _ = receive(&machine, #"{"headers":{"x-firebase-auth-token":"t"}}"#)
        var last: [String] = []
        // More than all that may be started at once, which is 10 here.
        for number in 0..<276 { last = receive(&machine, subscribe("\(number)")) }
        #expect(last.isEmpty)
        last = receive(&machine, subscribe("one more"))
        #expect(last.first?.hasPrefix("close 1008") == true)
    }

    @Test func longIDsAreRefused() {
        var machine = bound()
        let id = String(repeating: "x", count: 257)
        #expect(receive(&machine, subscribe(id)).first?.contains("longer than 256") == true)
        #expect(machine.operationCount == 0)
    }

    @Test func drainingClosesWith1001() {
        var machine = bound()
        _ = receive(&machine, subscribe("1"))
        #expect(actionTexts(machine.close(1001, "Going away")) == ["close 1001 Going away"])
        #expect(receive(&machine, subscribe("2")) == [])
    }

    @Test func resultsCarryTheIDsOfTheirRows() {
        var result = SessionFixture.live(1, 1)
        result.answer.body = Array(#"{"lot":{"id":"m1"}}"#.utf8)
        let format = Machine.traits.format
        func text() -> String { String(decoding: format.prefix(id: "1") + format.rest(of: result), as: UTF8.self) }
        #expect(text() == #"{"result":{"requestId":"1","data":{"lot":{"id":"m1"}}}}"#)
        result.answer.entities = Array(#"[{"path":["lot"],"entityId":"e"}]"#.utf8)
        #expect(
            text()
                == """
                {"result":{"requestId":"1","data":{"lot":{"id":"m1"}},\
                "extensions":{"dataConnect":[{"path":["lot"],"entityId":"e"}]}}}
                """
        )
    }

    // MARK: Paths

    @Test func bothFormsOfThePathAreRead() {
        let rpc = "/ws/google.firebase.dataconnect.v1.ConnectorStreamService"
        let new = ConnectorStreamPath(rpc + ".Connect/demo-proj/locations/us-central1/services/auctions")
        #expect(new?.location == "us-central1" && new?.service == "auctions")
        let old = ConnectorStreamPath(rpc + "/Connect/locations/us-central1")
        #expect(old != nil && old?.location == "us-central1" && old?.service == nil)
        for path in [
            rpc, rpc + "/Connect", rpc + "/Connect/locations/", rpc + ".Connect/p/locations/l/services/",
            rpc + ".Connect/p/locations/l", "/ws/other/Connect/locations/l", rpc + ".Connect/p/places/l/services/s",
            "/graphql", "/ws",
        ] {
            #expect(ConnectorStreamPath(path) == nil, "\(path)")
        }
    }
}
