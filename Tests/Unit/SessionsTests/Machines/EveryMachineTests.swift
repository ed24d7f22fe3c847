import JSON
import LiveModel
import SeededRandom
import Sessions
import TestSupport
import Testing

/// Rules for every protocol over WebSocket: bounds, slow clients, expiry, drain, bad frames, and no message about an
/// operation that is over.
@Suite struct EveryMachineTests {
    private static let answer = OperationAnswer(body: Array(#"{"a":1}"#.utf8))
    /// Protocols whose messages wait for a verdict.
    enum Waiter: CaseIterable, Sendable {
        case graphQLWS, appSync, sqlConnect

        func machine(_ opening: SessionOpening) -> any SessionMachine {
            switch self {
            case .graphQLWS: return GraphQLWSMachine(opening)
            case .appSync:
                var machine = AppSyncMachine(opening, handshake: .signedOut)
                _ = machine.received(text: Array(#"{"type":"connection_init"}"#.utf8))
                return machine
            case .sqlConnect:
                return ConnectorStreamMachine<StreamJSON>(
                    opening, service: ServiceIdentity(service: "s", location: "l", connectors: ["c"]))
            }
        }

        func message(_ id: String, _ name: String) -> String {
            switch self {
            case .graphQLWS: #"{"id":"\#(id)","type":"start","payload":{"query":"\#(name)"}}"#
            case .appSync: #"{"id":"\#(id)","type":"start","payload":{"data":"{\"query\":\"\#(name)\"}"}}"#
            case .sqlConnect: #"{"requestId":"\#(id)","subscribe":{"operationName":"\#(name)"}}"#
            }
        }

        var refusal: String {
            switch self {
            case .graphQLWS: "LIMIT_EXCEEDED"
            case .appSync: "MaxSubscriptionsReachedError"
            case .sqlConnect: "close 1008"
            }
        }
    }

    /// Little is kept for a client that is not authenticated yet.
    @Test(arguments: Waiter.allCases) func messagesThatWaitForAVerdictAreBoundedInBytes(_ waiter: Waiter) {
        var machine = waiter.machine(
            SessionOpening(credentials: Credentials(bearer: "t"), operationsMax: 100, waitingBytesMax: 3_000))
        _ = machine.opened()
        let name = String(repeating: "x", count: 900)
        func receive(_ id: String) -> [String] {
            actionTexts(machine.received(text: Array(waiter.message(id, name).utf8)))
        }
        for id in ["1", "2", "3"] { #expect(receive(id) == []) }
        let refused = receive("4")
        #expect(refused.count == 1 && refused[0].contains(waiter.refusal), "\(refused)")
    }

    /// Its size has a bound of its own.
    @Test(arguments: Waiter.allCases) func oneMessageMayWaitWhateverItsSize(_ waiter: Waiter) {
        var machine = waiter.machine(
            SessionOpening(credentials: Credentials(bearer: "t"), operationsMax: 100, waitingBytesMax: 3_000))
        _ = machine.opened()
        func receive(_ id: String, _ size: Int) -> [String] {
            let message = waiter.message(id, String(repeating: "x", count: size))
            return actionTexts(machine.received(text: Array(message.utf8)))
        }
        #expect(receive("1", 5_000) == [])
        let refused = receive("2", 1)
        #expect(refused.count == 1 && refused[0].contains(waiter.refusal), "\(refused)")
    }

    private static let error = RequestError(.timeout, "slow")

    private func receive(_ machine: inout any SessionMachine, _ text: String) -> [SessionAction] {
        machine.received(text: Array(text.utf8))
    }

    private func isClose(_ action: SessionAction) -> Bool {
        if case .close = action { true } else { false }
    }

    private func starts(_ actions: [SessionAction]) -> [String] {
        actions.compactMap { if case .start(let id, _, _) = $0 { id } else { nil } }
    }

    @Test(arguments: MachineScript.all) func anOperationLivesFromStartToEnd(_ script: MachineScript) throws {
        var machine = script.ready()
        #expect(starts(receive(&machine, script.start("1"))) == ["1"])
        #expect(machine.isActive("1") && machine.operationCount == 1)
        _ = machine.started(id: "1")
        let format = type(of: machine).traits.format
        let result = LiveResult(
            position: SessionFixture.position(1), digest: SessionFixture.digest(1),
            answer: OperationAnswer(body: Array(#"{"a":1}"#.utf8)))
        #expect(script.readings([.send(format.prefix(id: "1") + format.rest(of: result))]) == [.result("1")])
        let refreshFailed = script.readings(machine.refreshFailed(id: "1", [Self.error]))
        #expect(refreshFailed == [script.readsErrorsAsEnd ? .end("1") : .result("1")])
        #expect(machine.isActive("1"))
        #expect(script.readings(machine.finished(id: "1", answer: Self.answer)).first == .result("1"))
        #expect(!machine.isActive("1") && machine.operationCount == 0)
        #expect(machine.finished(id: "1", answer: Self.answer).isEmpty)
        #expect(machine.failed(id: "1", [Self.error]).isEmpty && machine.refreshFailed(id: "1", [Self.error]).isEmpty)
        #expect(starts(receive(&machine, script.start("1"))) == ["1"], "the id is free again")
        #expect(script.readings(machine.failed(id: "1", [Self.error])).last == .end("1"))
        #expect(starts(receive(&machine, script.start("1"))) == ["1"])
        #expect(!script.readings(machine.queryFailed(id: "1", [Self.error])).isEmpty)
        #expect(machine.operationCount == 0)
    }

    @Test(arguments: MachineScript.all) func nothingFollowsAStop(_ script: MachineScript) {
        var machine = script.ready()
        for id in ["1", "2"] { _ = receive(&machine, script.start(id)) }
        let stopped = receive(&machine, script.stop("1"))
        #expect(stopped.contains(.stop(id: "1")))
        #expect(!machine.isActive("1") && machine.isActive("2"))
        #expect(machine.started(id: "1").isEmpty && machine.finished(id: "1", answer: Self.answer).isEmpty)
        #expect(machine.failed(id: "1", [Self.error]).isEmpty && machine.refreshFailed(id: "1", [Self.error]).isEmpty)
        for unknown in ["1", "9", "toString"] {
            #expect(!receive(&machine, script.stop(unknown)).contains { isClose($0) || $0 == .stop(id: unknown) })
        }
    }

    @Test(arguments: MachineScript.all) func operationsAreBounded(_ script: MachineScript) {
        var machine = script.ready(operationsMax: 2)
        for id in ["1", "2"] { #expect(starts(receive(&machine, script.start(id))) == [id]) }
        let refused = receive(&machine, script.start("3"))
        #expect(starts(refused).isEmpty && script.readings(refused) == [.end("3")])
        #expect(machine.operationCount == 2)
        _ = receive(&machine, script.stop("1"))
        #expect(starts(receive(&machine, script.start("3"))) == ["3"])
    }

    @Test(arguments: MachineScript.all.filter { !$0.introduction.isEmpty })
    func aClientThatDoesNotIntroduceItselfIsClosed(_ script: MachineScript) {
        var machine = script.make(SessionOpening(operationsMax: 10))
        #expect(machine.initTimedOut().filter(isClose).count == 1)
        var ready = script.ready()
        #expect(ready.initTimedOut().isEmpty)
    }

    @Test(arguments: MachineScript.all, [(1001, "Going away"), (1013, "too slow")])
    func nothingFollowsTheEnd(_ script: MachineScript, _ end: (code: Int, reason: String)) {
        var machine = script.ready()
        _ = receive(&machine, script.start("1"))
        let code = UInt16(end.code)
        #expect(machine.close(code, end.reason).last == .close(code: code, reason: end.reason))
        #expect(machine.operationCount == 0 && !machine.isActive("1"))
        #expect(machine.close(code, "again").isEmpty)
        for text in script.introduction + [script.start("2"), script.stop("1")] + script.badFrames {
            #expect(receive(&machine, text).isEmpty)
        }
        #expect(machine.received(binary: [1]).isEmpty && machine.keepAliveDue().isEmpty)
        #expect(
            machine.finished(id: "1", answer: Self.answer).isEmpty && machine.expired(ids: ["1"], .tokenExpired).isEmpty
        )
        #expect(machine.authenticated().isEmpty && machine.rejected(Self.error).isEmpty)
    }

    @Test(arguments: MachineScript.all) func longReasonsFitACloseFrame(_ script: MachineScript) {
        var machine = script.ready()
        guard case .close(_, let reason)? = machine.close(1013, String(repeating: "ü", count: 200)).last else {
            return #expect(Bool(false), "did not close")
        }
        #expect(reason.utf8.count <= 123)
    }

    @Test(arguments: MachineScript.all) func anExpiredTokenEndsWhatItAllowed(_ script: MachineScript) {
        var machine = script.ready()
        for id in ["1", "2"] { _ = receive(&machine, script.start(id)) }
        let actions = machine.expired(ids: ["1", "2"], .tokenExpired)
        let toldEach = script.readings(actions).filter { $0 == .end("1") || $0 == .end("2") }.count == 2
        #expect(toldEach || actions.contains(where: isClose))
        #expect(machine.operationCount == 0)
    }

    @Test(arguments: MachineScript.all) func aRefusedTokenStartsNothing(_ script: MachineScript) {
        var machine = script.make(SessionOpening(credentials: .bearer("forged"), operationsMax: 10))
        var actions = machine.opened()
        for text in script.introduction { actions += receive(&machine, text) }
        actions += machine.rejected(RequestError(.unauthenticated, "forged"))
        actions += receive(&machine, script.start("1"))
        #expect(actions.contains(where: isClose) || script.readings(actions).contains(.end("1")))
        #expect(starts(actions).isEmpty && machine.operationCount == 0)
    }

    @Test(arguments: MachineScript.all) func badFramesAreAnsweredOrCloseAndStartNothing(_ script: MachineScript) {
        for text in script.badFrames {
            var fresh = script.make(SessionOpening(operationsMax: 10))
            #expect(starts(receive(&fresh, text)).isEmpty)
            var machine = script.ready()
            _ = receive(&machine, script.start("live"))
            let actions = receive(&machine, text)
            #expect(starts(actions).isEmpty)
            if actions.contains(where: isClose) {
                #expect(receive(&machine, script.start("2")).isEmpty, "\(text)")
            } else {
                #expect(machine.isActive("live"), "\(text)")
                #expect(starts(receive(&machine, script.start("2"))) == ["2"], "\(text)")
            }
        }
    }

    /// Random messages and events against a model of what is running.
    @Test(arguments: MachineScript.all) func randomSequencesKeepTheRules(_ script: MachineScript) {
        for seed in 0..<300 * FuzzLength.factor {
            var run = RandomRun(script, seed: UInt64(seed))
            run.go(steps: 120)
        }
    }

    /// Well-formed messages with bytes changed, cut off or doubled: no trap, no start past the bound, silence after the
    /// end.
    @Test(arguments: MachineScript.all) func damagedMessagesDoNoHarm(_ script: MachineScript) {
        for seed in 0..<200 * FuzzLength.factor {
            var random = SeededRandom(seed: UInt64(seed))
            var machine = script.ready(operationsMax: 4)
            var isClosed = false
            for step in 0..<60 {
                let messages = script.introduction + [script.start("\(step % 6)"), script.stop("\(step % 6)")]
                var bytes = Array(messages.randomElement(using: &random)!.utf8)
                for _ in 0..<Int.random(in: 0...3, using: &random) {
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &random)
                    case 1: bytes.removeSubrange(place...)
                    case 2: bytes.insert(contentsOf: bytes[place...], at: place)
                    default: bytes[place] = Array("{}[]\",:\\0".utf8).randomElement(using: &random)!
                    }
                    if bytes.isEmpty { break }
                }
                let actions = machine.received(text: bytes)
                if isClosed { #expect(actions.isEmpty, "seed \(seed), step \(step)") }
                isClosed = isClosed || actions.contains(where: isClose)
                #expect(machine.operationCount <= 4, "seed \(seed), step \(step)")
            }
        }
    }
}
