import JSON
import LiveModel
import NIOCore
import RoleMachines
import Sessions
import Streams
import Testing

@testable import Gateway

/// Deliveries that share a turn of an event loop.
@Suite struct HubTurnTests {
    /// Writes down its deliveries; those that were gathered stand in parentheses.
    private final class Session: LiveSession {
        private(set) var log = ""
        var handles: [LoopHub.Handle] = []
        var onDelivery: () -> Void = {}

        func deliver(_ delivery: SessionDelivery, id: String) {
            log += id
            onDelivery()
        }

        func gathered(_ deliveries: () -> Void) {
            log += "("
            deliveries()
            log += ")"
        }
    }

    private static func query(_ number: Int) -> LiveQuery {
        LiveQuery(
            operation: OperationReference(connector: "c", operation: "Q\(number)"), version: Digest(of: [1]),
            variables: [:], auth: nil)
    }

    private static func step(_ number: Int, run: UInt64 = 1) -> HubTurn.Step {
        let answer = OperationAnswer(body: Array("\(number) \(run)".utf8))
        let result = LiveResult(
            position: Position(epoch: 1, run: run, id: StreamID(ms: run, sequence: 0)), digest: answer.digest,
            answer: answer)
        return .deliver(.result(result), key: query(number).key, answers: .max)
    }

    private func follow(_ hub: LoopHub, _ session: Session, _ numbers: [Int]) throws {
        for number in numbers {
            session.handles.append(
                try hub.subscribe(session, id: "\(number)", query: Self.query(number), known: nil).handle)
        }
    }

    @Test func severalResultsForOneSessionAreGatheredInOrder() async throws {
        try await onLoopOfHub { hub in
            let (all, two, one) = (Session(), Session(), Session())
            try follow(hub, all, [1, 2, 3])
            try follow(hub, two, [3, 1])
            try follow(hub, one, [2])
            hub.perform([Self.step(2), Self.step(1), Self.step(3)])
            #expect([all.log, two.log, one.log] == ["(213)", "(13)", "2"])
            hub.perform([Self.step(1, run: 2)])
            #expect([all.log, two.log, one.log] == ["(213)1", "(13)1", "2"])
            withExtendedLifetime((all, two, one)) {}
        }
    }

    @Test func aDeliveryThatEndsOthersIsTheLast() async throws {
        try await onLoopOfHub { hub in
            let (first, second) = (Session(), Session())
            try follow(hub, first, [1, 2])
            try follow(hub, second, [1, 2])
            first.onDelivery = { for handle in first.handles + second.handles { hub.unsubscribe(handle) } }
            hub.perform([Self.step(1), Self.step(2)])
            #expect(first.log == "(1)" && second.log == "()" && hub.subscriptionCount == 0)
        }
    }

    @Test func effectsThatAreStepsOfHubsReachThemInOrder() async throws {
        try await withHub { hub in
            let session = NIOLoopBoundBox.makeBoxSendingValue(Session(), eventLoop: hub.eventLoop)
            try await hub.eventLoop.submit {
                try follow(hub, session.value, [1, 2])
                var turn = HubTurn(hubs: [hub])
                turn.append([.reportProbe, Self.delivery(1, run: 1), .gather, Self.delivery(2, run: 1), .reportProbe])
                turn.begin()
                // The second one comes too late.
                turn.append([Self.delivery(1, run: 2), Self.delivery(1, run: 1)])
                turn.begin()
            }.get()
            let log = try await hub.eventLoop.submit { session.value.log }.get()
            #expect(log == "(12)1")
        }
    }

    private static func delivery(_ number: Int, run: UInt64) -> GatewayMachine.Effect {
        guard case .deliver(let delivery, let key, let answers) = step(number, run: run) else {
            preconditionFailure("a step is a delivery")
        }
        return .deliver(hubs: [0], key: key, delivery, answers: answers)
    }

    @Test func aFullTurnBeginsAndTheNextIsEmpty() {
        var turn = HubTurn(hubs: [])
        for _ in 1..<HubTurn.stepsMax { turn.append(Self.step(1), to: []) }
        #expect(!turn.isFull)
        turn.append(Self.step(1), to: [])
        #expect(turn.isFull)
        turn.begin()
        #expect(!turn.isFull)
    }
}
