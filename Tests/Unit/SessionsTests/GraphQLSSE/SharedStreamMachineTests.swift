import LiveModel
import Sessions
import Testing

/// The single connection mode of graphql-sse.
@Suite struct SharedStreamMachineTests {
    private static let envelope = ResultEnvelope.data(Array(#"{"a":1}"#.utf8))
    private static let text =
        "event: next\ndata: {\"id\":\"1\",\"payload\":{\"data\":{\"a\":1}}}\n\n"
        + "event: complete\ndata: {\"id\":\"1\"}\n\n"

    private func machine(operationsMax: Int = 2, bytesMax: Int = 1_000) -> SharedStreamMachine {
        SharedStreamMachine(operationsMax: operationsMax, bytesMax: bytesMax)
    }

    @Test func resultsBeforeTheStreamOpensAreHeld() {
        var machine = machine()
        #expect(machine.start(id: "1") == .started)
        #expect(machine.finished(id: "1", envelope: Self.envelope) == .none)
        #expect(machine.open() == .opened([Array(Self.text.utf8)]))
        #expect(machine.open() == .conflict)
        #expect(machine.start(id: "1") == .started, "the id is free again")
        #expect(machine.finished(id: "1", envelope: Self.envelope) == .write(Array(Self.text.utf8)))
    }

    @Test func heldResultsAreBounded() {
        var machine = machine(bytesMax: 100)
        _ = machine.start(id: "1")
        #expect(machine.finished(id: "1", envelope: Self.envelope) == .none)
        _ = machine.start(id: "1")
        #expect(machine.finished(id: "1", envelope: Self.envelope) == .overflow)
    }

    @Test func idsAndTheirNumberAreBounded() {
        var machine = machine()
        #expect(machine.start(id: "1") == .started)
        #expect(machine.start(id: "1") == .conflict)
        #expect(machine.start(id: "2") == .started)
        guard case .refused(let error) = machine.start(id: "3") else { return #expect(Bool(false)) }
        #expect(error.code == .limitExceeded)
        #expect(machine.stop(id: "1") && !machine.stop(id: "1"))
        for id in ["", String(repeating: "x", count: 257)] {
            guard case .refused(let error) = machine.start(id: id) else { return #expect(Bool(false), "\(id)") }
            #expect(error.code == .badRequest)
        }
    }

    @Test func errorsEndAnOperationAndThoseOfARefreshDoNot() {
        var machine = machine()
        _ = machine.open()
        _ = machine.start(id: "1")
        guard case .write(let refresh) = machine.refreshFailed(id: "1", [RequestError(.timeout, "slow")]) else {
            return #expect(Bool(false))
        }
        #expect(
            String(decoding: refresh, as: UTF8.self).hasPrefix(
                "event: next\ndata: {\"id\":\"1\",\"payload\":{\"data\":null,"))
        guard case .write(let end) = machine.failed(id: "1", [RequestError(.timeout, "slow")]) else {
            return #expect(Bool(false))
        }
        #expect(String(decoding: end, as: UTF8.self).hasSuffix("event: complete\ndata: {\"id\":\"1\"}\n\n"))
        #expect(machine.operationCount == 0)
    }

    @Test func aQueryThatFailedWhileItRanHasData() {
        var machine = machine()
        _ = machine.open()
        _ = machine.start(id: "1")
        guard case .write(let end) = machine.queryFailed(id: "1", [RequestError(.timeout, "slow")]) else {
            return #expect(Bool(false))
        }
        let text = String(decoding: end, as: UTF8.self)
        #expect(text.hasPrefix("event: next\ndata: {\"id\":\"1\",\"payload\":{\"data\":null,"))
        #expect(text.hasSuffix("event: complete\ndata: {\"id\":\"1\"}\n\n"))
    }

    @Test func nothingFollowsTheEnd() {
        var machine = machine()
        _ = machine.start(id: "1")
        machine.close()
        #expect(machine.open() == .gone)
        #expect(machine.finished(id: "1", envelope: Self.envelope) == .none)
        guard case .refused = machine.start(id: "2") else { return #expect(Bool(false)) }
    }
}
