import JSON
import LiveModel
import Sessions
import Testing

/// Waits over `graphql-transport-ws`: a ping with a payload, answered by a pong behind the results.
@Suite struct SessionWaitTests {
    private static let position = "6f9619ff-8b86-d011-b42d-00c04fc964ff"

    private func ready(waitsMax: Int = 16) -> GraphQLTransportWSMachine {
        var machine = GraphQLTransportWSMachine(SessionOpening(operationsMax: 4, waitsMax: waitsMax))
        _ = machine.received(text: Array(#"{"type":"connection_init"}"#.utf8))
        _ = machine.authenticated()
        return machine
    }

    private func ask(_ machine: inout GraphQLTransportWSMachine, _ wait: String) -> [String] {
        actionTexts(machine.received(text: Array(#"{"type":"ping","payload":{"freshet":{"wait":\#(wait)}}}"#.utf8)))
    }

    @Test func aWaitIsAnsweredByAPongOfItsId() {
        var machine = ready()
        let asked = ask(&machine, #"{"id":"7","position":"\#(Self.position.uppercased())"}"#)
        #expect(asked == ["wait 7 \(Self.position)"])
        #expect(ask(&machine, #"{"id":"8"}"#) == ["wait 8 -"])
        #expect(
            actionTexts(machine.waited(id: "7", nil))
                == [#"{"type":"pong","payload":{"freshet":{"waited":{"id":"7"}}}}"#])
        let late = #"{"id":"8","error":{"code":"TIMEOUT","message":"late"}}"#
        #expect(
            actionTexts(machine.waited(id: "8", RequestError(.timeout, "late")))
                == [#"{"type":"pong","payload":{"freshet":{"waited":\#(late)}}}"#])
        #expect(machine.waited(id: "8", nil) == [])
    }

    @Test func otherPayloadsAreEchoed() {
        var machine = ready()
        let ping = #"{"type":"ping","payload":{"freshet":{"other":1}}}"#
        #expect(actionTexts(machine.received(text: Array(ping.utf8))) == [ping.replacing("ping", with: "pong")])
    }

    @Test func refusalsNameTheWait() {
        var machine = ready(waitsMax: 1)
        _ = ask(&machine, #"{"id":"1"}"#)
        #expect(ask(&machine, #"{"id":"1"}"#)[0].contains(#"{"id":"1","error":{"code":"BAD_REQUEST""#))
        #expect(ask(&machine, #"{"id":"2"}"#)[0].contains(#"{"id":"2","error":{"code":"LIMIT_EXCEEDED""#))
        _ = machine.waited(id: "1", nil)
        #expect(ask(&machine, #"{"id":"2"}"#) == ["wait 2 -"])
        var early = GraphQLTransportWSMachine(SessionOpening(operationsMax: 4))
        #expect(ask(&early, #"{"id":"1"}"#)[0].contains("UNAUTHENTICATED"))
    }

    @Test(arguments: [
        "7", #"{"id":7}"#, #"{"id":""}"#, #"{"id":"1","position":7}"#, #"{"id":"1","position":"1-2-3-4-5"}"#,
        #"{"id":"1","position":"6f9619ff-8b86-d011-b42d-00c04fc964fg"}"#,
    ])
    func malformedWaitsCloseTheConnection(_ wait: String) {
        var machine = ready()
        #expect(ask(&machine, wait).first?.hasPrefix("close 4400") == true)
        #expect(machine.waited(id: "1", nil) == [])
    }

    @Test func nothingIsAnsweredAfterTheEnd() {
        var machine = ready()
        _ = ask(&machine, #"{"id":"1"}"#)
        _ = machine.close(1001, "Going away")
        #expect(machine.waited(id: "1", nil) == [])
    }
}
