import JSON
import LiveModel
import Sessions
import Testing

/// The cases that the protocol's own test suites define, and every close code. Source: enisdenjo/graphql-ws,
/// PROTOCOL.md and its server tests.
@Suite struct GraphQLTransportWSMachineTests {
    private static let ack = #"{"type":"connection_ack"}"#

    private func machine(operationsMax: Int = 10) -> GraphQLTransportWSMachine {
        GraphQLTransportWSMachine(SessionOpening(operationsMax: operationsMax))
    }

    private func ready(operationsMax: Int = 10) -> GraphQLTransportWSMachine {
        var machine = machine(operationsMax: operationsMax)
        _ = machine.received(text: Array(#"{"type":"connection_init"}"#.utf8))
        _ = machine.authenticated()
        return machine
    }

    private func receive(_ machine: inout GraphQLTransportWSMachine, _ text: String) -> [String] {
        actionTexts(machine.received(text: Array(text.utf8)))
    }

    private func subscribe(_ id: String) -> String {
        #"{"id":"\#(id)","type":"subscribe","payload":{"query":"{a}","operationName":"A"}}"#
    }

    private func code(_ actions: [String]) -> Int? {
        guard let first = actions.first, actions.count == 1, first.hasPrefix("close ") else { return nil }
        return Int(first.split(separator: " ")[1])
    }

    // MARK: Invalidations

    private static func history(_ entries: [(String, UInt64)], generation: UInt64) -> Invalidations {
        var fields: [String: (version: UInt64, value: String)] = ["history": (1, "m")]
        for (number, (subject, version)) in entries.enumerated() {
            fields["entry \(number) \(subject)"] = (version, "1")
        }
        return Invalidations(fields: fields, generation: generation)
    }

    @Test func invalidationsGoToClientsThatAskForThem() {
        let history = Self.history([("entity e", 3), ("operation c/Q", 5)], generation: 5)
        var plain = ready()
        #expect(plain.invalidated(history).isEmpty, "an unmodified client")
        var machine = machine()
        _ = receive(&machine, #"{"type":"connection_init","payload":{"freshet":{"invalidations":"3-m"}}}"#)
        #expect(machine.invalidated(history).isEmpty, "not before the acknowledgement")
        _ = machine.authenticated()
        func told(_ position: String, _ drop: String) -> [String] {
            [#"{"type":"ping","payload":{"freshet":{"invalidations":{"position":"\#(position)","drop":\#(drop)}}}}"#]
        }
        #expect(actionTexts(machine.invalidated(history)) == told("5-m", #"[{"operation":"c/Q"}]"#))
        #expect(machine.invalidated(history).isEmpty, "once")
        let later = Self.history([("entity e", 7), ("operation c/Q", 5)], generation: 7)
        #expect(actionTexts(machine.invalidated(later)) == told("7-m", #"[{"entity":"e"}]"#))
        #expect(machine.invalidated(Invalidations()).isEmpty, "nothing is known")
        _ = machine.close(1001, "")
        #expect(machine.invalidated(history).isEmpty)
        for (position, drop) in [("", "[]"), ("3-other", #""everything""#)] {
            var machine = self.machine()
            let payload = "{\"freshet\":{\"invalidations\":\"\(position)\"}}"
            _ = receive(&machine, "{\"type\":\"connection_init\",\"payload\":\(payload)}")
            _ = machine.authenticated()
            #expect(actionTexts(machine.invalidated(history)) == told("5-m", drop), "\(position)")
        }
    }

    // MARK: Initialisation

    @Test func anAcceptedInitIsAcknowledgedWithoutPayload() {
        var machine = machine()
        #expect(
            receive(&machine, #"{"type":"connection_init","payload":{"authToken":"t"}}"#) == ["authenticate t"])
        #expect(actionTexts(machine.authenticated()) == [Self.ack])
        #expect(machine.authenticated().isEmpty, "exactly once")
    }

    @Test(arguments: ["", #","payload":{}"#, #","payload":null"#])
    func anInitMayHaveAnEmptyPayloadOrNone(payload: String) {
        var machine = machine()
        #expect(receive(&machine, "{\"type\":\"connection_init\"\(payload)}") == ["authenticate -"])
    }

    @Test func aRefusedInitClosesWith4403() {
        var machine = machine()
        _ = receive(&machine, #"{"type":"connection_init"}"#)
        #expect(actionTexts(machine.rejected(RequestError(.unauthenticated, "no"))) == ["close 4403 Forbidden"])
        #expect(machine.authenticated().isEmpty)
    }

    @Test func noInitInTimeClosesWith4408() {
        var machine = machine()
        #expect(actionTexts(machine.initTimedOut()) == ["close 4408 Connection initialisation timeout"])
        #expect(machine.initTimedOut().isEmpty)
    }

    @Test func timeSpentOnAuthenticationDoesNotCountAsMissingInit() {
        var machine = machine()
        _ = receive(&machine, #"{"type":"connection_init"}"#)
        #expect(machine.initTimedOut().isEmpty)
        #expect(actionTexts(machine.authenticated()) == [Self.ack])
        #expect(machine.initTimedOut().isEmpty)
    }

    @Test func aSecondInitClosesWith4429() {
        var pending = machine()
        _ = receive(&pending, #"{"type":"connection_init"}"#)
        #expect(receive(&pending, #"{"type":"connection_init"}"#) == ["close 4429 Too many initialisation requests"])
        var acknowledged = ready()
        #expect(code(receive(&acknowledged, #"{"type":"connection_init"}"#)) == 4429)
    }

    @Test func aPingIsAnsweredWithItsPayloadAtAnyTime() {
        var machine = machine()
        #expect(receive(&machine, #"{"type":"ping"}"#) == [#"{"type":"pong"}"#])
        #expect(receive(&machine, #"{"type":"ping","payload":{"a":[1]}}"#) == [#"{"type":"pong","payload":{"a":[1]}}"#])
        _ = receive(&machine, #"{"type":"connection_init"}"#)
        _ = machine.authenticated()
        #expect(receive(&machine, #"{"type":"ping","payload":null}"#) == [#"{"type":"pong"}"#])
    }

    @Test func aPongIsIgnored() {
        var machine = machine()
        #expect(receive(&machine, #"{"type":"pong"}"#).isEmpty)
        #expect(receive(&machine, #"{"type":"pong","payload":{}}"#).isEmpty)
    }

    @Test func subscribingBeforeTheAcknowledgementClosesWith4401() {
        var fresh = machine()
        #expect(receive(&fresh, subscribe("1")) == ["close 4401 Unauthorized"])
        var pending = machine()
        _ = receive(&pending, #"{"type":"connection_init"}"#)
        #expect(code(receive(&pending, subscribe("1"))) == 4401)
    }

    @Test func aTokenOfTheUpgradeServesWithoutOneInThePayload() {
        var machine = GraphQLTransportWSMachine(SessionOpening(credentials: .bearer("u"), operationsMax: 1))
        #expect(receive(&machine, #"{"type":"connection_init"}"#) == ["authenticate u"])
        var other = GraphQLTransportWSMachine(SessionOpening(credentials: .bearer("u"), operationsMax: 1))
        #expect(
            receive(&other, #"{"type":"connection_init","payload":{"Authorization":"Bearer p"}}"#)
                == ["authenticate p"])
    }

    @Test func anExpiredTokenClosesWithTheCodeThatClientsRetry() {
        var machine = ready()
        _ = receive(&machine, subscribe("1"))
        #expect(actionTexts(machine.expired(ids: ["1"], .tokenExpired)) == ["close 4403 Token expired"])
    }

    // MARK: Operations

    @Test func aQueryIsOneNextAndOneComplete() {
        var machine = ready()
        #expect(receive(&machine, subscribe("1")) == ["start 1 A"])
        #expect(machine.isActive("1") && machine.operationCount == 1)
        #expect(
            actionTexts(machine.finished(id: "1", answer: OperationAnswer(body: Array(#"{"a":1}"#.utf8)))) == [
                #"{"id":"1","type":"next","payload":{"data":{"a":1}}}"#, #"{"id":"1","type":"complete"}"#,
            ])
        #expect(machine.operationCount == 0)
        #expect(machine.finished(id: "1", answer: OperationAnswer(body: [])).isEmpty)
        #expect(receive(&machine, subscribe("1")) == ["start 1 A"], "the id is free again")
    }

    @Test func aLiveQueryIsManyNexts() throws {
        var machine = ready()
        let id = "a\"b"
        _ = receive(&machine, #"{"id":"a\"b","type":"subscribe","payload":{"query":"{a}"}}"#)
        #expect(machine.isActive(id))
        let result = LiveResult(
            position: SessionFixture.position(1), digest: SessionFixture.digest(1),
            answer: OperationAnswer(body: Array("{}".utf8)))
        let format = GraphQLTransportWSMachine.traits.format
        let text = format.prefix(id: id) + format.rest(of: result)
        let message = try JSONValue(parsing: text)
        #expect(message["id"]?.stringValue == id && message["type"]?.stringValue == "next")
        #expect(message["payload"]?["data"]?.objectValue?.isEmpty == true)
    }

    @Test func aCompleteOfTheClientIsFollowedBySilence() {
        var machine = ready()
        _ = receive(&machine, subscribe("1"))
        _ = receive(&machine, subscribe("2"))
        #expect(receive(&machine, #"{"id":"1","type":"complete"}"#) == ["stop 1"])
        #expect(machine.finished(id: "1", answer: OperationAnswer(body: [])).isEmpty)
        #expect(machine.failed(id: "1", [RequestError(.timeout, "late")]).isEmpty)
        #expect(machine.refreshFailed(id: "1", [RequestError(.timeout, "late")]).isEmpty)
        #expect(!machine.isActive("1") && machine.isActive("2"))
    }

    @Test func errorsEndTheirOperationAloneAndFreeItsId() {
        var machine = ready()
        _ = receive(&machine, subscribe("1"))
        #expect(
            actionTexts(machine.failed(id: "1", [RequestError(.operationNotFound, "no such operation")])) == [
                """
                {"id":"1","type":"error","payload":[{"message":"no such operation",\
                "extensions":{"code":"OPERATION_NOT_FOUND"}}]}
                """
            ])
        #expect(machine.failed(id: "1", []).isEmpty, "no complete and no second error")
        #expect(receive(&machine, subscribe("1")) == ["start 1 A"])
    }

    @Test func aQueryThatFailedWhileItRanIsAResultWithoutData() {
        var machine = ready()
        _ = receive(&machine, subscribe("1"))
        #expect(
            actionTexts(machine.queryFailed(id: "1", [RequestError(.databaseError, "bad")])) == [
                """
                {"id":"1","type":"next","payload":{"data":null,"errors":[{"message":"bad",\
                "extensions":{"code":"DATABASE_ERROR"}}]}}
                """,
                #"{"id":"1","type":"complete"}"#,
            ])
        #expect(machine.queryFailed(id: "1", []).isEmpty && !machine.isActive("1"))
    }

    @Test func aDuplicateIdClosesWith4409() {
        var machine = ready()
        _ = receive(&machine, subscribe("1"))
        #expect(receive(&machine, subscribe("1")) == ["close 4409 Subscriber for 1 already exists"])
    }

    @Test func longIdsAreRefusedAndFitTheCloseFrame() {
        var machine = ready()
        let id = String(repeating: "ü", count: 128)
        var other = ready()
        #expect(other.received(text: Array(subscribe(id + "x").utf8)).count == 1)
        #expect(receive(&other, subscribe("1")).isEmpty, "closed for an id that is too long")
        _ = receive(&machine, subscribe(id))
        let action = machine.received(text: Array(subscribe(id).utf8))
        guard case .close(4409, let reason)? = action.first else { return #expect(Bool(false), "\(action)") }
        #expect(reason.utf8.count <= 123)
    }

    @Test func anErrorOfOneRefreshEndsNothing() throws {
        var machine = ready()
        _ = receive(&machine, subscribe("1"))
        let sent = actionTexts(machine.refreshFailed(id: "1", [RequestError(.timeout, "slow")]))
        #expect(
            sent.count == 1
                && sent[0].hasPrefix(#"{"id":"1","type":"next","payload":{"data":null,"errors":[{"message":"slow""#))
        #expect(machine.isActive("1"))
    }

    @Test func nothingHappensAfterTheEnd() {
        var machine = ready()
        _ = receive(&machine, subscribe("1"))
        #expect(actionTexts(machine.close(1001, "Going away")) == ["close 1001 Going away"])
        #expect(machine.operationCount == 0)
        #expect(machine.close(1001, "again").isEmpty)
        #expect(receive(&machine, subscribe("2")).isEmpty && receive(&machine, "nonsense").isEmpty)
        #expect(
            machine.finished(id: "1", answer: OperationAnswer(body: [])).isEmpty
                && machine.rejected(RequestError(.unauthenticated, "no")).isEmpty)
    }

    @Test(arguments: [
        "nonsense", "", "[]", "1", "null", "{}", #"{"type":1}"#, #"{"type":"unknown"}"#, #"{"type":"start","id":"1"}"#,
        #"{"type":"subscribe"}"#, #"{"type":"subscribe","id":1,"payload":{"query":"{a}"}}"#,
        #"{"type":"subscribe","id":"","payload":{"query":"{a}"}}"#, #"{"type":"subscribe","id":"1"}"#,
        #"{"type":"subscribe","id":"1","payload":"x"}"#, #"{"type":"subscribe","id":"1","payload":{}}"#,
        #"{"type":"subscribe","id":"1","payload":{"query":1}}"#,
        #"{"type":"subscribe","id":"1","payload":{"query":"{a}","variables":"x"}}"#,
        #"{"type":"subscribe","id":"1","payload":{"query":"{a}","variables":[1]}}"#,
        #"{"type":"subscribe","id":"1","payload":{"query":"{a}","operationName":1}}"#,
        #"{"type":"subscribe","id":"1","payload":{"query":"{a}","extensions":"x"}}"#,
        #"{"type":"complete"}"#, #"{"type":"complete","id":""}"#, #"{"type":"ping","payload":1}"#,
    ])
    func invalidMessagesCloseWith4400(text: String) {
        var machine = ready()
        #expect(code(receive(&machine, text)) == 4400, "\(text)")
    }

    @Test(arguments: ["connection_ack", "next", "error"])
    func messageTypesOfTheServerCloseWith4400(type: String) {
        var machine = ready()
        #expect(code(receive(&machine, "{\"type\":\"\(type)\",\"id\":\"1\"}")) == 4400)
    }

    @Test func invalidPayloadsOfTheInitCloseWith4400() {
        var machine = machine()
        #expect(code(receive(&machine, #"{"type":"connection_init","payload":"x"}"#)) == 4400)
    }

    @Test func completingAnUnknownIdIsIgnored() {
        var machine = ready()
        #expect(receive(&machine, #"{"type":"complete","id":"9"}"#).isEmpty)
        var fresh = self.machine()
        #expect(receive(&fresh, #"{"type":"complete","id":"9"}"#).isEmpty)
    }

    @Test func theSubprotocolIsTheNewOne() {
        #expect(GraphQLTransportWSMachine.subprotocol == "graphql-transport-ws")
    }

    @Test func aPersistedQueryMayHaveAnEmptyText() {
        var machine = ready()
        let text =
            #"{"id":"1","type":"subscribe","payload":{"query":"","operationName":"A","extensions":{"connector":"c"}}}"#
        let actions = machine.received(text: Array(text.utf8))
        #expect(actions == [.start(id: "1", OperationRequest(connector: "c", operationName: "A"), .byText)])
    }

    @Test func terminateOfTheOldProtocolEndsTheSession() {
        var machine = ready()
        #expect(receive(&machine, #"{"type":"connection_terminate"}"#) == ["close 1000 Normal Closure"])
    }

    @Test func operationsOfOneSessionAreBounded() {
        var machine = ready(operationsMax: 1)
        _ = receive(&machine, subscribe("1"))
        let refused = receive(&machine, subscribe("2"))
        #expect(refused.count == 1 && refused[0].contains(#""type":"error""#) && refused[0].contains("LIMIT_EXCEEDED"))
        #expect(machine.operationCount == 1)
        _ = receive(&machine, #"{"type":"complete","id":"1"}"#)
        #expect(receive(&machine, subscribe("2")) == ["start 2 A"])
    }
}
