import JSON
import LiveModel
import Sessions
import Testing

/// The cases of the older protocol's own test suite. Source: apollographql/subscriptions-transport-ws,
/// `src/test/tests.ts`.
@Suite struct GraphQLWSMachineTests {
    private static let ka = #"{"type":"ka"}"#

    private func machine(operationsMax: Int = 10) -> GraphQLWSMachine {
        GraphQLWSMachine(SessionOpening(operationsMax: operationsMax))
    }

    private func ready(operationsMax: Int = 10) -> GraphQLWSMachine {
        var machine = machine(operationsMax: operationsMax)
        _ = receive(&machine, #"{"type":"connection_init"}"#)
        _ = machine.authenticated()
        return machine
    }

    private func receive(_ machine: inout GraphQLWSMachine, _ text: String) -> [String] {
        actionTexts(machine.received(text: Array(text.utf8)))
    }

    private func start(_ id: String) -> String {
        #"{"id":"\#(id)","type":"start","payload":{"query":"{a}","operationName":"A"}}"#
    }

    @Test func theAcknowledgementIsFollowedByAKeepAlive() {
        var machine = machine()
        #expect(
            receive(&machine, #"{"type":"connection_init","payload":{"headers":{"authorization":"Bearer t"}}}"#)
                == ["authenticate t"])
        #expect(machine.keepAliveDue().isEmpty, "the client times from the first one on")
        #expect(actionTexts(machine.authenticated()) == [#"{"type":"connection_ack"}"#, Self.ka])
        #expect(actionTexts(machine.keepAliveDue()) == [Self.ka])
    }

    @Test func aRefusedInitIsAConnectionErrorAndCloses() {
        var machine = machine()
        _ = receive(&machine, #"{"type":"connection_init"}"#)
        #expect(
            actionTexts(machine.rejected(RequestError(.unauthenticated, "no such user"))) == [
                #"{"type":"connection_error","payload":{"message":"no such user"}}"#, "close 1011 Forbidden",
            ])
    }

    @Test func aStartBeforeTheInitWaitsForIt() {
        var machine = machine()
        #expect(receive(&machine, start("1")).isEmpty)
        #expect(receive(&machine, #"{"type":"connection_init"}"#) == ["authenticate -"])
        #expect(receive(&machine, start("2")).isEmpty)
        #expect(receive(&machine, start("3")).isEmpty)
        #expect(receive(&machine, #"{"id":"2","type":"stop"}"#) == [#"{"id":"2","type":"complete"}"#])
        #expect(actionTexts(machine.authenticated()).suffix(2) == ["start 1 A", "start 3 A"])
    }

    @Test func startsThatWaitAreBounded() {
        var machine = machine(operationsMax: 1)
        _ = receive(&machine, start("1"))
        #expect(receive(&machine, start("2")).first?.contains("LIMIT_EXCEEDED") == true)
        #expect(receive(&machine, start("1")).isEmpty, "replaces the one that waits")
    }

    @Test func anUnknownMessageIsAnsweredAndTheSocketStays() {
        var machine = ready()
        #expect(
            receive(&machine, "HI") == [#"{"type":"connection_error","payload":{"message":"Message must be JSON"}}"#])
        let answer = receive(&machine, #"{"id":"7","type":"nonsense"}"#)
        #expect(answer.count == 1 && answer[0].hasPrefix(#"{"id":"7","type":"error","payload":{"message":"Invalid "#))
        #expect(receive(&machine, start("1")) == ["start 1 A"])
    }

    @Test(arguments: ["toString", "__proto__", "constructor", "9"])
    func stoppingAnUnknownIdIsIgnored(id: String) {
        var machine = ready()
        #expect(receive(&machine, #"{"id":"\#(id)","type":"stop"}"#).isEmpty)
    }

    @Test func anInvalidOperationIsOneErrorObject() throws {
        var machine = ready()
        _ = receive(&machine, start("1"))
        let texts = actionTexts(machine.failed(id: "1", [RequestError(.operationNotFound, "none")]))
        #expect(
            texts == [
                #"{"id":"1","type":"error","payload":{"message":"none","extensions":{"code":"OPERATION_NOT_FOUND"}}}"#
            ])
        #expect(receive(&machine, #"{"id":"2","type":"start","payload":{"query":1}}"#)[0].contains(#""type":"error""#))
    }

    @Test func aQueryThatFailedWhileItRanIsDataThatIsNull() {
        var machine = ready()
        _ = receive(&machine, start("1"))
        #expect(
            actionTexts(machine.queryFailed(id: "1", [RequestError(.databaseError, "bad")])) == [
                """
                {"id":"1","type":"data","payload":{"data":null,"errors":[{"message":"bad",\
                "extensions":{"code":"DATABASE_ERROR"}}]}}
                """,
                #"{"id":"1","type":"complete"}"#,
            ])
    }

    @Test func aStopIsAnsweredByCompleteAndThenThereIsSilence() {
        var machine = ready()
        _ = receive(&machine, start("1"))
        #expect(receive(&machine, #"{"id":"1","type":"stop"}"#) == ["stop 1", #"{"id":"1","type":"complete"}"#])
        #expect(receive(&machine, #"{"id":"1","type":"stop"}"#).isEmpty)
    }

    @Test func aReusedIdReplacesTheOperation() {
        var machine = ready(operationsMax: 1)
        #expect(receive(&machine, start("1")) == ["start 1 A"])
        #expect(receive(&machine, start("1")) == ["stop 1", "start 1 A"])
        #expect(machine.operationCount == 1)
    }

    @Test func anErrorOfOneRefreshEndsNothing() {
        var machine = ready()
        _ = receive(&machine, start("1"))
        let sent = actionTexts(machine.refreshFailed(id: "1", [RequestError(.timeout, "slow")]))
        #expect(sent.first?.hasPrefix(#"{"id":"1","type":"data","payload":{"data":null,"errors":[{"#) == true)
        #expect(machine.isActive("1"))
    }

    @Test func theClientSaysGoodbye() {
        var machine = ready()
        #expect(receive(&machine, #"{"type":"connection_terminate"}"#) == ["close 1000 Normal Closure"])
    }
}
